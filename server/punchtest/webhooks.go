package punchtest

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"punchcard/webhook"
)

// Webhook creates a webhook of the demo shop that sends the events, by default every
// event, to target. The program is part of its URL only and filters nothing. The
// secret is the argument of [Delivery.Verify].
func (s *Server) Webhook(program, target string, events ...string) (id, secret string) {
	s.t.Helper()
	return s.NewWebhook(program, WebhookFields{URL: target, Events: events})
}

// WebhookFields are the fields of a new webhook. All but URL are optional.
type WebhookFields struct {
	URL       string   `json:"url"`
	Events    []string `json:"events"`                    // every event if none; card.* stands for all events of cards
	Version   string   `json:"payload_version,omitempty"` // v1, v2 (default): the form of the envelope
	Programs  []string `json:"program_ids,omitempty"`     // ids; only events of these programs
	Locations []string `json:"location_ids,omitempty"`    // ids; only events at these locations
	// ShopWide says whether events that belong to no location are sent; true if nil.
	ShopWide    *bool  `json:"include_shop_wide_events,omitempty"`
	BearerToken string `json:"bearer_token,omitempty"` // sent as Authorization: Bearer …
	Description string `json:"description,omitempty"`
}

// NewWebhook creates a webhook of the demo shop with filters or another version of the
// envelope; see [Server.Webhook].
func (s *Server) NewWebhook(program string, fields WebhookFields) (id, secret string) {
	s.t.Helper()
	if len(fields.Events) == 0 {
		fields.Events = []string{"*"}
	}
	var made struct{ ID, Secret string }
	s.Do(http.MethodPost, "/programs/"+url.PathEscape(program)+"/webhooks", s.APIKey, fields).Decode(&made)
	return made.ID, made.Secret
}

// Settled counts what became of the deliveries that were due.
type Settled struct {
	Delivered int `json:"delivered"` // deliveries that were accepted, since the last settle
	Failed    int `json:"failed"`    // attempts that failed, since the last settle
	Pending   int `json:"pending"`   // deliveries that wait for a later attempt, or for their webhook to be enabled
}

// Settle delivers webhooks until none is due. A receiver then has everything that it
// will get before the clock advances or something else happens.
func (s *Server) Settle() Settled {
	s.t.Helper()
	return ask[Settled](s, http.MethodPost, "/settle", nil)
}

// Receiver is a target for webhooks in the server itself. It answers 200 until
// [Receiver.Answer] changes that, and keeps up to 1,000 requests. A reset removes it.
type Receiver struct {
	ID  string
	URL string // target for webhooks
	// Timeout is how long Wait waits, in real time.
	Timeout time.Duration

	s        *Server
	mu       sync.Mutex
	returned map[deliveryName]bool // the deliveries that Wait has returned
}

// Receiver creates a receiver.
func (s *Server) Receiver() *Receiver {
	s.t.Helper()
	r := &Receiver{Timeout: 10 * time.Second, s: s, returned: map[deliveryName]bool{}}
	s.operate(http.MethodPost, "/receiver", nil, r)
	return r
}

// Delivery is one request that a receiver got: an attempt to deliver an event.
// Further attempts have the same ID and Body.
type Delivery struct {
	Event  string // of the envelope, such as stamp.assigned
	ID     string // of the event
	Body   []byte // the bytes that were signed
	Header http.Header
	At     time.Time // by the server's clock
}

// deliveryName names a delivery by its event and its number among those of that
// event. The name stays the same when a delivery of an earlier event arrives later,
// which [Receiver.Deliveries] lists before it.
type deliveryName struct {
	event, id string
	n         int
}

// namesOf returns the names of deliveries.
func namesOf(all []Delivery) (names []deliveryName) {
	next := map[deliveryName]int{}
	for _, d := range all {
		name := deliveryName{event: d.Event, id: d.ID}
		next[name]++
		name.n = next[name]
		names = append(names, name)
	}
	return names
}

// Wait returns the first delivery of an event, or of any event if event is empty,
// that it has not returned before, in the order of [Receiver.Deliveries], and waits
// for it if necessary. If none arrives within Timeout, or the server is reset, the
// test fails with a list of those that did arrive.
func (r *Receiver) Wait(event string) Delivery {
	r.s.t.Helper()
	return ok(r.TryWait(event))(r.s.t)
}

