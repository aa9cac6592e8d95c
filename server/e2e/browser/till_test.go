//go:build browser

package browser

import (
	"fmt"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/server/web"
	"punchcard/store"
)

// manualTimers is a script that has the page do by itself only what a test asks for with pass, and
// not what depends on how fast the machine is: offering a stamp during a look-up, giving requests
// up, asking whether the server is back, sending what waits, and taking "Undo" away. Answers take no
// time but what passes meanwhile.
const manualTimers = `(() => {
	let now = 0
	performance.now = () => now
	const timers = new Map(), start = window.setTimeout, stop = window.clearTimeout
	let last = 1e9
	const add = (ms, act, again) => (timers.set(++last, {ms, act, again}), last)
	window.setInterval = (f, ms) => add(ms, f, true)
	window.setTimeout = (f, ms, ...a) => ms >= 1000 ? add(ms, () => f(...a)) : start(f, ms, ...a)
	window.clearTimeout = id => timers.delete(id) || stop(id)
	window.testPass = ms => {
		now += ms
		for (const [id, t] of [...timers]) if (t.ms === ms) { t.again || timers.delete(id); t.act() }
	}
})();`

// pass has the timers of the page end that were set for so many milliseconds.
func (p *Page) pass(ms int) {
	p.t.Helper()
	p.run(`ms => testPass(ms)`, ms)
}

// openTill opens the till page as the demo till, with manualTimers. The scripts run before those
// of the page.
func openTill(t *testing.T, s *servertest.Server, v View, scripts ...string) *Page {
	t.Helper()
	v.Cookie = kernel.DeviceCookie("", s.TillToken)
	p := openTillAt(t, s.Origin+"/till/", v, scripts...)
	p.Wait("Find the card")
	return p
}

// openTillAt opens the till page at a URL, as openTill does.
func openTillAt(t *testing.T, url string, v View, scripts ...string) *Page {
	t.Helper()
	b := openTab(t, v.Camera)
	for _, script := range append(scripts, manualTimers) {
		b.onEachPage(script)
	}
	return openIn(b, url, v)
}

// codesOf returns the content of a card's QR code, and its short code.
func codesOf(s *servertest.Server, card string) (code, short string) {
	s.T.Helper()
	return s.Codes(s.Post("/cards/"+card+"/install-link", nil).Want(200).Str("install_url"))
}

// stamps returns how many stamps a card has.
func stamps(s *servertest.Server, card string) string {
	s.T.Helper()
	return fmt.Sprint(s.Get("/cards/" + card).Want(200).At("stamps_count"))
}

// wantStamps checks how many stamps a card has.
func wantStamps(s *servertest.Server, card string, want int) {
	s.T.Helper()
	s.Get("/cards/" + card).WantOK(fields{"stamps_count": want})
}

// addStamps gives stamps to a card at the demo till.
func addStamps(s *servertest.Server, card string, count int) {
	s.T.Helper()
	s.Till(s.TillToken).Post("/cards/"+card+"/stamps", fields{"count": count}).Want(201)
}

// scan types a code, or digits, and Enter, as a scanner does that acts as a keyboard: at once.
func (p *Page) scan(code string) {
	p.t.Helper()
	p.run(typeAtOnce, code)
}

// typeAtOnce types a code and Enter in one moment, however busy the machine is.
const typeAtOnce = `code => {
	const now = new Event('now').timeStamp
	for (const key of [...code, 'Enter']) {
		const press = new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})
		Object.defineProperty(press, 'timeStamp', {value: now})
		;(document.activeElement || document.body).dispatchEvent(press)
	}
}`

// TestTillStart begins at the start page of dev, which pairs the demo till.
func TestTillStart(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := Open(t, s.Origin+"/", View{})
	p.Press("Open the demo till")
	p.Wait("Centrale", "Find the card")
	p.Press("Menu")
	p.Press("Unpair this device")
	p.Press("Unpair")
	p.Wait("Pair this device with the shop")
	if p.Cookie("punchcard-till") != nil {
		t.Error("the cookie is still there")
	}
	p.ExpectProblems() // GET /me is 401
}

