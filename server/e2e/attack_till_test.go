package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// coffee is a program that repeats.
const coffee = `{"type":"standard","name":"Coffee","total_stamps":10,"icon_key":"coffee","repeat_after_reset":true}`

var shownCode = regexp.MustCompile(`<code>([0-9A-Z-]{9})</code>`)

// shortCode returns the short code that the page of an install link shows.
func shortCode(p *process, installURL string) string {
	p.t.Helper()
	m := shownCode.FindSubmatch(p.outside().Get("/i/" + path.Base(installURL)).Want(200).Body)
	if m == nil {
		p.t.Fatal("the page shows no short code")
	}
	return string(m[1])
}

// TestAttackCardIDAsCode checks that somebody who has read a card's id once cannot use it as
// a code: nothing that a holder sees has the id, a till writes only by codes unless it was
// made to accept ids, and a reissue ends the link and the codes.
func TestAttackCardIDAsCode(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.api(f.makeKey("create", "--name", "Office"))
	here := f.location("Centrale")
	ordinary, register := f.makeDevice("--location", here), f.makeDevice("--location", here, "--name", "Register", "--accept-card-ids")
	if list := f.list("device", "list"); ordinary.CardIDs || !register.CardIDs || strings.Count(list, "true") != 1 || strings.Count(list, "false") != 1 {
		t.Errorf("the list does not show which device accepts card ids:\n%s", list)
	}
	till := f.server.till(ordinary.Token)
	program := newProgram(api, coffee)
	made := issueCard(api, program, nil)
	link := "/i/" + path.Base(made.InstallURL)
	short := shortCode(f.server, made.InstallURL)
	for _, r := range []*servertest.Reply{
		f.server.outside().Get(link),
		f.server.outside().Post(link+"/install", map[string]string{"platform": "apple"}),
		f.server.outside().Post(link+"/install", map[string]string{"platform": "apple"}),
		f.server.outside().Get(link),
	} {
		if r.Status != 200 || strings.Contains(string(r.Body), made.ID) {
			t.Errorf("%s: %d, with the card's id: %s", r.What, r.Status, r.Body)
		}
	}
	byID := func() {
		t.Helper()
		till.Get("/cards/" + made.ID).Want(200)
		till.Post("/cards/"+made.ID+"/stamps", nil).Want(422, "unprocessable_entity")
	}
	byID()
	till.Post("/cards/"+short+"/stamps", nil).Want(201)
	api.Post("/cards/"+made.ID+"/reissue", nil).Want(200)
	f.server.outside().Get(link).Want(410, "gone")
	till.Get("/cards/"+short).Want(404, "not_found")
	till.Post("/cards/"+short+"/stamps", nil).Want(404, "not_found")
	byID()
	f.server.till(register.Token).Post("/cards/"+made.ID+"/stamps", nil).Want(201)
	f.checkSecrets()
}

// TestAttackGuessedShortCodes checks that a till that tries short codes is locked after ten
// unknown ones, however many it sends at once, and that it is then refused with a right one
// too.
func TestAttackGuessedShortCodes(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.api(f.makeKey("create", "--name", "Office"))
	till := f.server.till(f.makeDevice("--location", f.location("Centrale")).Token)
	made := issueCard(api, newProgram(api, coffee), nil)
	short := shortCode(f.server, made.InstallURL)
	till.Post("/cards/"+short+"/stamps", nil).Want(201)
	got := servertest.Outcomes(servertest.Simultaneously(60, func(i int) *servertest.Reply {
		if i%2 == 0 {
			return till.Get(fmt.Sprintf("/cards/zzzz%04d", i))
		}
		return till.Post(fmt.Sprintf("/cards/zzzz%04d/stamps", i), nil)
	}))
	if want := map[string]int{"404 not_found": 10, "429 rate_limited": 50}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, r := range []*servertest.Reply{till.Get("/cards/" + short), till.Post("/cards/"+short+"/stamps", nil)} {
		if r.Want(429, "rate_limited"); r.Header.Get("Retry-After") == "" {
			t.Errorf("%s", r.Header)
		}
	}
	till.Get("/cards/" + made.ID).Want(200)
}

// TestAttackStaffPIN checks that of the wrong staff PINs that many devices send at once ten
// are tried, that no device of the location may try one then, and that the audit log has the
// lock once.
func TestAttackStaffPIN(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.api(f.makeKey("create", "--name", "Office"))
	here := f.location("Centrale")
	api.Patch("/locations/"+here, map[string]any{"require_staff_pin": true}).Want(200)
	f.setPIN(here, "2468")
	var tills []*servertest.Client
	for range 4 {
		tills = append(tills, f.server.till(f.makeDevice("--location", here).Token))
	}
	try := func(i int, pin string) *servertest.Reply {
		return tills[i%len(tills)].Call("POST", "/cards/none/stamps", nil, "X-Staff-Pin", pin)
	}
	got := servertest.Outcomes(servertest.Simultaneously(24, func(i int) *servertest.Reply { return try(i, fmt.Sprintf("%04d", i)) }))
	if want := map[string]int{"401 invalid_credentials": 10, "429 rate_limited": 14}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for i := range tills {
		try(i, "2468").Want(429, "rate_limited")
	}
	if log := f.list("audit"); strings.Count(log, "location.pin_locked") != 1 {
		t.Errorf("the audit log reads\n%s", log)
	}
}

