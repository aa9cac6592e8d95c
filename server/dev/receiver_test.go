package dev_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	stripe "github.com/stripe/stripe-go/v85/webhook"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

type receiver struct {
	ID, URL  string
	Status   int
	DelayMS  int `json:"delay_ms"`
	Headers  map[string]string
	Requests []struct {
		Headers   map[string]string
		Body, At  string
		Event     *string
		EventID   *string `json:"event_id"`
		Truncated bool
	}
}

func newReceiver(r *server, body any) receiver {
	r.T.Helper()
	return servertest.Decode[receiver](r.Control("POST", "/receiver", body))
}

func readReceiver(r *server, id, query string) receiver {
	r.T.Helper()
	return servertest.Decode[receiver](r.Control("GET", "/receiver/"+id+query, nil))
}

func wantRequests(r *server, id, query string, want int) {
	r.T.Helper()
	if n := len(readReceiver(r, id, query).Requests); n != want {
		r.T.Errorf("%d requests, want %d", n, want)
	}
}

type hook struct{ ID, Secret, path string }

// newHook creates a webhook for a URL.
func newHook(r *server, url string, events ...string) hook {
	r.T.Helper()
	path := "/programs/" + r.ProgramIDs["standard"] + "/webhooks"
	h := servertest.Decode[hook](r.Post(path, fields{"url": url, "events": events}).Want(201))
	h.path = path + "/" + h.ID
	return h
}

// TestReceiverGetsDeliveries checks that a delivery to a receiver is signed, and is there when settle
// answers.
func TestReceiverGetsDeliveries(t *testing.T) {
	r := start(t)
	to := newReceiver(r, nil)
	if to.URL != r.Origin+"/dev/receiver/"+to.ID || to.Status != 200 || to.DelayMS != 0 || len(to.Headers) != 0 {
		t.Errorf("%+v", to)
	}
	hook := newHook(r, to.URL, "card.added", "stamp.assigned")
	for range 5 {
		r.Post(cardsPath(r), fields{"holder_name": "Ada Lövelace"}).Want(201)
	}
	if done := settle(r); done.Pending != 0 || done.Failed != 0 {
		t.Errorf("%+v", done)
	}
	got := readReceiver(r, to.ID, "").Requests
	if len(got) != 5 {
		t.Fatalf("%d requests of 5", len(got))
	}
	for _, q := range got {
		// The signature has the real time though the clock stands still.
		if err := stripe.ValidatePayload([]byte(q.Body), q.Headers["X-Service-Signature"], hook.Secret); err != nil {
			t.Errorf("%v: %s %s", err, q.Headers, q.Body)
		}
		if *q.Event != "card.added" || *q.EventID != q.Headers["Webhook-Id"] || q.At != "2026-03-01T09:00:00.000Z" || q.Truncated {
			t.Errorf("%+v", q)
		}
	}
}

// TestReceiverListsBySequence checks the order of what a receiver shows: without a sequence first,
// then by sequence, by event_id and by arrival.
func TestReceiverListsBySequence(t *testing.T) {
	r := start(t)
	to := newReceiver(r, nil)
	for _, c := range []struct{ sequence, id, n string }{
		{"12", "evt_b", "1"}, {"9", "evt_z", "1"}, {"", "evt_y", "0"}, {"12", "evt_a", "1"}, {"12", "evt_b", "2"},
		{"x", "evt_x", "0"}, {"9", "evt_z", "2"},
	} {
		var headers []string
		if c.sequence != "" {
			headers = []string{"X-Service-Sequence", c.sequence}
		}
		send(r, "POST", to.URL, `{"event":"card.added","event_id":"`+c.id+`","n":"`+c.n+`"}`, headers...).Want(200)
	}
	var got []string
	for _, q := range readReceiver(r, to.ID, "?event=card.added").Requests {
		got = append(got, *q.EventID+strings.Trim(q.Body[len(q.Body)-3:], `"}`))
	}
	if want := "evt_y0 evt_x0 evt_z1 evt_z2 evt_a1 evt_b1 evt_b2"; strings.Join(got, " ") != want {
		t.Errorf("listed are %s, want %s", got, want)
	}
}

