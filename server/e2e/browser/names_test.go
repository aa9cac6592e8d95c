//go:build browser

package browser

import (
	"fmt"
	"strings"
	"testing"
)

// hostileNames returns a function that gives things names that are hard to show: with
// markup, right-to-left, of emoji, and of 200 characters without a blank.
func hostileNames() func(string) string {
	names := []string{
		`<script>alert(1)</script><b>"bold" & 'quoted'</b>`,
		longName,
		"مقهى الزاوية שלום עולם " + strings.Repeat("ابجدهوزحطي", 12),
		strings.Repeat("👩‍👩‍👧‍👦☕️", 15),
		"{{.Secret}} %s %n ${1} `x` \\u0000 &lt;i&gt;",
	}
	next := 0
	return func(string) string {
		next++
		name := []rune(names[next%len(names)])
		return string(name[:min(len(name), 200)])
	}
}

// TestHostileNames checks that names which are hard to show neither break a page nor run
// out of it.
func TestHostileNames(t *testing.T) {
	d := startDemo(t, hostileNames())
	d.visitAll(t, func(b *tab, address string, v visit) {
		if v.rules.Public {
			return // it is the same for everybody, so it shows no name of a shop
		}
		p := openIn(b, address, View{Cookie: v.rules.Cookie, Width: 360})
		p.check("width", checkWidths(p))
		p.check("markup", checkMarkup(p))
		for _, width := range []int{1280, 360} {
			p.setSize(width, height, 1)
			p.check(fmt.Sprint("texts at ", width, " px"), checkRuns(p))
		}
	})
}

// checkMarkup checks that the markup in names is text.
func checkMarkup(p *Page) []string {
	p.t.Helper()
	return eval[[]string](p, `() => [...document.querySelectorAll('script:not([src]), main b')]
		.filter(e => e.textContent.includes('alert(1)') && e.tagName === 'SCRIPT' || e.textContent.startsWith('"bold"') &&
			e.parentElement.textContent.length === e.textContent.length)
		.map(e => 'markup of a name: ' + e.outerHTML.slice(0, 100))`)
}

// checkRuns returns the elements whose text runs over their border.
func checkRuns(p *Page) []string {
	p.t.Helper()
	return eval[[]string](p, `() => {
		const bad = []
		const clipped = e => !!e && (getComputedStyle(e).clipPath !== 'none' || clipped(e.parentElement)) // for screen readers only
		const scrolls = e => !!e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement))
		const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
		for (let n = walk.nextNode(); n; n = walk.nextNode()) {
			if (!n.data.trim() || !n.parentElement.checkVisibility() || n.parentElement.closest('svg') || clipped(n.parentElement) ||
				scrolls(n.parentElement)) continue
			const range = document.createRange()
			range.selectNodeContents(n)
			const text = range.getBoundingClientRect()
			const hangs = getComputedStyle(n.parentElement).whiteSpaceCollapse === 'preserve' ? 12 : 1 // a blank at the end of a line
			for (let box = n.parentElement; box && box !== document.body; box = box.parentElement) {
				const style = getComputedStyle(box)
				if (style.overflowX !== 'visible' || style.position === 'absolute') break
				if (style.display === 'inline') continue
				const r = box.getBoundingClientRect()
				if (text.right > r.right + hangs || text.left < r.left - hangs) {
					bad.push(JSON.stringify(n.data.trim().slice(0, 40)) + ' runs out of ' + box.outerHTML.slice(0, 80))
					break
				}
			}
		}
		return bad.slice(0, 5)
	}`)
}
