//go:build browser

package browser

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/web"
)

// MaxWeight is the maximum size of a page with all that it loads, as it is sent, in
// bytes.
const MaxWeight = 100_000

// Rules are what CheckPage demands beyond the rules for all pages.
type Rules struct {
	Cookie *http.Cookie // of the session; nil: none
	Status int          // 0: 200
	// MaxWeight in place of the constant; 0: the constant.
	MaxWeight int64
	// Scans reports that the page may use the camera and WebAssembly.
	Scans bool
	// Public reports that the page is the same for everybody and may be kept.
	Public bool
}

// CheckPage checks the rules for every page (see checks): the headers, what the browser
// reports, accessibility, sizes, keyboard, weight, and the page without scripts.
func CheckPage(t *testing.T, url string, rules Rules) {
	t.Helper()
	checkIn(openTab(t, ""), url, rules)
}

// checkIn is CheckPage in an empty tab, which loads the page for each look that needs a page as it
// comes from the server: on a wide window, on a narrow one, and without scripts.
func checkIn(b *tab, url string, rules Rules) {
	t := b.t
	t.Helper()
	p := openIn(b, url, View{Cookie: rules.Cookie})
	if want := cmp.Or(rules.Status, http.StatusOK); p.Status() != want {
		t.Fatalf("%s: status %d, not %d", url, p.Status(), want)
	}
	p.check("headers", checkHeaders(t, url, rules))
	p.check("layout shift", checkShift(p))
	p.check("requests", checkRequests(p, rules))
	p.check("document", checkDocument(p))
	p.check("axe", checkAxe(p))
	withScripts := words(eval[string](p, `() => {
		const hide = new CSSStyleSheet()
		hide.replaceSync('[data-needs-script] { display: none !important }')
		document.adoptedStyleSheets.push(hide)
		const text = document.body.innerText
		document.adoptedStyleSheets.pop()
		return text
	}`))
	p.setMedia(true, true)
	p.setSize(360, height, 1)
	p.check("axe at 360 px in the dark", checkAxe(p))
	p.check("width", checkWidths(p))
	p.setMedia(false, true)
	p.check("keyboard", checkKeyboard(p))

	p.open(url, View{Width: 360, Dark: true})
	p.check("layout shift at 360 px", checkShift(p))
	p.open(url, View{NoScripts: true})
	p.check("without scripts", checkWithoutScripts(p, withScripts))
}

// check reports the problems that a check has found.
func (p *Page) check(name string, problems []string) {
	p.t.Helper()
	for _, problem := range problems {
		p.t.Errorf("%s: %s: %s", p.Path(), name, problem)
	}
}

// CheckNow checks the page as it is now, for one that no URL leads to: a form with
// errors, or a secret that is shown once. It leaves the focus on the last element.
func (p *Page) CheckNow() {
	p.t.Helper()
	p.check("document", checkDocument(p))
	if !p.View.NoScripts { // axe waits for promises
		for _, dark := range []bool{!p.View.Dark, p.View.Dark} {
			p.setMedia(dark, true)
			p.check("axe", checkAxe(p))
		}
	}
	p.check("width", checkWidths(p))
	p.setSize(p.View.Width, height, p.View.Scale)
	p.check("keyboard", checkKeyboard(p))
	p.setMedia(p.View.Dark, p.View.Still)
}

