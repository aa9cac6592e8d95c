//go:build browser

package browser

import (
	"net/http"
	"sync/atomic"
	"testing"

	"punchcard/server/kernel"
)

// TestTillPressedWhileDrawn holds the button that lists what was not sent, while what it shows
// changes: the press is not lost.
func TestTillPressedWhileDrawn(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, nil)
	p := openTill(t, s, View{})
	p.queueStamp(s, code)
	p.kept(s)
	s.Control("POST", "/cards/"+card+"/lock", nil)
	var at struct{ X, Y float64 }
	p.must(nil, p.evalOn(p.look("1 not sent", buttons), &at, `function() {
		const r = this.getBoundingClientRect()
		return {x: r.x + r.width / 2, y: r.y + r.height / 2}
	}`))
	p.must(nil, p.mouse(down, at.X, at.Y))
	p.run(sendNow)
	p.wait("the refusal", func() (shown bool, err error) {
		err = p.tab.eval(&shown, `() => !!document.querySelector('header .chip.bad')`)
		return shown, err
	})
	p.must(nil, p.mouse(up, at.X, at.Y))
	p.Wait("This card is locked at the moment. Ask a manager.")
	p.ExpectProblems() // 422
}

// TestTillUndoneAtOnce takes a stamp back before the card is shown with it.
func TestTillUndoneAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, nil)
	var slow atomic.Bool
	answered := make(chan struct{})
	front := before(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && slow.Load() {
			<-answered
		}
		return false
	})
	p := openTillAt(t, front+"/till/", View{Cookie: kernel.DeviceCookie("", s.TillToken)})
	p.Wait("Find the card")
	p.show(code, "0 of 10 stamps")
	slow.Store(true)
	p.Press("Give 1 stamp")
	p.Wait("1 stamp given.")
	p.pressSoon("Undo")
	slow.Store(false)
	close(answered)
	p.Wait("Undone: 1 stamp.", "0 of 10 stamps")
	wantStamps(s, card, 0)
}
