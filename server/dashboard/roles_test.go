package dashboard_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"punchcard/server/dashboard"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
)

// minRoles lists every page and every form by the least role that may use it. Visitors are
// not signed in; the pages of an account are for everybody who is.
var minRoles = map[string]string{
	"visitor": `
		GET /setup/:token
		POST /setup/:token
		GET /sign-in
		POST /sign-in
		GET /reset
		POST /reset
		GET /reset/:token
		POST /reset/:token
		GET /invite/:token
		POST /invite/:token`,
	"account": `
		GET /sign-in/code
		POST /sign-in/code
		POST /sign-out
		GET /invite/:token/accept
		POST /invite/:token/accept
		POST /dashboard/shop/:id
		POST /dashboard/prove
		GET /dashboard/account
		POST /dashboard/account
		GET /dashboard/account/password
		POST /dashboard/account/password
		POST /dashboard/account/session/:id/end
		GET /dashboard/account/sign-out-everywhere
		POST /dashboard/account/sign-out-everywhere
		GET /dashboard/account/second-factor
		POST /dashboard/account/second-factor
		POST /dashboard/account/second-factor/confirm
		GET /dashboard/account/second-factor/codes
		POST /dashboard/account/second-factor/codes
		GET /dashboard/account/second-factor/remove
		POST /dashboard/account/second-factor/remove`,
	"viewer": `
		GET /dashboard
		GET /dashboard/assistant
		GET /dashboard/events
		GET /dashboard/forgetting
		GET /dashboard/setup
		GET /dashboard/settings
		GET /dashboard/locations
		GET /dashboard/location/:id
		GET /dashboard/tills
		GET /dashboard/staff
		GET /dashboard/webhooks
		GET /dashboard/webhook/:id
		GET /dashboard/webhook/:id/receiver
		GET /dashboard/webhook/:id/deliveries
		GET /dashboard/webhook/:id/delivery/:deliveryId
		GET /dashboard/programs
		GET /dashboard/program/:id
		GET /dashboard/program/:id/customer
		GET /dashboard/program/:id/poster
		GET /dashboard/cards
		GET /dashboard/card/:id
		GET /dashboard/card/:id/customer
		GET /dashboard/report
		GET /dashboard/statistics
		GET /dashboard/statistics/types
		GET /dashboard/statistics/money
		GET /dashboard/statistics/money.csv
		GET /dashboard/program/:id/statistics`,
	"manager": `
		GET /dashboard/location/:id/edit
		POST /dashboard/location/:id/edit
		GET /dashboard/location/:id/disable
		POST /dashboard/location/:id/disable
		POST /dashboard/location/:id/enable
		GET /dashboard/location/:id/pin
		POST /dashboard/location/:id/pin
		GET /dashboard/cards/change
		POST /dashboard/cards/change
		GET /dashboard/runs
		GET /dashboard/run/:id
		POST /dashboard/run/:id/stop
		GET /dashboard/new/card
		POST /dashboard/new/card
		GET /dashboard/imports
		POST /dashboard/imports
		GET /dashboard/import/:id
		POST /dashboard/import/:id
		GET /dashboard/import/:id/events
		GET /dashboard/import/:id/undo
		POST /dashboard/import/:id/undo
		POST /dashboard/import/:id/discard
		POST /dashboard/card/:id/close-request
		GET /dashboard/card/:id/contact
		POST /dashboard/card/:id/contact
		GET /dashboard/card/:id/edit
		POST /dashboard/card/:id/edit
		GET /dashboard/card/:id/adjust
		POST /dashboard/card/:id/adjust
		GET /dashboard/card/:id/reissue
		POST /dashboard/card/:id/reissue
		GET /dashboard/card/:id/link
		POST /dashboard/card/:id/link
		GET /dashboard/card/:id/mail
		POST /dashboard/card/:id/mail
		GET /dashboard/card/:id/erase
		POST /dashboard/card/:id/erase
		GET /dashboard/card/:id/customer/erase
		POST /dashboard/card/:id/customer/erase
		GET /dashboard/card/:id/merge
		GET /dashboard/card/:id/merge/:gone
		POST /dashboard/card/:id/merge/:gone
		GET /dashboard/card/:id/lock
		POST /dashboard/card/:id/lock
		POST /dashboard/card/:id/unlock
		GET /dashboard/card/:id/archive
		POST /dashboard/card/:id/archive
		GET /dashboard/transaction/:id/reverse
		POST /dashboard/transaction/:id/reverse
		GET /dashboard/print/cards
		POST /dashboard/print/cards
		GET /dashboard/new/program
		POST /dashboard/new/program
		POST /dashboard/new/program/preview
		GET /dashboard/program/:id/edit
		POST /dashboard/program/:id/edit
		POST /dashboard/program/:id/preview
		GET /dashboard/program/:id/enrolment
		POST /dashboard/program/:id/enrolment
		GET /dashboard/program/:id/rules
		POST /dashboard/program/:id/rules
		GET /dashboard/program/:id/publish
		POST /dashboard/program/:id/publish
		GET /dashboard/program/:id/unpublish
		POST /dashboard/program/:id/unpublish
		GET /dashboard/program/:id/suspend
		POST /dashboard/program/:id/suspend
		GET /dashboard/program/:id/unsuspend
		POST /dashboard/program/:id/unsuspend
		GET /dashboard/program/:id/delete
		POST /dashboard/program/:id/delete
		GET /dashboard/program/:id/new-prize
		POST /dashboard/program/:id/new-prize
		POST /dashboard/program/:id/prizes
		GET /dashboard/program/:id/prize/:prizeId
		POST /dashboard/program/:id/prize/:prizeId
		GET /dashboard/program/:id/prize/:prizeId/delete
		POST /dashboard/program/:id/prize/:prizeId/delete
		GET /dashboard/activity
		GET /dashboard/new/webhook
		POST /dashboard/new/webhook
		GET /dashboard/webhook/:id/edit
		POST /dashboard/webhook/:id/edit
		POST /dashboard/webhook/:id/test
		POST /dashboard/webhook/:id/activate
		GET /dashboard/webhook/:id/deactivate
		POST /dashboard/webhook/:id/deactivate
		GET /dashboard/webhook/:id/delete
		POST /dashboard/webhook/:id/delete
		POST /dashboard/webhook/:id/delivery/:deliveryId/redeliver
		GET /dashboard/program/:id/logo
		POST /dashboard/program/:id/logo
		POST /dashboard/program/:id/logo/delete
		GET /dashboard/new/till
		POST /dashboard/new/till
		POST /dashboard/new/till/pair
		GET /dashboard/new/staff
		POST /dashboard/new/staff
		GET /dashboard/staff/:id/edit
		POST /dashboard/staff/:id/edit
		GET /dashboard/staff/:id/pin
		POST /dashboard/staff/:id/pin
		GET /dashboard/staff/:id/disable
		POST /dashboard/staff/:id/disable
		POST /dashboard/staff/:id/enable
		GET /dashboard/till/:id/revoke
		POST /dashboard/till/:id/revoke
		GET /dashboard/settings/wallet/pushes
		POST /dashboard/card/:id/test-push`,
	"owner": `
		GET /dashboard/settings/wallet
		POST /dashboard/settings/wallet
		POST /dashboard/settings/wallet/request
		POST /dashboard/settings/wallet/request/file
		GET /dashboard/settings/wallet/remove
		POST /dashboard/settings/wallet/remove
		POST /dashboard/settings/wallet/google
		GET /dashboard/settings/wallet/google/remove
		POST /dashboard/settings/wallet/google/remove
		GET /dashboard/setup/location
		POST /dashboard/setup/location
		GET /dashboard/new/location
		POST /dashboard/new/location
		POST /dashboard/settings
		GET /dashboard/settings/delete
		POST /dashboard/settings/delete
		GET /dashboard/webhook/:id/rotate
		POST /dashboard/webhook/:id/rotate
		GET /dashboard/keys
		GET /dashboard/new/key
		POST /dashboard/new/key
		GET /dashboard/key/:id
		GET /dashboard/key/:id/rotate
		POST /dashboard/key/:id/rotate
		GET /dashboard/key/:id/revoke
		POST /dashboard/key/:id/revoke
		GET /dashboard/keys/revoke-all
		POST /dashboard/keys/revoke-all
		GET /dashboard/cards.csv
		GET /dashboard/export
		POST /dashboard/export
		GET /dashboard/card/:id/export
		GET /dashboard/card/:id/customer/export
		GET /dashboard/people
		GET /dashboard/people/invite
		POST /dashboard/people/invite
		GET /dashboard/invitation/:id/cancel
		POST /dashboard/invitation/:id/cancel
		GET /dashboard/person/:id/role
		POST /dashboard/person/:id/role
		GET /dashboard/person/:id/remove
		POST /dashboard/person/:id/remove`,
	"operator": `
		GET /dashboard/new/shop
		POST /dashboard/new/shop
		GET /dashboard/shops
		GET /dashboard/users
		GET /dashboard/user/:id
		GET /dashboard/user/:id/disable
		POST /dashboard/user/:id/disable
		POST /dashboard/user/:id/enable
		GET /dashboard/user/:id/reset
		POST /dashboard/user/:id/reset
		GET /dashboard/user/:id/sign-out
		POST /dashboard/user/:id/sign-out
		GET /dashboard/health
		GET /dashboard/health/limits
		POST /dashboard/health/backup
		POST /dashboard/health/mail
		POST /dashboard/health/download`,
}