// TestTillStamps gives stamps by a typed code and by a scanner, takes one back, redeems a
// prize, and is refused.
func TestTillStamps(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, _ := issue(s, fields{"holder_name": "Ada Lovelace"})
	code, short := codesOf(s, card)
	p := openTill(t, s, View{Width: 390})
	p.Fill("Code of the card", strings.ToUpper(short[:4]+"-"+short[4:]))
	p.Press("Show")
	p.Wait("Coffee card", "Ada Lovelace", "0 of 10 stamps")
	p.Press("Give 1 stamp")
	p.Wait("1 stamp given. The card has 1 now.", "1 of 10 stamps")
	p.Press("Undo")
	p.Wait("Undone: 1 stamp.", "0 of 10 stamps")
	p.next()
	p.show(code, "0 of 10 stamps")
	for range 5 {
		p.Press("One stamp more")
	}
	p.Press("Give 6 stamps")
	p.Wait("6 stamps given.", "6 of 10 stamps", "Ready")
	p.Press("Redeem: Croissant")
	p.Wait("was redeemed", "Redeemed")
	wantStamps(s, card, 6)
	p.scan("k7qm2x9pk7qm2x9p")
	p.Wait("No card has this code.")
	p.ExpectProblems() // 404
	p.show(code, "6 of 10 stamps")
	s.Control("POST", "/cards/"+card+"/lock", nil)
	p.Press("Give 1 stamp")
	p.Wait("This card is locked at the moment. Ask a manager.")
	p.ExpectProblems() // 422
	p.Press("Next card")
	p.Press("Menu")
	p.Press("Last entries")
	p.Wait("Redeemed: Croissant", "6 stamps", "Undone")
}

// TestTillPrizesDue checks that prizes are counted over all cards of a chain, and that the
// largest button redeems one.
func TestTillPrizesDue(t *testing.T) {
	t.Parallel()
	s := start(t)
	program := s.NewProgram("standard", true, fields{"name": "Espresso card", "repeat_after_reset": true, "total_stamps": 10})
	s.Post("/programs/"+program+"/prizes", fields{"threshold": 10, "name": "Free coffee"}).Want(201)
	card, _ := issueOf(s, program, nil)
	till := s.Till(s.TillToken)
	for range 3 {
		till.Post("/cards/"+card+"/stamps", fields{"count": 10}).Want(201)
	}
	till.Post("/cards/"+card+"/stamps", fields{"count": 2}).Want(201)
	code, _ := codesOf(s, card)
	p := openTill(t, s, View{Width: 390})
	largest := func(want string) {
		t.Helper()
		got := eval[string](p, `() => [...document.querySelectorAll('.act .huge')].map(b => b.innerText.trim()).join('; ')`)
		if got != want {
			t.Errorf("the largest button is %q, want %q", got, want)
		}
	}
	p.show(code, "2 of 10 stamps", "and 3 full cards before this one", "Free coffee × 3", "Ready")
	largest("Redeem 1 of 3: Free coffee")
	p.CheckNow()
	p.Press("Redeem 1 of 3: Free coffee")
	p.Press("Redeem")
	p.Wait("Free coffee was redeemed.", "and 2 full cards before this one", "Redeem 1 of 2: Free coffee")
	largest("Next card") // a second tap must not redeem again
	card, code = newCard(s, nil)
	till.Post("/cards/"+card+"/stamps", fields{"count": 10}).Want(201)
	till.Post("/cards/"+card+"/stamps", fields{"count": 6}).Want(201)
	p.show(code, "6 of 10 stamps")
	largest("Redeem a prize (3)")
	p.Press("Redeem a prize (3)")
	p.Wait("Croissant × 2 · at 5", "One of these · at 10", "Slice of cake")
	p.CheckNow()
}

// TestTillIssues issues a card, shows its QR code and its short code, and goes on with the new card, on a
// device that takes no ids in writes. The short code is in one line, and larger than any other text of its
// dialog. Then it loses the answer of an issue: asked again, the page goes on with the card that was issued.
func TestTillIssues(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.TillToken = s.Control("POST", "/devices", fields{"location_id": s.LocationIDs[0], "accept_card_ids": false}).Str("token")
	p := openTill(t, s, View{Width: 360})
	issueTo := func(name string) {
		t.Helper()
		p.Press("Issue a new card")
		p.Press("Coffee card")
		p.Fill("Name of the customer", name)
		p.Press("Issue the card")
	}
	issueTo("Grace Hopper")
	p.Wait("Show this to the customer")
	_, short := codesOf(s, s.Get("/cards?limit=1").Want(200).Str("data.0.id"))
	p.Wait(web.GroupCode(short))
	p.check("short code", eval[[]string](p, `() => {
		const code = document.querySelector('dialog code'), size = e => parseFloat(getComputedStyle(e).fontSize)
		const large = [...document.querySelectorAll('dialog *')].filter(e => e !== code && e.innerText && size(e) >= size(code))
		return large.map(e => e.innerText + ' is as large as the code')
			.concat([...code.getClientRects()].slice(1).map(() => 'the code is broken'))
	}`))
	p.Press("Done")
	p.Wait("The card was issued.", "Grace Hopper", "0 of 10 stamps")
	if got := s.Get("/cards?limit=1").Want(200).At("data.0.holder_name"); got != "Grace Hopper" {
		t.Errorf("the card is of %v", got)
	}
	p.Press("Give 1 stamp")
	p.Wait("1 stamp given.", "1 of 10 stamps")
	p.Press("Undo")
	p.Wait("Undone: 1 stamp.", "0 of 10 stamps")
	p.next()
	s.Control("POST", "/faults", fields{"method": "POST", "path": "/programs/*/cards", "status": 503, "when": "after"})
	issueTo("Ada Lovelace")
	p.Wait("it is not known whether this was done")
	p.ExpectProblems() // 503
	p.Press("Ask again")
	p.Wait("Show this to the customer")
	p.Press("Done")
	p.Wait("Ada Lovelace", "0 of 10 stamps")
	if n := len(s.Get("/cards").Want(200).IDs()); n != 2 {
		t.Errorf("%d cards were issued", n)
	}
}

