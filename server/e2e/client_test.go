package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// client calls the REST API with one key.
type client struct {
	t   *testing.T
	url string // of the API, or of the server for what is outside of it
	key string
}

func (p *process) api(key string) client { return client{p.t, p.origin + "/api/public/v1", key} }
func (p *process) outside() client       { return client{p.t, p.origin, ""} }
func (c client) get(path string) reply   { c.t.Helper(); return c.call("GET", path, nil) }
func (c client) post(path string, b any) reply {
	c.t.Helper()
	return c.call("POST", path, b)
}

// reply is an answer, read whole.
type reply struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   []byte
}

// call makes a request. body is JSON text, or a value to be marshalled, or
// nil; headers are name, value pairs.
func (c client) call(method, path string, body any, headers ...string) reply {
	c.t.Helper()
	req := newRequest(c.t, method, c.url+path, c.key, body, headers...)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		c.t.Fatal(err)
	}
	r := reply{c.t, method + " " + path, resp.StatusCode, resp.Header, raw}
	r.sound()
	return r
}

func newRequest(t *testing.T, method, url, key string, body any, headers ...string) *http.Request {
	t.Helper()
	var raw io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		raw = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		raw = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, url, raw)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return req
}

// sound checks what holds for every answer.
func (r reply) sound() {
	r.t.Helper()
	id := r.header.Get("X-Request-Id")
	if !strings.HasPrefix(id, "req_") {
		r.t.Errorf("%s: X-Request-Id is %q", r.what, id)
	}
	if r.status >= 400 && len(r.body) > 0 {
		var e errorBody
		if err := json.Unmarshal(r.body, &e); err != nil || e.Error.Code == "" || e.Error.RequestID != id {
			r.t.Errorf("%s: an error without the API's shape: %d %s", r.what, r.status, r.body)
		}
	}
}

type errorBody struct {
	Error struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
		Details   []struct{ Field, Code string }
	} `json:"error"`
}

func (r reply) error() errorBody {
	r.t.Helper()
	var e errorBody
	if err := json.Unmarshal(r.body, &e); err != nil {
		r.t.Fatalf("%s: %v: %s", r.what, err, r.body)
	}
	return e
}

// want ends the test unless the answer has the status and, for an error, the
// code.
func (r reply) want(status int, code ...string) reply {
	r.t.Helper()
	if r.status != status || len(code) > 0 && r.error().Error.Code != code[0] {
		r.t.Fatalf("%s: got %d %s, want %d %v", r.what, r.status, r.body, status, code)
	}
	return r
}

// wantDetail ends the test unless the answer is validation_failed with this
// detail.
func (r reply) wantDetail(field, code string) {
	r.t.Helper()
	for _, d := range r.want(400, "validation_failed").error().Error.Details {
		if d.Field == field && d.Code == code {
			return
		}
	}
	r.t.Fatalf("%s: no detail %s on %s: %s", r.what, code, field, r.body)
}

// into decodes the answer.
func (r reply) into(v any) {
	r.t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		r.t.Fatalf("%s: %v: %s", r.what, err, r.body)
	}
}

// card is what tests read of a card, in all of its forms.
type card struct {
	ID          string  `json:"id"`
	ProgramID   string  `json:"program_id"`
	ExternalRef *string `json:"external_ref"`
	HolderName  *string `json:"holder_name"`
	HolderEmail *string `json:"holder_email"`
	Status      string  `json:"status"`
	CreatedAt   string  `json:"created_at"`
	InstallURL  string  `json:"install_url"`
	LinkEnds    string  `json:"install_url_expires_at"`
}

// issue makes a card, which must succeed.
func (c client) issue(program string, fields any) (made card) {
	c.t.Helper()
	c.post("/programs/"+program+"/cards", fields).want(201).into(&made)
	return made
}

func (c client) card(id string) (found card) {
	c.t.Helper()
	c.get("/cards/" + id).want(200).into(&found)
	return found
}

// cards reads the whole list, limit at a time.
func (c client) cards(limit int) (all []card) {
	c.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Data       []card  `json:"data"`
			NextCursor *string `json:"next_cursor"`
		}
		c.get(fmt.Sprintf("/cards?limit=%d%s", limit, cursor)).want(200).into(&page)
		all = append(all, page.Data...)
		if page.NextCursor == nil {
			return all
		}
		cursor = "&cursor=" + *page.NextCursor
	}
}

// program makes a published program, which must succeed.
func (c client) program(fields any) (id string) {
	c.t.Helper()
	var made struct{ ID string }
	c.post("/programs", fields).want(201).into(&made)
	c.post("/programs/"+made.ID+"/publish", nil).want(200)
	return made.ID
}