// streams are pages that do not end. The tests open them only as people whom they refuse.
var streams = []string{"/dashboard/events", "/dashboard/import/:id/events"}

// minRole returns the least role of each page and form.
func minRole() map[string]string {
	of := map[string]string{}
	for role, text := range minRoles {
		for line := range strings.Lines(strings.TrimSpace(text)) {
			of[strings.TrimSpace(line)] = role
		}
	}
	return of
}

// TestTableOfRoles checks that the table has all pages and forms, and no others.
func TestTableOfRoles(t *testing.T) {
	t.Parallel()
	table := minRole()
	for _, b := range dashboard.Bindings() {
		what := b.Method + " " + b.Pattern
		if table[what] == "" {
			t.Errorf("%s is not in the table of roles: add it to minRoles", what)
		}
		delete(table, what)
	}
	for what := range table {
		t.Errorf("%s is in the table of roles, but not bound", what)
	}
}

// TestRoles opens each page as people of every role, and sends each form as people whose role is
// too low, and does both as a visitor. People get the page, or one that says why not, visitors are
// led to the sign-in, and the forms change nothing. No form takes what a page of another origin sends.
func TestRoles(t *testing.T) {
	s := start(t)
	foreign, ids := s.sample(s.NewShop(nil), "Foreign"), s.sample(s.Server, hostileName)
	ids["reset"], ids["setup"] = "x", "x"
	deceived := s.as("operator")
	deceived.header = http.Header{"Sec-Fetch-Site": {"cross-site"}, "Accept": {"text/html"}} // TestCheckOrigin of kernel has all headers
	evil := url.Values{"name": {"Evil"}, "email": {seed.OwnerEmail}, "password": {seed.Password}}
	filters := 0
	min := minRole()
	for _, what := range servertest.Sample(slices.Sorted(maps.Keys(min))) {
		role := min[what]
		method, pattern, _ := strings.Cut(what, " ")
		path := ids.path(t, pattern)
		if method == http.MethodPost {
			s.Unchanged(func() { deceived.post(path, evil).want(403).has("Not allowed", "came from another website") })
		}
		if role == "visitor" {
			continue
		}
		open := func(as string) *page {
			if method == http.MethodGet {
				return s.as(as).get(path)
			}
			return s.as(as).post(path, url.Values{})
		}
		least := max(slices.Index(roles, role), 0)
		s.Unchanged(func() {
			open("").to("/sign-in")
			for _, lesser := range roles[:least] {
				open(lesser).want(403).has("Not allowed")
			}
		})
		if method != http.MethodGet || role == "account" || slices.Contains(streams, pattern) {
			continue
		}
		for _, reader := range roles[least:] {
			p := open(reader)
			if p.status != 200 && p.status != 303 {
				t.Errorf("%s as %s: status %d: %.500s", what, reader, p.status, p.text())
			}
			if reader == role && strings.Contains(p.body, "data-filters") {
				filters++
				p.checkFilter(foreign)
			}
		}
	}
	if filters < 7 && !testing.Short() {
		t.Errorf("only %d pages have a filter", filters)
	}
}

