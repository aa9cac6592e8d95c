package web

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"punchcard/server/servertest/require"
)

// parsePage renders a sample page, parses it, and returns its nodes.
func parsePage(t *testing.T, templates *Templates, page, name string) (nodes []*html.Node, raw string) {
	t.Helper()
	p := PrinterFor("en")
	raw = render(t, templates, page, sampleData(p, page, name), p)
	root := require.Must(html.Parse(strings.NewReader(raw)))
	for n := range root.Descendants() {
		nodes = append(nodes, n)
	}
	return nodes, raw
}

// attr returns an attribute of an element, "" if it has none of the name.
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// has reports whether an element has an attribute.
func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// hostile are texts that must stay texts wherever they are shown.
var hostile = []string{
	`<img src=x onerror=alert(1)>`, `"><script>alert(1)</script>`, `' onmouseover='alert(1)`, `</title><script>alert(1)</script>`,
	`</style><script>alert(1)</script>`, `{{.Title}}`, `--><!--`, `]]>`, "a\x00b\u202ec",
}

// TestHostile checks that markup in names stays text in every component.
func TestHostile(t *testing.T) {
	templates := parseSamples(t)
	for _, page := range samplePages {
		plain, _ := parsePage(t, templates, page, "Giulia")
		want := shape(plain)
		nodes, raw := parsePage(t, templates, page, "javascript:alert(1) "+strings.Join(hostile, " "))
		if shape(nodes) != want {
			t.Errorf("%s: a name changes the elements or attributes of the page", page)
		}
		for _, text := range hostile {
			if strings.Contains(raw, text) && strings.ContainsAny(text, "<>") {
				t.Errorf("%s: %q in a name is not escaped", page, text)
			}
		}
	}
}