// TestAttackTillFlood checks that a till that sends too many requests is refused, and no
// other.
func TestAttackTillFlood(t *testing.T) {
	t.Parallel()
	f := newShop(t, "--till-rate-limit-per-minute", "5")
	here := f.location("Centrale")
	one, other := f.server.till(f.makeDevice("--location", here).Token), f.server.till(f.makeDevice("--location", here).Token)
	got := servertest.Outcomes(servertest.Simultaneously(30, func(int) *servertest.Reply { return one.Get("/me") }))
	if got["200"] < 5 || got["200"] > 8 || got["200"]+got["429 rate_limited"] != 30 { // the bucket refills meanwhile
		t.Errorf("%v", got)
	}
	if r := other.Get("/me").Want(200); r.Header.Get("RateLimit-Limit") != "5" {
		t.Errorf("%s", r.Header)
	}

	g := newShop(t)
	if r := g.server.till(g.makeDevice("--location", g.location("Centrale")).Token).Get("/me").Want(200); r.Header.Get("RateLimit-Limit") != "600" {
		t.Errorf("by default %s", r.Header)
	}
}

// TestAttackFavours checks that staff cannot give a friend's card more stamps a day than the
// program allows.
func TestAttackFavours(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.api(f.makeKey("create", "--name", "Office"))
	till := f.server.till(f.makeDevice("--location", f.location("Centrale"), "--accept-card-ids").Token)
	program := newProgram(api, coffee)
	f.list("program", "update", program, "--max-stamps-per-day", "3")
	made := issueCard(api, program, nil)
	stamp := func(n int) *servertest.Reply {
		return till.Post("/cards/"+made.ID+"/stamps", map[string]int{"count": n})
	}
	stamp(4).Want(422, "unprocessable_entity")
	given := stamp(3).Want(201).Str("transaction.id")
	stamp(1).Want(422, "unprocessable_entity")
	till.Post("/transactions/"+given+"/reversal", nil).Want(201)
	stamp(3).Want(201)
	f.list("program", "update", program, "--max-stamps-per-day", "none")
	stamp(3).Want(201)
}

// TestAttackTokensInLogs checks that no line of a log, whatever its level, has the token of a
// link, a key, a device token, a code or a PIN of a request, also of one that matches no
// route.
func TestAttackTokensInLogs(t *testing.T) {
	t.Parallel()
	f := newShop(t, "--access-log")
	secret := f.makeKey("create", "--name", "Office").Secret
	api := f.server.api(secret)
	device := f.makeDevice("--location", f.location("Centrale"))
	made := issueCard(api, newProgram(api, coffee), nil)
	secrets := []string{secret, device.Token, "47110815", path.Base(made.InstallURL)}
	secrets = append(secrets, callEverywhere(f.server, secret, device.Token, made)...)
	f.server.stop()
	noSecrets(t, f.server, secrets)

	d := startDev(t, "--log-level", "debug")
	made = issueCard(d.api(d.ready.APIKey), d.ready.ProgramIDs["standard"], map[string]string{"holder_email": "ada@example.com"})
	secrets = []string{"47110815", path.Base(made.InstallURL)}
	d.outside().Post("/dev/cards/"+made.ID+"/reissue", map[string]bool{"send_email": true}).Want(200).Decode(&made)
	secrets = append(secrets, path.Base(made.InstallURL))
	secrets = append(secrets, callEverywhere(d, d.ready.APIKey, d.ready.TillToken, made)...)
	for _, p := range []string{"/dev/emails", "/dev/requests", "/dev/" + path.Base(made.InstallURL), "/dev/cards/" + path.Base(made.InstallURL) + "/lock"} {
		d.outside().Get(p)
		d.outside().Post(p, nil)
	}
	d.stop()
	noSecrets(t, d, secrets)
}

// callEverywhere sends the secrets in paths, queries, headers and bodies to all faces, in
// right and in wrong requests. It returns the short code of the card, which is secret too.
func callEverywhere(p *process, key, device string, made card) (secrets []string) {
	token := path.Base(made.InstallURL)
	short := shortCode(p, made.InstallURL)
	out := p.outside()
	for _, path := range []string{"/i/" + token, "/i/" + token + "/", "/i//" + token, "/i/" + token + "/install", "/i/" + token + "/more", "/i/" + token + "%2Fmore", "/c/" + token, "/" + token,
		"/i/x?token=" + token, "/api/public/v1/cards/" + token, "/api/public/v1/" + token, "/till/v1/cards/" + token, "/till/v1/" + token, "/till/v1/cards/" + short, "/till/v1/cards/" + short + "/stamps"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "BREW"} {
			for _, auth := range []string{"", "Bearer " + key, "Bearer " + device, "Bearer " + token} {
				h := http.Header{"Content-Type": {"application/json"}, "X-Staff-Pin": {"47110815"}, "Referer": {p.origin + "/i/" + token}, "Accept": {"text/html"}}
				if auth != "" {
					h.Set("Authorization", auth)
				}
				out.Fetch(method, p.origin+path, []byte(`{"platform": "`+token+`"}`), h)
			}
		}
	}
	return []string{short, strings.ReplaceAll(short, "-", "")}
}

// noSecrets checks that the log of a server which has ended has none of the secrets.
func noSecrets(t *testing.T, p *process, secrets []string) {
	t.Helper()
	for line := range strings.Lines(p.stderr.String()) {
		for _, s := range secrets {
			if strings.Contains(strings.ToLower(line), strings.ToLower(s)) {
				t.Errorf("the log has %s: %s", s, line)
			}
		}
	}
}
