package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Fields is a JSON object.
type Fields = map[string]any

// A Client calls one API of a server with one key and checks the answers.
type Client struct {
	T   testing.TB
	URL string // of the API; the paths of Call are below it
	Key string // bearer token; empty for none

	HTTP   *http.Client
	source *source // of the document that answers must conform to; nil for none
}

// NewClient returns a client of the API at a URL. It follows no redirects and
// has connections of its own, so that a test can end them without ending those of
// others.
func NewClient(t testing.TB, url, key string) *Client {
	return &Client{T: t, URL: url, Key: key, HTTP: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: Patience, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// With returns the same client with another key.
func (c *Client) With(key string) *Client {
	other := *c
	other.Key = key
	return &other
}

// On returns the same client that reports to t, a subtest.
func (c *Client) On(t testing.TB) *Client {
	other := *c
	other.T = t
	return &other
}

// Via returns the same client that makes its requests with h.
func (c *Client) Via(h *http.Client) *Client {
	other := *c
	other.HTTP = h
	return &other
}

// CloseIdleConnections closes the client's connections.
func (c *Client) CloseIdleConnections() { c.HTTP.CloseIdleConnections() }

// Get calls GET and checks the answer, as Call does.
func (c *Client) Get(path string, headers ...string) *Reply {
	c.T.Helper()
	return c.Call("GET", path, nil, headers...)
}

// Post calls POST and checks the answer, as Call does.
func (c *Client) Post(path string, body any, headers ...string) *Reply {
	c.T.Helper()
	return c.Call("POST", path, body, headers...)
}

// Patch calls PATCH and checks the answer, as Call does.
func (c *Client) Patch(path string, body any, headers ...string) *Reply {
	c.T.Helper()
	return c.Call("PATCH", path, body, headers...)
}

// Call makes a request below the API's URL and checks the answer: that it has a
// request id, that an error has the API's shape, and that it is as documented.
// body is JSON text, a value to be marshalled, a reader, or nil. headers are
// name, value pairs, which are added to those of the key and the body.
func (c *Client) Call(method, path string, body any, headers ...string) *Reply {
	c.T.Helper()
	r := c.Try(context.Background(), method, path, body, headers...).answered()
	r.Check()
	return r
}

// Try makes the same request and checks nothing. The reply's Err is set if there is no
// complete answer.
func (c *Client) Try(ctx context.Context, method, path string, body any, headers ...string) *Reply {
	c.T.Helper()
	h := http.Header{}
	if c.Key != "" {
		h.Set("Authorization", "Bearer "+c.Key)
	}
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	case []byte:
		content = bytes.NewReader(b)
	case io.Reader:
		content = b
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			c.T.Fatal(err)
		}
		content = bytes.NewReader(raw)
	}
	if content != nil {
		h.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return c.send(ctx, method, c.URL+path, content, h)
}

// Fetch makes a request with the given headers and no others. It fails the test if
// there is no answer, and checks nothing else.
func (c *Client) Fetch(method, url string, body []byte, h http.Header) *Reply {
	c.T.Helper()
	return c.FetchReader(method, url, bytes.NewReader(body), h)
}

// FetchReader is Fetch with a body of unknown length.
func (c *Client) FetchReader(method, url string, body io.Reader, h http.Header) *Reply {
	c.T.Helper()
	return c.send(context.Background(), method, url, body, h).answered()
}

// answered ends the test if there is no complete answer.
func (r *Reply) answered() *Reply {
	r.T.Helper()
	if r.Err != nil {
		r.T.Fatalf("%s: %v", r.What, r.Err)
	}
	return r
}

func (c *Client) send(ctx context.Context, method, url string, body io.Reader, h http.Header) *Reply {
	c.T.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		c.T.Fatal(err)
	}
	if h != nil {
		req.Header = h
	}
	r := &Reply{T: c.T, What: method + " " + strings.TrimPrefix(url, c.URL), client: c, Request: req}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		r.Err = err
		return r
	}
	defer resp.Body.Close()
	r.Status, r.Header = resp.StatusCode, resp.Header
	r.Body, r.Err = io.ReadAll(resp.Body)
	return r
}
