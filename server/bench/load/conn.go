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
	c      net.Conn // nil before the first request
	r      *bufio.Reader
	used   time.Time
	buffer bytes.Buffer // of the latest answer
}

// request is a GET or, with an Idempotency-Key, a POST of JSON text.
type request struct {
	face
	path, key, body string
}

// answer is an answer of the server. The body is valid until the next request.
type answer struct {
	status   int
	replayed bool // Idempotent-Replayed
	body     []byte
}

// do makes a request, which must be answered within a minute. After an error it is
// unknown whether the server did what it was asked.
func (c *conn) do(r request) (a answer, err error) {
	idle := time.Since(c.used) > 30*time.Second // before the server ends the connection
	if c.used = time.Now(); idle {
		if c.c != nil {
			c.c.Close()
		}
		if c.c, err = net.Dial("tcp", c.addr); err != nil {
			return a, err
		}
		c.r = bufio.NewReaderSize(c.c, 64<<10)
	}
	method := "GET"
	if r.key != "" {
		method = "POST"
	}
	req, err := http.NewRequest(method, "http://"+c.addr+r.base+r.path, strings.NewReader(r.body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Authorization", "Bearer "+r.bearer)
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
		req.Header.Set("Content-Type", "application/json")
	}
	c.c.SetDeadline(c.used.Add(time.Minute))
	if err := req.Write(c.c); err != nil {
		return a, err
	}
	resp, err := http.ReadResponse(c.r, req)
	if err != nil {
		return a, err
	}
	c.buffer.Reset()
	_, err = c.buffer.ReadFrom(resp.Body)
	return answer{resp.StatusCode, resp.Header.Get("Idempotent-Replayed") == "true", c.buffer.Bytes()}, err
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