// TestTillIssuesPrepaid issues a prepaid card with an email, a phone number and the money with which it begins.
func TestTillIssuesPrepaid(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := openTill(t, s, View{Width: 390})
	p.Press("Issue a new card")
	p.Press("Prepaid card")
	p.Fill("Name of the customer", "Grace Hopper")
	p.Fill("Email, if wanted", "grace@example.com")
	p.Fill("Phone number, if wanted", "06 1234 5678")
	p.Press("Continue")
	p.Wait("Money on the card", "This cannot be undone at the till")
	p.scan("2550")
	p.Wait("€25.50", "Show this to the customer")
	p.Press("Done")
	p.Wait("The card was issued with €25.50.", "Grace Hopper")
	card := s.Get("/cards?phone=%2B390612345678").Want(200)
	if card.At("data.0.holder_email") != "grace@example.com" || fmt.Sprint(card.At("data.0.current_value")) != "2550" {
		t.Errorf("%s", card.Body)
	}
	p.Press("Next card")
	p.Press("Issue a new card")
	p.Press("Prepaid card")
	p.Press("Continue")
	p.Wait("Money on the card")
	p.CheckNow()
	p.Press("Issue the card") // without money
	p.Wait("Show this to the customer")
	p.Press("Done")
	p.Wait("The card was issued.", "€0.00")
}

// TestTillToday reads the till's own count of its day.
func TestTillToday(t *testing.T) {
	t.Parallel()
	s := start(t)
	till := s.Till(s.TillToken)
	card, _ := issue(s, nil)
	till.Post("/cards/"+card+"/stamps", fields{"count": 6}).Want(201)
	till.Post("/cards/"+card+"/redemptions", fields{
		"prize_id": s.Get("/programs/" + s.ProgramIDs["standard"]).Want(200).Str("prizes.0.id"),
	}).Want(201)
	gift := till.Post("/programs/"+s.ProgramIDs["prepaid"]+"/cards", fields{"amount_cents": 2550}).NewID()
	till.Post("/cards/"+gift+"/topups", fields{"amount_cents": 1000}).Want(201)
	till.Post("/cards/"+gift+"/spends", fields{"amount_cents": 350}).Want(201)
	p := openTill(t, s, View{Width: 390})
	p.Press("Menu")
	p.Press("Today")
	p.Wait("This till alone, on", "Mar 1, 2026", "Stamps 6", "Prizes redeemed 1", "New cards 1", "Topped up €10.00",
		"On new cards €25.50", "Spent from cards €3.50")
	p.CheckNow()
}

// TestTillStaff signs a member of staff in where the location demands it for a stamp.
func TestTillStaff(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, code := newCard(s, fields{"holder_name": "Ada Lovelace"})
	s.Control("POST", "/staff", fields{"name": "Bruno", "pin": "4321"})
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		_, err := tx.UpdateLocationSettings(store.Access{Shop: s.Shop()}, s.LocationIDs[0], store.LocationSettingsPatch{
			StaffDemand: store.StaffDemand{RequireStaff: store.Given(true)},
		})
		return err
	})
	p := openTill(t, s, View{Width: 390})
	p.show(code, "Ada Lovelace")
	p.Press("Give 1 stamp")
	p.Wait("Who is at the till?")
	p.Press("Bruno")
	p.Wait("Continue")
	p.scan("4321")
	p.Wait("1 stamp given.", "1 of 10 stamps")
	p.Press("Next card")
	p.Press("Last entries")
	p.Wait("Bruno")
}

// waitForWorker waits until the service worker keeps the page.
func (p *Page) waitForWorker() {
	p.t.Helper()
	p.wait("the service worker", func() (kept bool, err error) {
		err = p.tab.eval(&kept, `async () => { await navigator.serviceWorker.ready; return !!(await caches.match('/till/')) }`)
		return kept, err
	})
}