// TestReceiversOfManyWebhooks makes more deliveries than the sender makes at once, each with a delay,
// while several clients settle, and checks that all of them arrive.
func TestReceiversOfManyWebhooks(t *testing.T) {
	r := start(t)
	var all []receiver
	for range 40 {
		to := newReceiver(r, fields{"delay_ms": 50})
		newHook(r, to.URL, "card.added")
		all = append(all, to)
	}
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			r.Post(cardsPath(r), fields{}).Want(201)
			settle(r)
		})
	}
	clients.Wait()
	settle(r)
	for _, to := range all {
		wantRequests(r, to.ID, "?wait=4&event=card.added", 4)
	}
}

// TestReceiverWaits checks that a request with wait is answered when so many requests have arrived, or
// after timeout_ms.
func TestReceiverWaits(t *testing.T) {
	r := start(t, func(c *app.Config) { c.ReadTimeout = time.Second })
	to := newReceiver(r, nil)
	post := func(body string) { send(r, "POST", to.URL, body).Want(200) }
	answers := make(chan receiver, 1)
	go func() { answers <- readReceiver(r, to.ID, "?wait=2&event=b&timeout_ms=30000") }()
	for i := range 4 {
		post(fmt.Sprintf(`{"event":"a","event_id":"evt_%d"}`, i))
	}
	post(`{"event":"b"}`)
	select {
	case a := <-answers:
		t.Fatalf("answered with %d", len(a.Requests))
	default:
	}
	post(`{"event":"b"}`)
	if a := servertest.Await(t, answers, "two of b"); len(a.Requests) != 2 || *a.Requests[0].Event != "b" {
		t.Errorf("%+v", a.Requests)
	}
	wantRequests(r, to.ID, "?wait=6", 6)
	start := time.Now()
	if a := readReceiver(r, to.ID, "?wait=7&timeout_ms=50"); len(a.Requests) != 6 || time.Since(start) < 50*time.Millisecond {
		t.Errorf("%d after %s", len(a.Requests), time.Since(start))
	}
	if a := readReceiver(r, to.ID, "?wait=1000&event=c&timeout_ms=0"); a.Requests == nil || len(a.Requests) != 0 {
		t.Errorf("%+v", a)
	}
	// This is longer than the server's time-out for reading.
	start = time.Now()
	if readReceiver(r, to.ID, "?wait=7&timeout_ms=1300"); time.Since(start) < 1300*time.Millisecond {
		t.Errorf("gave up after %s", time.Since(start))
	}
	for query, want := range map[string]string{"?wait=-1": "wait too_small", "?wait=1001": "wait too_large", "?wait=x": "wait invalid_type",
		"?timeout_ms=60001": "timeout_ms too_large",
		"?timeout_ms=-1":    "timeout_ms too_small", "?event=": "event invalid_value",
		"?event=" + strings.Repeat("e", 101): "event too_long"} {
		callControl(r, "GET", "/receiver/"+to.ID+query, nil).Invalid(want)
	}
	r.Control("DELETE", "/receiver/"+to.ID+"/requests", nil)
	wantRequests(r, to.ID, "", 0)
}

// TestStopEndsReceiverDelays checks that stopping does not wait for a receiver with a delay.
func TestStopEndsReceiverDelays(t *testing.T) {
	r := start(t)
	to := newReceiver(r, fields{"delay_ms": 60000})
	sent := make(chan *reply, 1)
	go func() { sent <- send(r, "POST", to.URL, "{}", "X-Own", "1", "X-Own", "2") }()
	if got := readReceiver(r, to.ID, "?wait=1").Requests; len(got) != 1 || got[0].Headers["X-Own"] != "1, 2" || got[0].Event != nil ||
		got[0].EventID != nil {
		t.Errorf("%+v", got)
	}
	go r.Stop()
	if got := servertest.Await(t, sent, "the end of the delayed request"); got.Err == nil {
		t.Errorf("answered %d", got.Status)
	}
}

