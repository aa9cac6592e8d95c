//go:build browser

// Package browser tests the pages in Chromium. It is built with the tag browser only;
// .ci/browser installs what it needs and runs it.
//
// A test opens one URL and then does what a person does: it fills fields by their labels,
// presses buttons and follows links by their texts, and waits for texts. It fails if the
// browser reports a problem, such as an error in the console. CheckPage checks the rules
// that hold for every page.
package browser

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// A View is how a person looks at pages. The zero value is somebody who is not signed in,
// with a window of 1280 pixels, the light theme and scripts.
type View struct {
	Cookie    *http.Cookie // of the session; nil: none
	Width     int          // in pixels of CSS; 0: 1280
	Scale     float64      // device pixels for each of them; 0: 1
	Language  string       // such as "it"; empty: "en-US"
	Dark      bool
	Still     bool // prefers reduced motion
	NoScripts bool
	Camera    string // the film that the camera shows (see writeFilm), or refusedCamera; empty: there is no camera
}

// height is the height of the window.
const height = 800

// A Page is a tab in which a person goes from page to page. Its methods end the test if
// what they look for does not appear.
type Page struct {
	*tab
	View   View
	within func() (*element, error) // where to look; nil: everywhere
	known  *int                     // the number of problems that the test expects
}

// Open opens a URL as somebody types it into a new browser. At the end of the test it
// reports the problems of all pages that the tab showed.
func Open(t testing.TB, url string, v View) *Page {
	t.Helper()
	return openIn(openTab(t, v.Camera), url, v)
}

// openIn opens a URL in an empty tab.
func openIn(b *tab, url string, v View) *Page {
	t := b.t
	t.Helper()
	p := &Page{tab: b, known: new(int)}
	t.Cleanup(func() {
		for _, problem := range p.Problems()[*p.known:] {
			t.Errorf("%s: %s", url, problem)
		}
	})
	p.open(url, v)
	return p
}

// open opens a URL as a person with another view does, who has the same cookies, cache and language.
func (p *Page) open(url string, v View) {
	p.t.Helper()
	v.Width, v.Scale = cmp.Or(v.Width, 1280), cmp.Or(v.Scale, 1)
	p.View = v
	p.setSize(v.Width, height, v.Scale)
	p.setMedia(v.Dark, v.Still)
	p.setScripts(!v.NoScripts)
	if v.Language != "" {
		p.setLanguage(v.Language)
	}
	if v.Cookie != nil {
		p.setCookie(url, v.Cookie)
	}
	if err := p.navigate(url); err != nil {
		p.t.Fatalf("open %s: %v", url, err)
	}
}

// Problems returns what the browser has reported so far: errors of the console and of
// scripts, violations of the policy, and requests that failed.
func (p *Page) Problems() []string {
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	return slices.Clone(p.seen.problems)
}

// ExpectProblems takes the problems so far as expected, and returns them.
func (p *Page) ExpectProblems() []string {
	list := p.Problems()
	new := list[*p.known:]
	*p.known = len(list)
	return new
}

// Status returns the status of the page's answer.
func (p *Page) Status() int {
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	return p.seen.status
}

// Path returns the path and the query of the page.
func (p *Page) Path() string { return eval[string](p, `() => location.pathname + location.search`) }

// Title returns the title of the page.
func (p *Page) Title() string { return eval[string](p, `() => document.title`) }

// Text returns the text that the page shows, with one space between words.
func (p *Page) Text() string { return words(eval[string](p, `() => document.body.innerText`)) }

// Cookie returns a cookie, or nil.
func (p *Page) Cookie(name string) *http.Cookie {
	p.t.Helper()
	for _, c := range p.cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// eval calls a JavaScript function in the page and returns its result.
func eval[T any](p *Page, function string, arguments ...any) (out T) {
	p.t.Helper()
	noError(p.t, p.tab.eval(&out, function, arguments...))
	return out
}

// run calls a JavaScript function in the page that returns nothing of use.
func (p *Page) run(function string, arguments ...any) {
	p.t.Helper()
	noError(p.t, p.tab.eval(nil, function, arguments...))
}

// Wait waits until the page shows each of the texts.
func (p *Page) Wait(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.wait("the text "+text, func() (bool, error) {
			var shown string
			if err := p.tab.eval(&shown, `() => document.body.innerText`); err != nil {
				return false, err
			}
			if !strings.Contains(words(shown), words(text)) {
				return false, fmt.Errorf("the page shows: %s", words(shown))
			}
			return true, nil
		})
	}
}

// In returns the same page, on which the methods look only in the part that has a text:
// the smallest table row, list item, fieldset, form, section or article.
func (p *Page) In(text string) *Page {
	part := *p
	part.within = func() (*element, error) {
		e, err := p.find(`text => {
			const parts = [...document.querySelectorAll('tr, li, fieldset, form, section, article, details')]
				.filter(e => e.innerText.replace(/\s+/g, ' ').includes(text))
			return parts.filter(e => !parts.some(other => other !== e && e.contains(other)))[0] || null
		}`, words(text))
		if err == nil && e == nil {
			err = fmt.Errorf("no part of the page has the text %q", text)
		}
		return e, err
	}
	return &part
}

// Roles of what a person uses. Roles in capitals are those of Chromium alone.
var (
	links    = []string{"link"}
	buttons  = []string{"button", "DisclosureTriangle", "DisclosureTriangleGrouped", "tab", "menuitem"}
	texts    = []string{"textbox", "searchbox", "spinbutton", "combobox"}
	pickers  = []string{"Date", "DateTime", "InputTime", "ColorWell", "slider"}
	choices  = []string{"checkbox", "radio", "switch"}
	dropdown = []string{"combobox", "listbox"}
)

