//go:build browser

package browser

import "testing"

// TestTillLargeType checks that a card with type of twice the size fits on a phone, with no word broken into letters.
func TestTillLargeType(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, short := codesOf(s, s.Issue(s.ProgramIDs["standard"], nil))
	p := openTill(t, s, View{Width: 360})
	p.run(`() => { document.documentElement.style.fontSize = '200%' }`)
	p.show(short, "0 of 10 stamps")
	p.check("large type", eval[[]string](p, `() => {
		const lines = e => new Set([...e.getClientRects()].map(r => r.top)).size
		const text = query => {
			const range = document.createRange()
			range.selectNodeContents(document.querySelector(query).firstChild)
			return range
		}
		return [...document.querySelectorAll('.act .button, .step')].filter(e => e.getBoundingClientRect().right > innerWidth)
			.map(e => e.innerText + ' is not on the screen')
			.concat(['.giving .huge span', '.ladder bdi'].filter(query => lines(text(query)) > 3).map(query => query + ' is broken'))
	}`))
}
