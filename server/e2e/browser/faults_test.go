//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// goodPolicy is a policy that checkPolicy accepts.
const goodPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"worker-src 'none'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// goodHead is the beginning of a page without faults.
const goodHead = `<!doctype html><html lang="en"><head><title>A page</title>` +
	`<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">` +
	`<link rel="stylesheet" href="/a.css"></head><body><main><h1>A page</h1>`

// colours is the stylesheet of these pages.
const colours = `:root { color: #111; background: #fff } button { min-height: 24px } a { color: #0645ad } ` +
	`@media (prefers-color-scheme: dark) { :root { color: #eee; background: #111 } a { color: #9cf } }`

// servePages serves pages by path, with good headers but for those that are given.
func servePages(t testing.TB, pages map[string]string, headers ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if r.URL.Path == "/favicon.ico" || r.URL.Path == "/a.css" {
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, colours)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
		}
		w.Header().Set("Content-Security-Policy", goodPolicy)
		w.Header().Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		w.Header().Set("Referrer-Policy", "same-origin")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Request-Id", "req_1")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// checkFound checks that one of the problems has each of the texts.
func checkFound(t *testing.T, problems []string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, text) }) {
			t.Errorf("no problem has %q: %q", text, problems)
		}
	}
}

// TestFaultlessPage checks that the checks accept a page without faults.
func TestFaultlessPage(t *testing.T) {
	t.Parallel()
	url := servePages(t, map[string]string{"/": goodHead + `<p>Text <a href="/">Here</a></p>
		<form method="post" action="/"><label>Name <input name="name" autocomplete="off"></label>
		<fieldset><legend>Size</legend><label><input type="radio" name="size" value="s"> Small</label>` +
		` <label><input type="radio" name="size" value="l"> Large</label></fieldset>
		<label>Day <input type="date" name="day"></label><details><summary>More</summary><a href="/more">Hidden</a></details>` +
		`<button>Send</button></form></main></body></html>`})
	CheckPage(t, url+"/", Rules{})
}

// TestFaultsReported opens pages with faults that the browser reports by itself.
func TestFaultsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ page, script, want string }{
		"console":          {`<script src="/s.js"></script>`, `console.error('oh', 3)`, "console error: oh"},
		"warning":          {`<script src="/s.js"></script>`, `console.warn('careful')`, "console warning: careful"},
		"exception":        {`<script src="/s.js"></script>`, `null.x`, "page error: TypeError"},
		"rejected promise": {`<script src="/s.js"></script>`, `Promise.reject(new Error('lost'))`, "page error: Error: lost"},
		"dialog":           {`<script src="/s.js"></script>`, `alert('hello')`, "dialog alert: hello"},
		"inline script":    {`<script>1</script>`, ``, "the policy forbids script-src-elem inline"},
		"inline style":     {`<p style="color:red">x</p>`, ``, "the policy forbids style-src-attr inline"},
		"foreign image":    {`<img alt="" src="http://127.0.0.1:9/a.png">`, ``, "the policy forbids img-src http://127.0.0.1:9/a.png"},
		"missing script":   {`<script src="/nothing.js"></script>`, ``, "request failed: 404"},
		"fetch from script": {
			`<script src="/s.js"></script>`, `fetch('http://127.0.0.1:9/x').catch(() => 0)`,
			"the policy forbids connect-src http://127.0.0.1:9/x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := servePages(t, map[string]string{"/": goodHead + c.page + `</main></body></html>`, "/s.js": c.script})
			p := Open(t, url+"/", View{})
			p.wait("the report of "+c.want, func() (bool, error) {
				list := p.Problems()
				return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, c.want) }), fmt.Errorf("%q", list)
			})
			p.ExpectProblems()
		})
	}
}

