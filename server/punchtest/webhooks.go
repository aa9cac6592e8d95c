package punchtest

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"punchcard/webhook"
)

// Webhook makes a webhook of the demo shop that sends these events to target,
// or every event where none is named. The program is but its address: it
// filters nothing. The secret is what [Delivery.Verify] and receivers take.
func (s *Server) Webhook(program, target string, events ...string) (id, secret string) {
	s.t.Helper()
	if len(events) == 0 {
		events = []string{"*"}
	}
	var made struct{ ID, Secret string }
	s.Do(http.MethodPost, "/programs/"+url.PathEscape(program)+"/webhooks", s.APIKey, map[string]any{"url": target, "events": events}).Decode(&made)
	return made.ID, made.Secret
}

// Settled is what became of the webhooks that were due.
type Settled struct {
	Delivered int `json:"delivered"` // accepted since the last settle
	Failed    int `json:"failed"`    // attempts that were not, since the last settle
	Pending   int `json:"pending"`   // wait for a later attempt, or for their webhook to be switched on
}

// Settle sends webhooks until none is due. After it a receiver has all that it
// will get before the clock moves or something else happens.
func (s *Server) Settle() (done Settled) {
	s.t.Helper()
	if err := s.control(http.MethodPost, "/settle", nil, &done); err != nil {
		s.t.Fatal(err)
	}
	return done
}

// Receiver is a target for webhooks in the server itself. It answers 200 until
// it is told otherwise, and keeps up to 1,000 requests. A reset ends it.
type Receiver struct {
	ID  string
	URL string // where it is sent to
	// Timeout is how long Wait waits, in real time.
	Timeout time.Duration

	s    *Server
	mu   sync.Mutex
	gave map[int]bool // those that Wait has handed out, by place
}

// Receiver makes a receiver.
func (s *Server) Receiver() *Receiver {
	s.t.Helper()
	r := &Receiver{Timeout: 10 * time.Second, s: s, gave: map[int]bool{}}
	if err := s.control(http.MethodPost, "/receiver", nil, r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// Delivery is one request that a receiver got: an attempt at a webhook. Further
// attempts at it have the same ID and Body.
type Delivery struct {
	Event  string // of the envelope, such as stamp.assigned
	ID     string // of the event
	Body   []byte // as it came, and was signed
	Header http.Header
	At     time.Time // by the server's clock
}

// Wait hands out the oldest delivery of an event, or of any where event is
// empty, that it has not handed out before, and waits for it if need be. When
// none comes within Timeout, or the server is reset meanwhile, the test fails
// and tells what came instead.
func (r *Receiver) Wait(event string) Delivery {
	r.s.t.Helper()
	return ok(r.TryWait(event))(r.s.t)
}

// TryWait is [Receiver.Wait], but returns the failure.
func (r *Receiver) TryWait(event string) (Delivery, error) {
	late := time.Now().Add(r.Timeout)
	for wanted := 0; ; {
		left := time.Until(late)
		all, err := r.fetch(r.s.t.Context(), wanted, left)
		if err != nil {
			return Delivery{}, fmt.Errorf("waiting for a delivery of %s: %w", named(event), err)
		}
		if d, found := r.take(event, all); found {
			return d, nil
		}
		if left <= 0 {
			return Delivery{}, fmt.Errorf("no delivery of %s within %v; there came %s", named(event), r.Timeout, r.summary(all))
		}
		wanted = len(all) + 1
	}
}

func named(event string) string {
	if event == "" {
		return "any event"
	}
	return event
}

// take marks the first of that event that is still to be handed out.
func (r *Receiver) take(event string, all []Delivery) (d Delivery, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, d := range all {
		if !r.gave[i] && (event == "" || d.Event == event) {
			r.gave[i] = true
			return d, true
		}
	}
	return d, false
}

func (r *Receiver) summary(all []Delivery) string {
	if len(all) == 0 {
		return "nothing"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var came []string
	for i, d := range all {
		text := d.Event + " " + d.ID
		if r.gave[i] {
			text += " (handed out before)"
		}
		came = append(came, text)
	}
	return strings.Join(came, ", ")
}

// Deliveries is all that came so far, oldest first, whether or not Wait has
// handed it out.
func (r *Receiver) Deliveries() []Delivery {
	r.s.t.Helper()
	return ok(r.fetch(context.Background(), 0, 0))(r.s.t)
}

// fetch asks for all deliveries, as soon as there are so many or the time has
// passed.
func (r *Receiver) fetch(ctx context.Context, wanted int, patience time.Duration) (all []Delivery, err error) {
	patience = min(max(patience, 0), time.Minute) // the most that the server waits
	query := fmt.Sprintf("?wait=%d&timeout_ms=%d", wanted, patience.Milliseconds())
	answer := r.s.send(ctx, http.MethodGet, r.s.Origin+"/dev/receiver/"+r.ID+query, "", nil)
	if answer.Status == http.StatusNotFound {
		return nil, errors.New("the server was reset after this receiver was made")
	}
	if err := answer.Err(); err != nil {
		return nil, err
	}
	var shown struct {
		Requests []struct {
			Event   string            `json:"event"`
			EventID string            `json:"event_id"`
			Headers map[string]string `json:"headers"`
			Body    string            `json:"body"`
			At      time.Time         `json:"at"`
		} `json:"requests"`
	}
	if err := answer.decode(&shown); err != nil {
		return nil, err
	}
	for _, q := range shown.Requests {
		d := Delivery{Event: q.Event, ID: q.EventID, Body: []byte(q.Body), Header: http.Header{}, At: q.At}
		for name, value := range q.Headers {
			d.Header.Set(name, value)
		}
		all = append(all, d)
	}
	return all, nil
}

// Answer has the receiver answer from now on with this status, after this much
// real time, at most a minute, and with these headers, which may be nil. Status
// 0 cuts the connection.
func (r *Receiver) Answer(status int, delay time.Duration, headers map[string]string) {
	r.s.t.Helper()
	body := map[string]any{"status": status, "delay_ms": delay.Milliseconds()}
	if headers != nil {
		body["headers"] = headers
	}
	r.s.operate(http.MethodPut, "/receiver/"+r.ID, body)
}

// Decode unmarshals the envelope into v.
func (d Delivery) Decode(v any) error { return json.Unmarshal(d.Body, v) }

// Verify checks that the delivery was signed with a webhook's secret, by both
// schemes: X-Service-Signature and Standard Webhooks. A receiver also has to
// refuse timestamps that are old; Verify does not look at the age.
func (d Delivery) Verify(secret string) error {
	own := d.Header.Get(webhook.HeaderSignature)
	stamp, _, _ := strings.Cut(strings.TrimPrefix(own, "t="), ",")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is %q, which is no signature", webhook.HeaderSignature, own)
	}
	at := time.Unix(seconds, 0)
	if !hmac.Equal([]byte(own), []byte(webhook.Sign(secret, at, d.Body))) {
		return fmt.Errorf("%s was not made with this secret for this body", webhook.HeaderSignature)
	}
	if got := d.Header.Get(webhook.HeaderTimestamp); got != stamp {
		return fmt.Errorf("%s is %q where %s has %s", webhook.HeaderTimestamp, got, webhook.HeaderSignature, stamp)
	}
	want := webhook.SignStandard(secret, d.Header.Get(webhook.HeaderID), at, d.Body)
	if want == "" || !hmac.Equal([]byte(d.Header.Get(webhook.HeaderStandardSignature)), []byte(want)) {
		return fmt.Errorf("%s was not made with this secret for this body", webhook.HeaderStandardSignature)
	}
	return nil
}
