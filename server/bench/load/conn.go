package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// conn is a keep-alive connection. It takes less processor time than an http.Client,
// so that more is left for the server, and it never sends a request twice.
type conn struct {
	addr   string
	c      net.Conn // nil before the first request, and after end
	r      *bufio.Reader
	used   time.Time
	buffer bytes.Buffer // of the latest answer
}

// request is a GET or, with a body, a POST of JSON text or of a form. The key is an Idempotency-Key.
type request struct {
	face
	path, key, body string
	form            bool
}

// headers returns the headers of a request. Those without a value are not sent.
func (r *request) headers() map[string]string {
	h := map[string]string{"Cookie": r.cookie, "Idempotency-Key": r.key}
	if r.bearer != "" {
		h["Authorization"] = "Bearer " + r.bearer
	}
	if r.path == "/mcp" {
		h["Accept"] = "application/json, text/event-stream"
	}
	if r.form {
		h["Content-Type"] = "application/x-www-form-urlencoded"
	} else if r.body != "" {
		h["Content-Type"] = "application/json"
	}
	return h
}

// answer is an answer of the server. The body is valid until the next request.
type answer struct {
	status   int
	replayed bool // Idempotent-Replayed
	header   http.Header
	body     []byte
}

// end closes the connection; the next request opens a new one.
func (c *conn) end() {
	if c.c != nil {
		c.c.Close()
	}
	c.c = nil
}

// do makes a request, which must be answered within a minute. After an error it is
// unknown whether the server did what it was asked.
func (c *conn) do(r request) (a answer, err error) {
	if time.Since(c.used) > 30*time.Second { // before the server ends the connection
		c.end()
	}
	c.used = time.Now()
	resp, err := c.begin(r)
	if err != nil {
		return a, err
	}
	c.buffer.Reset()
	_, err = c.buffer.ReadFrom(resp.Body)
	return answer{resp.StatusCode, resp.Header.Get("Idempotent-Replayed") == "true", resp.Header, c.buffer.Bytes()}, err
}

// begin makes a request and returns when the header of its answer has arrived.
func (c *conn) begin(r request) (resp *http.Response, err error) {
	if c.c == nil {
		if c.c, err = net.Dial("tcp", c.addr); err != nil {
			return nil, err
		}
		c.r = bufio.NewReaderSize(c.c, 64<<10)
	}
	method := "GET"
	if r.body != "" || r.form {
		method = "POST"
	}
	req, err := http.NewRequest(method, "http://"+c.addr+r.base+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for header, value := range r.headers() {
		if value != "" {
			req.Header.Set(header, value)
		}
	}
	c.c.SetDeadline(time.Now().Add(time.Minute))
	if err := req.Write(c.c); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.r, req)
}

// call makes a request and decodes the answer, whose status must be 2xx, into v.
func (c *conn) call(r request, v any) error {
	a, err := c.do(r)
	if err != nil {
		return err
	}
	if a.status/100 != 2 {
		return fmt.Errorf("%s: status %d: %.300s", r.path, a.status, a.body)
	}
	return json.Unmarshal(a.body, v)
}
