package e2e

import (
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

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
	api := f.newAPI("Office")
	here := f.location("Centrale")
	ordinary, register := f.makeDevice("--location", here), f.makeDevice("--location", here, "--name", "Register", "--accept-card-ids")
	if list := f.run("device", "list"); ordinary.CardIDs || !register.CardIDs || strings.Count(list, "true") != 1 ||
		strings.Count(list, "false") != 1 {
		t.Errorf("the list does not show which device accepts card ids:\n%s", list)
	}
	till := f.server.till(ordinary.Token)
	program := newProgram(api, stampCard)
	made := issueCard(api, program, nil)
	link := "/i/" + path.Base(made.InstallURL)
	short := shortCode(f.server, made.InstallURL)
	for _, r := range []*servertest.Reply{
		f.server.outside().Get(link), f.server.outside().Post(link+"/install", map[string]string{"platform": "apple"}),
	} {
		if r.Status != 200 || strings.Contains(string(r.Body), made.ID) {
			t.Errorf("%s: %d, with the card's id: %s", r.What, r.Status, r.Body)
		}
	}
	byID := func() {
		t.Helper()
		if limit := till.Get("/cards/" + made.ID).Want(200).Header.Get("RateLimit-Limit"); limit != "600" {
			t.Errorf("by default the limit of a till is %s", limit)
		}
		till.Post("/cards/"+made.ID+"/stamps", nil).Want(422, "unprocessable_entity")
	}
	till.Post("/cards/"+short+"/stamps", nil).Want(201)
	if limit := api.Post("/cards/"+made.ID+"/reissue", nil).Want(200).Header.Get("RateLimit-Limit"); limit != "300" {
		t.Errorf("by default the limit of a key is %s", limit)
	}
	f.server.outside().Get(link).Want(410, "gone")
	till.Post("/cards/"+short+"/stamps", nil).Want(404, "not_found")
	byID()
	f.server.till(register.Token).Post("/cards/"+made.ID+"/stamps", nil).Want(201)
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
	made := issueCard(api, newProgram(api, stampCard), nil)
	secrets := []string{secret, device.Token, "47110815", path.Base(made.InstallURL)}
	secrets = append(secrets, callEverywhere(f.server, secret, device.Token, made)...)
	f.server.stop()
	noSecrets(t, f.server, secrets)

	d := startDev(t, "--log-level", "debug")
	made = issueCard(d.demo(), d.ready.ProgramIDs["standard"], map[string]string{"holder_email": "ada@example.com"})
	secrets = []string{"47110815", path.Base(made.InstallURL)}
	d.outside().Post("/dev/cards/"+made.ID+"/reissue", map[string]bool{"send_email": true}).Want(200).Decode(&made)
	secrets = append(secrets, path.Base(made.InstallURL))
	secrets = append(secrets, callEverywhere(d, d.ready.APIKey, d.ready.TillToken, made)...)
	for _, p := range []string{
		"/dev/emails", "/dev/requests", "/dev/" + path.Base(made.InstallURL), "/dev/cards/" + path.Base(made.InstallURL) + "/lock",
	} {
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
	for _, path := range []string{"/i/" + token, "/i/" + token + "/", "/i//" + token, "/i/" + token + "/install", "/i/" + token + "/more",
		"/i/" + token + "%2Fmore", "/c/" + token, "/" + token,
		"/i/x?token=" + token, "/api/public/v1/cards/" + token, "/api/public/v1/" + token, "/till/v1/cards/" + token,
		"/till/v1/" + token, "/till/v1/cards/" + short, "/till/v1/cards/" + short + "/stamps"} {
		for _, method := range []string{"GET", "POST", "BREW"} {
			for _, auth := range []string{key, device, token} {
				h := http.Header{
					"Authorization": {"Bearer " + auth},
					"Content-Type":  {"application/json"},
					"X-Staff-Pin":   {"47110815"},
					"Referer":       {p.origin + "/i/" + token},
					"Accept":        {"text/html"},
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
