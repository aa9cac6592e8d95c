package dashboard_test

import (
	"bytes"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

func TestMain(m *testing.M) {
	servertest.Setup()
	os.Exit(m.Run())
}

// object is the body of a call of an API.
type object = servertest.Fields

// roles are the roles of people, each of which includes the ones before it.
var roles = []string{"viewer", "manager", "owner", "operator"}

// demo is a server of the demo shop, of which a person of each role is signed in.
type demo struct {
	*servertest.Server
	tokens map[string]string // of the sessions, by role
}

// start starts a server with people. Their emails are their roles at test.example.
func start(t testing.TB, options ...func(*app.Config)) *demo {
	t.Helper()
	servertest.Parallel(t)
	logged := func(c *app.Config) {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	}
	s := &demo{Server: servertest.Start(t, append([]func(*app.Config){logged}, options...)...), tokens: map[string]string{}}
	shop := s.Row(store.KindShop, s.ShopID)
	for _, role := range roles {
		s.tokens[role] = s.signIn(role, role, shop)
	}
	return s
}

// signIn adds a person with a role to a shop and begins a session of theirs.
func (s *demo) signIn(name, role string, shop int64) (token string) {
	s.T.Helper()
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
		n := store.NewUser{Email: name + "@test.example", Name: "The " + name, Language: "en", Operator: role == "operator"}
		user, err := tx.AddUser(n)
		if err == nil && !n.Operator {
			err = tx.AddMember(user, shop, role)
		}
		if err == nil {
			_, token, err = tx.BeginSession(store.NewSession{User: user, Shop: shop})
		}
		return err
	})
	return token
}

// as returns the browser of a person of a role, or of a visitor if the role is empty.
func (s *demo) as(role string) *browser {
	b := &browser{demo: s}
	if token := s.tokens[role]; token != "" {
		b.cookie = &http.Cookie{Name: "punchcard", Value: token}
	}
	return b
}

// browser gets pages and sends forms for one person.
type browser struct {
	*demo
	cookie *http.Cookie // of the session; nil: nobody is signed in
	header http.Header  // of all requests
}

// get gets a page. It follows no redirect.
func (b *browser) get(path string) *page {
	b.T.Helper()
	return b.send(http.MethodGet, path, nil)
}

// post sends fields to a path, as a form does.
func (b *browser) post(path string, fields url.Values) *page {
	b.T.Helper()
	return b.send(http.MethodPost, path, fields)
}

// open gets a page and returns its form, with fields filled in.
func (b *browser) open(path string, pairs ...string) *form {
	b.T.Helper()
	return b.get(path).want(200).form().set(pairs...)
}

// fill does so and sends the form.
func (b *browser) fill(path string, pairs ...string) *page {
	b.T.Helper()
	return b.open(path, pairs...).send()
}

// twice does so and sends the form twice.
func (b *browser) twice(path string, pairs ...string) *page {
	b.T.Helper()
	return b.open(path, pairs...).sendTwice()
}

func (b *browser) send(method, path string, fields url.Values) *page {
	b.T.Helper()
	if method == http.MethodPost {
		return b.request(method, path, "application/x-www-form-urlencoded", strings.NewReader(fields.Encode()))
	}
	return b.request(method, path, "", nil)
}

// request makes a request with a body of a type.
func (b *browser) request(method, path, contentType string, body io.Reader) *page {
	b.T.Helper()
	req := require.Must(http.NewRequestWithContext(b.T.Context(), method, b.Origin+path, body))
	maps.Copy(req.Header, b.header)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return b.do(req)
}

