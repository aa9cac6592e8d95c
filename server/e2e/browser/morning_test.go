//go:build browser

package browser

import (
	"fmt"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/store"
)

// A customer has the page of a card open on a phone.
type customer struct {
	name, card, link string
	code             string // of the card's QR code
	*Page
}

// newCustomer issues a card with what was done to it before, as a path and a body, and opens
// its page.
func newCustomer(s *servertest.Server, t *testing.T, program, name string, before ...any) *customer {
	t.Helper()
	c := &customer{name: name}
	c.card, c.link = issueOf(s, s.ProgramIDs[program], fields{"holder_name": name})
	for i := 0; i+1 < len(before); i += 2 {
		s.Till(s.TillToken).Post("/cards/"+c.card+"/"+before[i].(string), before[i+1]).Want(201)
	}
	c.code, _ = s.Codes(c.link)
	c.Page = Open(t, s.CardPage(c.link), View{Width: 390})
	c.Wait(name, "Show this code at the till")
	return c
}

// sees calls act, which does something at a till, and then waits until the customer's page
// shows a text that it did not show before. BenchmarkTap measures how soon.
func (c *customer) sees(text string, act func()) {
	c.t.Helper()
	eval[bool](c.Page, `text => {
		const shows = () => document.body.innerText.replace(/\s+/g, ' ').includes(text)
		if (shows()) throw 'the page shows it already: ' + text
		window.testSeen = false
		const observer = new MutationObserver(() => { if (shows()) { window.testSeen = true; observer.disconnect() } })
		observer.observe(document, {subtree: true, childList: true, characterData: true, attributes: true})
		return true
	}`, text)
	act()
	c.wait("the page of "+c.name+" to show "+text, func() (seen bool, err error) {
		if err = c.tab.eval(&seen, `() => window.testSeen === true`); err == nil && !seen {
			err = fmt.Errorf("the page shows: %s", c.Text())
		}
		return seen, err
	})
}

// demandPIN sets the PIN of the first location. Its tills then ask for the PIN, or for who works there.
func demandPIN(s *servertest.Server, pin string) {
	s.T.Helper()
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
		_, err := tx.SetStaffPIN(s.Shop(), s.LocationIDs[0], store.HashStaffPIN(store.Some(pin)))
		return err
	})
	s.Patch("/locations/"+s.LocationIDs[0], fields{"require_staff_pin": true}).Want(200)
}

// on returns the same page, which reports to a subtest.
func (p *Page) on(t testing.TB) *Page {
	own, copied := *p.tab, *p
	own.t = t
	copied.tab = &own
	return &copied
}

// An order is what a customer wants at a till. It is called while the till shows the card.
type order func(till *Page, c *customer)

// A queue is a list of customers with what they want.
type queue []struct {
	*customer
	order
}

// stamped gives stamps to a card without any.
func stamped(n int) order {
	return func(till *Page, c *customer) {
		for range n - 1 {
			till.Press("One stamp more")
		}
		c.sees(fmt.Sprintf("%d of 10 stamps", n), func() { till.give(n) })
	}
}

// give presses the button that gives stamps, and waits until the till says that it did.
func (p *Page) give(n int) {
	p.t.Helper()
	p.Press(plural(n, "Give %d stamp"))
	p.Wait(plural(n, "%d stamp") + " given.")
}

func plural(n int, format string) string {
	if n != 1 {
		format += "s"
	}
	return fmt.Sprintf(format, n)
}

// rewarded gives the fifth stamp and redeems the prize that it earns.
func rewarded(till *Page, c *customer) {
	c.sees("5 of 10 stamps", func() { till.give(1) })
	c.sees("Prize redeemed: Croissant", func() { till.Press("Redeem: Croissant") })
	till.Wait("Croissant was redeemed.")
}

// mistaken gives a stamp and takes it back.
func mistaken(till *Page, c *customer) {
	c.sees("1 of 10 stamps", func() { till.give(1) })
	c.sees("Corrected: 1 stamp taken back", func() { till.Press("Undo") })
	till.Wait("Undone: 1 stamp.", "0 of 10 stamps")
}

