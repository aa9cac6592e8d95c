//go:build browser

package browser

import "errors"

// findSpot returns where to press an element: in its middle, once it is at rest. At rest it is at
// the same place in two frames, has a size, and is not covered. Until then why says what is wrong.
// findSpot also tells pressGuard which element the press is for. Without scripts it does not wait
// for frames, which never come, since nothing moves.
const findSpot = `async function(scripts) {
	window.testPress = undefined
	const no = why => ({x: 0, y: 0, why, sends: false})
	if (!this.isConnected) return no('the element was replaced')
	if (this.matches(':disabled')) return no('the element is disabled')
	if (scripts && [...document.querySelectorAll('[aria-busy=true]')].some(e => e.checkVisibility())) return no('the page is busy')
	const target = this.labels?.length && getComputedStyle(this).opacity === '0' ? this.labels[0] : this
	target.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'})
	const before = target.getClientRects()[0]
	if (scripts) await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
	const r = target.getClientRects()[0]
	if (!r || !before || !r.width || !r.height) return no('the element has no size')
	if (['x', 'y', 'width', 'height'].some(k => r[k] !== before[k])) return no('the element moves')
	const x = r.x + r.width / 2, y = r.y + r.height / 2
	const top = document.elementFromPoint(x, y)
	const labels = [...(this.labels || [])]
	const isHit = e => target.contains(e) || e.contains(target) || labels.some(l => l.contains(e))
	if (!top) return no('the element is outside the window')
	if (!isHit(top)) return no('the element is covered by ' + top.outerHTML.slice(0, 200))
	const form = this.form
	window.testPress = {isHit}
	return {x, y, why: '', sends: !scripts && this.type === 'submit' && !!form && (form.noValidate || form.matches(':valid'))}
}`

// pressGuard runs in each page before its own scripts. If a press does not begin on the element
// for which it is meant, since the page has moved meanwhile, pressGuard keeps it from the page. It
// notes whether the element was clicked and whether that sends a form.
const pressGuard = `(() => {
	for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) addEventListener(type, e => {
		const press = window.testPress
		if (!press || !e.isTrusted) return
		if (type === 'pointerdown') press.missed = !press.isHit(e.target)
		if (press.missed) {
			e.preventDefault()
			e.stopImmediatePropagation()
		} else if (type === 'click' && press.isHit(e.target)) press.clicked = true
	}, true)
	addEventListener('submit', e => { if (window.testPress) window.testPress.submit = e }, true)
})()`

// endPress returns what became of the press.
const endPress = `() => {
	const press = window.testPress
	window.testPress = undefined
	const form = press?.submit && !press.submit.defaultPrevented && press.submit.target
	return {clicked: !press || !!press.clicked, sends: !!form && form.getAttribute('method') !== 'dialog' && !form.target}
}`

// A spot is where something was pressed.
type spot struct {
	X, Y  float64
	Why   string // why it cannot be pressed now
	Sends bool   // the press sends a form, so that another page comes
	on    *element
}

// press presses the element with one of the roles and a name, as soon as it is at rest, and
// again if the page has moved before the press.
func (p *Page) press(name string, roles ...[]string) (at spot) {
	p.t.Helper()
	p.wait("a press on "+name, func() (bool, error) {
		e, err := p.seek(name, roles...)
		if err != nil {
			return false, err
		}
		at = spot{on: e}
		if err := p.evalOn(e, &at, findSpot, !p.View.NoScripts); err != nil {
			return false, err
		}
		if at.Why != "" {
			return false, errors.New(at.Why)
		}
		p.must(nil, p.click(at.X, at.Y))
		if p.View.NoScripts {
			return true, nil
		}
		var end struct{ Clicked, Sends bool }
		if err := p.tab.eval(&end, endPress); err != nil {
			return true, nil // the page is gone
		}
		if at.Sends = end.Sends; !end.Clicked {
			return false, errors.New("the press was lost, since the page drew the element again")
		}
		return true, nil
	})
	return at
}

// Press presses the button with a text, and waits for the page to which it leads, if it
// leads to one.
func (p *Page) Press(text string) {
	p.t.Helper()
	before := p.visited()
	if p.press(text, buttons).Sends {
		p.wait("the page after "+text, func() (bool, error) { return p.visited() > before, nil })
	}
	p.settle()
}

// Follow follows the link with a text, and waits for its page.
func (p *Page) Follow(text string) {
	p.t.Helper()
	before := p.visited()
	p.press(text, links)
	p.wait("the page of the link "+text, func() (bool, error) { return p.visited() > before, nil })
	p.settle()
}

// visited returns the number of pages that the tab has gone to.
func (p *Page) visited() int {
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	return p.seen.navigations
}

// settle waits until the browser has dealt with the last input and loads no page.
func (p *Page) settle() {
	p.t.Helper()
	for range 2 { // a form is sent in a task of its own, after the click
		_ = p.tab.eval(nil, `() => 0`) // the page may be gone
	}
	p.wait("the next page", func() (bool, error) {
		p.seen.mu.Lock()
		defer p.seen.mu.Unlock()
		return !p.seen.busy, nil
	})
}