// do makes a request with the person's cookie.
func (b *browser) do(req *http.Request) *page {
	b.T.Helper()
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	resp := require.Must(b.HTTP.Do(req))
	defer resp.Body.Close()
	raw := require.Must(io.ReadAll(resp.Body))
	p := &page{
		browser: b,
		what:    req.Method + " " + req.URL.RequestURI(),
		path:    req.URL.Path,
		status:  resp.StatusCode,
		header:  resp.Header,
		body:    string(raw),
		root:    sync.OnceValue(func() *html.Node { return require.Must(html.Parse(bytes.NewReader(raw))) }),
	}
	if strings.Contains(p.body, "tell the person who runs the server this number:") {
		b.T.Errorf("%s: a refusal has no text in server/web/refusal_texts.go", p.what)
	}
	if kind := p.header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") && !otherFace.MatchString(p.path) {
		p.checkHeaders()
		if strings.Contains(p.body, "<img src=x") || strings.Contains(p.body, `data-evil="`) {
			b.T.Errorf("%s: a name became markup: %s", p.what, p.body)
		}
	}
	return p
}

// otherFace matches the paths of pages that are not of the dashboard, and the one that leads to its first page.
var otherFace = regexp.MustCompile("^/((c|i|join)/|dashboard/$)")

// checkHeaders checks that a page may not be framed, stored or made to run foreign scripts, that the browser
// says where its forms come from, and that it has a request id, which a page of an error shows.
func (p *page) checkHeaders() {
	p.T.Helper()
	csp := p.header.Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
		p.T.Errorf("%s: policy %q", p.what, csp)
	}
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := p.header.Get(name); got != want {
			p.T.Errorf("%s: %s: %q, want %q", p.what, name, got, want)
		}
	}
	if policy := p.header.Get("Referrer-Policy"); policy != "same-origin" && strings.Contains(p.body, "<form") {
		p.T.Errorf("%s: Referrer-Policy %q", p.what, policy)
	}
	id := p.header.Get("X-Request-Id")
	if id == "" || strings.Contains(p.body, `<section class="message">`) && !strings.Contains(p.body, id) {
		p.T.Errorf("%s: request id %q", p.what, id)
	}
}

// page is an answer, with its elements.
type page struct {
	*browser
	what   string // method and path
	path   string // without the query
	status int
	header http.Header
	body   string
	root   func() *html.Node
}

// want ends the test unless the page has a status.
func (p *page) want(status int) *page {
	p.T.Helper()
	if p.status != status {
		p.T.Fatalf("%s: status %d, want %d: %.1500s", p.what, p.status, status, p.text())
	}
	return p
}

// next follows the redirect of a form that succeeded.
func (p *page) next() *page {
	p.T.Helper()
	return p.get(p.want(303).header.Get("Location")).want(200)
}

// has checks that the page shows texts.
func (p *page) has(texts ...string) *page {
	p.T.Helper()
	shown := p.text()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			p.T.Errorf("%s does not show %q: %.2000s", p.what, text, shown)
		}
	}
	return p
}

// shows checks that the page has the status 200 and shows texts.
func (p *page) shows(texts ...string) *page {
	p.T.Helper()
	return p.want(200).has(texts...)
}

// lacks checks that the page has texts nowhere, attributes included.
func (p *page) lacks(texts ...string) *page {
	p.T.Helper()
	for _, text := range texts {
		if strings.Contains(p.body, text) {
			p.T.Errorf("%s has %q", p.what, text)
		}
	}
	return p
}

// problem checks that the page says what is wrong with a field, also one of a filter, beside it.
func (p *page) problem(field string, says ...string) *page {
	p.T.Helper()
	ids := []string{"f-" + field + "-error", "filter-" + field + "-error"}
	n := p.find(func(n *html.Node) bool { return slices.Contains(ids, attribute(n, "id")) })
	if n == nil {
		p.T.Fatalf("%s says nothing about the field %s: %.1500s", p.what, field, p.text())
	}
	for _, text := range says {
		if !strings.Contains(textOf(n), text) {
			p.T.Errorf("%s says of %s: %q, want %q", p.what, field, textOf(n), text)
		}
	}
	return p
}

// to checks that the page leads to a path that begins so, and returns it.
func (p *page) to(path string) string {
	p.T.Helper()
	to := p.want(303).header.Get("Location")
	if !strings.HasPrefix(to, path) {
		p.T.Errorf("%s leads to %q, want %s", p.what, to, path)
	}
	return to
}

// text returns the text that the page shows.
func (p *page) text() string { return textOf(p.root()) }

