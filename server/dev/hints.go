package dev

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"punchcard/store"
)

// Hint points out a mistake that clients often make (contract section 8).
type Hint struct {
	Code    string `json:"code"`    // stable
	Message string `json:"message"` // for people
}

// The codes of hints.
const (
	hintRepeated = "repeated_without_idempotency_key"
	hintTooSoon  = "retried_before_retry_after"
	hintTimedOut = "webhook_timed_out"
)

// listedHint is a hint with the entry that has it.
type listedHint struct {
	Hint
	Kind       string             `json:"kind"`
	Seq        int64              `json:"seq"`
	DeliveryID store.Null[string] `json:"delivery_id"` // null for requests
}

func listed(hints []Hint, kind string, seq int64, delivery store.Null[string]) (list []listedHint) {
	for _, h := range hints {
		list = append(list, listedHint{h, kind, seq, delivery})
	}
	return list
}

const (
	repeatWindow = 10 * time.Minute // of the fixture's clock
	pastMost     = 4096             // requests, and waits, that are remembered
)

// arrival is what a request is known by when it comes.
type arrival struct {
	face, method, path, query string
	caller                    string   // what came as Authorization
	body                      [32]byte // its hash
	keyed                     bool     // with an Idempotency-Key
	at                        time.Time
}

// digest is a key of the same size however long its parts are.
type digest [32]byte

func digestOf(parts ...string) digest { return sha256.Sum256(fmt.Appendf(nil, "%q", parts)) }

// past is what the hints on a request depend on.
type past struct {
	posts recent[once] // by everything but the key and the time
	waits recent[wait] // by whom they concern
}

// once is when a request was made.
type once struct {
	at  time.Time
	seq int64
}

// everywhere is whom the Retry-After of a 429 concerns: the caller, on this face.
func (a *arrival) everywhere() digest { return digestOf(a.face, a.caller) }

// there is whom any other one concerns: the caller, with this method and path.
func (a *arrival) there() digest { return digestOf(a.face, a.caller, a.method, a.path) }

type wait struct {
	until  time.Time
	seq    int64
	status int
}

func newPast() *past {
	return &past{recent[once]{m: map[digest]once{}}, recent[wait]{m: map[digest]wait{}}}
}

// recent is a map of the keys that were added last.
type recent[V any] struct {
	m     map[digest]V
	order []digest
}

func (r *recent[V]) put(k digest, v V) {
	if _, ok := r.m[k]; !ok {
		r.order = append(r.order, k)
	}
	r.m[k] = v
	if len(r.order) > pastMost {
		delete(r.m, r.order[0])
		r.order = r.order[1:]
	}
}

// arrived finds out whether a request comes before the caller was asked to come
// again.
func (p *past) arrived(a *arrival) []Hint {
	for _, who := range []digest{a.everywhere(), a.there()} {
		if w, ok := p.waits.m[who]; ok && a.at.Before(w.until) {
			return []Hint{{hintTooSoon, fmt.Sprintf("This request came %s before the Retry-After of the %d to request %d had passed; please wait as many seconds as that header says (the fixture's clock counts: POST /dev/clock moves it).",
				roughly(w.until.Sub(a.at)), w.status, w.seq)}}
		}
	}
	return nil
}

// answered notes what an answer asks of its caller: a 429 to leave the whole
// face alone, a 503 or a fault to leave the same method and path.
func (p *past) answered(a *arrival, status int, retryAfter string, fault bool, now time.Time, seq int64) {
	who := a.everywhere()
	switch {
	case status == http.StatusTooManyRequests:
	case status == http.StatusServiceUnavailable || fault:
		who = a.there()
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
		p.waits.put(who, wait{until, seq, status})
	}
}

// repeated finds out whether a POST was made before without an Idempotency-Key
// on the repetition, and remembers it for the next. One that was refused is no
// matter: nothing came of it.
func (p *past) repeated(a *arrival, status int, seq int64) (hints []Hint) {
	if a.method != http.MethodPost {
		return nil
	}
	same := digestOf(a.face, a.caller, a.path, a.query, string(a.body[:]))
	if before, ok := p.posts.m[same]; ok && !a.keyed && a.at.Sub(before.at) <= repeatWindow {
		hints = []Hint{{hintRepeated, fmt.Sprintf("This POST equals request %d of %s earlier and bears no Idempotency-Key, so it may do the same thing twice; please send an Idempotency-Key, the same one with every retry.",
			before.seq, roughly(a.at.Sub(before.at)))}}
	}
	if status < 400 || status >= 500 {
		p.posts.put(same, once{a.at, seq})
	}
	return hints
}

// timedOut is the hint on an attempt whose receiver took too long.
func timedOut(e *deliveryEntry) Hint {
	return Hint{hintTimedOut, fmt.Sprintf("The receiver had not answered attempt %d at %s after %d ms, which counts as a failure; please answer 2xx first and do the work afterwards.", e.Attempt, e.Event, e.DurationMS)}
}

// roughly is a duration for people.
func roughly(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	return d.Round(time.Second).String()
}
