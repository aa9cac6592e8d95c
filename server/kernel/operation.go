package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"reflect"

	"punchcard/server/password"
	"punchcard/server/wire"
	"punchcard/store"
)

// Operation is something that a caller can do. It is declared once for all faces.
type Operation struct {
	ID      string // such as issueCard; also the operationId in OpenAPI documents
	Group   string // heading in the documents
	Title   string
	Doc     string
	Callers Callers
	// Codes are the refusals of the operation itself. Those of Invoke are not
	// listed.
	Codes []store.Code
	// WithoutLocations also admits a restricted key whose locations are all
	// disabled.
	WithoutLocations bool
	// Proof demands that a person who is signed in has given the password or a code of
	// the second factor within the last 15 minutes. Others are refused with
	// store.ProofRequired.
	Proof bool
	// WithoutStaff admits writes of a device without a staff PIN or session, where the
	// location demands one and where the session has ended.
	WithoutStaff bool
	// StaffSession demands a session of a member of staff also for a read.
	StaffSession bool

	In   reflect.Type // struct of the fields
	Out  reflect.Type // type of the answer; nil: there is none
	Mode wire.Mode    // meaning of null and absent fields

	decode   func(Input, wire.Limits) (any, []store.Detail, error)
	prepare  func(context.Context, *Call, any) (any, error) // see WritePrepared and WriteAfter; may be nil
	read     func(*store.View, *Call, any) (any, error)
	write    func(*store.Tx, *Call, any) (any, error)
	complete func(any) (any, error)                 // see Complete; may be nil
	audit    func(*Call, any) func(*store.Tx) error // see Audited; may be nil
	repeated repeated                               // see Repeatable; may be nil
	restore  func([]byte) (any, error)              // decodes a remembered answer
	lookUp   lookUp                                 // see LookUp; may be nil
}

// repeated returns the answer to an earlier call with the same reference, nil if there was
// none. known is false if the call names its card by a code that names none any longer.
type repeated func(v *store.View, c *Call, fields any) (out any, known bool, err error)

// lookUp finds faults of fields in the store.
type lookUp func(v *store.View, c *Call, fields any, faulty func(field string) bool) error

// None is the answer type of an operation without an answer.
type None struct{}

// Call is one invocation of an operation.
type Call struct {
	Caller
	in  Input
	now store.Time

	decoded *decoded // nil: the fields were not decoded yet

	st        *store.Store
	devices   *deviceCalls
	passwords *password.Hasher
	health    func() ServerHealth                     // see Config.Health; may be nil
	backups   Backups                                 // may be nil
	testMail  func(context.Context, store.Mail) error // may be nil
}

// decoded is what decoding an operation's fields returned.
type decoded struct {
	fields  any
	details []store.Detail
	err     error
}

// deviceCalls is what the calls of devices need of the kernel.
type deviceCalls struct {
	sessions    *staffSessions
	countSearch func(device int64, now store.Time) error
	checkPIN    func(id *store.TillIdentity, member store.TillStaff, pin string, now store.Time) ([]pinLock, error)
	log         *slog.Logger
}

// Param returns an id from the path or its equivalent. If a device's code is a handle, which a
// search gave it, Param returns what the card's QR code holds instead.
func (c *Call) Param(name string) string {
	if name == "code" && c.Kind == Device && c.devices != nil {
		return c.devices.sessions.heldCode(c.Device, c.StaffSession, c.in.Param(name), c.now)
	}
	return c.in.Param(name)
}

// NamesHandle reports whether code is a handle that stands for a card.
func (c *Call) NamesHandle() bool { return c.in.Param("code") != c.Param("code") }

// ServerHealth returns what the server knows of its state, the zero value outside of
// a server.
func (c *Call) ServerHealth() ServerHealth {
	if c.health == nil {
		return ServerHealth{}
	}
	return c.health()
}

// TestMail sends a message and returns what the mail server made of it.
func (c *Call) TestMail(ctx context.Context, m store.Mail) error {
	if c.testMail == nil {
		return Refuse(store.Unprocessable, "There is no mail server. Start the server with --smtp-url and --mail-from.")
	}
	return c.testMail(ctx, m)
}

// Backups returns those that the server makes, nil if it makes none.
func (c *Call) Backups() Backups { return c.backups }

// Now returns the time at which the call began.
func (c *Call) Now() store.Time { return c.now }

// Read returns an operation that only reads. I is the struct of its fields and O
// the type of its answer.
func Read[I, O any](op Operation, fn func(*store.View, *Call, I) (O, error)) *Operation {
	op.In, op.Out = reflect.TypeFor[I](), typeOf[O]()
	op.decode = decodeInto[I](wire.Create)
	op.read = func(v *store.View, c *Call, in any) (any, error) {
		out, err := fn(v, c, in.(I))
		return &out, err
	}
	return &op
}

// Write returns an operation that runs in a write transaction. I is the struct of
// its fields, which are decoded in the given mode, and O the type of its answer. An
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

// WritePrepared returns an operation like Write whose fields are prepared before the
// transaction, by work that is too slow for the store's single writer. fn gets what
// prepare makes of the valid fields.
func WritePrepared[I, P, O any](op Operation, mode wire.Mode, prepare func(I) P, fn func(*store.Tx, *Call, P) (O, error)) *Operation {
	w := Write(op, mode, fn)
	w.In, w.decode = reflect.TypeFor[I](), decodeInto[I](mode)
	w.prepare = func(_ context.Context, _ *Call, in any) (any, error) { return prepare(in.(I)), nil }
	return w
}

