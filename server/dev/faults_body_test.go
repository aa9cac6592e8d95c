package dev_test

import (
	"encoding/base64"
	"testing"
)

// TestFaultBody checks that a fault can answer with any bytes, also with the status of a success, and that a fault without an end
// lasts until it is cleared.
func TestFaultBody(t *testing.T) {
	r := start(t)
	page := "<html>\n<h1>502 Bad Gateway</h1>"
	newFault(r, fields{"status": 502, "body": page})
	if got := callREST(r, "GET", "/me", nil); got.Status != 502 || string(got.Body) != page ||
		got.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
	}
	broken := "{\"shop\":\x00\xff"
	newFault(
		r,
		fields{
			"status":       200,
			"body_base64":  base64.StdEncoding.EncodeToString([]byte(broken)),
			"content_type": "application/json",
			"headers":      fields{"Via": "1.1 proxy"},
		},
	)
	if got := callREST(r, "GET", "/me", nil); got.Status != 200 || string(got.Body) != broken ||
		got.Header.Get("Content-Type") != "application/json" ||
		got.Header.Get("Via") != "1.1 proxy" {
		t.Errorf("%d %v %q", got.Status, got.Header, got.Body)
	}
	// After the effect: the card is made, and the answer is another.
	newFault(r, fields{"status": 200, "body": "", "when": "after", "content_type": "text/plain"})
	if got := callREST(r, "POST", cardsPath(r), fields{"holder_name": "Ada"}); got.Status != 200 || len(got.Body) != 0 ||
		got.Header.Get("Content-Length") != "0" {
		t.Errorf("%d %v %q", got.Status, got.Header, got.Body)
	}
	wantCards(r, 1)
	callREST(r, "GET", "/me", nil).Want(200)

	f := newFault(r, fields{"status": 503, "path": "/me", "until_cleared": true})
	if f.Count != 0 || f.Remaining != 0 {
		t.Errorf("%+v", f)
	}
	for range 3 {
		callREST(r, "GET", "/me", nil).Want(503)
	}
	wantFaults(r, f.ID+":0")
	r.Control("DELETE", "/faults", nil)
	callREST(r, "GET", "/me", nil).Want(200)
}
