package main

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// browser is a browser without scripts: of a person of the dashboard, or of a customer.
type browser struct {
	*year
	role string // owner, manager or viewer; empty: nobody is signed in
	face face   // with the cookie of the session
}

// newBrowser returns the browser of a person of a role, who signs in when a page asks for it.
func (y *year) newBrowser(role, name string) *browser {
	return &browser{y, role, face{name: name}}
}

// signIn begins a session, by the fixture.
func (b *browser) signIn() bool {
	var in struct{ Cookie, Token string }
	r, ok := b.ask(b.control(), "POST", "/sign-in", map[string]any{"as": b.role}, "200")
	if !ok || r.decode(&in) != nil {
		return false
	}
	b.face.header = map[string]string{"Cookie": in.Cookie + "=" + in.Token}
	return true
}

// get returns a page, nil if there is none.
func (b *browser) get(path string) *page { return b.fetch("GET", path, nil, "200") }

// fetch makes a request as a browser does, after signing in if that is necessary.
func (b *browser) fetch(method, path string, body any, want ...string) *page {
	f := b.face.with("Accept", "text/html,application/xhtml+xml,*/*;q=0.8").with("Accept-Language", "en")
	if method == "POST" {
		f = f.with("Origin", b.server.origin()).with("Sec-Fetch-Site", "same-origin")
	}
	signedOut := func(r reply) bool {
		return b.role != "" && r.status == http.StatusSeeOther && strings.HasPrefix(r.header.Get("Location"), "/sign-in")
	}
	r, ok := b.ask(f, method, path, body, append(want, "303")...)
	if ok && signedOut(r) {
		if !b.signIn() {
			return nil
		}
		return b.fetch(method, path, body, want...)
	}
	if !ok || !b.expect(r, method+" "+path, want) {
		return nil
	}
	p := b.newPage(path, r)
	p.browser = b
	return p
}

// newPage parses a page.
func (y *year) newPage(path string, r reply) *page {
	root, err := html.Parse(bytes.NewReader(r.body))
	if err != nil { // reading memory does not fail
		y.fault("%s: %v", path, err)
	}
	return &page{path: path, reply: r, root: root}
}

// page is an answer for a browser.
type page struct {
	*browser
	reply
	path string
	root *html.Node
}

// is reports whether there is a page of a status.
func (p *page) is(status int) bool { return p != nil && p.status == status }

// location returns where the page leads.
func (p *page) location() string { return p.header.Get("Location") }

// find returns the first element for which ok is true, nil if there is none.
func (p *page) find(ok func(*html.Node) bool) *html.Node {
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && ok(n) {
			return n
		}
	}
	return nil
}

// raw returns the text in an element, with a blank between the texts of its elements.
func raw(n *html.Node) string {
	var parts []string
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			parts = append(parts, d.Data)
		}
	}
	return strings.Join(parts, " ")
}

// text returns the text in an element, with single blanks.
func text(n *html.Node) string { return strings.Join(strings.Fields(raw(n)), " ") }

// attr returns an attribute of an element.
func attr(n *html.Node, name string) string {
	v, _ := lookUp(n, name)
	return v
}

func lookUp(n *html.Node, name string) (string, bool) {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if i < 0 {
		return "", false
	}
	return n.Attr[i].Val, true
}

// form is a form of a page, with what a browser would send of it. fields is nil if there is none.
type form struct {
	*page
	action string
	fields url.Values
}

// form returns the form of a page that is sent to a path; an empty one is that of the page itself.
func (p *page) form(action string) *form {
	own, _, _ := strings.Cut(p.path, "?")
	f := &form{page: p, action: action}
	if action == "" {
		f.action = own
	}
	n := p.find(func(n *html.Node) bool {
		to, _, _ := strings.Cut(attr(n, "action"), "?")
		return n.Data == "form" && attr(n, "method") == "post" && (to == f.action || to == "" && f.action == own)
	})
	if n == nil {
		return f
	}
	f.fields = url.Values{}
	for d := range n.Descendants() {
		f.read(d)
	}
	return f
}

// read adds what a browser sends of an element.
func (f *form) read(n *html.Node) {
	name := attr(n, "name")
	if _, off := lookUp(n, "disabled"); n.Type != html.ElementNode || name == "" || off {
		return
	}
	switch n.Data {
	case "input":
		kind := attr(n, "type")
		if _, on := lookUp(n, "checked"); on || kind != "checkbox" && kind != "radio" {
			f.fields.Add(name, attr(n, "value"))
		}
	case "textarea":
		f.fields.Add(name, strings.TrimPrefix(raw(n), "\n"))
	case "select":
		var first, chosen *html.Node
		for o := range n.Descendants() {
			if o.Data != "option" {
				continue
			}
			if first == nil {
				first = o
			}
			if _, on := lookUp(o, "selected"); on {
				chosen = o
			}
		}
		if chosen == nil {
			chosen = first
		}
		if chosen != nil {
			f.fields.Add(name, attr(chosen, "value"))
		}
	}
}

// fill fills in fields, given as pairs of a name and a value.
func (f *form) fill(pairs ...string) *form {
	for i := 0; i+1 < len(pairs) && f.fields != nil; i += 2 {
		f.fields.Set(pairs[i], pairs[i+1])
	}
	return f
}

// send sends the form, and returns the answer, nil if its status is none that is wanted.
func (f *form) send(want ...string) *page {
	if f.fields == nil {
		f.fault("%s has no form for %s: %.600s", f.page.path, f.action, text(f.root))
		return nil
	}
	return f.fetch("POST", f.action, f.fields.Encode(), want...)
}

// change opens a page, fills in its form as [form.fill] does and sends it. It returns the answer, a redirect unless other
// statuses are wanted too, or nil.
func (b *browser) change(path string, fields []string, want ...string) *page {
	return b.press(path, "", fields, want...)
}

// press does the same with the form of the page that is sent to a path, such as a button.
func (b *browser) press(path, action string, fields []string, want ...string) *page {
	p := b.get(path)
	if p == nil {
		return nil
	}
	return p.form(action).fill(fields...).send(append(want, "303")...)
}

// link returns the path of a link or button of a page that ends so, empty if there is none.
func (b *browser) link(path, suffix string) string {
	p := b.get(path)
	if p == nil {
		return ""
	}
	to := ""
	p.find(func(n *html.Node) bool {
		to = attr(n, "href") + attr(n, "action")
		return strings.HasSuffix(to, suffix)
	})
	if !strings.HasSuffix(to, suffix) {
		return ""
	}
	return to
}
