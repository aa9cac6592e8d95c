package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// conn is a keep-alive connection that takes little processor time, since the
// program shares the processors with the server that it measures.
type conn struct {
	addr string
	by   time.Time // deadline of all requests
	c    net.Conn  // nil before the first request
	used time.Time
	r    *bufio.Reader
	body []byte
}

// idle is how long an unused connection is kept, which is less than the server keeps
// it.
const idle = 30 * time.Second

// dial connects, unless there is a connection that the server has not closed.
func (c *conn) dial() error {
	now := time.Now()
	fresh := c.c != nil && now.Sub(c.used) < idle
	if c.used = now; fresh {
		return nil
	}
	c.close()
	made, err := net.Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	if err := made.SetDeadline(c.by); err != nil {
		return errors.Join(err, made.Close())
	}
	c.c, c.r = made, bufio.NewReaderSize(made, 64<<10)
	return nil
}

func (c *conn) close() {
	if c.c != nil {
		c.c.Close()
	}
}

// answer is an answer of the server. The body is valid until the next round trip.
type answer struct {
	status   int
	replayed bool // Idempotent-Replayed
	body     []byte
}

// roundTrip sends a request and reads the answer, which must have a Content-Length.
// After an error it is unknown whether the server did what it was asked.
func (c *conn) roundTrip(req []byte) (a answer, err error) {
	if err = c.dial(); err != nil {
		return a, err
	}
	if _, err = c.c.Write(req); err != nil {
		return a, err
	}
	length := -1
	for first := true; ; first = false {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return a, err
		}
		if len(line) <= 2 {
			break
		}
		if first {
			if len(line) < 12 {
				return a, fmt.Errorf("a status line of %d bytes", len(line))
			}
			a.status, err = strconv.Atoi(string(line[9:12]))
		} else if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, err = strconv.Atoi(string(bytes.TrimSpace(v)))
		} else if bytes.HasPrefix(line, []byte("Idempotent-Replayed: true")) {
			a.replayed = true
		}
		if err != nil {
			return a, err
		}
	}
	if length < 0 {
		return a, fmt.Errorf("an answer of status %d without its length", a.status)
	}
	if cap(c.body) < length {
		c.body = make([]byte, length+length/4)
	}
	a.body = c.body[:length]
	_, err = io.ReadFull(c.r, a.body)
	return a, err
}

// caller renders requests with one bearer token into a buffer.
type caller struct {
	tail []byte // what follows the path: version, host, bearer
	buf  []byte // of the latest request
}

func newCaller(bearer string) *caller {
	return &caller{tail: []byte(" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + bearer + "\r\n")}
}

// get returns a GET of the path made of parts. It is valid until the next call.
func (c *caller) get(parts ...string) []byte {
	c.begin("GET ", parts)
	c.buf = append(c.buf, "\r\n"...)
	return c.buf
}

// post returns a POST of JSON text, with an Idempotency-Key unless key is empty. It is
// valid until the next call.
func (c *caller) post(key, body string, parts ...string) []byte {
	c.begin("POST ", parts)
	if key != "" {
		c.buf = append(append(append(c.buf, "Idempotency-Key: "...), key...), "\r\n"...)
	}
	c.buf = append(c.buf, "Content-Type: application/json\r\nContent-Length: "...)
	c.buf = strconv.AppendInt(c.buf, int64(len(body)), 10)
	c.buf = append(append(c.buf, "\r\n\r\n"...), body...)
	return c.buf
}

func (c *caller) begin(method string, path []string) {
	c.buf = append(c.buf[:0], method...)
	for _, part := range path {
		c.buf = append(c.buf, part...)
	}
	c.buf = append(c.buf, c.tail...)
}
