package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"punchcard/server/dev/seed"
)

// The faces that a soak uses beside those of the mix. The base of pages is empty.
var (
	pages     = face{}
	assistant = face{bearer: seed.MCPKey}
	persons   = []string{seed.OwnerEmail, seed.ManagerEmail, seed.ViewerEmail}
)

const (
	installed  = 4 // cards of each client that have a page
	maxStreams = 2 // of a client at once
)

// visitor is what a client has of the faces for people.
type visitor struct {
	session face     // of the dashboard
	held    []string // paths of pages of cards
	streams []*conn  // oldest first
}

// other makes a request that only a soak has, of 40:
//
//	12  a page of the dashboard; one in 50 signs out and in again before
//	10  the page of a card
//	 4  a stream of a card's page or of the dashboard, in place of the client's oldest one
//	 6  a tool of /mcp
//	 4  a request with a wrong key or session
//	 4  half a request, after which the connection ends; the next request opens a new one
func (c *client) other() {
	switch x := c.rng.IntN(40); {
	case x < 12:
		if c.rng.IntN(50) == 0 {
			c.signOut()
			c.signIn()
		}
		c.get("page", c.session, one(c, []string{"", "", "/cards", "/cards?search=giulia", "/statistics", "/programs", "/locations",
			"/webhooks", "/report", "/card/" + one(c, c.cards).id}))
	case x < 22:
		c.get("holder", pages, one(c, c.held))
	case x < 26:
		c.stream()
	case x < 32:
		c.assist()
	case x < 36:
		c.refused()
	default:
		c.leave()
	}
}

// signIn opens a session of one of the shop's people.
func (c *client) signIn() {
	form := url.Values{"email": {persons[c.n%len(persons)]}, "password": {seed.Password}}
	a, ok := c.form("/sign-in", pages, form)
	for _, k := range (&http.Response{Header: a.header}).Cookies() {
		if k.Name == "punchcard" {
			c.session = face{base: "/dashboard", cookie: k.Name + "=" + k.Value}
		}
	}
	if ok && c.session.cookie == "" {
		c.fail("sign-in: no session")
	}
}

func (c *client) signOut() {
	c.form("/sign-out", face{cookie: c.session.cookie}, nil)
	c.session = pages
}

// form sends a form, whose answer leads to another page.
func (c *client) form(path string, f face, fields url.Values) (answer, bool) {
	return c.ask("form", request{face: f, path: path, body: fields.Encode(), form: true}, http.StatusSeeOther)
}

// install puts a card on the holder's phone, which gives it a page.
func (c *client) install(k *card, link string) {
	u, err := url.Parse(link)
	if err != nil {
		c.fail("install: %v", err)
		return
	}
	if a, ok := c.form(u.Path+"/install", pages, url.Values{"platform": {"google"}}); ok {
		k.active = true
		c.held = append(c.held, "/c/"+path.Base(a.header.Get("Location")))
	}
}

// stream opens a stream of events, reads its first bytes, and closes the client's oldest one if it has too many.
func (c *client) stream() {
	r := request{face: pages, path: one(c, c.held) + "/events"}
	if c.n < 2*len(persons) { // at most four of one person
		r = request{face: c.session, path: "/events"}
	}
	events := &conn{addr: c.conn.addr}
	resp, err := events.begin(r)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	if err == nil {
		_, err = resp.Body.Read(make([]byte, 1))
	}
	if err != nil {
		c.fail("stream %s: %v", r.path, err)
		events.end()
		return
	}
	c.note("stream", time.Since(c.began))
	events.c.SetDeadline(time.Time{})
	go io.Copy(io.Discard, resp.Body)
	if c.streams = append(c.streams, events); len(c.streams) > maxStreams {
		c.streams[0].end()
		c.streams = c.streams[1:]
	}
}

// assist calls a tool as an assistant does.
func (c *client) assist() {
	tool := one(c, []string{
		`"get_overview","arguments":{}`, `"find_cards","arguments":{"limit":20}`, `"get_analytics","arguments":{"view":"summary"}`,
		fmt.Sprintf(`"get_card","arguments":{"id":%q}`, one(c, c.cards).live),
	})
	a, ok := c.ask("mcp", request{face: assistant, path: "/mcp", body: call(tool)}, http.StatusOK)
	if ok && (bytes.Contains(a.body, []byte(`"isError":true`)) || !bytes.Contains(a.body, []byte(`"result":`))) {
		c.fail("mcp: %s: %.300s", tool, a.body)
	}
}

// call returns the text of a call of a tool.
func call(tool string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + tool + `}}`
}

// refused makes a request that the server must refuse.
func (c *client) refused() {
	wrong := strings.Repeat("x", 42) + fmt.Sprint(c.rng.IntN(10))
	status, r := http.StatusUnauthorized, request{face: face{base: office.base, bearer: "tsk_test_" + wrong}, path: "/cards"}
	switch c.rng.IntN(4) {
	case 0:
		r.face, r.path = face{base: till.base, bearer: "tdk_test_" + wrong}, "/cards/"+one(c, c.cards).id
	case 1:
		r.face, r.path, r.body = face{bearer: "tmk_test_" + wrong}, "/mcp", call(`"get_overview"`)
	case 2:
		r.face, r.path, status = face{cookie: "punchcard=" + wrong}, "/dashboard/cards", http.StatusSeeOther
	}
	c.ask("refused", r, status)
}

// leave sends half a request and closes the connection.
func (c *client) leave() {
	n, err := net.Dial("tcp", c.conn.addr)
	if err != nil {
		c.fail("leave: %v", err)
		return
	}
	fmt.Fprintf(n, "POST %s/cards/%s/stamps HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", till.base,
		one(c, c.cards).id, c.conn.addr, till.bearer)
	n.Close()
	c.conn.end()
}
