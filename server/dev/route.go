package dev

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Prefix is the beginning of the paths of the control API.
const Prefix = "/dev"

// route is a route of the control API, with what its document says of it.
type route struct {
	kernel.Route
	handler kernel.Handler
	// wrap returns a handler that does more than the action; nil: there is no more.
	wrap func(httprouter.Handle) httprouter.Handle
}

// wrapped returns the route with the handler that wrap makes of its own.
func (rt route) wrapped(wrap func(httprouter.Handle) httprouter.Handle) route {
	rt.wrap = wrap
	return rt
}

// maxLasting is how long a request may take that waits for something, or sends what a receiver has. What
// is left then is not done.
const maxLasting = time.Minute

// lasting is a wrapper of handlers that may take up to maxLasting: it extends the server's write time-out by that, and
// ends the context of the request then, and when the fixture stops or is reset.
func (c *Control) lasting(h httprouter.Handle) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		extend(w, maxLasting)
		ctx, cancel := context.WithTimeout(r.Context(), maxLasting)
		defer cancel()
		defer context.AfterFunc(c.Context, cancel)()
		h(w, r.WithContext(ctx), p)
	}
}

// handle returns the handler of the route.
func (rt *route) handle(k *kernel.Kernel) httprouter.Handle {
	h := rt.handler.Handle(k)
	if rt.wrap != nil {
		h = rt.wrap(h)
	}
	return h
}

// routeOf returns a function that makes routes of a method and a status. id, title and doc are what
// the document says of a route.
func routeOf(method string, status int) func(path, id, title, doc string, a action) route {
	return func(path, id, title, doc string, a action) route {
		op := kernel.Operation{ID: id, Title: title, Doc: doc, Codes: a.codes, Mode: a.mode}
		return route{
			Route: kernel.Route{
				Method:    method,
				Path:      path,
				Status:    status,
				Operation: kernel.Described(op, a.in, a.out, method != http.MethodGet),
			},
			handler: kernel.Handler{Status: status, Mode: a.mode, In: a.in, Do: a.do},
		}
	}
}

// inGroup returns routes as a group of the document.
func inGroup(group string, routes []route) []route {
	for _, rt := range routes {
		rt.Group = group
	}
	return routes
}

// Routes returns the routes that the document of the control API has, in its order.
func Routes() (list []kernel.Route) {
	for _, rt := range new(Control).routes() {
		list = append(list, rt.Route)
	}
	return list
}

// action is what a route does.
type action struct {
	in, out reflect.Type // of the body or query, and of the answer
	mode    wire.Mode
	codes   []store.Code // of its refusals
	do      func(*http.Request, httprouter.Params, any) ([]byte, error)
}

// serve returns an action that runs no operation. codes are its refusals.
func serve[B, R any](do func(*http.Request, httprouter.Params, B) (R, error), codes ...store.Code) action {
	return action{in: reflect.TypeOf((*B)(nil)).Elem(), out: reflect.TypeOf((*R)(nil)).Elem(), codes: codes, do: kernel.Encoded(do)}
}

// target returns the key of the shop in which an operation runs, and the operation's fields.
type target func(p httprouter.Params, body any) (shop int64, fields any, err error)

// bind returns an action that runs an operation as the operator. B is the type of the body.
func bind[B any](c *Control, op *kernel.Operation, of func(httprouter.Params, B) (int64, any, error)) action {
	return c.run(op, reflect.TypeOf((*B)(nil)).Elem(), func(p httprouter.Params, body any) (int64, any, error) {
		return of(p, body.(B))
	})
}

// onResource returns an action that runs an operation on the resource that the path names, in the
// shop that owns the resource. The body has the operation's fields.
func (c *Control) onResource(kind store.Kind, op *kernel.Operation) action {
	return c.run(op, op.In, func(p httprouter.Params, fields any) (int64, any, error) {
		shop, err := c.Store.Owner(kind, p.ByName("id"))
		return shop, fields, err
	})
}

// run returns an action that runs an operation as the operator, for bodies of the type in.
func (c *Control) run(op *kernel.Operation, in reflect.Type, of target) action {
	a := action{in: in, out: op.Out, mode: op.Mode, codes: append([]store.Code{store.NotFound}, op.Codes...)}
	a.do = func(r *http.Request, p httprouter.Params, body any) ([]byte, error) {
		shop, fields, err := of(p, body)
		if err != nil {
			return nil, err
		}
		args := kernel.Args{Params: map[string]string{"id": p.ByName("id")}, Fields: fields}
		answer, err := c.Kernel.Invoke(r.Context(), operator(shop), op, args)
		return answer.AppendJSON(nil), err
	}
	return a
}
