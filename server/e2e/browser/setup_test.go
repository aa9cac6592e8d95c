//go:build browser

package browser

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
)

// startEmpty starts a server as "punchcard serve" does, and returns its set-up link,
// which it logs.
func startEmpty(t *testing.T, options ...func(*app.Config)) (s *servertest.Server, link string) {
	t.Helper()
	log := &servertest.Log{}
	s = servertest.Start(t, append(options, func(c *app.Config) {
		c.Dev = nil
		c.Log = slog.New(slog.NewTextHandler(log, nil))
	})...)
	found := regexp.MustCompile(`link=(\S+/setup/\S+)`).FindStringSubmatch(log.String())
	if found == nil {
		t.Fatalf("the log has no set-up link: %s", log)
	}
	return s, found[1]
}

// TestSetUp goes from the set-up link to the first card. The link is the only URL that the
// owner types.
func TestSetUp(t *testing.T) {
	t.Parallel()
	for _, v := range []View{{}, {Width: 360, Dark: true}, {NoScripts: true}} {
		t.Run(fmt.Sprintf("width %d scripts %t", v.Width, !v.NoScripts), func(t *testing.T) {
			t.Parallel()
			_, link := startEmpty(t)
			p := Open(t, link, v)
			p.setUp(p.CheckNow)
			p.firstProgram()
			p.firstKey(t)
			p.firstCard(t)
		})
	}
}

// setUp makes the account, the shop and its first location. It calls check on each page.
func (p *Page) setUp(check func()) {
	p.t.Helper()
	p.Wait("Set up your shop")
	p.Fill("Name of the shop", "Blue Finch Coffee")
	p.Choose("Time zone", "Europe/Rome")
	p.Fill("Your name", "Olivia Owner")
	p.Fill("Email", "olivia@example.com")
	p.Fill("Password", "password123456")
	check()
	p.Press("Continue")
	p.Wait("Correct this field, then try again.")
	check()
	p.Fill("Password", "forty green bottles on a wall")
	p.Press("Continue")

	p.Wait("A location is one of your premises")
	p.Fill("Name", "Corner")
	p.Fill("City", "Torino")
	p.Fill("Country", "IT")
	check()
	p.Press("Continue")
}

// firstProgram makes a stamp card of a template, adds a prize and publishes it.
func (p *Page) firstProgram() {
	p.t.Helper()
	p.Wait("Start from a template")
	p.Follow("Coffee card")
	p.Fill("Name", "Finch card")
	p.Fill("Stamps on a card", "12")
	p.Press("Create the program")
	p.Wait("The program was created")
	p.Follow("Add a prize")
	p.Fill("Stamps", "12")
	p.Fill("Prize", "Cake of the day")
	p.Press("Add the prize")
	p.Wait("Cake of the day", "Croissant", "Free coffee")
	p.Follow("Publish")
	p.Wait("Publish Finch card?")
	p.Press("Publish")
	p.Wait("The program is published.", "Published")
}

// goTo follows a link of the navigation, of which a small window shows a part.
func (p *Page) goTo(section string) {
	p.t.Helper()
	nav := eval[bool](p, `name => {
		const bar = document.querySelector('nav.bar')
		return !!bar && bar.checkVisibility() && ![...bar.querySelectorAll('a')].some(a => a.checkVisibility() &&
			a.innerText.trim() === name)
	}`, section)
	if nav {
		p.Press("More")
	}
	p.Follow(section)
}

// firstKey makes a key of the REST API, whose secret is shown once.
func (p *Page) firstKey(t *testing.T) {
	p.goTo("Keys")
	p.Follow("New key")
	p.Fill("Name", "Newsletter")
	p.Check("REST")
	p.Check("See cards")
	p.Check("At all locations")
	p.Check("In 90 days")
	p.Press("Create the key")
	p.Wait("shown only now")
	secret := regexp.MustCompile(`\bl?[a-z]*sk_live_[A-Za-z0-9_-]+|\btsk_[a-z]+_[A-Za-z0-9_-]+`).FindString(p.Text())
	if secret == "" {
		t.Errorf("the page shows no key: %s", p.Text())
	}
	p.CheckNow()
	p.Follow("Done")
	p.Wait("Newsletter")
	if strings.Contains(p.Text(), secret) {
		t.Error("the list of keys shows the whole key")
	}
}

// issueCard issues a card and returns its link.
func (p *Page) issueCard() (link string) {
	p.t.Helper()
	p.goTo("Cards")
	p.Follow("Issue a card")
	p.Fill("Name", "Ada Lovelace")
	p.Press("Issue the card")
	p.Wait("Let the holder scan this code")
	return regexp.MustCompile(`https?://\S+/i/\S+`).FindString(p.Text())
}

// firstCard issues a card, whose link opens the page of its holder.
func (p *Page) firstCard(t *testing.T) {
	link := p.issueCard()
	p.CheckNow()
	p.Follow("Open the card")
	p.Wait("Ada Lovelace", "Finch card")
	holder := Open(t, link, View{Width: 360})
	holder.Wait("Ada Lovelace", "0 of 12 stamps")
}

// insecure makes a server answer to a name that browsers do not take for loopback, with cookies
// over plain http.
func insecure(c *app.Config) { c.AllowHosts, c.InsecureCookies = []string{insecureHost}, true }

// openInsecure opens a page by a name that browsers do not take for loopback.
func openInsecure(t *testing.T, address string, cookie *http.Cookie) *Page {
	t.Helper()
	p := Open(t, strings.Replace(address, "127.0.0.1", insecureHost, 1), View{Width: 390, Cookie: cookie})
	t.Cleanup(func() {
		for _, problem := range p.ExpectProblems() { // browsers do not isolate such a page
			if !strings.Contains(problem, "Cross-Origin-Opener-Policy") {
				t.Error(problem)
			}
		}
	})
	return p
}

// TestInsecureForms sends forms over plain http to a name that is not loopback: those of the
// set-up, the sign-in, the dashboard and the pairing of a till, and those of holders.
func TestInsecureForms(t *testing.T) {
	t.Parallel()
	_, link := startEmpty(t, insecure)
	p := openInsecure(t, link, nil)
	p.setUp(func() {})
	p.Wait("Start from a template")

	s := start(t, insecure)
	p = openInsecure(t, s.Origin+"/reset", nil)
	p.Fill("Email", seed.OwnerEmail)
	p.Press("Send the link")
	p.Wait("Look into your mailbox")
	p = openInsecure(t, s.Origin+"/sign-in", nil)
	p.Fill("Email", seed.OwnerEmail)
	p.Fill("Password", seed.Password)
	p.Press("Sign in")
	p.Wait("Today")
	session := p.Cookie("punchcard")
	if session == nil || p.Cookie("punchcard-browser") == nil {
		t.Fatal("the sign-in sets no cookies")
	}

	p = openInsecure(t, s.Origin+"/dashboard/tills", session)
	p.newTill("Centrale", "Phone")
	p = openInsecure(t, regexp.MustCompile(`http://\S+/till/pair/\S+`).FindString(p.Text()), nil)
	p.Press("Pair this device")
	p.Wait("Find the card")

	p = openInsecure(t, s.Origin+"/lost", nil)
	p.Fill("Email address", "ada@example.com")
	p.Press("Send me the links")
	p.Wait("their links are on the way")
}
