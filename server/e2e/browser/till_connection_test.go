//go:build browser

package browser

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// How long the page waits, in milliseconds: see server/tillpage/assets/api.js.
const (
	slowAfter   = 1000
	personWaits = 3000 // also between two questions whether the server is back
	pageWaits   = 8000
)

// A hangingFront passes requests on to a server, and can keep requests or answers back.
type hangingFront struct {
	requests, answers atomic.Bool   // keeps requests, or the answers to writes, back
	release           chan struct{} // gives an answer that was kept back
	kept              chan struct{} // gets a value for each request and answer that is kept back
}

// openHanging opens the till page before a server that can hang.
func openHanging(t *testing.T, s *servertest.Server, v View) (*Page, *hangingFront) {
	t.Helper()
	f := &hangingFront{release: make(chan struct{}), kept: make(chan struct{}, 100)}
	target := require.Must(url.Parse(s.Origin))
	ended := make(chan struct{})
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := before(t, s, func(w http.ResponseWriter, r *http.Request) bool {
		api := strings.HasPrefix(r.URL.Path, "/till/v1/")
		hangs := api && f.requests.Load()
		late := api && !hangs && r.Method == http.MethodPost && f.answers.Load()
		if !hangs && !late {
			return false
		}
		answer := httptest.NewRecorder()
		if late {
			proxy.ServeHTTP(answer, r)
		}
		f.kept <- struct{}{}
		select {
		case <-f.release:
		case <-r.Context().Done():
		case <-ended:
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
		return true
	})
	v.Cookie = kernel.DeviceCookie("", s.TillToken)
	p := openTillAt(t, front+"/till/", v)
	t.Cleanup(func() { close(ended) })
	p.Wait("Find the card", "Connected")
	return p, f
}

// TestTillHangingServer looks two cards up at a server that does not answer any more. The first
// look-up is given up, after a stamp was offered; from then on the page answers at once. When the
// server is back, it sends the stamp and shows the card.
func TestTillHangingServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	var codes, cards []string
	for _, name := range []string{"Ada Lovelace", "Grace Hopper"} {
		card, code := newCard(s, fields{"holder_name": name})
		codes, cards = append(codes, code), append(cards, card)
	}
	p, f := openHanging(t, s, View{})
	f.requests.Store(true)
	p.scan(codes[0])
	<-f.kept
	p.pass(slowAfter)
	p.Wait("Slow", "The server takes long. A stamp can be given now", "Give 1 stamp")
	p.CheckNow()
	p.Press("One stamp more")
	p.pass(personWaits)
	p.Wait("Offline", "The server does not answer. A stamp is kept and sent later", "Give 2 stamps")
	p.CheckNow()
	p.Press("Give 2 stamps") // no timer passes: the page answers at once
	p.Wait("The stamp is kept on this device", "1 not sent")
	p.show(codes[1], "The server does not answer. A stamp is kept and sent later")
	p.ExpectProblems()
	f.requests.Store(false)
	p.pass(pageWaits) // ends the question whether the server is back
	p.pass(personWaits)
	p.Wait("Connected", "Grace Hopper", "0 of 10 stamps", "Everything was sent.")
	p.wait("the stamps", func() (bool, error) { return stamps(s, cards[0]) == "2", nil })
	if text := p.Text(); strings.Contains(text, "not sent") || strings.Contains(text, "does not answer") {
		t.Errorf("the page still says %s", text)
	}
	p.ExpectProblems() // requests that were given up
}

