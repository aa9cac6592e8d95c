//go:build browser

package browser

import (
	"testing"

	"punchcard/server/kernel"
)

// TestTillCodeLarge checks that the short code of a new card is in one line, and larger than any other text of its dialog.
func TestTillCodeLarge(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := openTill(t, s, View{Width: 360})
	p.Press("Issue a new card")
	p.Press("Coffee card")
	p.Press("Issue the card")
	p.Wait("Show this to the customer")
	p.CheckNow()
	p.setSize(360, height, 1)
	for _, problem := range eval[[]string](p, `() => {
		const code = document.querySelector('dialog code'), size = e => parseFloat(getComputedStyle(e).fontSize)
		const large = [...document.querySelectorAll('dialog *')].filter(e => e !== code && e.innerText && size(e) >= size(code))
		return large.map(e => e.innerText + ' is as large as the code')
			.concat([...code.getClientRects()].slice(1).map(() => 'the code is broken'))
	}`) {
		t.Error(problem)
	}
}

// TestTillLargeType checks that a card with type of twice the size fits on a phone, with no word broken into letters.
func TestTillLargeType(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, short := codesOf(s, s.Issue(s.ProgramIDs["standard"], nil))
	p := openTill(t, s, View{Width: 360})
	p.must(nil, p.tab.eval(nil, `() => { document.documentElement.style.fontSize = '200%' }`))
	p.scan(short)
	p.Wait("0 of 10 stamps")
	for _, problem := range eval[[]string](p, `() => {
		const lines = e => new Set([...e.getClientRects()].map(r => r.top)).size
		const text = query => {
			const range = document.createRange()
			range.selectNodeContents(document.querySelector(query).firstChild)
			return range
		}
		return [...document.querySelectorAll('.act .button, .step')].filter(e => e.getBoundingClientRect().right > innerWidth)
			.map(e => e.innerText + ' is not on the screen')
			.concat(['.giving .huge span', '.ladder bdi'].filter(query => lines(text(query)) > 3).map(query => query + ' is broken'))
	}`) {
		t.Error(problem)
	}
}

// TestTillSignInFits checks in each language that the button to sign in is not cut on a phone.
func TestTillSignInFits(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Control("POST", "/staff", fields{"name": "Bruno", "pin": "4321"})
	for _, language := range []string{"en", "it", "es", "fr", "de", "pt"} {
		p := openTillAt(t, s.Origin+"/till/", View{Width: 360, Language: language, Cookie: kernel.DeviceCookie("", s.TillToken)})
		p.Wait("Demo till")
		if cut := eval[int](p, `() => { const e = document.querySelector('.chip [dir=auto]'); return e.scrollWidth - e.clientWidth }`); cut > 0 {
			t.Errorf("%s: %d pixels are cut", language, cut)
		}
	}
}
