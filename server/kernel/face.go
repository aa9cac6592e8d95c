package kernel

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/wire"
	"punchcard/store"
)

type params = httprouter.Params

// Config is what the faces take from the deployment.
type Config struct {
	RatePerMinute           int // per key; 0: unlimited
	IdempotencyKeyMaxLength int // characters
	IdempotencyWait         time.Duration
	Fields                  wire.Limits // the named bounds of request fields
	Log                     *slog.Logger
	// Targets tells what is wrong with a URL that requests would be sent to; it
	// may ask the network. Nil: any https URL will do.
	Targets func(ctx context.Context, url string) *store.Detail
	// RequestSeed begins the numbering of request ids. Ids of two runs must
	// not meet, so it is random unless ids are to be deterministic.
	RequestSeed uint64
	// Observe is told of the beginning of each request, and its result of the
	// status. route is the pattern; empty where none fits. Nil: nobody is.
	Observe func(method, route string) (end func(status int))
	// AccessLog has a line logged for each request.
	AccessLog bool
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
}

// Kernel serves the routes of all faces.
type Kernel struct {
	st     *store.Store
	conf   Config
	ids    *identities
	limits *limiters
	claims *claims
	serial atomic.Uint64
	routes []string // as mounted
}

// Routes are the method and pattern of each route that was mounted, such as
// "GET /i/:token".
func (k *Kernel) Routes() []string { return slices.Clone(k.routes) }

// NewKernel makes the shared part of the faces on a store.
func NewKernel(st *store.Store, conf Config) *Kernel {
	k := &Kernel{st: st, conf: conf, ids: newIdentities(st), limits: newLimiters(conf.RatePerMinute), claims: newClaims(conf.IdempotencyWait)}
	k.serial.Store(conf.RequestSeed &^ (1 << 63))
	return k
}

// Seed is a random start for request ids, from 8 random bytes.
func Seed(b [8]byte) uint64 { return binary.BigEndian.Uint64(b[:]) >> 1 }

// Router makes a router whose every answer has a request id and whose errors
// have the API's shape.
func (k *Kernel) Router() *httprouter.Router {
	r := httprouter.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath, r.HandleOPTIONS = false, false, false
	r.NotFound = http.HandlerFunc(k.noPath)
	r.MethodNotAllowed = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		methods := strings.Split(h.Get("Allow"), ", ") // the router's, which adds OPTIONS to the routes' own
		h.Del("Allow")
		if crooked(r.URL) {
			k.noPath(w, r)
			return
		}
		h.Set("Allow", strings.Join(slices.DeleteFunc(methods, func(m string) bool { return m == http.MethodOptions }), ", "))
		k.observe(w, r, "")(http.StatusMethodNotAllowed, "")
		k.refuse(w, k.requestID(w), fail(http.StatusMethodNotAllowed, store.BadRequest, "The path does not take this method; see Allow."))
	})
	r.PanicHandler = func(w http.ResponseWriter, r *http.Request, p any) {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		k.observe(w, r, "")(http.StatusInternalServerError, "")
		k.conf.Log.Error("panic in a handler", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
		k.refuse(w, k.requestID(w), problem(errors.New("panic")))
	}
	return r
}

// Mount puts the routes under a prefix, behind a guard.
func (k *Kernel) Mount(r *httprouter.Router, prefix string, routes []Route, g Guard) {
	for i := range routes {
		rt := &routes[i]
		pattern := prefix + rt.Path
		k.routes = append(k.routes, rt.Method+" "+pattern)
		r.Handle(rt.Method, pattern, func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
			if crooked(r.URL) {
				k.noPath(w, r)
				return
			}
			end := k.observe(w, r, pattern)
			end(k.serve(w, r, p, rt, g))
		})
	}
}

func (k *Kernel) noPath(w http.ResponseWriter, r *http.Request) {
	k.observe(w, r, "")(http.StatusNotFound, "")
	k.refuse(w, k.requestID(w), fail(http.StatusNotFound, store.NotFound, "No such path."))
}

// crooked tells that the router sees an id in the path where there is none.
func crooked(u *url.URL) bool { return strings.Contains(u.Path, "//") }

var slashes = strings.NewReplacer("%2F", "%252F", "%2f", "%252F")

// Paths keeps escaped slashes from the router, which goes by the unescaped
// path: they are part of an id and part no path. No id has any, so it does not
// matter that they stay escaped.
func Paths(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kept := slashes.Replace(r.URL.RawPath); kept != r.URL.RawPath {
			path, err := url.PathUnescape(kept)
			if err != nil { // cannot be: the server has parsed it
				path = kept
			}
			r.URL.Path, r.URL.RawPath = path, kept
		}
		h.ServeHTTP(w, r)
	})
}