// TestTillLateAnswers gives a stamp and redeems a prize whose answers come after the page has
// given them up. It says then what came of them, and both were made once.
func TestTillLateAnswers(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, fields{"holder_name": "Ada Lovelace"})
	addStamps(s, card, 5)
	p, f := openHanging(t, s, View{})
	late := func(button, before, after string) {
		t.Helper()
		p.show(code, "of 10 stamps")
		f.answers.Store(true)
		p.press(button, buttons)
		<-f.kept
		p.pass(personWaits)
		p.Wait("Offline", before)
		f.answers.Store(false)
		f.release <- struct{}{}
		p.Wait(after, "Slow")
		if strings.Contains(p.Text(), "not sent") {
			t.Errorf("the page still says %s", p.Text())
		}
		p.pass(personWaits)
		p.Wait("Connected")
	}
	late("Give 1 stamp", "The stamp is kept on this device", "Done: 1 stamp · Ada Lovelace.")
	late("Redeem: Croissant", "it is not known whether this was done", "Done: Croissant · Ada Lovelace.")
	if got := s.Values("SELECT type FROM transactions ORDER BY id"); strings.Join(got, " ") != "stamp stamp redemption" {
		t.Errorf("the ledger has %q", got)
	}
	p.ExpectProblems()
}

// TestTillRedeemsNothingLater redeems a prize at a server that hangs. Nothing sends the redemption
// later but the person who asks again, and while the server does not answer the page tries none.
func TestTillRedeemsNothingLater(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, fields{"holder_name": "Ada Lovelace"})
	addStamps(s, card, 6)
	p, f := openHanging(t, s, View{})
	p.show(code, "6 of 10 stamps")
	f.requests.Store(true)
	p.press("Redeem: Croissant", buttons)
	<-f.kept
	p.pass(personWaits)
	p.Wait("Offline", "it is not known whether this was done", "1 not sent")
	p.Press("Redeem: Croissant")
	p.Wait("The server does not answer. Check the connection", "1 not sent")
	f.requests.Store(false)
	p.pass(personWaits)
	p.Wait("Connected")
	if text := p.Text(); strings.Contains(text, "does not answer") {
		t.Errorf("the page still says %s", text)
	}
	if n := s.Value("SELECT count(*) FROM transactions WHERE type='redemption'"); n != "0" {
		t.Errorf("%s redemptions were made that nobody asked for", n)
	}
	p.Press("1 not sent")
	p.Press("Ask again")
	p.Wait("Done: Croissant · Ada Lovelace.")
	if n := s.Value("SELECT count(*) FROM transactions WHERE type='redemption'"); n != "1" {
		t.Errorf("%s redemptions", n)
	}
	p.ExpectProblems()
}

// TestTillSaysWhatWasRefused sends three stamps that waited, of which one is refused: the page says
// both numbers, and lists the refused one with its reason until it is removed. Before, it asks for
// the member of staff without whom they are not sent.
func TestTillSaysWhatWasRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := openTill(t, s, View{})
	var cards []string
	for range 3 {
		card, code := newCard(s, fields{"holder_name": "Ada Lovelace"})
		cards = append(cards, card)
		p.queueStamp(s, code)
		p.Wait("The stamp is kept on this device")
	}
	s.Control("DELETE", "/faults", nil)
	p.ExpectProblems() // 503
	s.Control("POST", "/cards/"+cards[1]+"/lock", nil)
	s.Control("POST", "/staff", fields{"name": "Bruno", "pin": "4321"})
	demandPIN(s, "4711")
	p.run(sendNow)
	p.Wait("3 entries wait until somebody signs in.")
	p.CheckNow()
	p.Press("Sign in and send")
	p.Press("Bruno")
	p.Wait("Continue")
	p.scan("4321")
	p.Wait("2 sent, 1 refused.", "1 not sent")
	p.CheckNow()
	p.Press("Show what was refused")
	p.Wait("This card is locked at the moment. Ask a manager.")
	p.Press("Remove: 1 stamp · Ada Lovelace")
	p.Wait("Nothing waits to be sent.")
	for i, want := range []string{"1", "0", "1"} {
		if got := stamps(s, cards[i]); got != want {
			t.Errorf("card %d has %s stamps", i, got)
		}
	}
	p.ExpectProblems() // 422
}
