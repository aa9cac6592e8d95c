//go:build browser

package browser

import "testing"

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
	p.ShootAs("till-new-card-360")
	for _, problem := range eval[[]string](p, `() => {
		const code = document.querySelector('dialog code'), size = e => parseFloat(getComputedStyle(e).fontSize)
		const large = [...document.querySelectorAll('dialog *')].filter(e => e !== code && e.innerText && size(e) >= size(code))
		return [...large.map(e => e.innerText + ' is as large as the code'), ...[...code.getClientRects()].slice(1).map(() => 'the code is broken')]
	}`) {
		t.Error(problem)
	}
}
