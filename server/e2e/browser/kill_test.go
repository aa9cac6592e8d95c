//go:build browser

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest"
)

// These tests kill the till page at each step of its queue: before each write to IndexedDB,
// before each request that writes, and after each answer.

// stopBefore returns a script that stops the page for ever before its n-th step, and reports
// that.
func stopBefore(n int) string {
	return fmt.Sprintf(`(n => {
	let steps = 0
	const step = name => {
		if (++steps < n) return
		%s('step ' + n + ': ' + name)
		for (;;);
	}
	for (const name of ['put', 'delete']) {
		const real = IDBObjectStore.prototype[name]
		IDBObjectStore.prototype[name] = function (...a) { step(name); return real.apply(this, a) }
	}
	const real = window.fetch
	window.fetch = async (path, options) => {
		if (options?.method !== 'POST') return real(path, options)
		step('request')
		const answer = await real(path, options)
		step('answer')
		return answer
	}
})(%d)`, reportBinding, n)
}

// step waits until the page stops before a step, and returns which, or until done reports
// true.
func (p *Page) step(done func() (bool, error)) (name string) {
	p.t.Helper()
	p.wait("a step or the end", func() (bool, error) {
		for _, problem := range p.Problems() {
			if strings.HasPrefix(problem, "step ") {
				name = problem
				return true, nil
			}
		}
		return done()
	})
	return name
}

// shows returns a function that reports whether the page shows a text.
func (p *Page) shows(text string) func() (bool, error) {
	return func() (bool, error) {
		var shown string
		err := p.evalWithin(time.Second, &shown, `() => document.body.innerText`)
		return strings.Contains(words(shown), words(text)), err
	}
}

// pressSoon presses a button and does not wait for what comes of it.
func (p *Page) pressSoon(text string) {
	p.t.Helper()
	p.must(nil, p.evalOn(p.look(text, buttons), nil, `function() { setTimeout(() => this.click()) }`))
}

// killed kills the page and opens url in its place. script, unless it is empty, runs in the new
// page before its own scripts.
func (p *Page) killed(url, script string) *Page {
	p.t.Helper()
	b, v := p.tab.kill(), p.View
	p.ExpectProblems()
	v.Cookie = nil // the profile has it
	if script == "" {
		return openIn(b, url, v)
	}
	b.onEachPage(script)
	q := openIn(b, "about:blank", v)
	q.leaveFor(url)
	return q
}

// isSettled reports whether the page has no record whose write is to be sent.
func (p *Page) isSettled() (settled bool, err error) {
	err = p.evalWithin(time.Second, &settled, `() => new Promise((resolve, reject) => {
		const open = indexedDB.open('till', 1)
		open.onerror = reject
		open.onsuccess = () => {
			const all = open.result.transaction('writes').objectStore('writes').getAll()
			all.onsuccess = () => { open.result.close(); resolve(all.result.every(r => r.state === 'done' || r.state === 'refused')) }
		}
	})`)
	return settled, err
}

// killer kills a till page at its steps.
type killer struct {
	s   *servertest.Server
	p   *Page
	url string
}

// stamp gives a stamp to a new card, which is locked before that if lock is set, on a page that
// stops before its step first, and kills the page. Unless second is 0, the next page stops before
// its step second and is killed too. The last page sends what is left. at and then are the steps
// before which the pages stopped; empty: they did not.
func (k *killer) stamp(first, second int, lock bool) (card, at, then string) {
	k.s.T.Helper()
	card, _ = issue(k.s, nil)
	code, _ := codesOf(k.s, card)
	k.p = k.p.killed(k.url, stopBefore(first))
	k.p.Wait("Find the card")
	k.p.scan(code)
	k.p.Wait("0 of 10 stamps")
	said := "1 stamp given."
	if lock {
		k.s.Control("POST", "/cards/"+card+"/lock", nil)
		said = "This card is locked"
	}
	k.p.pressSoon("Give 1 stamp")
	at = k.p.step(k.p.shows(said))
	if second > 0 {
		k.p = k.p.killed(k.url, stopBefore(second))
		then = k.p.step(k.p.isSettled)
	}
	k.p = k.p.killed(k.url, "")
	k.p.Wait("Find the card")
	k.p.wait("the end of the queue", k.p.isSettled)
	return card, at, then
}

// TestTillKilled kills the page before each step of a stamp, and the page that comes after it
// before each of its steps. The card has the stamp once, or not at all if nothing was stored.
func TestTillKilled(t *testing.T) {
	t.Parallel()
	s := start(t)
	k := &killer{s, openTill(t, s, View{}), s.Origin + "/till/"}
	check := func(card, want, when string) {
		t.Helper()
		if got := stamps(s, card); got != want {
			t.Errorf("%s: the card has %s stamps, want %s", when, got, want)
		}
	}
	var steps []string
	for first := 1; ; first++ {
		card, at, _ := k.stamp(first, 0, false)
		if at == "" {
			check(card, "1", "without a kill")
			break
		}
		steps = append(steps, strings.TrimPrefix(at, fmt.Sprintf("step %d: ", first)))
		check(card, map[bool]string{true: "0", false: "1"}[first == 1], at)
	}
	if got := strings.Join(steps, " "); got != "put request answer put" {
		t.Errorf("the steps of a stamp are %s", got)
	}
	steps = nil
	for second := 1; ; second++ {
		card, _, then := k.stamp(2, second, false) // the first page has stored the stamp and not sent it
		check(card, "1", then)
		if then == "" {
			break
		}
		steps = append(steps, strings.TrimPrefix(then, fmt.Sprintf("step %d: ", second)))
	}
	if got := strings.Join(steps, " "); got != "put request answer put" {
		t.Errorf("the steps of the next page are %s", got)
	}
	// A refusal that nobody has seen is listed by the next page.
	card, at, _ := k.stamp(4, 0, true)
	check(card, "0", at)
	if at != "step 4: delete" {
		t.Errorf("the page stopped at %s", at)
	}
	k.p.Press("1 not sent")
	k.p.Wait("This card is locked at the moment. Ask a manager.")
	k.p.Press("Remove: 1 stamp · Coffee card")
	k.p.Wait("Nothing waits to be sent.")
	k.p.ExpectProblems() // 422
	if n := s.Value("SELECT count(*)-count(DISTINCT client_reference) FROM transactions"); n != "0" {
		t.Errorf("%s rows too many", n)
	}
}

// TestTillKilledRedeeming kills the page after a redemption was made and before its answer is
// stored, and another time before the request is sent. The next page asks the person, who asks the
// server again.
func TestTillKilledRedeeming(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, nil)
	addStamps(s, card, 6)
	p := openTill(t, s, View{})
	for i, step := range []string{"step 3: answer", "step 2: request"} {
		p = p.killed(s.Origin+"/till/", stopBefore(3-i))
		p.Wait("Find the card")
		p.show(code, "6 of 10 stamps")
		p.pressSoon("Redeem: Croissant")
		if at := p.step(p.shows("was redeemed")); at != step {
			t.Fatalf("the page stopped at %q", at)
		}
		p = p.killed(s.Origin+"/till/", "")
		p.Press("1 not sent")
		p.Wait("The server has not answered")
		p.Press("Ask again")
		p.Wait("Done: Croissant · Coffee card.")
		rows := s.Till(s.TillToken).Get("/transactions").Want(200)
		if n := len(rows.IDs()); n != 2+2*i || rows.Str("data.0.type") != "redemption" {
			t.Errorf("%s: %s", step, rows.Body)
		}
		s.Till(s.TillToken).Post("/transactions/"+rows.Str("data.0.id")+"/reversal", nil).Want(201)
	}
}