// look waits for the element with one of the roles and a name. A label may go on after
// the name, as "Name (optional)" does, if no other label equals it. Several links with the
// name must lead to the same place.
func (p *Page) look(name string, roles ...[]string) (found *element) {
	p.t.Helper()
	p.wait(fmt.Sprintf("the %s %q", roles[0][0], name), func() (bool, error) {
		var err error
		found, err = p.seek(name, roles...)
		return err == nil, err
	})
	return found
}

// seek returns the element that look waits for, if the page has it now.
func (p *Page) seek(name string, roles ...[]string) (*element, error) {
	p.t.Helper()
	all := slices.Concat(roles...)
	var part *element
	if p.within != nil {
		var err error
		if part, err = p.within(); err != nil {
			return nil, err
		}
	}
	list, err := p.elements(part)
	if err != nil {
		return nil, err
	}
	var names []string
	var equal, begin []*element
	for _, e := range list {
		if !slices.Contains(all, e.role) {
			continue
		}
		names = append(names, fmt.Sprintf("%q", e.name))
		switch n := words(e.name); {
		case n == words(name):
			equal = append(equal, e)
		case strings.HasPrefix(n, words(name)):
			begin = append(begin, e)
		}
	}
	if len(equal) == 0 {
		equal = begin
	}
	if len(equal) > 1 && p.sameTarget(equal) {
		equal = equal[:1]
	}
	if len(equal) != 1 {
		return nil, fmt.Errorf("%d of these: %s", len(equal), strings.Join(names, ", "))
	}
	return equal[0], nil
}

// sameTarget reports whether elements are links that lead to the same place.
func (p *Page) sameTarget(list []*element) bool {
	var first string
	for i, e := range list {
		var href string
		if err := p.evalOn(e, &href, `function() { return this.href || '' }`); err != nil || href == "" || i > 0 && href != first {
			return false
		}
		first = href
	}
	return true
}

// Fill replaces the content of the field with a label. Dates and times are in the form
// of HTML, such as 2026-03-01.
func (p *Page) Fill(label, text string) {
	p.t.Helper()
	e := p.look(label, texts, pickers)
	if slices.Contains(pickers, e.role) {
		p.must(nil, p.evalOn(e, nil, setValue, text))
		return
	}
	e = p.press(label, texts, pickers).on
	p.must(nil, p.evalOn(e, nil, `function() { this.select() }`))
	if text == "" {
		p.must(nil, p.key("\b"))
	} else {
		p.must(nil, p.insert(text))
	}
	var got string
	p.must(nil, p.evalOn(e, &got, `function() { return this.value }`))
	if got != strings.ReplaceAll(text, "\r\n", "\n") {
		p.t.Fatalf("the field %q has %q after typing %q", label, got, text)
	}
}

// setValue sets the value of a field whose control cannot be operated by keys alone, and
// tells scripts.
const setValue = `function(value) {
	this.focus()
	this.value = value
	this.dispatchEvent(new Event('input', {bubbles: true}))
	this.dispatchEvent(new Event('change', {bubbles: true}))
	if (this.value !== value) throw 'the field takes no ' + value
}`

// Value returns the content of the field with a label.
func (p *Page) Value(label string) (value string) {
	p.t.Helper()
	p.must(nil, p.evalOn(p.look(label, texts, pickers, dropdown), &value, `function() { return this.value }`))
	return value
}

// Choose chooses an option by its text in the list with a label.
func (p *Page) Choose(label, option string) {
	p.t.Helper()
	p.must(nil, p.evalOn(p.look(label, dropdown), nil, `function(text) {
		const option = [...this.options].find(o => o.label.replace(/\s+/g, ' ').trim() === text)
		if (!option) throw 'the options are ' + [...this.options].map(o => o.label).join(', ')
		this.focus()
		this.value = option.value
		this.dispatchEvent(new Event('input', {bubbles: true}))
		this.dispatchEvent(new Event('change', {bubbles: true}))
	}`, words(option)))
	p.settle()
}

// Check ticks the box, or chooses the radio button, with a label.
func (p *Page) Check(label string) { p.t.Helper(); p.tick(label, true) }

// Uncheck clears the box with a label.
func (p *Page) Uncheck(label string) { p.t.Helper(); p.tick(label, false) }

func (p *Page) tick(label string, want bool) {
	p.t.Helper()
	e := p.look(label, choices)
	state := func() (on bool) {
		p.must(nil, p.evalOn(e, &on, `function() { return this.checked ?? this.getAttribute('aria-checked') === 'true' }`))
		return on
	}
	if state() == want {
		return
	}
	p.press(label, choices)
	if p.settle(); state() != want {
		p.t.Fatalf("a click does not change %q", label)
	}
}

// ChooseFile chooses a file for the field with a label.
func (p *Page) ChooseFile(label, path string) {
	p.t.Helper()
	p.must(nil, p.chooseFiles(p.look(label, buttons), path))
}

// Download presses the button or follows the link with a text, and returns the file that
// the browser saves.
func (p *Page) Download(text string) (name string, content []byte) {
	p.t.Helper()
	folder := p.t.TempDir()
	p.must(nil, p.saveDownloads(folder))
	p.press(text, links, buttons)
	p.wait("the file of "+text, func() (bool, error) {
		files, err := os.ReadDir(folder)
		if err != nil || len(files) != 1 || filepath.Ext(files[0].Name()) == ".crdownload" || strings.HasPrefix(files[0].Name(), ".") {
			return false, err
		}
		name = files[0].Name()
		content, err = os.ReadFile(filepath.Join(folder, name))
		return err == nil, err
	})
	return name, content
}

var noError = require.NoError