// validForms are the fields of forms that are carried out with them, by pattern. Other forms need
// none.
var validForms = map[string]url.Values{
	"/dashboard/location/:id/edit":          {"name": {"x"}},
	"/dashboard/location/:id/pin":           {"staff_pin": {"1234"}},
	"/dashboard/card/:id/edit":              {"holder_name": {"Eve"}},
	"/dashboard/import/:id":                 {"program_id": {"prg_none"}},
	"/dashboard/card/:id/contact":           {"birthday": {"01-01"}},
	"/dashboard/card/:id/close-request":     {"kind": {"erasure"}},
	"/dashboard/card/:id/adjust":            {"stamps": {"1"}, "reason": {"Goodwill"}, "location_id": {"loc_none"}},
	"/dashboard/card/:id/erase":             {"_confirmation": {"Foreign"}},
	"/dashboard/card/:id/customer/erase":    {"_confirmation": {"Foreign"}, "card_ids": {"crd_none"}},
	"/dashboard/cards/change":               {"action": {"unlock"}, "card_ids": {"crd_none"}},
	"/dashboard/card/:id/merge/:gone":       {"yes": {"true"}},
	"/dashboard/program/:id/edit":           {"name": {"x"}},
	"/dashboard/program/:id/preview":        {"name": {"x"}},
	"/dashboard/program/:id/rules":          {"max_stamps_per_day": {"2"}},
	"/dashboard/program/:id/enrolment":      {"enroll": {"true"}, "enroll_slug": {"coffee"}, "enroll_max_cards": {"5"}},
	"/dashboard/program/:id/new-prize":      {"name": {"x"}, "threshold": {"1"}},
	"/dashboard/program/:id/prizes":         {"prize_ids": {"prz_x"}},
	"/dashboard/program/:id/prize/:prizeId": {"name": {"x"}},
	"/dashboard/webhook/:id/edit":           {"url": {"http://127.0.0.1:9/x"}, "events": {"*"}},
	"/dashboard/staff/:id/edit":             {"name": {"Ada"}, "location_ids": {""}},
	"/dashboard/staff/:id/pin":              {"pin": {"1234"}},
	"/dashboard/person/:id/role":            {"role": {"viewer"}},
}

