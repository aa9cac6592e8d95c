package kernel

import (
	"encoding/json"
	"reflect"

	"punchcard/server/wire"
	"punchcard/store"
)

// Operation is one thing that a caller can do, declared once for all faces.
type Operation struct {
	ID      string // such as issueCard; the operationId of OpenAPI documents
	Group   string // heading under which documents list it
	Title   string
	Doc     string
	Callers Callers
	// Codes are the refusals that the operation itself makes, beside those of
	// Invoke.
	Codes []store.Code
	// WithoutLocations admits a restricted key whose locations are all disabled.
	WithoutLocations bool

	// In is the struct type of the fields. Out is the type of the answer; nil:
	// there is none.
	In, Out reflect.Type
	Mode    wire.Mode // how null and absence in the fields are read

	decode   func(Input, wire.Limits) (any, []store.Detail, error)
	read     func(*store.View, *Call, any) (any, error)
	write    func(*store.Tx, *Call, any) (any, error)
	complete func(any) (any, error)    // see Complete; nil: the answer is complete
	restore  func([]byte) (any, error) // reads a remembered answer
}

// None is the type of an answer that there is none of.
type None struct{}

// Call is one invocation as its operation sees it.
type Call struct {
	Caller
	in  Input
	now store.Time
}

// Param returns an id that the call names.
func (c *Call) Param(name string) string { return c.in.Param(name) }

// Now returns the time at which the call was taken up.
func (c *Call) Now() store.Time { return c.now }

// Read returns an operation that reads. I is the struct of its fields, O its
// answer.
func Read[I, O any](op Operation, fn func(*store.View, *Call, I) (O, error)) *Operation {
	op.In, op.Out = reflect.TypeFor[I](), typeOf[O]()
	op.decode = decodeInto[I](wire.Create)
	op.read = func(v *store.View, c *Call, in any) (any, error) {
		out, err := fn(v, c, in.(I))
		return &out, err
	}
	return &op
}

// Write returns an operation that changes something, in one transaction. I is
// the struct of its fields, which mode says how to read, O its answer. An
// operation without fields takes struct{} and wire.Create.
func Write[I, O any](op Operation, mode wire.Mode, fn func(*store.Tx, *Call, I) (O, error)) *Operation {
	op.In, op.Out, op.Mode = reflect.TypeFor[I](), typeOf[O](), mode
	op.decode = decodeInto[I](mode)
	op.write = func(tx *store.Tx, c *Call, in any) (any, error) {
		out, err := fn(tx, c, in.(I))
		return &out, err
	}
	op.restore = restore[O]
	return &op
}

// Complete adds to an operation's answer what must not be remembered with it,
// since it can be made again at any time: f turns the answer S, which is stored
// for replays, into the answer O, which callers get.
func Complete[S, O any](op *Operation, f func(S) (O, error)) *Operation {
	op.Out = typeOf[O]()
	op.complete = func(stored any) (any, error) {
		out, err := f(*stored.(*S))
		return &out, err
	}
	return op
}

// Writes reports whether the operation may change something.
func (op *Operation) Writes() bool { return op.write != nil }

func decodeInto[I any](mode wire.Mode) func(Input, wire.Limits) (any, []store.Detail, error) {
	return func(in Input, lim wire.Limits) (any, []store.Detail, error) {
		v := new(I)
		details, err := in.Decode(v, mode, lim)
		return *v, details, err
	}
}

func restore[O any](body []byte) (any, error) {
	out := new(O)
	if len(body) == 0 {
		return out, nil
	}
	return out, json.Unmarshal(body, out)
}

func typeOf[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[None]() {
		return nil
	}
	return t
}

// Input is what a caller hands to an operation. Invoke reads fields and key
// only after it has admitted the caller, so that nobody learns from their
// refusal who may not call at all.
type Input interface {
	// Param returns an id that the call names, such as one in a path.
	Param(name string) string
	// IdempotencyKey returns the key that makes a repeat safe; nil: there is none.
	IdempotencyKey() (*IdempotencyKey, error)
	// Decode reads the fields into the struct that dst points to, and reports
	// everything that is wrong with them.
	Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error)
}

// IdempotencyKey names one request of a caller, and tells it from others.
type IdempotencyKey struct {
	Value string // as the caller chose it
	// Method, Path and Body are the fingerprint: a repeat must equal all three.
	// Faces other than HTTP put the operation and its arguments there.
	Method, Path string
	Body         []byte
	// Success is the status that is stored with a success, and Status returns the
	// one that is stored with a refusal.
	Success int
	Status  func(store.Code) int
}

// Args is an Input made by the program itself, such as by a command.
type Args struct {
	Params map[string]string
	Fields any // of the operation's In type; nil: none is set
}

// Param returns the id under a name.
func (a Args) Param(name string) string { return a.Params[name] }

// IdempotencyKey returns nil.
func (a Args) IdempotencyKey() (*IdempotencyKey, error) { return nil, nil }

// Decode copies the fields and validates them by the same rules as a request's.
func (a Args) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	if a.Fields != nil {
		reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(a.Fields))
	}
	return wire.Validate(dst, mode, lim), nil
}