// requestID gives the answer its id: always ours, never the caller's.
func (k *Kernel) requestID(w http.ResponseWriter) string {
	h := w.Header()
	if have := h["X-Request-Id"]; have != nil {
		return have[0]
	}
	id := k.st.ID(store.KindRequest, int64(k.serial.Add(1)&^(1<<63)))
	h["X-Request-Id"] = []string{id}
	return id
}

func (k *Kernel) refuse(w http.ResponseWriter, requestID string, p *Problem) {
	if p.Code == store.Unauthenticated {
		w.Header()["Www-Authenticate"] = []string{"Bearer"}
	}
	shut(w.Header())
	send(w, p.Status, p.render(requestID))
}

// exchange is one request on its way through the gate.
type exchange struct {
	k        *Kernel
	g        Guard
	rt       *Route
	w        http.ResponseWriter
	r        *http.Request
	params   params
	call     Call
	body     []byte
	bodyRead bool
	counted  bool                 // against the rate limit
	limited  bool                 // what the count gave
	refused  error                // by the staff PIN, which counts a request once
	target   func() *store.Detail // what Targets said, asked once
	verified bool                 // the store agreed that the identity is up to date
	replayed bool
}

// serve takes a request through the checks in the order of contract section 1:
// route, authentication, rate limit, entitlement, subscription, the key's
// locations, scope, idempotency, body, resource.
//
// What is known of the key may be out of date, since any process may change
// it. The store tells so together with its data (ErrEpoch); then everything is
// asked anew. No answer leaves on knowledge that the store has not confirmed.
func (k *Kernel) serve(w http.ResponseWriter, r *http.Request, p params, rt *Route, g Guard) (status int, caller string) {
	id := k.requestID(w)
	x := &exchange{k: k, g: g, rt: rt, w: w, r: r}
	x.params = p
	reply, err := x.attempt()
	for errors.Is(err, store.ErrEpoch) {
		g.forget()
		reply, err = x.attempt()
	}
	if err == nil && rt.finish != nil && reply.Status < 300 {
		reply.Body, err = rt.finish(reply.Body)
	}
	if err != nil {
		p := problemFor(err, g.status)
		if p.Status >= 500 && r.Context().Err() == nil { // a client that left is no fault
			k.conf.Log.Error("request failed", "request_id", id, "method", r.Method, "route", rt.Path, "error", err)
		}
		if x.replayed {
			w.Header()["Idempotent-Replayed"] = []string{"true"}
		}
		k.refuse(w, id, p)
		return p.Status, x.caller()
	}
	if x.replayed {
		w.Header()["Idempotent-Replayed"] = []string{"true"}
	}
	send(w, reply.Status, reply.Body)
	reply.done()
	return reply.Status, x.caller()
}

// caller is the id of the key or the device; empty where none was known.
func (x *exchange) caller() string {
	switch {
	case x.call.Identity != nil:
		return x.call.Identity.KeyID
	case x.call.Till != nil:
		return x.call.Till.DeviceID
	}
	return ""
}

func (x *exchange) attempt() (Reply, error) {
	x.replayed = false
	c, err := x.g.identify(x.r)
	if err != nil {
		untake(x.w.Header()) // an earlier attempt took the key for good
		return Reply{}, x.confirm(c, err)
	}
	x.call = c.call
	x.call.params, x.call.now = x.params, x.k.st.Now()
	if err := x.g.gate(x, c); err != nil {
		return Reply{}, x.confirm(c, err)
	}
	reply, err := x.run(c)
	if err != nil && !x.verified {
		err = x.confirm(c, err)
	}
	return reply, err
}

// confirm lets a refusal stand only if the identity that it rests on is up to
// date.
func (x *exchange) confirm(c *caller, refusal error) error {
	if c == nil {
		return refusal
	}
	if err := x.k.st.View(c.epoch, func(*store.View) error { return nil }); err != nil {
		return err
	}
	return refusal
}