// TryWait is [Receiver.Wait], but returns the failure.
func (r *Receiver) TryWait(event string) (Delivery, error) {
	deadline := time.Now().Add(r.Timeout)
	for wanted := 0; ; {
		left := time.Until(deadline)
		all, err := r.fetch(r.s.t.Context(), wanted, left)
		if err != nil {
			return Delivery{}, fmt.Errorf("waiting for a delivery of %s: %w", cmp.Or(event, "any event"), err)
		}
		if d, found := r.take(event, all); found {
			return d, nil
		}
		if left <= 0 {
			return Delivery{}, fmt.Errorf(
				"no delivery of %s within %v; there came %s",
				cmp.Or(event, "any event"),
				r.Timeout,
				r.summary(all),
			)
		}
		wanted = len(all) + 1
	}
}

// take returns the first delivery of an event that Wait has not returned, and marks
// it as returned.
func (r *Receiver) take(event string, all []Delivery) (d Delivery, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := namesOf(all)
	for i, d := range all {
		if !r.returned[names[i]] && (event == "" || d.Event == event) {
			r.returned[names[i]] = true
			return d, true
		}
	}
	return d, false
}

// summary lists the deliveries, for an error.
func (r *Receiver) summary(all []Delivery) string {
	if len(all) == 0 {
		return "nothing"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var came []string
	names := namesOf(all)
	for i, d := range all {
		text := d.Event + " " + d.ID
		if r.returned[names[i]] {
			text += " (handed out before)"
		}
		came = append(came, text)
	}
	return strings.Join(came, ", ")
}

// Deliveries returns all deliveries so far in the order of the events, which
// X-Service-Sequence tells, also those that Wait has returned. Attempts of one
// delivery are in the order of their arrival.
func (r *Receiver) Deliveries() []Delivery {
	r.s.t.Helper()
	return ok(r.fetch(context.Background(), 0, 0))(r.s.t)
}

// fetch returns all deliveries. It waits until there are at least as many as wanted, or
// until the timeout has passed.
func (r *Receiver) fetch(ctx context.Context, wanted int, timeout time.Duration) (all []Delivery, err error) {
	var shown struct {
		Requests []struct {
			Event   string            `json:"event"`
			EventID string            `json:"event_id"`
			Headers map[string]string `json:"headers"`
			Body    string            `json:"body"`
			At      time.Time         `json:"at"`
		} `json:"requests"`
	}
	if err := r.s.await(ctx, "receiver", fmt.Sprintf("/receiver/%s?wait=%d", r.ID, wanted), timeout, &shown); err != nil {
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

// Answer sets the status and the headers, which may be nil, of the receiver's
// further answers, and the real time before each, at most a minute. Status 0 cuts
// the connection.
func (r *Receiver) Answer(status int, delay time.Duration, headers map[string]string) {
	r.s.t.Helper()
	body := map[string]any{"status": status, "delay_ms": delay.Milliseconds()}
	if headers != nil {
		body["headers"] = headers
	}
	r.s.operate(http.MethodPut, "/receiver/"+r.ID, body, nil)
}

// Replay is how [Receiver.Replay] sends deliveries.
type Replay struct {
	Reversed bool   // the last event first
	Copies   int    // how often all of it is sent, at most 10; 0 means once
	Event    string // only this one; all if empty
}

// Replayed is one request of a replay and what became of it.
type Replayed struct {
	Event      string `json:"event"`
	ID         string `json:"event_id"`
	Copy       int    `json:"copy"`   // from 1
	Status     int    `json:"status"` // of the answer; 0 if there was none
	Error      string `json:"error"`  // why there was none
	DurationMS int64  `json:"duration_ms"`
}

// Replay sends the deliveries that the receiver got to url, one after the other, with their
// signatures: the program under test gets them late, out of order or more than once, as it
// may from a real server. It returns what became of each.
func (r *Receiver) Replay(url string, how Replay) []Replayed {
	r.s.t.Helper()
	body := map[string]any{"url": url, "copies": max(1, how.Copies)}
	if how.Reversed {
		body["order"] = "reversed"
	}
	if how.Event != "" {
		body["event"] = how.Event
	}
	return ask[list[Replayed]](r.s, http.MethodPost, "/receiver/"+r.ID+"/replay", body).Data
}

// Decode unmarshals the envelope into v.
func (d Delivery) Decode(v any) error { return json.Unmarshal(d.Body, v) }

// Verify returns an error unless the delivery was signed with a webhook's secret in
// both schemes, X-Service-Signature and Standard Webhooks. It does not check the age
// of the timestamp, as a real receiver must.
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