// completed redeems the last prize of a full card, after a question that is answered with no. It cannot
// be taken back.
func completed(till *Page, c *customer) {
	till.Press("Redeem a prize (2)")
	till.Press("Free coffee")
	till.Wait("This completes the card")
	till.Press("Cancel")
	till.Press("Redeem a prize (2)")
	till.Press("Free coffee")
	c.sees("Prize redeemed: Free coffee", func() { till.Press("Redeem") })
	till.Wait("Free coffee was redeemed.", "0 of 10 stamps")
	if strings.Contains(till.Text(), "Undo") {
		till.t.Error("the till offers to take the redemption back")
	}
}

// overflowing gives two stamps to a card with nine.
func overflowing(till *Page, c *customer) {
	till.Press("One stamp more")
	c.sees("Earlier card, 10 stamps", func() { till.give(2) })
	till.Wait("The card is full, and a new one was begun.", "and 1 full card before this one")
}

// paid tops a prepaid card up, spends more than there is, and then less.
func paid(till *Page, c *customer) {
	till.Press("Top up")
	till.Wait("Balance: €0.00")
	for _, key := range []string{"2", "0", "0", "0"} {
		till.Press(key)
	}
	c.sees("€20.00", func() { till.scan("") })
	till.Wait("€20.00 was added.")
	till.Press("Spend")
	till.scan("2050")
	till.Wait("There is not enough money on the card.")
	till.ExpectProblems() // 422
	till.Press("Spend")
	c.sees("€16.50", func() { till.scan("350") })
	till.Wait("€3.50 was spent. €16.50 is left.")
}

// discounted uses a discount.
func discounted(till *Page, c *customer) {
	c.sees("History", func() { till.Press("Use the discount") })
	till.Wait("The discount was recorded.")
}

// TestMorning is a morning of a shop: two tills, one of which scans with its camera and one
// with a scanner, and twelve customers, who have the pages of their cards open.
func TestMorning(t *testing.T) {
	t.Parallel()
	s := start(t)
	customer := func(program, name string, before ...any) *customer {
		return newCustomer(s, t, program, name, before...)
	}
	var atPhone, atTablet queue
	for i, name := range holders[:4] {
		q := &atPhone
		if i >= 2 {
			q = &atTablet
		}
		*q = append(*q, queue{{customer("standard", name), stamped(1 + i%2)}}...)
	}
	atPhone = append(atPhone, queue{
		{customer("standard", holders[4], "stamps", fields{"count": 4}), rewarded},
		{customer("standard", holders[5]), mistaken},
		{customer("standard", holders[6], "stamps", fields{"count": 10}), completed},
	}...)
	atTablet = append(atTablet, queue{
		{customer("standard", holders[7], "stamps", fields{"count": 9}), overflowing},
		{customer("prepaid", holders[8]), paid},
		{customer("discount", holders[9]), discounted},
	}...)
	reissued, locked := customer("standard", "Teo Tavernier"), customer("standard", "Uma Ulrich")
	s.Control("POST", "/staff", fields{"name": "Bruno", "pin": "4321"})
	s.Control("POST", "/staff", fields{"name": "Carla", "pin": "8642"})
	demandPIN(s, "0000")

	tablet := s.NewDevice(s.LocationIDs[0]).Key
	t.Run("tills", func(t *testing.T) {
		t.Run("phone", func(t *testing.T) {
			t.Parallel()
			serveWithCamera(t, s.On(t), atPhone)
		})
		t.Run("tablet", func(t *testing.T) {
			t.Parallel()
			p := openTillAt(t, s.Origin+"/till/", View{Width: 1024, Cookie: kernel.DeviceCookie("", tablet)})
			p.Press("Sign in")
			p.signIn("Carla", "8642")
			for _, c := range atTablet {
				p.scan(c.code)
				p.Wait(c.name)
				c.order(p, c.reportTo(t))
			}
			serveReissued(p, s.On(t), reissued.reportTo(t))
			serveLocked(p, s.On(t), locked.reportTo(t))
		})
	})
	for _, c := range append(append(queue{{reissued, nil}, {locked, nil}}, atPhone...), atTablet...) {
		checkCustomer(s, c.customer)
	}
}