// TestFaultsFound opens pages with a fault for each of the checks.
func TestFaultsFound(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, v View, page string, more ...string) *Page {
		pages := map[string]string{"/": goodHead + page + `</main></body></html>`}
		for i := 0; i+1 < len(more); i += 2 {
			pages[more[i]] = more[i+1]
		}
		p := Open(t, servePages(t, pages, "Content-Security-Policy", "default-src * 'unsafe-inline' data:")+"/", v)
		return p
	}
	t.Run("layout shift", func(t *testing.T) {
		p := open(t, View{}, `<p>One</p><p>Two</p><script src="/s.js"></script>`, "/s.js",
			`requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector('h1').style.height = '300px'))`)
		checkFound(t, checkShift(p), "of <p>One</p>")
	})
	t.Run("requests", func(t *testing.T) {
		other := servePages(t, map[string]string{"/a.js": "1"})
		p := open(t, View{}, strings.Repeat("<p>long text</p>", 10_000)+`<script src="`+other+`/a.js"></script>`)
		checkFound(t, checkRequests(p, Rules{}), "requests "+other+"/a.js", "weighs 16")
	})
	t.Run("document", func(t *testing.T) {
		p := Open(t, servePages(t, map[string]string{
			"/dashboard/x": `<p style="margin:0">x</p><form method="post" action="http://other.example/"></form>`,
		}, "Content-Security-Policy", "default-src 'unsafe-inline'")+"/dashboard/x", View{})
		p.ExpectProblems() // quirks mode
		checkFound(t, checkDocument(p), "quirks mode", "no lang", "no title", "no viewport", "no color-scheme", "inline code: <p style",
			"without an idempotency key", "another origin")
	})
	t.Run("axe", func(t *testing.T) {
		p := open(t, View{}, `<p><input name="x"></p><p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="></p>`+
			`<p><a href="/a"></a></p><p style="color:#aaa;background:#fff">pale</p>`)
		checkFound(t, checkAxe(p), "label: ", "image-alt: ", "link-name: ", "color-contrast: ")
	})
	t.Run("axe in the dark", func(t *testing.T) {
		p := open(t, View{Dark: true}, `<style>@media (prefers-color-scheme: dark) { p { color: #333; background: #000 } }</style>`+
			`<p>dark on dark</p>`)
		checkFound(t, checkAxe(p), "color-contrast: ")
	})
	t.Run("widths", func(t *testing.T) {
		p := open(t, View{}, `<div id="wide" style="width:700px">wide</div>`)
		checkFound(t, checkWidths(p), "360 px: is 7", "200 %: is 7", "400 %: is 7", `<div id="wide"`)
	})
	t.Run("keyboard", func(t *testing.T) {
		p := open(t, View{}, `<style>a.plain:focus { outline: none }</style>`+
			`<a class="plain" href="/1">plain</a> <a href="/2" tabindex="1">early</a>
			<p><button id="last">last</button></p><p tabindex="0">paragraph</p>`+
			`<div style="position:fixed;bottom:0;height:95%;width:100%;background:#fff">cover</div>`+
			`<script src="/s.js"></script>`,
			"/s.js", `document.querySelector('#last').addEventListener('focus', e => document.querySelector('[tabindex="1"]').focus())`)
		checkFound(t, checkKeyboard(p), `a "plain" looks the same`, `a "early" out of order`,
			`a "plain" has the focus and is not in sight`, `does not reach button "last"`)
	})
	t.Run("keyboard trap", func(t *testing.T) {
		p := open(t, View{}, `<input name="a" aria-label="trap"><input name="b" aria-label="after"><script src="/s.js"></script>`,
			"/s.js", `document.querySelector('input').addEventListener('keydown', e => e.preventDefault())`)
		checkFound(t, checkKeyboard(p), `does not reach input "after"`)
	})
	t.Run("without scripts", func(t *testing.T) {
		page := `<p id="p">before</p><noscript><p>turn it on</p></noscript>` +
			`<button type="button">Copy</button><form><input name="x" aria-label="x"></form><script src="/s.js"></script>`
		script := `document.querySelector('#p').textContent = 'drawn by a script'`
		with := open(t, View{}, page, "/s.js", script).Text()
		checkFound(t, checkWithoutScripts(open(t, View{NoScripts: true}, page, "/s.js", script), with),
			`"before" is shown without`, `"turn it on" is shown`, "with scripts only: drawn by a script", "a button that needs a script",
			"a form that cannot be sent")
	})
}

// TestFaultsOfHeaders checks that a wrong or missing header is found.
func TestFaultsOfHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"Cache-Control", "public", "Cache-Control"}, {"Referrer-Policy", "", "Referrer-Policy"},
		{"X-Content-Type-Options", "", "X-Content-Type-Options"},
		{"Permissions-Policy", "camera=(self)", "Permissions-Policy"}, {"Server", "x", "Server"},
		{"X-Request-Id", "", "no X-Request-Id"}, {"Content-Type", "text/html", "Content-Type"},
		{"Content-Security-Policy", strings.Replace(goodPolicy, "script-src 'self'", "script-src 'self' 'unsafe-inline'", 1),
			"script-src 'unsafe-inline'"},
		{"Content-Security-Policy", strings.Replace(goodPolicy, "; worker-src 'none'", "", 1), "does not name worker-src"},
		{"Content-Security-Policy", goodPolicy + "; font-src https://fonts.example", "font-src https://fonts.example"},
		{"Content-Security-Policy", strings.Replace(goodPolicy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1),
			"frame-ancestors 'self'"},
	} {
		problems := checkHeaders(t, servePages(t, map[string]string{"/": "x"}, c[0], c[1])+"/", Rules{})
		if checkFound(t, problems, c[2]); len(problems) != 1 {
			t.Errorf("%s: %q", c[2], problems)
		}
	}
}