// shape returns the elements of a page with the names of their attributes.
func shape(nodes []*html.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		if n.Type != html.ElementNode {
			continue
		}
		b.WriteString(n.Data)
		for _, a := range n.Attr {
			b.WriteString(" " + a.Key)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestHostilePaths checks that the path of a link cannot be a script.
func TestHostilePaths(t *testing.T) {
	page := &ErrorPage{Frame: Frame{Title: "x"}, Back: Action{Label: "x", Path: "javascript:alert(1)"}}
	if text := render(t, parseSamples(t), "error", page, PrinterFor("en")); strings.Contains(text, "javascript:") {
		t.Error(text)
	}
}

// forbidden matches what the policy forbids.
var forbidden = regexp.MustCompile(`(?i)<[^>]*\s(style|on[a-z]+)\s*=|<script>|javascript:|https?://[^"']*\.(js|css|png|woff2?)`)

// TestMarkup checks that no page has what the policy forbids, and what screen readers and keyboards need:
// each field has a label, each reference has its element, each id is there once, tables have captions and
// headers, and a page has one heading of the first level.
func TestMarkup(t *testing.T) {
	templates := parseSamples(t)
	for _, page := range samplePages {
		nodes, raw := parsePage(t, templates, page, "Giulia")
		if m := forbidden.FindString(raw); m != "" {
			t.Errorf("%s has %q", page, m)
		}
		ids, labels, headings := map[string]int{}, map[string]bool{}, 0
		for _, n := range nodes {
			if id := attr(n, "id"); id != "" {
				ids[id]++
			}
			if n.Data == "label" {
				labels[attr(n, "for")] = true
			}
			if n.Data == "h1" {
				headings++
			}
		}
		if headings != 1 {
			t.Errorf("%s has %d headings of the first level", page, headings)
		}
		for id, count := range ids {
			if count > 1 {
				t.Errorf("%s: the id %s is there %d times", page, id, count)
			}
		}
		for _, n := range nodes {
			for _, name := range []string{"for", "aria-describedby", "aria-labelledby", "data-copy", "data-preview-target"} {
				for _, id := range strings.Fields(attr(n, name)) {
					if ids[id] == 0 {
						t.Errorf("%s: %s of %s names %s, which is not there", page, name, n.Data, id)
					}
				}
			}
			if href := attr(n, "href"); strings.HasPrefix(href, "#") && len(href) > 1 && ids[href[1:]] == 0 {
				t.Errorf("%s: a link leads to %s, which is not there", page, href)
			}
			checkElement(t, page, n, labels)
		}
	}
}

// checkElement checks that an element has the label, caption, scope, name or role that it needs.
func checkElement(t *testing.T, page string, n *html.Node, labels map[string]bool) {
	t.Helper()
	switch n.Data {
	case "input", "select", "textarea":
		if attr(n, "type") != "hidden" && !labels[attr(n, "id")] {
			t.Errorf("%s: the field %s has no label", page, attr(n, "name"))
		}
		if n.Data == "select" && has(n, "required") && attr(n.FirstChild, "value") != "" {
			t.Errorf("%s: the select %s is required, and its first option is not empty", page, attr(n, "name"))
		}
		if kind := attr(n, "type"); has(n, "autocomplete") && (kind == "file" || kind == "checkbox" || kind == "radio") ||
			n.Data == "input" && attr(n, "autocomplete") == "street-address" {
			t.Errorf("%s: HTML permits no such autocomplete for the field %s", page, attr(n, "name"))
		}
	case "table":
		if n.FirstChild == nil || n.FirstChild.Data != "caption" {
			t.Errorf("%s: a table has no caption", page)
		}
	case "th":
		if attr(n, "scope") == "" {
			t.Errorf("%s: a header of a table has no scope", page)
		}
	case "button", "a", "summary":
		if text(n) == "" && attr(n, "aria-label") == "" {
			t.Errorf("%s: a %s has no name", page, n.Data)
		}
	case "svg":
		if attr(n, "aria-hidden") == "" && attr(n, "role") != "img" && n.Parent.Data != "svg" {
			t.Errorf("%s: an image has no role", page)
		}
	}
}

// text returns the text in an element.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// TestErrorsAreShown checks the summary of errors, the errors of fields, and that a
// password is not shown again.
func TestErrorsAreShown(t *testing.T) {
	_, raw := parsePage(t, parseSamples(t), "form", "Giulia")
	for _, want := range []string{
		`<a href="#f-stamps">Stamps must be between 1 and 99.</a>`,
		`id="f-stamps-error"`, `aria-describedby="f-stamps-error" aria-invalid="true"`,
		`aria-describedby="f-icon-locked"`, `name="idempotency_key" value="9f2c"`,
	} {
		if !strings.Contains(raw, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	f := Field{Form: &Form{Values: map[string][]string{"pw": {"secret"}}}, Name: "pw", Type: "password"}
	if f.Value() != "" {
		t.Error("a password is shown again")
	}
}

// TestMistakes checks that mistakes in pages are errors.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ call, want string }{
		{`field .Form "x" "X" "colour" "red"`, `no option "colour"`},
		{`field .Form "x" "X" "type" "texts"`, `no type "texts"`},
		{`field .Form "x" "X" "required" "yes"`, "required cannot be yes"},
		{`field .Form "x" "X" "hint"`, "an option has no value"},
		{`icon "nothing"`, `no icon "nothing"`},
		{`asset "nothing.css"`, "no asset nothing.css"},
		{`dict "a"`, "a key has no value"},
		{`link "/" "x" "color" "red"`, `no option "color"`},
	} {
		templates := require.Must(Parse(mapFS{"p.html": `{{define "content"}}{{` + c.call + `}}{{end}}`}))
		var b bytes.Buffer
		err := templates.Render(&b, "p", &sample{}, PrinterFor("en"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.call, err)
		}
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes were written", c.call, b.Len())
		}
	}
	templates := require.Must(Parse(mapFS{}))
	if err := templates.Render(&bytes.Buffer{}, "none", nil, PrinterFor("en")); err == nil {
		t.Error("a page that does not exist is shown")
	}
}

// TestPagesOfFaces checks that all pages of all faces can be parsed and have contents.
func TestPagesOfFaces(t *testing.T) {
	for _, face := range []string{"dashboard", "holder", "tillpage"} {
		templates := require.Must(Parse(os.DirFS("../" + face + "/pages")))
		for name, pg := range templates.pages {
			tmpl, err := templates.parse(name, pg, &copied{p: PrinterFor("en")})
			switch {
			case err != nil:
				t.Errorf("%s: %s: %v", face, name, err)
			case tmpl.Lookup("content") == nil:
				t.Errorf("%s: %s does not define \"content\"", face, name)
			}
		}
	}
}

// TestLanguagesAtOnce checks that answers in several languages at a time do not mix.
func TestLanguagesAtOnce(t *testing.T) {
	templates := require.Must(Parse(mapFS{"p.html": `{{define "content"}}<h1>{{t "Cancel"}}</h1>{{end}}`}))
	heading := regexp.MustCompile(`<html lang="(..)">(?s:.*)<h1>(.*)</h1>`)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			p := PrinterFor(Locales[i%len(Locales)])
			var b bytes.Buffer
			if err := templates.Render(&b, "p", &sample{}, p); err != nil {
				t.Error(err)
			}
			m := heading.FindStringSubmatch(b.String())
			if m == nil || m[1] != p.Lang() || m[2] != p.T("Cancel") {
				t.Errorf("%s: %q", p.Lang(), m)
			}
		})
	}
	wg.Wait()
}