// TestReceiverAnswers checks that a receiver answers as it is told to, and what it cannot be told.
func TestReceiverAnswers(t *testing.T) {
	r := start(t)
	to := newReceiver(r, fields{"status": 503, "headers": fields{"retry-after": "7", "X-A": "b"}})
	send := func() *reply { return send(r, "POST", to.URL, "x") }
	if got := send().Want(503); got.Header.Get("Retry-After") != "7" || got.Header.Get("X-A") != "b" || len(got.Body) != 0 {
		t.Errorf("%v %q", got.Header, got.Body)
	}
	set := func(body fields) receiver {
		t.Helper()
		return servertest.Decode[receiver](r.Control("PUT", "/receiver/"+to.ID, body))
	}
	if now := set(fields{"status": 0}); now.Status != 0 || len(now.Headers) != 0 || now.ID != to.ID || now.URL != to.URL {
		t.Errorf("%+v", now)
	}
	if got := send(); got.Err == nil {
		t.Errorf("answered %d", got.Status)
	}
	set(fields{"status": 204, "delay_ms": 100})
	start := time.Now()
	if send().Want(204); time.Since(start) < 100*time.Millisecond {
		t.Errorf("after %s", time.Since(start))
	}
	if now := set(fields{}); now.Status != 200 || now.DelayMS != 0 {
		t.Errorf("%+v", now)
	}
	send().Want(200)
	if shown := readReceiver(r, to.ID, ""); len(shown.Requests) != 4 || shown.Status != 200 || shown.Requests[0].Body != "x" {
		t.Errorf("%+v", shown)
	}
	for _, id := range []string{"rcv_1", "x", strings.Repeat("y", 3000)} {
		for method, path := range map[string]string{"GET": id, "PUT": id, "POST": id, "DELETE": id + "/requests"} {
			callControl(r, method, "/receiver/"+path, nil).Want(404, "not_found")
		}
	}
	for _, path := range []string{"/receiver", "/receiver/" + to.ID} {
		method := map[bool]string{true: "POST", false: "PUT"}[path == "/receiver"]
		for _, c := range []struct {
			body any
			want []string
		}{
			{
				fields{"status": "200", "delay_ms": 0.5, "headers": fields{"A": 1}, "url": "x"},
				[]string{"delay_ms invalid_type", "headers.A invalid_type", "status invalid_type", "url unknown_field"},
			},
			{fields{"status": 600, "delay_ms": 60001}, []string{"delay_ms too_large", "status too_large"}},
			{
				fields{"status": 199, "delay_ms": -1, "headers": fields{"Transfer-Encoding": "x"}},
				[]string{"delay_ms too_small", "status invalid_value", "headers.Transfer-Encoding not_allowed"},
			},
		} {
			callControl(r, method, path, c.body).Invalid(c.want...)
		}
	}
}

// TestReceiverBounds checks that a receiver keeps 256 KiB of a body, and that there are at most a thousand receivers.
func TestReceiverBounds(t *testing.T) {
	r := start(t)
	to := newReceiver(r, nil)
	send := func(to receiver, body string) { send(r, "POST", to.URL, body).Want(200) }
	send(to, strings.Repeat("x", 256<<10))
	send(to, strings.Repeat("x", 256<<10+1))
	got := readReceiver(r, to.ID, "").Requests
	if len(got[0].Body) != 256<<10 || got[0].Truncated || len(got[1].Body) != 256<<10 || !got[1].Truncated {
		t.Errorf("%d %v, %d %v", len(got[0].Body), got[0].Truncated, len(got[1].Body), got[1].Truncated)
	}
	for range 999 {
		r.ControlAPI().Try(t.Context(), "POST", "/receiver", nil).Want(201)
	}
	callControl(r, "POST", "/receiver", nil).Want(422, "unprocessable_entity")
}

// TestReceiverOfAWildcardAddress checks the URLs of receivers of a server that listens on a wildcard
// address.
func TestReceiverOfAWildcardAddress(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"0.0.0.0:0": "http://127.0.0.1:", ":0": "http://127.0.0.1:", "[::1]:0": "http://[::1]:",
	} {
		t.Run(listen, func(t *testing.T) {
			r := serve(t, func(c *app.Config) { c.Listen = listen })
			to := newReceiver(r, nil)
			if !strings.HasPrefix(to.URL, want) {
				t.Errorf("%s", to.URL)
			}
			if resp, err := http.Post(to.URL, "", nil); err != nil || resp.StatusCode != 200 {
				t.Errorf("%v, %v", resp, err)
			}
		})
	}
}
