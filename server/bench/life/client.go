package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/net/html"
)

// face is one of the server's APIs with a credential for it.
type face struct {
	name   string // as in answers.jsonl
	origin string // empty for the server of the year
	base   string
	header map[string]string
	client *http.Client // nil: that of the year
}

// bearer returns the face of an API with a key or token.
func bearer(name, base, token string) face {
	return face{name: name, base: base, header: map[string]string{"Authorization": "Bearer " + token}}
}

// with returns the face with one more header.
func (f face) with(name, value string) face {
	h := map[string]string{name: value}
	for k, v := range f.header {
		h[k] = v
	}
	f.header = h
	return f
}

// reply is an answer of the server.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// code returns the code of an error; empty if the answer is none.
func (r reply) code() string {
	var e struct{ Error struct{ Code string } }
	json.Unmarshal(r.body, &e) // a page has no code
	return e.Error.Code
}

// decode decodes the body into v.
func (r reply) decode(v any) error {
	if err := json.Unmarshal(r.body, v); err != nil {
		return fmt.Errorf("%w in %.300s", err, r.body)
	}
	return nil
}

// try makes a request once. body is nil, text, bytes, or a value that becomes JSON.
func (y *year) try(f face, method, path string, body any) (r reply, err error) {
	var b []byte
	kind := "application/json"
	switch x := body.(type) {
	case nil:
	case []byte:
		b = x
	case string:
		b, kind = []byte(x), "application/x-www-form-urlencoded"
	default:
		if b, err = json.Marshal(x); err != nil {
			return r, err
		}
	}
	req, err := http.NewRequestWithContext(y.ctx, method, cmp.Or(f.origin, y.server.origin())+f.base+path, bytes.NewReader(b))
	if err != nil {
		return r, err
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	for name, value := range f.header {
		req.Header.Set(name, value)
	}
	resp, err := cmp.Or(f.client, y.http).Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	r = reply{status: resp.StatusCode, header: resp.Header}
	r.body, err = io.ReadAll(resp.Body)
	return r, err
}

// ask repeats a request until there is an answer. A write needs a header or field by which the server
// knows a repetition. An answer that is not one of want, such as "201" or "422 card_locked", is a fault.
func (y *year) ask(f face, method, path string, body any, want ...string) (reply, bool) {
	for range 200 {
		r, err := y.try(f, method, path, body)
		if err == nil {
			y.answered()
			return r, y.expect(r, method+" "+f.base+path, want)
		}
		if y.ctx.Err() != nil {
			return reply{}, false
		}
		y.server.await()
	}
	y.fault("%s %s%s: no answer", method, f.base, path)
	return reply{}, false
}

// expect reports whether an answer is one of want, and notes a fault if it is not.
func (y *year) expect(r reply, what string, want []string) bool {
	got := strings.TrimSpace(fmt.Sprint(r.status, " ", r.code()))
	for _, w := range want {
		if got == w {
			return true
		}
	}
	y.fault("%s: %s, want %s: %.400s", what, got, strings.Join(want, " or "), r.said())
	return false
}

// said returns the body, or what a page says.
func (r reply) said() string {
	if !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		return string(r.body)
	}
	root, err := html.Parse(bytes.NewReader(r.body))
	if err != nil {
		return err.Error()
	}
	for n := range root.Descendants() {
		if n.Data == "main" {
			return text(n)
		}
	}
	return text(root)
}

// need is ask for a request without which the year cannot go on: v gets the answer, which must have a status of success.
// While the server may be killed, it is repeated if it does the same again.
func (y *year) need(f face, method, path string, body, v any) error {
	r, err := y.try(f, method, path, body)
	again := method == http.MethodGet || path == "/clock" || path == "/settle" || path == "/wallet/phones"
	for n := 0; err != nil && again && n < 200 && y.ctx.Err() == nil; n++ {
		y.server.await()
		r, err = y.try(f, method, path, body)
	}
	if err == nil && r.status >= 300 {
		err = fmt.Errorf("%d %.500s", r.status, r.body)
	}
	if err == nil && v != nil {
		err = r.decode(v)
	}
	if err != nil {
		return fmt.Errorf("%s %s%s: %w", method, f.base, path, err)
	}
	return nil
}
