//go:build browser

package browser

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store/backup"
)

// sendNow has the page send what waits, as when the connection is back.
const sendNow = `() => { dispatchEvent(new Event('online')) }`

// queueStamp has the page give a stamp to a card while the server answers no stamps.
func (p *Page) queueStamp(s *servertest.Server, code string) {
	p.t.Helper()
	s.Control("POST", "/faults", fields{"method": "POST", "path": "/cards/*/stamps", "status": 503, "count": 100})
	p.show(code, "of 10 stamps")
	p.Press("Give 1 stamp")
}

// kept waits until the page has kept the stamp, and ends what queueStamp began.
func (p *Page) kept(s *servertest.Server) {
	p.t.Helper()
	p.Wait("The stamp is kept on this device", "1 not sent")
	s.Control("DELETE", "/faults", nil)
	s.Control("DELETE", "/requests", nil)
	p.ExpectProblems() // 503
}

// posts returns the statuses of the stamps that were posted since kept, apart from those without
// an answer.
func posts(s *servertest.Server) (statuses []int) {
	s.T.Helper()
	type journal struct {
		Data []struct {
			Method, Path string
			Response     struct{ Status int }
		}
	}
	for _, e := range servertest.Decode[journal](s.Control("GET", "/requests", nil)).Data {
		if e.Method == "POST" && strings.HasSuffix(e.Path, "/stamps") {
			statuses = append(statuses, e.Response.Status)
		}
	}
	return statuses
}

// TestTillSendsNoWrongPINAgain checks that a stamp that waits is sent once with a wrong PIN,
// since wrong PINs lock the location, and that it then waits for a right one.
func TestTillSendsNoWrongPINAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, nil)
	demandPIN(s, "4711")
	p := openTill(t, s, View{})
	p.queueStamp(s, code)
	p.Wait("PIN of this location")
	p.scan("1111")
	p.kept(s)
	send := func() {
		p.Press("1 not sent")
		p.Press("Send now")
	}
	send()
	p.Wait("The PIN is wrong or missing. Sign in again.")
	p.run(sendNow)
	p.ExpectProblems() // 401
	send()
	p.Wait("PIN of this location")
	p.scan("4711")
	p.wait("the stamp", func() (bool, error) { return stamps(s, card) == "1", p.tab.eval(nil, sendNow) })
	if got := posts(s); got[0] != 401 || slices.Contains(got[1:], 401) {
		t.Errorf("the answers were %v", got)
	}
}

// TestTillOfAMovedShop checks that a stamp that waits is not given up when the server says that the shop has moved: the host of the
// till may lead to the new server soon.
func TestTillOfAMovedShop(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, nil)
	p := openTill(t, s, View{})
	p.queueStamp(s, code)
	p.kept(s)
	s.Control("POST", "/faults", fields{"method": "POST", "path": "/cards/*/stamps", "status": 410, "count": 1})
	p.Press("1 not sent")
	p.Press("Send now")
	p.Wait("The shop has moved to another server.", "1 not sent")
	p.ExpectProblems() // 410
	p.wait("the stamp", func() (bool, error) { return stamps(s, card) == "1", p.tab.eval(nil, sendNow) })
	if got := posts(s); !slices.Equal(got, []int{410, 201}) {
		t.Errorf("the posts were answered %v", got)
	}
}

// TestTillEndedSession checks that a stamp that waits is sent without the session of staff,
// if that has ended and the location demands none, and that what a search has found needs
// the connection.
func TestTillEndedSession(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, fields{"holder_name": "Ada Lovelace"})
	member := s.Control("POST", "/staff", fields{"name": "Bruno", "pin": "4321"}).Str("id")
	p := openTill(t, s, View{})
	p.Press("Search for a card")
	p.Press("Bruno")
	p.Wait("Continue")
	p.scan("4321")
	p.Fill("Name, email or phone number of the customer, at least three characters", "lovelace")
	p.Press("Search")
	s.Control("POST", "/faults", fields{"method": "GET", "path": "/cards/*", "status": 503})
	p.Press("Ada Lovelace")
	p.Wait("The server does not answer.", "Find the card")
	p.ExpectProblems() // 503
	p.queueStamp(s, code)
	p.kept(s)
	s.Control("POST", "/staff/"+member+"/disable", nil)
	p.Press("1 not sent")
	p.Press("Send now")
	p.Wait("Everything was sent.")
	p.ExpectProblems() // 401
	if strings.Contains(p.Text(), "Bruno") {
		t.Error("the page still says who was signed in")
	}
	if got := posts(s); !slices.Equal(got, []int{401, 201}) || stamps(s, card) != "1" {
		t.Errorf("the answers were %v, and the card has %s stamps", got, stamps(s, card))
	}
}

