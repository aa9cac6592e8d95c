package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/store"
)

// A replay sends what a receiver has kept to a URL, so that the program that a test is about
// gets the deliveries of a real server late, out of order and more than once.

// maxReplays is the maximum number of requests of a replay, which takes at most maxLasting.
const maxReplays = 1000

// The orders of a replay.
const (
	orderSequence = "sequence" // that of GET /dev/receiver/{id}
	orderReversed = "reversed"
)

// replayBody is the body of POST /dev/receiver/{id}/replay.
type replayBody struct {
	URL    store.Opt[string] `json:"url" req:"true" min:"1" max:"2048" doc:"One that a webhook may have, such as http://127.0.0.1:3000/hooks."`
	Order  store.Opt[string] `json:"order" enum:"sequence,reversed" doc:"Default sequence, that of the list."`
	Copies store.Opt[int64]  `json:"copies" min:"1" max:"10" doc:"How often all of it is sent; default 1."`
	Event  store.Opt[string] `json:"event" max:"100" doc:"Only requests with this event."`
}

type replayAnswer struct {
	Data []replayed `json:"data"`
}

// replayed is one request of a replay and what became of it.
type replayed struct {
	Event      store.Null[string] `json:"event"`
	EventID    store.Null[string] `json:"event_id"`
	Copy       int                `json:"copy" doc:"From 1."`
	Status     store.Null[int64]  `json:"status" doc:"Of the answer; null if there was none."`
	Error      store.Null[string] `json:"error" doc:"Why there was no answer."`
	DurationMS int64              `json:"duration_ms"`
}

// replay answers POST /dev/receiver/{id}/replay. It sends all that the receiver has, in the
// order and as often as is asked, one request after the other, and all of it before it sends
// the first copy again. Body and headers are those that came, so signatures are valid.
func (rs *Receivers) replay(r *http.Request, p httprouter.Params, b replayBody) (a replayAnswer, err error) {
	if d := rs.CheckTarget(r.Context(), b.URL.V); d != nil {
		return a, store.Invalid(*d)
	}
	kept, _, err := rs.detail(p.ByName("id"), b.Event)
	if err != nil {
		return a, err
	}
	list, copies := kept.Requests, int(b.Copies.Or(1))
	switch {
	case len(list)*copies > maxReplays:
		return a, kernel.Refuse(store.Unprocessable, fmt.Sprintf(
			"These would be %d requests, and a replay may have %d; choose an event, or empty the receiver first.", len(list)*copies,
			maxReplays))
	case slices.ContainsFunc(list, func(q *received) bool { return q.Truncated }):
		return a, kernel.Refuse(store.Unprocessable, "The receiver has a request whose body was too long to be kept whole.")
	}
	if b.Order.Or(orderSequence) == orderReversed {
		slices.Reverse(list)
	}
	transport := rs.Transport()
	defer transport.CloseIdleConnections()
	for n := range copies {
		for _, q := range list {
			one := rs.resend(r.Context(), transport, b.URL.V, q)
			one.Copy = n + 1
			a.Data = append(a.Data, one)
		}
	}
	return a, nil
}

// resend sends a request that a receiver got to a URL.
func (rs *Receivers) resend(ctx context.Context, transport http.RoundTripper, url string, q *received) replayed {
	ctx, cancel := context.WithTimeout(ctx, rs.Timeout)
	defer cancel()
	one := replayed{Event: q.Event, EventID: q.EventID}
	start := time.Now()
	status, err := repost(ctx, transport, url, q)
	one.DurationMS = time.Since(start).Milliseconds()
	switch {
	case err == nil:
		one.Status = store.Some(int64(status))
	case errors.Is(err, context.DeadlineExceeded):
		one.Error = store.Some("it was not answered in time")
	case ctx.Err() != nil:
		one.Error = store.Some("the replay was ended")
	default:
		one.Error = store.Some(err.Error())
	}
	return one
}

// ownHeaders are those that a connection needs, and that are not copied.
var ownHeaders = []string{"Accept-Encoding", "Connection", "Content-Length", "Transfer-Encoding"}

// repost posts the body and the headers of a request. It reads little of the answer's body.
func repost(ctx context.Context, transport http.RoundTripper, url string, q *received) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(q.Body))
	if err != nil {
		return 0, err
	}
	for name, value := range q.Headers {
		if !slices.Contains(ownHeaders, name) {
			req.Header.Set(name, value)
		}
	}
	resp, err := transport.RoundTrip(req) // no http.Client, since redirects are not followed
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, receiverBody)
	return resp.StatusCode, nil
}