// WriteAfter returns an operation like WritePrepared whose preparation may read the
// store (see Call.View), use Call.HashPassword and Call.CheckPassword, and refuse the
// call. What it has read may have changed when fn runs, so fn must check it again.
func WriteAfter[I, P, O any](op Operation, mode wire.Mode, prepare func(context.Context, *Call, I) (P, error), fn func(*store.Tx, *Call, P) (O, error)) *Operation {
	w := Write(op, mode, fn)
	w.In, w.decode = reflect.TypeFor[I](), decodeInto[I](mode)
	w.prepare = func(ctx context.Context, c *Call, in any) (any, error) { return prepare(ctx, c, in.(I)) }
	return w
}

// Complete adds to the answer of an operation what need not be stored, since it
// can be computed from the rest. The answer S of op is what is remembered; f turns
// it into the answer O that callers get.
func Complete[S, O any](op *Operation, f func(S) (O, error)) *Operation {
	op.Out = typeOf[O]()
	op.complete = func(stored any) (any, error) {
		out, err := f(*stored.(*S))
		return &out, err
	}
	return op
}

// Audited makes an operation that reads write an audit row before it reads, in a
// transaction of its own: without the row nothing is read. record returns the function
// that writes the row, or nil if a call needs none.
func Audited[I any](op *Operation, record func(c *Call, in I) func(*store.Tx) error) *Operation {
	op.audit = func(c *Call, in any) func(*store.Tx) error { return record(c, in.(I)) }
	return op
}

// Repeatable makes an operation of devices one that may be called again with the reference of
// an earlier call, for ever. f returns the answer to that call, with found false if there was
// none. The operation's function returns [store.ErrRepeated] in this case. S is the type of
// the answer before Complete.
func Repeatable[I, S any](op *Operation, f func(v *store.View, c *Call, in I) (out S, found, known bool, err error)) *Operation {
	op.repeated = func(v *store.View, c *Call, in any) (any, bool, error) {
		out, found, known, err := f(v, c, in.(I))
		if err != nil || !found {
			return nil, known, err
		}
		return &out, known, nil
	}
	return op
}

// LookUp adds to an operation how its fields are checked against the store if some
// of them are invalid already, so that a refusal reports all of them. f returns nil
// or a refusal, whose details are added; faulty reports whether a field is reported
// already. Where the fields are valid, the operation makes the same checks itself.
func LookUp[I any](op *Operation, f func(v *store.View, c *Call, in I, faulty func(field string) bool) error) *Operation {
	op.lookUp = func(v *store.View, c *Call, in any, faulty func(string) bool) error { return f(v, c, in.(I), faulty) }
	return op
}

// Described returns an operation that describes a route which a face serves by itself, for the
// document of the face. It cannot be invoked.
func Described(op Operation, in, out reflect.Type, writes bool) *Operation {
	if op.In, op.Out = in, out; out == reflect.TypeFor[None]() {
		op.Out = nil
	}
	if writes {
		op.write = func(*store.Tx, *Call, any) (any, error) { return nil, errors.New("kernel: only described: " + op.ID) }
	}
	return &op
}

// Writes reports whether the operation may change something.
func (op *Operation) Writes() bool { return op.write != nil }

// decodeInto returns a function that decodes and validates an input as an I.
func decodeInto[I any](mode wire.Mode) func(Input, wire.Limits) (any, []store.Detail, error) {
	return func(in Input, lim wire.Limits) (any, []store.Detail, error) {
		v := new(I)
		details, err := in.Decode(v, mode, lim)
		return *v, details, err
	}
}

// restore decodes a remembered answer and returns a pointer to it.
func restore[O any](body []byte) (any, error) {
	out := new(O)
	if len(body) == 0 {
		return out, nil
	}
	return out, json.Unmarshal(body, out)
}

// typeOf returns the type T, or nil for None.
func typeOf[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[None]() {
		return nil
	}
	return t
}

// Input is what a caller passes to an operation. Invoke authorizes the caller
// before it reads the fields and the key, so that callers without permission get
// no validation errors.
type Input interface {
	// Param returns a named id, such as one in the path.
	Param(name string) string
	// IdempotencyKey returns the idempotency key, or nil if there is none.
	IdempotencyKey() (*IdempotencyKey, error)
	// Decode decodes the fields into the struct that dst points to, validates
	// them, and returns what is wrong with them.
	Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error)
}

// IdempotencyKey identifies a request of a caller.
type IdempotencyKey struct {
	Value string // chosen by the caller
	// Method, Path and Body are the fingerprint: a retry must have the same ones.
	// Faces other than HTTP use the operation and its arguments.
	Method, Path string
	Body         []byte
	// Success is the status that is stored with a success, and Status returns the
	// one that is stored with a refusal.
	Success int
	Status  func(store.Code) int
}

// Args is an Input that the program itself makes, for example in a command.
type Args struct {
	Params map[string]string
	Fields any // of the operation's type In; nil: no field is set
}

// Param returns a named id.
func (a Args) Param(name string) string { return a.Params[name] }

// IdempotencyKey returns nil.
func (a Args) IdempotencyKey() (*IdempotencyKey, error) { return nil, nil }

// Decode copies the fields to dst and validates them by the rules for requests.
func (a Args) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	if a.Fields != nil {
		reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(a.Fields))
	}
	return wire.Validate(dst, mode, lim), nil
}

// Form is the input of a caller that has the fields as a form has them, as text.
type Form struct {
	Params map[string]string
	Fields url.Values
}

// Param returns a named id.
func (f Form) Param(name string) string { return f.Params[name] }

// IdempotencyKey returns nil.
func (f Form) IdempotencyKey() (*IdempotencyKey, error) { return nil, nil }

// Decode decodes and validates the fields.
func (f Form) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	return wire.DecodeForm(f.Fields, dst, mode, lim), nil
}