// TestForeignIDs checks that pages and forms answer to the ids of another shop as to unknown
// ids, and change nothing.
func TestForeignIDs(t *testing.T) {
	s := start(t)
	foreign, own, unknown := s.sample(s.NewShop(nil), "Foreign"), s.sample(s.Server, "Own"), samples{}
	for word, id := range foreign {
		prefix, _, _ := strings.Cut(id, "_")
		unknown[word] = prefix + "_none"
	}
	min := minRole()
	for _, what := range servertest.Sample(slices.Sorted(maps.Keys(min))) {
		role := min[what]
		method, pattern, _ := strings.Cut(what, " ")
		if role == "operator" || role == "visitor" || !strings.Contains(pattern, "/:") {
			continue
		}
		fields := validForms[pattern]
		s.likeUnknown(method, foreign.path(t, pattern), unknown.path(t, pattern), fields)
		for _, part := range []string{"prize", "delivery"} { // of another shop, beside an id of this one
			if strings.Contains(pattern, ":"+part+"Id") {
				mixed := maps.Clone(own)
				mixed[part] = foreign[part]
				none := maps.Clone(own)
				none[part] = unknown[part]
				s.likeUnknown(method, mixed.path(t, pattern), none.path(t, pattern), fields)
			}
		}
	}
	// Ids in queries and in fields. TestRoles has those in filters.
	s.likeUnknown("GET", "/dashboard/new/program?from="+foreign["program"], "/dashboard/new/program?from=prg_none", nil)
	for path, fields := range map[string]url.Values{
		"/dashboard/new/card":      {"_program": {foreign["program"]}},
		"/dashboard/new/till":      {"location_id": {foreign["location"]}},
		"/dashboard/new/till/pair": {"location_id": {foreign["location"]}},
		"/dashboard/new/webhook":   {"_program_id": {foreign["program"]}, "url": {"http://127.0.0.1:9/"}, "events": {"*"}},
	} {
		s.Unchanged(func() { s.as("owner").post(path, fields).want(404) })
	}
	s.Unchanged(func() {
		staff := url.Values{"location_ids": {foreign["location"]}, "name": {"Bob"}, "pin": {"1234"}}
		s.as("owner").post("/dashboard/new/staff", staff).want(400)
	})
}

// anID matches an id, which a page may repeat.
var anID = regexp.MustCompile(`[a-z]{3}_\w+`)

// likeUnknown checks that the path of another shop's thing is answered as that of an unknown one,
// and that nothing changes.
func (s *demo) likeUnknown(method, foreign, unknown string, fields url.Values) {
	s.T.Helper()
	answer := func(path string) (status int, text string) {
		p := s.as("owner").send(method, path, fields)
		if status, text = p.status, p.header.Get("Location"); status != 303 {
			text = anID.ReplaceAllString(p.message(), "ID")
		}
		return status, text
	}
	s.Unchanged(func() {
		status, text := answer(foreign)
		if wantStatus, want := answer(unknown); status != wantStatus || text != want || status < 400 {
			s.T.Errorf("%s %s: status %d: %.300s; of an id that never was %d: %.300s", method, foreign, status, text, wantStatus, want)
		}
	})
}
