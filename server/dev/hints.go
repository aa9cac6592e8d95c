package dev

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"punchcard/store"
)

// Hint points out a mistake that clients often make.
type Hint struct {
	Code    string `json:"code" doc:"Never changes."`
	Message string `json:"message" doc:"For people."`
}

// newHint returns a list of one hint.
func newHint(code, format string, args ...any) []Hint {
	return []Hint{{code, fmt.Sprintf(format, args...)}}
}

// The codes of hints.
const (
	hintRepeated = "repeated_without_idempotency_key"
	hintTooSoon  = "retried_before_retry_after"
	hintTimedOut = "webhook_timed_out"
)

// listedHint is a hint with the journal entry that it is about.
type listedHint struct {
	Hint
	Kind       string             `json:"kind"`
	Seq        int64              `json:"seq"`
	DeliveryID store.Null[string] `json:"delivery_id" doc:"Null for requests."`
}

// Bounds of what is remembered for hints.
const (
	repeatWindow  = 10 * time.Minute // by the fixture's clock
	maxRemembered = 4096             // POST requests, and as many waits
)

// requestInfo is what hints need to know of a request.
type requestInfo struct {
	api, method, path, query string
	caller                   string   // value of the Authorization header
	body                     [32]byte // hash of the body
	keyed                    bool     // has an Idempotency-Key or, at a till, a client_reference
	at                       time.Time
}

// digest is a map key of fixed size.
type digest [32]byte

func digestOf(parts ...string) digest { return sha256.Sum256(fmt.Appendf(nil, "%q", parts)) }

// history is what is remembered of earlier requests, for hints.
type history struct {
	posts recent // POST requests, by API, caller, path, query and body
	waits recent // the Retry-After that callers were sent, by their scope
}

// earlier is an earlier request.
type earlier struct {
	at     time.Time // when it came; of a Retry-After its end
	seq    int64
	status int
}

// apiScope returns the key of the waits that a 429 asks for: by caller and API.
func (r *requestInfo) apiScope() digest { return digestOf(r.api, r.caller) }

// pathScope returns the key of all other waits: by caller, method and path.
func (r *requestInfo) pathScope() digest { return digestOf(r.api, r.caller, r.method, r.path) }

// recent is a map that keeps the maxRemembered keys that were added last.
type recent struct {
	m     map[digest]earlier
	order []digest
}

func (r *recent) put(k digest, v earlier) {
	if r.m == nil {
		r.m = map[digest]earlier{}
	}
	if _, ok := r.m[k]; !ok {
		r.order = append(r.order, k)
	}
	r.m[k] = v
	if len(r.order) > maxRemembered {
		delete(r.m, r.order[0])
		r.order = r.order[1:]
	}
}

// checkWait returns a hint if a request comes before the Retry-After of an earlier
// answer has passed.
func (h *history) checkWait(r *requestInfo) []Hint {
	for _, scope := range []digest{r.apiScope(), r.pathScope()} {
		if w, ok := h.waits.m[scope]; ok && r.at.Before(w.at) {
			return newHint(hintTooSoon, "This request came %s before the Retry-After of the %d to request %d had passed; "+
				"please wait as many seconds as that header says (the fixture's clock counts: POST /dev/clock moves it).",
				formatDuration(w.at.Sub(r.at)), w.status, w.seq)
		}
	}
	return nil
}

// addWait remembers the Retry-After of an answer. After a 429 it applies to all
// requests of the caller to the API, after a 503 or a fault to the same method and
// path.
func (h *history) addWait(r *requestInfo, status int, retryAfter string, fault bool, now time.Time, seq int64) {
	scope := r.apiScope()
	switch {
	case status == http.StatusTooManyRequests:
	case status == http.StatusServiceUnavailable || fault:
		scope = r.pathScope()
	default:
		return
	}
	until := now
	if n, err := strconv.ParseInt(retryAfter, 10, 64); err == nil {
		until = now.Add(time.Duration(min(n, 1<<31)) * time.Second)
	} else if at, err := http.ParseTime(retryAfter); err == nil {
		until = at
	}
	if until.After(now) {
		h.waits.put(scope, earlier{until, seq, status})
	}
}

// checkRepeat returns a hint if a POST without an Idempotency-Key equals an earlier
// one, and remembers it. A refused POST is not remembered, since it did nothing.
func (h *history) checkRepeat(r *requestInfo, status int, seq int64) (hints []Hint) {
	if r.method != http.MethodPost {
		return nil
	}
	same := digestOf(r.api, r.caller, r.path, r.query, string(r.body[:]))
	if before, ok := h.posts.m[same]; ok && !r.keyed && r.at.Sub(before.at) <= repeatWindow {
		hints = newHint(hintRepeated, "This POST equals request %d of %s earlier and bears no Idempotency-Key, so it may do "+
			"the same thing twice; please send an Idempotency-Key, the same one with every retry.",
			before.seq, formatDuration(r.at.Sub(before.at)))
	}
	if status < 400 || status >= 500 {
		h.posts.put(same, earlier{r.at, seq, status})
	}
	return hints
}

// formatDuration returns a duration in whole seconds, for people.
func formatDuration(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	return d.Round(time.Second).String()
}
