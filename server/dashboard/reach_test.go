package dashboard_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
)

// TestUnreachable checks that a server whose address phones cannot open says so where it shows
// links for phones, and that one with https and a fixture do not.
func TestUnreachable(t *testing.T) {
	db := filepath.Join(t.TempDir(), "test.db")
	made := start(t, func(c *app.Config) { c.DB = db })
	program, shop := made.ProgramIDs["standard"], made.Row(store.KindShop, made.ShopID)
	draft := made.NewProgram("standard", false, nil)
	made.as("manager").fill("/dashboard/program/"+program+"/enrolment", "enroll", "true").next()
	const alone, plain = "Phones cannot open your cards and tills yet", "Phones do not trust the address of your cards and tills"
	check := func(s *demo, what, want string) {
		t.Helper()
		browse := s.as("manager")
		if strings.HasPrefix(what, "https") {
			browse.cookie.Name = "__Host-punchcard"
		}
		for _, p := range []*page{
			browse.get("/dashboard"),
			browse.get("/dashboard/program/" + program + "/poster"),
			browse.get("/dashboard/program/" + draft),
			browse.get("/dashboard/new/card?program_id=" + program).press("/dashboard/new/card"),
			browse.post("/dashboard/new/till/pair", url.Values{"location_id": {made.LocationIDs[0]}, "name": {"Bar"}}),
		} {
			p.want(200)
			for _, title := range []string{alone, plain} {
				if title == want {
					p.has(title, "--public-url https://NAME")
				} else {
					p.lacks(title)
				}
			}
		}
	}
	check(made, "a fixture", "")
	made.Stop()
	for what, c := range map[string]struct{ public, want string }{
		"loopback": {"", alone}, "https on loopback": {"https://localhost:8443", alone}, "http": {"http://cards.example.com", plain},
		"https": {"https://cards.example.com", ""},
	} {
		s := &demo{
			Server: servertest.Start(t, func(conf *app.Config) { conf.Dev, conf.DB, conf.PublicURL = nil, db, c.public }),
			tokens: made.tokens,
		}
		check(s, what, c.want)
		s.Stop()
	}
	own := &demo{Server: servertest.Start(t, func(conf *app.Config) { conf.Dev, conf.DB = nil, db }), tokens: made.tokens}
	servertest.Write(t, own.App.Store, func(tx *store.Tx) error {
		_, err := tx.UpdateShop(shop, store.ShopFields{PublicURL: store.Given("https://shop.example")}, "")
		return err
	})
	check(own, "a shop with a public URL of its own", "")
	own.as("manager").get("/dashboard/program/" + program + "/poster").has("shop.example/join/")
	own.as("manager").get("/dashboard/program/" + program + "/enrolment").has("shop.example/join/")
}