// reportTo returns the same customer, whose page reports to a subtest.
func (c *customer) reportTo(t testing.TB) *customer {
	copied := *c
	copied.Page = c.Page.on(t)
	return &copied
}

// signIn chooses a member of staff and types the PIN.
func (p *Page) signIn(name, pin string) {
	p.t.Helper()
	p.Wait("Who is at the till?")
	p.Press(name)
	p.Wait("Continue")
	p.scan(pin)
	p.Wait(name + " is at the till.")
}

// serveWithCamera serves customers who hold their phones before the camera of a till, one after
// the other, until each has had a turn.
func serveWithCamera(t *testing.T, s *servertest.Server, q queue) {
	var codes []string
	left := map[string]int{}
	for i, c := range q {
		codes = append(codes, c.code)
		left[c.name] = i
	}
	p := openTill(t, s, View{Width: 390, Camera: filmOf(t, 0.4, codes...)})
	p.Press("Scan with the camera")
	for signedIn := false; len(left) > 0; {
		name := p.presented()
		i, waits := left[name]
		if waits {
			if !signedIn {
				p.Press("Sign in")
				p.Press("Bruno")
				p.Wait("Continue")
				p.scan("1111")
				p.Wait("That was the wrong PIN.", "Continue")
				p.ExpectProblems() // 401
				p.scan("4321")
				p.Wait("Bruno is at the till.")
				signedIn = true
			}
			q[i].order(p, q[i].reportTo(t))
			delete(left, name)
		}
		p.Press("Next card")
	}
}

// presented waits until the till shows a card and returns whose it is.
func (p *Page) presented() (name string) {
	p.t.Helper()
	p.wait("a card", func() (bool, error) {
		err := p.tab.eval(&name, `() => document.querySelector('[data-view=card] .stage:not([aria-busy]) .holder')?.innerText ?? ''`)
		return name != "", err
	})
	return name
}

// serveReissued serves a customer whose phone was lost: the code of before is refused, and the
// new page has another one.
func serveReissued(p *Page, s *servertest.Server, c *customer) {
	s.Post("/cards/"+c.card+"/reissue", nil).Want(200)
	c.Wait("This link was replaced by a newer one.")
	c.ExpectProblems() // 410
	p.scan(c.code)
	p.Wait("No card has this code.")
	p.ExpectProblems() // 404
	link := s.Post("/cards/"+c.card+"/install-link", nil).Want(200).Str("install_url")
	_, short := s.Codes(link)
	c.must(nil, c.navigate(s.CardPage(link)))
	c.Wait(c.name, "0 of 10 stamps")
	p.Fill("Code of the card", strings.ToUpper(short[:4]+" "+short[4:]))
	p.Press("Show")
	p.Wait(c.name)
	stamped(1)(p, c)
}

// serveLocked serves a customer whose card is locked, and unlocked while the till shows it.
func serveLocked(p *Page, s *servertest.Server, c *customer) {
	c.sees("This card is locked.", func() { s.Control("POST", "/cards/"+c.card+"/lock", nil) })
	p.scan(c.code)
	p.Wait(c.name, "This card is locked at the moment. Ask a manager.")
	s.Control("POST", "/cards/"+c.card+"/unlock", nil)
	p.scan(c.code)
	p.Wait("Give 1 stamp")
	stamped(1)(p, c)
}

// checkCustomer checks that the page of a stamp card shows the stamps that it has, and that a
// prepaid card has what paid leaves on it.
func checkCustomer(s *servertest.Server, c *customer) {
	s.T.Helper()
	card := s.Till(s.TillToken).Get("/cards/" + c.card).Want(200)
	if strings.Contains(c.Text(), " stamps") {
		c.Wait(fmt.Sprintf("%v of 10 stamps", card.At("card.stamps_count")))
	} else if value := card.At("card.current_value"); value != nil && fmt.Sprint(value) != "1650" {
		s.T.Errorf("the card of %s, who spent 3.50 of 20.00, has %v", c.name, value)
	}
}
