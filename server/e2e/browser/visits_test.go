//go:build browser

package browser

import "net/http"

// A visit is a page that is looked at. The zero value is a page without an id.
type visit struct {
	of     string // the things of the demo whose ids take the place of the parameters, as "webhook, delivery"
	query  string // such as "status=active"
	as     string // who is signed in (see demo.signIn); empty: the owner on the dashboard, and nobody elsewhere
	status int    // of the answer; 0: 200
	rules  Rules  // without the cookie and the status
	not    string // what the pattern is, if it is no page

	pattern string // set by visitAll
	name    string // of the subtest and its pictures
	first   bool   // of its pattern
}

// of returns the visits of a page with one id, of different things.
func of(things ...string) (list []visit) {
	for _, thing := range things {
		list = append(list, visit{of: thing})
	}
	return list
}

// translated returns the visits of a page of a thing in each language.
func translated(thing string) []visit {
	list := []visit{{of: thing}}
	for _, language := range []string{"it", "es", "fr", "de", "pt"} {
		list = append(list, visit{of: thing, query: "lang=" + language})
	}
	return list
}

// visits has an entry for each pattern of GET, but for those of the REST and the till
// API. One more visit of a pattern is one with another state of its page.
var visits = map[string][]visit{
	"/":          {{}},
	"/docs":      {{rules: Rules{Public: true}}},
	"/till/docs": {{rules: Rules{Public: true}}},
	"/i/:token": {
		{of: "link 1"},
		{of: "link 5", status: http.StatusConflict}, // locked
		{of: "link 6", status: http.StatusGone},
		{of: "unknown", status: http.StatusNotFound},
	},
	"/c/:token": append(translated("page 0"),
		visit{of: "page 1"},
		visit{of: "page prepaid"},
		visit{of: "page 5"}, // locked
		visit{of: "page 6", status: http.StatusGone},
		visit{of: "unknown", status: http.StatusNotFound},
	),
	"/c/:token/events":               {{not: "a stream"}},
	"/c/:token/icon/:name":           {{not: "a picture"}},
	"/c/:token/manifest.webmanifest": {{not: "a manifest"}},
	"/c/:token/push":                 {{not: "a key"}},
	"/c/:token/card.pkpass":          {{not: "a pass"}},
	"/c/:token/google":               {{not: "a redirect"}},
	"/sw.js":                         {{not: "a script"}},

	"/wallet/apple/v1/devices/:device/registrations/:type": {{not: "for phones"}},
	"/wallet/apple/v1/passes/:type/:serial":                {{not: "for phones"}},

	"/join/:slug": append(translated("slug"), visit{of: "slug closed"}, visit{of: "slug bare"},
		visit{of: "unknown", status: http.StatusNotFound}),
	"/lost": append(translated(""), visit{query: "sent=1"}),

	"/setup/:token": {{of: "unknown", status: http.StatusGone}}, // see TestSetUp
	"/sign-in":      {{}, {query: "lang=de"}},
	"/sign-in/code": {{as: "pending"}},
	"/reset":        {{}},
	"/reset/:token": {
		{of: "reset link"}, {of: "unknown", status: http.StatusGone},
	},
	"/invite/:token": {
		{of: "invitation link"}, {of: "own invitation link"},
		{of: "unknown", status: http.StatusGone},
	},
	"/invite/:token/accept": {
		{as: "stranger", of: "own invitation link"}, {as: "owner", of: "invitation link"},
		{as: "owner", of: "unknown", status: http.StatusGone},
	},

	"/dashboard":          {{}, {as: "viewer"}, {as: "stranger"}},
	"/dashboard/activity": {{}, {as: "viewer", status: http.StatusForbidden}},
	"/dashboard/events":   {{not: "a stream"}},

	"/dashboard/assistant": {
		{}, {query: "client=cursor"}, {query: "client=vs-code"}, {query: "client=n8n"}, {query: "client=claude-desktop"},
		{as: "viewer"},
	},

	"/dashboard/key/:id":         of("key", "key rotated", "key revoked"),
	"/dashboard/key/:id/revoke":  of("key"),
	"/dashboard/key/:id/rotate":  of("key"),
	"/dashboard/keys":            {{}, {as: "manager", status: http.StatusForbidden}},
	"/dashboard/keys/revoke-all": {{}},
	"/dashboard/new/key":         {{}, {query: "class=mcp"}},

	"/dashboard/new/webhook":                      {{}},
	"/dashboard/webhook/:id":                      append(of("webhook", "webhook silent"), visit{of: "webhook", as: "viewer"}),
	"/dashboard/webhook/:id/deactivate":           of("webhook"),
	"/dashboard/webhook/:id/delete":               of("webhook"),
	"/dashboard/webhook/:id/deliveries":           of("webhook", "webhook silent"),
	"/dashboard/webhook/:id/delivery/:deliveryId": {{of: "webhook, delivery"}, {of: "webhook, delivery failed"}},
	"/dashboard/webhook/:id/edit":                 of("webhook"),
	"/dashboard/webhook/:id/receiver":             of("webhook"),
	"/dashboard/webhook/:id/rotate":               of("webhook"),
	"/dashboard/webhooks":                         {{}, {as: "viewer"}},

	"/dashboard/export":                 {{}, {as: "manager", status: http.StatusForbidden}},
	"/dashboard/health":                 {{}, {as: "viewer", status: http.StatusForbidden}},
	"/dashboard/health/limits":          {{}},
	"/dashboard/report":                 {{}, {query: "day=2026-02-20"}},
	"/dashboard/statistics":             {{}, {query: "from=2026-02-15&to=2026-02-28&compare=previous"}, {as: "viewer"}},
	"/dashboard/statistics/types":       {{}},
	"/dashboard/statistics/money":       {{}, {query: "month=2026-01"}, {as: "viewer"}},
	"/dashboard/statistics/money.csv":   {{not: "a file"}},
	"/dashboard/program/:id/statistics": of("program standard", "program prepaid", "program draft"),

	"/dashboard/program/:id/logo": of("program draft"),

	"/dashboard/account":                      {{}, {as: "manager"}, {as: "stranger"}},
	"/dashboard/account/password":             {{}},
	"/dashboard/account/sign-out-everywhere":  {{}},
	"/dashboard/account/second-factor":        {{}, {as: "manager"}, {as: "enrolling"}},
	"/dashboard/account/second-factor/codes":  {{as: "manager"}},
	"/dashboard/account/second-factor/remove": {{as: "manager"}},

	"/dashboard/forgetting": {{}, {as: "viewer"}},
	"/dashboard/cards": {
		{}, {query: "status=active"}, {query: "sort=last_visit"}, {query: "sort=stamps"}, {query: "birthday=true"}, {query: "q=ada"},
		{query: "q=nobody-is-called-so"}, {query: "seen=-14"},
		{query: "prize_due=true"}, {as: "viewer"},
	},
	"/dashboard/cards.csv": {{not: "a file"}},
	"/dashboard/cards/change": {{query: "action=lock"}, {query: "action=goodwill&all=true"},
		{query: "action=extend&all=true&status=active"}},
	"/dashboard/imports": {{}},
	"/dashboard/import/:id": {
		{of: "import"}, {of: "import", query: "skip_faulty=true&allow_unkeyed=true"}, {of: "import done"},
	},
	"/dashboard/import/:id/events": {{not: "a stream"}},
	"/dashboard/import/:id/undo":   of("import done"),
	"/dashboard/runs":              {{}},
	"/dashboard/run/:id":           of("run"),
	"/dashboard/card/:id": append(of("card", "card 1", "card locked", "card archived", "card discount", "card access",
		"card prepaid"), visit{of: "card erased", status: http.StatusNotFound},
		visit{of: "card", as: "viewer"}),
	"/dashboard/card/:id/adjust":          of("card", "card prepaid"),
	"/dashboard/card/:id/archive":         of("card"),
	"/dashboard/card/:id/customer":        append(of("card"), visit{of: "card", as: "viewer"}),
	"/dashboard/card/:id/customer/erase":  of("card"), // no card is chosen
	"/dashboard/card/:id/customer/export": {{not: "a file"}},
	"/dashboard/card/:id/edit":            of("card", "card prepaid"),
	"/dashboard/card/:id/contact":         of("card"),
	"/dashboard/card/:id/erase":           of("card"),
	"/dashboard/card/:id/export":          {{not: "a file"}},
	"/dashboard/card/:id/link":            of("card"),
	"/dashboard/card/:id/lock":            of("card"),
	"/dashboard/card/:id/mail":            of("card"),
	"/dashboard/card/:id/merge":           {{of: "card"}, {of: "card", query: "q=a"}},
	"/dashboard/card/:id/merge/:gone":     {{of: "card, card 1"}, {of: "card, card"}},
	"/dashboard/card/:id/reissue":         of("card"),
	"/dashboard/new/card":                 {{}},
	"/dashboard/print/cards":              {{}},
	"/dashboard/transaction/:id/reverse":  of("transaction"),

	"/dashboard/invitation/:id/cancel": of("invitation"),
	"/dashboard/people":                {{}, {as: "viewer", status: http.StatusForbidden}},
	"/dashboard/people/invite":         {{}},
	"/dashboard/person/:id/remove":     of("person"),
	"/dashboard/person/:id/role":       of("person"),

	"/dashboard/locations":            {{}, {as: "viewer"}},
	"/dashboard/location/:id":         of("location", "location 2", "location closed"),
	"/dashboard/location/:id/disable": of("location"),
	"/dashboard/location/:id/edit":    of("location"),
	"/dashboard/location/:id/pin":     of("location"),
	"/dashboard/new/location":         {{}},
	"/dashboard/new/staff":            {{}},
	"/dashboard/new/till":             {{}},
	"/dashboard/staff":                {{}, {as: "viewer"}},
	"/dashboard/staff/:id/edit":       of("staff"),
	"/dashboard/staff/:id/disable":    of("staff"),
	"/dashboard/staff/:id/pin":        of("staff"),
	"/dashboard/till/:id/revoke":      of("till"),
	"/dashboard/tills":                {{}},

	"/dashboard/programs": {{}, {as: "viewer"}},
	"/dashboard/program/:id": of("program standard", "program private", "program discount", "program access",
		"program prepaid", "program draft", "program suspended", "program empty"),
	"/dashboard/program/:id/delete":                of("program standard"),
	"/dashboard/program/:id/customer":              of("program standard", "program draft", "program discount", "program prepaid"),
	"/dashboard/program/:id/edit":                  of("program standard", "program draft", "program discount", "program prepaid"),
	"/dashboard/program/:id/new-prize":             of("program draft"),
	"/dashboard/program/:id/prize/:prizeId":        {{of: "program draft, prize"}},
	"/dashboard/program/:id/prize/:prizeId/delete": {{of: "program draft, prize"}},
	"/dashboard/program/:id/publish":               of("program draft"),
	"/dashboard/program/:id/rules":                 of("program standard"),
	"/dashboard/program/:id/enrolment":             of("program standard", "program draft", "program suspended"),
	"/dashboard/program/:id/poster": {
		{of: "program standard"}, {of: "program standard", query: "size=a6"},
		{of: "program standard", query: "size=tent"}, {of: "program discount"},
	},
	"/dashboard/program/:id/suspend":   of("program standard"),
	"/dashboard/program/:id/unpublish": of("program discount"),
	"/dashboard/program/:id/unsuspend": of("program suspended"),
	"/dashboard/new/program": {
		{}, {query: "template=coffee"}, {query: "template=pizza"}, {query: "template=gym"}, {query: "template=gift"},
		{query: "type=discount"},
	},

	"/dashboard/settings":                      {{}, {as: "viewer"}},
	"/dashboard/settings/delete":               {{}},
	"/dashboard/settings/wallet":               {{}},
	"/dashboard/settings/wallet/remove":        {{}},
	"/dashboard/settings/wallet/google/remove": {{}},
	"/dashboard/settings/wallet/pushes":        {{}, {as: "manager"}},
	"/dashboard/new/shop":                      {{}},
	"/dashboard/setup":                         {{not: "a redirect"}},
	"/dashboard/":                              {{not: "a redirect"}},
	"/dashboard/setup/location":                {{}},

	"/dashboard/user/:id":          of("person", "user disabled", "owner"),
	"/dashboard/user/:id/disable":  of("person"),
	"/dashboard/user/:id/reset":    of("person"),
	"/dashboard/user/:id/sign-out": of("person"),
	"/dashboard/shops":             {{}},
	"/dashboard/users":             {{}},

	"/till/": {
		{as: "till", rules: Rules{Scans: true, MaxWeight: 150_000}},
		{as: "till", query: "lang=de", rules: Rules{Scans: true, MaxWeight: 150_000}},
	},
	"/till/pair/:token":          {{of: "unknown"}},
	"/till/assets/:name":         {{not: "an asset"}},
	"/till/manifest.webmanifest": {{not: "a manifest"}},
	"/till/sw.js":                {{not: "a script"}},

	"/openapi.json":      {{not: "a document"}},
	"/till/openapi.json": {{not: "a document"}},
	"/healthz":           {{not: "for machines"}},
	"/readyz":            {{not: "for machines"}},
	"/pricing":           {{not: "for machines"}},
	"/logo/:name":        {{not: "a picture"}},
	"/assets/:name":      {{not: "an asset"}},
}