func (x *exchange) run(c *caller) (Reply, error) {
	if x.rt.read != nil {
		return x.runRead(c)
	}
	key, err := idempotencyKey(x.r, x.k.conf.IdempotencyKeyMaxLength)
	if err != nil {
		return Reply{}, err
	}
	if !x.bodyRead && x.rt.Method != http.MethodDelete {
		if x.body, err = readBody(x.w, x.r, MaxBody); err != nil {
			return Reply{}, err
		}
		x.bodyRead = true
	}
	if key == nil {
		return x.runWrite(c, nil)
	}
	claim := store.NewClaim(c.claims, *key, x.r.Method, x.r.URL.EscapedPath(), x.body)
	leave, err := x.k.claims.enter(x.r.Context(), claim)
	if err != nil {
		return Reply{}, err
	}
	defer leave()
	var kept *store.Remembered
	if err := x.k.st.View(c.epoch, func(v *store.View) (err error) {
		kept, err = v.Recall(claim)
		return err
	}); err != nil {
		return Reply{}, err
	}
	if kept == nil {
		return x.runWrite(c, &claim)
	}
	x.replayed = true
	if kept.Status >= 400 {
		return Reply{}, recallProblem(kept)
	}
	return Reply{Status: kept.Status, Body: kept.Body}, nil
}

func (x *exchange) runRead(c *caller) (reply Reply, err error) {
	var values url.Values
	if x.r.URL.RawQuery != "" {
		if values, err = url.ParseQuery(x.r.URL.RawQuery); err != nil {
			return reply, store.Invalid(store.Detail{Code: "invalid_format", Message: "the query string is malformed"})
		}
	}
	q, details := x.rt.query(values, x.k.conf.Fields)
	if details != nil {
		return reply, store.Invalid(details...)
	}
	err = x.k.st.View(c.epoch, func(v *store.View) error {
		out, err := x.rt.read(v, &x.call, q)
		if err != nil {
			return err
		}
		reply.Status, reply.buffer = x.rt.Status, takeBuffer()
		*reply.buffer = wire.Append((*reply.buffer)[:0], out)
		reply.Body = *reply.buffer
		return nil
	})
	x.verified = !errors.Is(err, store.ErrEpoch)
	return reply, err
}

// runWrite makes the change and, under a claim, remembers the answer in the
// same transaction: a refusal by the operation itself is remembered as well
// (404, 409, 422), though nothing of the operation stays.
func (x *exchange) runWrite(c *caller, claim *store.Claim) (reply Reply, err error) {
	if err := isJSON(x.r, x.body); err != nil {
		return reply, err
	}
	b, details := x.rt.body(x.body, x.k.conf.Fields)
	details = x.checkTarget(b, check(b, x.call.now, details))
	if details != nil {
		return reply, store.Invalid(details...)
	}
	var refusal error
	w := store.Write{Actor: c.actor}
	w.Do = func(tx *store.Tx) error {
		if tx.Epoch != c.epoch {
			return store.ErrEpoch
		}
		out, err := x.rt.write(tx, &x.call, b)
		if err != nil {
			return err
		}
		reply.Status = x.rt.Status
		if x.rt.Status != http.StatusNoContent {
			reply.Body = wire.Append(make([]byte, 0, 512), out)
		}
		return nil
	}
	if claim != nil {
		w.Settle = func(tx *store.Tx, err error) error {
			if err == nil {
				return tx.Remember(*claim, store.Remembered{Status: reply.Status, Body: reply.Body}, cardID(reply.Body))
			}
			var kept *store.Kept
			switch p := problemFor(err, x.g.status); {
			case !errors.Is(err, store.ErrEpoch) && slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, p.Status):
				refusal = err
				return tx.Remember(*claim, p.remembered(), "")
			case errors.As(err, &kept):
				refusal = err // not remembered, but what it left stays
				return nil
			}
			return err
		}
	}
	// The write is made whether or not the caller stays to hear of it.
	err = x.k.st.Write(context.WithoutCancel(x.r.Context()), w)
	x.verified = !errors.Is(err, store.ErrEpoch)
	if err == nil {
		err = refusal
	}
	return reply, err
}

// cardID names the card whose data an answer holds: it is the first field of a
// card's answers and the second of a ledger row's, which comes before its card.
// In a delivery it comes after all that others wrote.
func cardID(body []byte) string {
	if bytes.HasPrefix(body, []byte(`{"id":"dlv_`)) {
		const field = `,"card_instance_id":"`
		_, rest, _ := bytes.Cut(body[max(0, bytes.LastIndex(body, []byte(field))):], []byte(field))
		id, _, _ := bytes.Cut(rest, []byte(`"`))
		return string(id)
	}
	for _, front := range []string{`{"id":"`, `{"transaction":{"id":"`} {
		rest, ok := bytes.CutPrefix(body, []byte(front))
		if !ok {
			continue
		}
		id, rest, _ := bytes.Cut(rest, []byte(`"`))
		if rest, ok = bytes.CutPrefix(rest, []byte(`,"card_id":"`)); ok {
			id, _, _ = bytes.Cut(rest, []byte(`"`))
		}
		if bytes.HasPrefix(id, []byte("crd_")) {
			return string(id)
		}
	}
	return ""
}