// find returns the first element for which ok is true, nil if there is none.
func (p *page) find(ok func(*html.Node) bool) *html.Node {
	for n := range p.root().Descendants() {
		if n.Type == html.ElementNode && ok(n) {
			return n
		}
	}
	return nil
}

// pathTo returns the first path on the page that begins and ends so.
func (p *page) pathTo(prefix, suffix string) (path string) {
	for n := range p.root().Descendants() {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Val, prefix) && strings.HasSuffix(a.Val, suffix) {
				return a.Val
			}
		}
	}
	p.T.Fatalf("%s leads to no %s…%s", p.what, prefix, suffix)
	return ""
}

// link reports whether the page has a link to a path.
func (p *page) link(path string) bool {
	return p.find(func(n *html.Node) bool { return n.Data == "a" && attribute(n, "href") == path }) != nil
}

// form is a form of a page, with what its fields contain.
type form struct {
	*page
	action string
	fields url.Values
}

// form returns the form that is sent to the path of the page, or to another path.
func (p *page) form(action ...string) *form {
	p.T.Helper()
	path := strings.Join(action, "")
	node := p.find(func(n *html.Node) bool {
		to := attribute(n, "action")
		return n.Data == "form" && attribute(n, "method") == "post" &&
			(to == path || to == "" && path == p.path || to == p.path && path == "")
	})
	if node == nil {
		p.T.Fatalf("%s has no form for %q: %.1500s", p.what, path, p.text())
	}
	f := &form{page: p, action: attribute(node, "action"), fields: url.Values{}}
	if f.action == "" {
		f.action = p.path
	}
	for n := range node.Descendants() {
		f.read(n)
	}
	return f
}

// press sends a form of the page that is a button.
func (p *page) press(action string) *page {
	p.T.Helper()
	return p.form(action).send()
}

// read adds what a field contains.
func (f *form) read(n *html.Node) {
	name := attribute(n, "name")
	if n.Type != html.ElementNode || name == "" || has(n, "disabled") {
		return
	}
	switch n.Data {
	case "input":
		if kind := attribute(n, "type"); (kind == "checkbox" || kind == "radio") && !has(n, "checked") {
			return
		}
		f.fields.Add(name, attribute(n, "value"))
	case "textarea":
		f.fields.Add(name, textOf(n))
	case "select":
		for o := range n.Descendants() {
			if o.Data == "option" && has(o, "selected") {
				f.fields.Add(name, attribute(o, "value"))
			}
		}
	}
}

// set fills in fields, given as pairs of a name and a value.
func (f *form) set(pairs ...string) *form {
	for i := 0; i+1 < len(pairs); i += 2 {
		f.fields.Set(pairs[i], pairs[i+1])
	}
	return f
}

// send sends the form.
func (f *form) send() *page {
	f.T.Helper()
	return f.post(f.action, f.fields)
}

// refused sends the form, and checks that the answer says what is wrong with a field.
func (f *form) refused(field string, says ...string) *page {
	f.T.Helper()
	return f.send().want(400).problem(field, says...)
}

// sendTwice sends the form twice, as a double click does. It checks that the second
// answer is that of the first, and that it changed nothing.
func (f *form) sendTwice() *page {
	f.T.Helper()
	first := f.send()
	var second *page
	f.Unchanged(func() { second = f.send() })
	if second.status != first.status || second.header.Get("Location") != first.header.Get("Location") {
		f.T.Errorf(
			"%s twice: first %d %s, then %d %s",
			first.what,
			first.status,
			first.header.Get("Location"),
			second.status,
			second.header.Get("Location"),
		)
	}
	return first
}

// attribute returns an attribute of an element.
func attribute(n *html.Node, name string) string {
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

// textOf returns the text in an element, with single blanks.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && !slices.Contains([]string{"script", "style"}, d.Parent.Data) {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// message returns the text of an error page, without the id of the request.
func (p *page) message() string {
	p.T.Helper()
	main := p.find(func(n *html.Node) bool { return n.Data == "main" })
	if main == nil {
		p.T.Fatalf("%s is no page: %s", p.what, p.body)
	}
	text, _, _ := strings.Cut(textOf(main), "req_")
	return text
}