// TestTillOfAnotherShop checks that a till which becomes one of another shop keeps what waits
// for the first shop, and sends it when it is a till of the first one again.
func TestTillOfAnotherShop(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, nil)
	other := s.Control("POST", "/shops", fields{}).Str("till_token")
	p := openTill(t, s, View{})
	p.queueStamp(s, code)
	p.kept(s)
	become := func(token string) {
		t.Helper()
		p.setCookie(s.Origin+"/till/", kernel.DeviceCookie("", token))
		p.must(nil, p.navigate(s.Origin+"/till/"))
		p.Wait("Find the card")
	}
	become(other)
	p.Press("1 not sent")
	p.Wait("This device is not paired with the shop. Pair it again.")
	if got := posts(s); len(got) != 0 {
		t.Errorf("the till of the other shop has sent the stamp: %v", got)
	}
	become(s.TillToken)
	p.wait("the stamp", func() (bool, error) { return stamps(s, card) == "1", nil })
}

// TestTillStoresNothing checks that a till works where the browser stores nothing, and keeps
// a stamp as long as its page is open.
func TestTillStoresNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, nil)
	p := openTill(t, s, View{}, `for (const name of ['put', 'delete']) `+
		`IDBObjectStore.prototype[name] = () => { throw new DOMException('full', 'QuotaExceededError') }`)
	p.show(code, "0 of 10 stamps")
	p.Press("Give 1 stamp")
	p.Wait("1 of 10 stamps")
	p.queueStamp(s, code)
	p.kept(s)
	p.Press("1 not sent")
	p.Press("Send now")
	p.Wait("Everything was sent.")
	wantStamps(s, card, 2)
}

// TestTillOpenDuringRestore restores a backup while the page is open and has a stamp that
// waits: what the backup lacks is sent before it, without a reload.
func TestTillOpenDuringRestore(t *testing.T) {
	dir := t.TempDir()
	file, copied, at := filepath.Join(dir, "shop.db"), filepath.Join(dir, "backup.db"), "127.0.0.1:0"
	serve := func() *servertest.Server {
		return start(t, func(c *app.Config) { c.DB, c.Listen = file, at })
	}
	s := serve()
	at = strings.TrimPrefix(s.Origin, "http://")
	var codes []string
	for _, name := range []string{"Ada", "Bea"} {
		_, code := newCard(s, fields{"holder_name": name})
		codes = append(codes, code)
	}
	require.Must(backup.Create(t.Context(), file, copied, backup.Options{Quick: true}))
	p := openTill(t, s, View{})
	p.show(codes[0], "0 of 10 stamps")
	p.Press("Give 1 stamp")
	p.Wait("1 of 10 stamps")
	s.Stop()
	p.show(codes[1], "The server does not answer.")
	p.Press("Give 1 stamp")
	p.Wait("1 not sent")
	require.Must(backup.Restore(t.Context(), copied, file, s.App.Store.Now().Std(), backup.Options{Quick: true, Force: true}))
	s = serve()
	p.ExpectProblems() // requests without an answer
	p.run(sendNow)
	p.wait("the end of the queue", p.isSettled)
	got := s.Values("SELECT concat(c.holder_name, ' ', t.stamps_delta) FROM transactions t JOIN cards c ON c.id=t.card_id ORDER BY t.id")
	if !slices.Equal(got, []string{"Ada 1", "Bea 1"}) {
		t.Errorf("the ledger has %q", got)
	}
	p.ExpectProblems()
}
