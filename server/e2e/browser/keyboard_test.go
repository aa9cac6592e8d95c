//go:build browser

package browser

import "fmt"

// listStops keeps the elements that Tab must reach, in their order, with the look that
// each has without the focus, and returns their number. While a dialog is open they are those
// of the dialog. Of the radio buttons of a group Tab reaches one.
const listStops = `() => {
	const look = e => [e, e.parentElement, e.nextElementSibling, ...(e.labels || [])].filter(Boolean).map(x => {
		const s = getComputedStyle(x)
		return (s.outlineStyle === 'none' || s.outlineWidth === '0px' ? 'no outline' : s.outline) + ' ' + s.boxShadow
	}).join('\n')
	const name = e => e.tagName.toLowerCase() + ' ' +
		JSON.stringify((e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText || e.name || '').trim().slice(0, 60))
	const root = document.querySelector('dialog:modal') || document.body
	const usable = e => root.contains(e) && e.tabIndex >= 0 && !e.matches(':disabled') &&
		e.checkVisibility({visibilityProperty: true}) && !e.closest('[inert]')
	const first = e => e.type !== 'radio' || e === ([...document.getElementsByName(e.name)].find(r => r.form === e.form && r.checked) ||
		[...document.getElementsByName(e.name)].find(r => r.form === e.form && usable(r)))
	const stops = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, ' +
		'textarea, summary, [tabindex], [contenteditable]')]
		.filter(e => usable(e) && (e.tagName !== 'SUMMARY' || e.parentElement.tagName === 'DETAILS') && first(e))
	const begin = document.createElement('span') // Tab goes on from where it was
	begin.tabIndex = -1
	root.prepend(begin)
	begin.focus()
	begin.remove()
	window.testStops = {stops, name, look, plain: stops.map(look)}
	scrollTo(0, 0)
	return stops.length
}`

// readStop describes the element with the focus: its index among those of listStops, -1
// for another, or -2 for none.
const readStop = `() => {
	const e = document.activeElement, {stops, name, look, plain} = window.testStops
	if (!e || e === document.body || e === document.documentElement) return {index: -2, name: 'none'}
	for (const a of document.getAnimations()) a.finish()
	const index = stops.indexOf(e), r = (e.getClientRects()[0] || new DOMRect())
	const inside = r.bottom > 0 && r.right > 0 && r.top < innerHeight && r.left < innerWidth
	const points = [[.5, .5], [.1, .1], [.9, .9]].map(([x, y]) => document.elementFromPoint(r.x + r.width * x, r.y +
		r.height * y)).filter(Boolean)
	const covered = !points.some(t => e.contains(t) || t.contains(e) || [...(e.labels || [])].some(l => l.contains(t)))
	return {
		index, name: name(e), early: e.tabIndex > 0, hidden: !inside || covered,
		unmarked: index >= 0 && look(e) === plain[index],
		scrolls: e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight,
	}
}`

// checkKeyboard goes through the page with Tab, and returns what Tab does not reach, what
// it reaches out of order, and what does not show that it has the focus.
func checkKeyboard(p *Page) (problems []string) {
	p.t.Helper()
	p.wait("the page to be complete", func() (done bool, err error) {
		err = p.tab.eval(&done, `() => !document.querySelector('[aria-busy=true]')`)
		return done, err
	})
	count := eval[int](p, listStops)
	bad := func(format string, arguments ...any) {
		problems = append(problems, fmt.Sprintf(format, arguments...))
	}
	visited, last, current := map[int]bool{}, -1, ""
	for range 3*count + 50 { // a date field has stops of its own, and what scrolls is one
		p.must(nil, p.key("\t"))
		s := eval[struct {
			Index                     int
			Name                      string
			Hidden, Unmarked, Scrolls bool
			Early                     bool // it has a place of its own in the order
		}](p, readStop)
		if s.Index == -2 || s.Index >= 0 && s.Index != last && visited[s.Index] {
			break // the end of the page, or its beginning again
		}
		if s.Index == last || s.Index == -1 && s.Name == current {
			continue
		}
		current = s.Name
		if s.Index == -1 {
			if !s.Scrolls {
				bad("Tab reaches %s, which is nothing to use", s.Name)
			}
			continue
		}
		if s.Index < last || s.Early {
			bad("Tab reaches %s out of order", s.Name)
		}
		if s.Hidden {
			bad("%s has the focus and is not in sight", s.Name)
		}
		if s.Unmarked {
			bad("%s looks the same with the focus", s.Name)
		}
		visited[s.Index], last = true, s.Index
	}
	for i := range count {
		if !visited[i] {
			bad("Tab does not reach %s", eval[string](p, `i => testStops.name(testStops.stops[i])`, i))
		}
	}
	return problems
}
