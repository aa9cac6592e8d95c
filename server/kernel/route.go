// Package kernel is what the HTTP faces share: the route table's kernel, the
// gate before each request, idempotency, and the shape of answers and errors.
package kernel

import (
	"net/http"
	"net/url"
	"reflect"

	"punchcard/server/wire"
	"punchcard/store"
)

// Route is one row of a face's route table. The router, the scope checks and
// the OpenAPI document all come from it.
type Route struct {
	Method string
	Path   string // with :name parameters
	ID     string // operationId
	Tag    string
	Title  string
	Doc    string
	Scope  string // empty: any valid key
	Status int    // of success
	// Query and Body are the struct types of what comes in, nil for none.
	Query, Body reflect.Type
	Mode        wire.Mode
	// Response is the type of a success's body, nil for 204.
	Response reflect.Type
	// Codes the operation itself gives, beside those of the gate.
	Codes []store.Code
	// DisabledToo lets a restricted key in whose locations are all disabled.
	DisabledToo bool

	query func(url.Values, wire.Limits) (any, []store.Detail)
	body  func([]byte, wire.Limits) (any, []store.Detail)
	read  func(*store.View, *Call, any) (any, error)
	write func(*store.Tx, *Call, any) (any, error)
	// finish completes an answer that is not remembered whole.
	finish func(body []byte) ([]byte, error)
}

// Call is one request as its handler sees it.
type Call struct {
	store.Access
	Identity *store.Identity     // on the REST API
	Till     *store.TillIdentity // on the till API
	params   params
	now      store.Time
}

// Param is a path parameter.
func (c *Call) Param(name string) string { return c.params.ByName(name) }

// Now is when the request was taken up.
func (c *Call) Now() store.Time { return c.now }

// None is the type of what a route does not take or give.
type None struct{}

// Read makes a route's handler from a function on a view. Q is the struct of
// its query parameters, R its answer.
func Read[Q, R any](fn func(*store.View, *Call, Q) (R, error)) func(*Route) {
	return func(r *Route) {
		r.Query, r.Response = typeOf[Q](), typeOf[R]()
		r.query = func(v url.Values, lim wire.Limits) (any, []store.Detail) {
			q := new(Q)
			d := wire.DecodeQuery(v, q, lim)
			return *q, d
		}
		r.read = func(v *store.View, c *Call, q any) (any, error) {
			out, err := fn(v, c, q.(Q))
			return &out, err
		}
	}
}

// Write makes a route's handler from a function in a transaction. B is the
// struct of its body, R its answer.
func Write[B, R any](mode wire.Mode, fn func(*store.Tx, *Call, B) (R, error)) func(*Route) {
	return func(r *Route) {
		r.Body, r.Response, r.Mode = typeOf[B](), typeOf[R](), mode
		r.body = func(raw []byte, lim wire.Limits) (any, []store.Detail) {
			b := new(B)
			d := wire.DecodeBody(raw, b, mode, lim)
			return *b, d
		}
		r.write = func(tx *store.Tx, c *Call, b any) (any, error) {
			out, err := fn(tx, c, b.(B))
			return &out, err
		}
	}
}

// Finished has the route's answers completed by f each time they are sent;
// what f adds is drawn again and not remembered. response is the completed
// answer's type.
func Finished(response reflect.Type, f func(body []byte) ([]byte, error)) func(*Route) {
	return func(r *Route) { r.Response, r.finish = response, f }
}

func typeOf[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[None]() {
		return nil
	}
	return t
}

// Writes tells whether the route changes anything.
func (r *Route) Writes() bool { return r.Method != http.MethodGet }