// checkHeaders checks the headers that each page has.
func checkHeaders(t testing.TB, address string, rules Rules) (problems []string) {
	t.Helper()
	request := require.Must(http.NewRequest(http.MethodGet, address, nil))
	request.Header.Set("Accept", "text/html")
	if rules.Cookie != nil {
		request.AddCookie(rules.Cookie)
	}
	client := &http.Client{
		Timeout:       servertest.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	r := require.Must(client.Do(request))
	defer r.Body.Close()
	require.Must(io.Copy(io.Discard, r.Body))
	bad := func(format string, arguments ...any) {
		problems = append(problems, fmt.Sprintf(format, arguments...))
	}
	referrer := "no-referrer"
	switch first, _, _ := strings.Cut(request.URL.Path[1:], "/"); {
	case slices.Contains([]string{
		"", "dashboard", "sign-in", "setup", "invite", "reset",
	}, first), strings.HasPrefix(request.URL.Path, "/till/pair/"):
		referrer = "same-origin"
	}
	want := map[string]string{
		"Content-Type":           "text/html; charset=utf-8",
		"Referrer-Policy":        referrer,
		"X-Content-Type-Options": "nosniff",
		"Cache-Control":          "no-store",
	}
	for name, value := range want {
		if got := r.Header.Get(name); got != value && !(name == "Cache-Control" && rules.Public) {
			bad("%s is %q, not %q", name, got, value)
		}
	}
	if id := r.Header.Get("X-Request-Id"); id == "" && !rules.Public {
		bad("no X-Request-Id")
	}
	camera := "camera=()"
	if rules.Scans {
		camera = "camera=(self)"
	}
	if p := r.Header.Get("Permissions-Policy"); !strings.Contains(p, camera) || !strings.Contains(p, "microphone=()") ||
		!strings.Contains(p, "geolocation=()") {
		bad("Permissions-Policy is %q", p)
	}
	for _, name := range []string{"Server", "X-Powered-By", "Access-Control-Allow-Origin"} {
		if v := r.Header.Get(name); v != "" {
			bad("%s is %q", name, v)
		}
	}
	policies := r.Header.Values("Content-Security-Policy")
	if rules.Scans {
		for i := range policies {
			policies[i] = strings.Replace(policies[i], " 'wasm-unsafe-eval'", "", 1)
		}
	}
	return append(problems, checkPolicy(policies)...)
}

// directives are the directives that each policy names, with the sources that they may
// have, apart from hashes and nonces of styles.
var directives = map[string][]string{
	"default-src":     {"'none'"},
	"script-src":      {"'none'", "'self'"},
	"style-src":       {"'none'", "'self'"},
	"img-src":         {"'none'", "'self'", "data:"},
	"connect-src":     {"'none'", "'self'"},
	"worker-src":      {"'none'", "'self'"},
	"manifest-src":    {"'none'", "'self'"},
	"frame-ancestors": {"'none'"},
	"base-uri":        {"'none'"},
	"form-action":     {"'self'"},
}

var hash = regexp.MustCompile(`^'sha256-[A-Za-z0-9+/]{43}='$`)

// checkPolicy checks that a content security policy names each directive, and no source
// but the server.
func checkPolicy(headers []string) (problems []string) {
	if len(headers) != 1 {
		return []string{fmt.Sprintf("%d policies", len(headers))}
	}
	named := map[string]bool{}
	for part := range strings.SplitSeq(headers[0], ";") {
		fields := strings.Fields(part)
		if len(fields) == 0 {
			continue
		}
		named[fields[0]] = true
		for _, source := range fields[1:] {
			allowed := directives[fields[0]]
			if allowed == nil { // such as font-src
				allowed = []string{"'none'", "'self'"}
			}
			if !slices.Contains(allowed, source) && !(fields[0] == "style-src" && hash.MatchString(source)) {
				problems = append(problems, "the policy has "+fields[0]+" "+source)
			}
		}
	}
	for name := range directives {
		if !named[name] {
			problems = append(problems, "the policy does not name "+name)
		}
	}
	return problems
}

// maxShift is how much of a page may move by itself, as a layout shift is measured. A
// page is drawn when it has arrived (see base.html), so what moves is moved by a script.
const maxShift = 0.01

// checkShift waits until the page is drawn and returns what has moved by itself.
func checkShift(p *Page) (problems []string) {
	p.t.Helper()
	total := 0.0
	for _, s := range eval[[]struct {
		Value float64
		Nodes []string
	}](p, `async () => {
		await document.fonts.ready
		for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame)
		return testShifts().map(s => ({value: s.value, nodes: s.sources.map(n => n.node?.outerHTML?.slice(0, 100) || 'a text')}))
	}`) {
		total += s.Value
		problems = append(problems, fmt.Sprintf("%.4f of %s", s.Value, strings.Join(s.Nodes, ", ")))
	}
	if total <= maxShift {
		return nil
	}
	return problems
}

// checkRequests checks that the page requests nothing from other origins, and weighs it.
func checkRequests(p *Page, rules Rules) (problems []string) {
	p.t.Helper()
	origin, weight := eval[string](p, `() => location.origin`), int64(0)
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	for _, r := range p.seen.requests {
		weight += r.received
		u, err := url.Parse(r.url)
		if err != nil || u.Scheme+"://"+u.Host != origin && u.Scheme != "data" && u.Scheme != "blob" {
			problems = append(problems, "requests "+r.url)
		}
	}
	limit := cmp.Or(rules.MaxWeight, MaxWeight)
	if weight >= limit {
		problems = append(problems, fmt.Sprintf("weighs %d bytes in %d requests, and may weigh %d", weight, len(p.seen.requests), limit))
	}
	return problems
}

// checkDocument checks what makes a page usable and its forms safe. Each form of the
// dashboard has an idempotency key, but for the buttons of the frame, which do the same
// thing however often they are pressed. A visitor's forms have none, since keys belong to
// a person.
func checkDocument(p *Page) []string {
	p.t.Helper()
	return eval[[]string](p, `key => {
		const bad = []
		const root = document.documentElement
		if (document.compatMode !== 'CSS1Compat') bad.push('quirks mode')
		if (!root.lang) bad.push('no lang')
		if (!document.title.trim()) bad.push('no title')
		if (!document.querySelector('meta[name=viewport]')) bad.push('no viewport')
		if (!getComputedStyle(root).colorScheme.includes('dark') && !document.querySelector('meta[name=color-scheme]'))
			bad.push('no color-scheme')
		for (const e of document.querySelectorAll('[style]:not([data-vars]), [onclick], [onchange], [onsubmit], ' +
			'script:not([src], #config[type="application/json"])'))
			bad.push('inline code: ' + e.outerHTML.slice(0, 100))
		// What HTML permits for a field, after the Nu HTML checker.
		for (const e of document.querySelectorAll('select[required]:not([multiple])'))
			if (e.firstElementChild?.localName !== 'option' || e.firstElementChild.value)
				bad.push('a required select without an empty first option: ' + e.outerHTML.slice(0, 100))
		for (const e of document.querySelectorAll('input:is([type=file], [type=checkbox], [type=radio], [type=submit], ' +
			'[type=button])[autocomplete], input[autocomplete~=street-address]'))
			bad.push('autocomplete where it is not allowed: ' + e.outerHTML.slice(0, 100))
		for (const e of document.querySelectorAll('input:is([type=number], [type=date], [type=color], [type=file], ' +
			'[type=checkbox], [type=radio]):is([maxlength], [pattern])'))
			bad.push('maxlength or pattern where it is not allowed: ' + e.outerHTML.slice(0, 100))
		for (const f of document.forms) {
			const keyless = f.closest('header, nav') &&
				!f.querySelector('input, select, textarea') // signing out, and switching to another shop
			if (f.getAttribute('method')?.toLowerCase() === 'post' && location.pathname.startsWith('/dashboard') && !keyless &&
				!(f.elements[key]?.value?.length >= 16)) bad.push('a form without an idempotency key: ' + f.outerHTML.slice(0, 100))
			const to = f.getAttribute('action') ?? '' // f.action may be a field
			if (new URL(to, location.href).origin !== location.origin) bad.push('a form for another origin: ' + to)
		}
		return bad
	}`, web.KeyField)
}

// checkWidths checks that the page is no wider than the window: at 360 pixels; at 1280
// pixels enlarged to 200 %, which leaves 640; and enlarged to 400 %, which leaves 320. At 1280
// pixels no table breaks an ordinary word.
func checkWidths(p *Page) (problems []string) {
	p.t.Helper()
	for _, w := range []struct {
		what  string
		width int
		scale float64
	}{{"360 px", 360, 1}, {"200 %", 640, 2}, {"400 %", 320, 4}} {
		p.setSize(w.width, height, w.scale)
		for _, wide := range eval[[]string](p, `() => {
			const root = document.scrollingElement, room = root.clientWidth
			if (root.scrollWidth <= room) return []
			const scrolls = e => e && e !== root && e !== document.body &&
				(getComputedStyle(e).overflowX !== 'visible' || scrolls(e.parentElement))
			const wide = [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > room + 0.5 &&
				!scrolls(e.parentElement))
			return ['is ' + root.scrollWidth + ' pixels wide, in ' + room + ': ' +
				wide.slice(0, 5).map(e => e.outerHTML.slice(0, 100)).join(' | ')]
		}`) {
			problems = append(problems, w.what+": "+wide)
		}
	}
	p.setSize(1280, height, 1)
	return append(problems, eval[[]string](p, `() => {
		const broken = [], range = document.createRange()
		for (const cell of document.querySelectorAll('td, th')) {
			const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
			while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/(?<!\S)\p{L}{2,16}(?!\S)/gu)) {
				range.setStart(texts.currentNode, word.index)
				range.setEnd(texts.currentNode, word.index + word[0].length)
				if (new Set([...range.getClientRects()].map(r => r.top)).size > 1)
					broken.push('1280 px: a table breaks the word ' + word[0])
			}
		}
		return broken
	}`)...)
}

// passing matches what differs between two visits of a page: the id of the request, which
// an error page shows, how long ago something was, and how large files are.
var passing = regexp.MustCompile(`req_[0-9a-z]+|\d+ (second|minute|hour)s?|[\d.,]+.[kMGT]B\b`)

// checkWithoutScripts checks that the page has the same text without scripts, and forms
// that can be sent. An element that is for scripts only has the attribute
// data-needs-script; one that scripts make superfluous has data-nojs.
func checkWithoutScripts(p *Page, withScripts string) (problems []string) {
	p.t.Helper()
	withScripts = passing.ReplaceAllString(withScripts, "#")
	hidden := eval[[]string](p, `() => [...document.querySelectorAll('[data-nojs]')].map(e => e.innerText.trim())`)
	for line := range strings.Lines(passing.ReplaceAllString(eval[string](p, `() => document.body.innerText`), "#")) {
		if line = words(line); !strings.Contains(withScripts, line) && !slices.Contains(hidden, line) {
			problems = append(problems, fmt.Sprintf("%q is shown without scripts only", line))
		}
	}
	needed := eval[[]string](p, `() => {
		const bad = []
		for (const e of document.querySelectorAll('[data-needs-script]')) if (e.checkVisibility())
			bad.push('of no use: ' + e.outerHTML.slice(0, 100))
		for (const e of document.querySelectorAll('button[type=button]')) if (e.checkVisibility())
			bad.push('a button that needs a script: ' + e.outerHTML.slice(0, 100))
		for (const f of document.forms) {
			if (f.closest('details:not([open])')) continue // such as a menu, whose summary opens it
			const usable = 'button:enabled, select:enabled, textarea:enabled, input:enabled:not([type=hidden])'
			if (f.querySelector(':disabled') && !f.querySelector(usable)) continue // it shows what is locked
			const sends = [...document.querySelectorAll('button, input[type=submit]')].some(b => b.form === f && b.type === 'submit' &&
				b.checkVisibility())
			if (!sends) bad.push('a form that cannot be sent: ' + f.outerHTML.slice(0, 100))
		}
		return bad
	}`)
	missing := missingWords(withScripts, passing.ReplaceAllString(p.Text(), "#"))
	if len(missing) > 0 {
		problems = append(problems, "with scripts only: "+strings.Join(missing, " "))
	}
	return append(problems, needed...)
}

// missingWords returns the words of a text that another does not have, or has less often.
func missingWords(of, in string) (missing []string) {
	count := map[string]int{}
	for _, w := range strings.Fields(in) {
		count[w]++
	}
	for _, w := range strings.Fields(of) {
		if count[w]--; count[w] < 0 {
			missing = append(missing, w)
		}
	}
	return missing
}
