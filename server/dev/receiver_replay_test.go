package dev_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	stripe "github.com/stripe/stripe-go/v85/webhook"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// consumer is the receiver of a program under test.
type consumer struct {
	*httptest.Server
	mu   sync.Mutex
	got  []string          // event ids
	body map[string]string // by event id
	sign map[string]string // signatures by event id
}

func newConsumer(t *testing.T, status int) *consumer {
	c := &consumer{body: map[string]string{}, sign: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		id := r.Header.Get("Webhook-Id")
		c.got, c.body[id], c.sign[id] = append(c.got, id), string(raw), r.Header.Get("X-Service-Signature")
		w.WriteHeader(status)
	}))
	t.Cleanup(c.Close)
	return c
}

type replay struct {
	Data []struct {
		EventID string `json:"event_id"`
		Copy    int
		Status  *int
		Error   *string
	}
}

// TestReplay checks that a replay sends what a receiver got, in the order and as often as is asked,
// with the same bytes and their signature, and says what became of each request.
func TestReplay(t *testing.T) {
	r := start(t)
	to := newReceiver(r, nil)
	hook := newHook(r, to.URL, "card.added", "stamp.assigned")
	card := r.Post(cardsPath(r), nil).NewID()
	for range 2 {
		callTill(r, "POST", "/cards/"+card+"/stamps", fields{"count": 1}).Want(201)
	}
	settle(r)
	var ids []string
	for _, q := range readReceiver(r, to.ID, "").Requests {
		ids = append(ids, *q.EventID)
	}
	if len(ids) != 3 {
		t.Fatalf("%d deliveries", len(ids))
	}
	back := slices.Clone(ids)
	slices.Reverse(back)
	for _, c := range []struct {
		body fields
		want []string
	}{
		{fields{}, ids},
		{fields{"order": "sequence", "copies": 2}, slices.Concat(ids, ids)},
		{fields{"order": "reversed"}, back},
		{fields{"order": "reversed", "copies": 2}, slices.Concat(back, back)},
		{fields{"event": "stamp.assigned", "order": "reversed"}, back[:2]},
		{fields{"event": "card.archived"}, nil},
	} {
		to2 := newConsumer(t, 202)
		c.body["url"] = to2.URL + "/hooks"
		copies, ok := c.body["copies"].(int)
		if !ok {
			copies = 1
		}
		answer := servertest.Decode[replay](r.Control("POST", "/receiver/"+to.ID+"/replay", c.body))
		if !slices.Equal(to2.got, c.want) || len(answer.Data) != len(c.want) {
			t.Errorf("%v: sent %q, want %q", c.body, to2.got, c.want)
		}
		for i, one := range answer.Data {
			if one.Status == nil || *one.Status != 202 || one.Error != nil || one.EventID != c.want[i] ||
				one.Copy != 1+i/(len(c.want)/copies) {
				t.Errorf("%v: %+v", c.body, one)
			}
		}
		for id, body := range to2.body {
			if err := stripe.ValidatePayload([]byte(body), to2.sign[id], hook.Secret); err != nil {
				t.Errorf("%v: %s: %v", c.body, id, err)
			}
		}
	}
	wantRequests(r, to.ID, "", 3)
}

// TestReplayOfFailures checks what a replay answers about a program that refuses, redirects, is not
// there, or does not answer in time.
func TestReplayOfFailures(t *testing.T) {
	t.Parallel()
	r := serve(t)
	play := func(url string) string {
		to := newReceiver(r, nil)
		send(r, "POST", to.URL, `{"event": "x"}`).Want(200)
		one := servertest.Decode[replay](r.Control("POST", "/receiver/"+to.ID+"/replay", fields{"url": url})).Data[0]
		if one.Status != nil {
			return fmt.Sprint(*one.Status)
		}
		return *one.Error
	}
	if got := play(newConsumer(t, 500).URL); got != "500" {
		t.Error(got)
	}
	if got := play(newConsumer(t, 307).URL); got != "307" {
		t.Error(got)
	}
	gone := newConsumer(t, 200)
	gone.Close()
	if got := play(gone.URL); !strings.Contains(got, "refused") {
		t.Error(got)
	}
	r = serve(t, func(c *app.Config) { c.Limits.WebhookDeliveryTimeoutMS = 50 })
	if got := play(newReceiver(r, fields{"delay_ms": 60_000}).URL); got != "it was not answered in time" {
		t.Error(got)
	}
}

// TestReplayRefuses checks which replays are refused, also those of too many requests and of a
// request that was recorded in part.
func TestReplayRefuses(t *testing.T) {
	r := start(t)
	to := newReceiver(r, nil)
	path := "/receiver/" + to.ID + "/replay"
	callControl(r, "POST", path, nil).Invalid("url required")
	callControl(
		r,
		"POST",
		path,
		fields{"url": "ftp://x", "order": "random", "copies": 0},
	).Invalid("copies too_small", "order invalid_value")
	callControl(r, "POST", path, fields{"url": to.URL, "copies": 11}).Invalid("copies too_large")
	callControl(r, "POST", path, fields{"url": "http://10.0.0.1/"}).Want(400, "validation_failed")
	callControl(r, "POST", "/receiver/rcv_none/replay", fields{"url": to.URL}).Want(404, "not_found")
	for range 101 {
		send(r, "POST", to.URL, `{}`).Want(200)
	}
	callControl(r, "POST", path, fields{"url": newReceiver(r, nil).URL, "copies": 10}).Want(422, "unprocessable_entity")
	long := newReceiver(r, nil)
	send(r, "POST", long.URL, `"`+strings.Repeat("x", 300<<10)+`"`).Want(200)
	callControl(r, "POST", "/receiver/"+long.ID+"/replay", fields{"url": to.URL}).Want(422, "unprocessable_entity")
}

// TestResetEndsReplay checks that a reset does not wait for a replay.
func TestResetEndsReplay(t *testing.T) {
	r := start(t)
	to, slow := newReceiver(r, nil), newReceiver(r, fields{"delay_ms": 60_000})
	send(r, "POST", to.URL, `{}`).Want(200)
	done := make(chan *reply, 1)
	go func() { done <- callControl(r, "POST", "/receiver/"+to.ID+"/replay", fields{"url": slow.URL}) }()
	r.Control("GET", "/receiver/"+slow.ID+"?wait=1", nil) // the request has arrived
	r.Control("POST", "/reset", nil)
	servertest.Await(t, done, "the end of the replay")
}
