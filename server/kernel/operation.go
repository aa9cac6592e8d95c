package kernel

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net/url"
	"reflect"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/wire"
	"punchcard/store"
)

// Operation is something that a caller can do: everything that is the same for all faces. See
// NewOperation.
type Operation struct {
	ID      string // such as issueCard; also the operationId in OpenAPI documents
	Group   string // heading in the documents
	Title   string
	Doc     string
	Callers Callers
	// Codes are the refusals of the operation itself. Those of Invoke are not
	// listed.
	Codes []store.Code
	// Proof demands that a person who is signed in has given the password or a code of
	// the second factor within the last 15 minutes. Others are refused with
	// store.ProofRequired.
	Proof bool
	// WithoutLocations also admits a restricted key whose locations are all
	// disabled.
	WithoutLocations bool
	// WithoutStaff admits writes of a device without a staff PIN or session, where the
	// location demands one and where the session has ended.
	WithoutStaff bool
	// StaffSession demands a session of a member of staff also for a read.
	StaffSession bool
	// Mode is the meaning of null and absent fields, for an operation that writes.
	Mode wire.Mode

	// Exactly one of Read, Write and Prepare is set; see the functions of these names.

	Read    Reading
	Write   Writing
	Prepare Preparation

	// These may be left out; see the functions of these names.

	Complete    Completion
	Repeat      Repetition
	WriteBefore EarlierWrite

	// In is the struct of the fields and Out the type of the answer, nil if there is none.
	// NewOperation sets them to those of Read, Write or Prepare.
	In, Out reflect.Type
}

// hook is a function of an operation for the types in and out, whose function F takes any.
//
// The binary has a copy of generic functions for each type, with the whole type in its name. So only
// hooks that are declared have such functions, and newHook takes pointers in place of type parameters.
type hook[F any] struct {
	in, out reflect.Type // any: all
	call    F
}

// The functions of an operation that are made by the functions of similar names.
type (
	Reading     = *hook[func(*store.View, *Call, any) (any, error)]
	Writing     = *hook[write]
	Preparation = *hook[func(context.Context, *Call, any) (write, error)]
	Completion  = *hook[func(out any) error]
	Repetition  = *hook[func(v *store.View, c *Call, in any) (out any, known bool, err error)]

	EarlierWrite = *hook[func(v *store.View, c *Call, in any) (func(*store.Tx) error, error)]
)

// write is the function of an operation that runs in the write transaction. It returns a
// pointer to the answer.
type write func(tx *store.Tx, c *Call, in any) (any, error)

// anyType is the type of hooks for any fields or any answer.
var anyType = reflect.TypeFor[any]()

// newHook returns the hook for the types to which in and out point.
func newHook[F any](in, out any, call F) *hook[F] {
	return &hook[F]{reflect.TypeOf(in).Elem(), reflect.TypeOf(out).Elem(), call}
}

// suits reports whether the hook, if there is one, is for the types of an operation.
func (h *hook[F]) suits(op *Operation) bool {
	return h == nil || (h.in == op.In || h.in == anyType) && (h.out == op.Out || h.out == anyType)
}

// setTypes sets the types of an operation to those of the hook, and reports whether there is one.
func (h *hook[F]) setTypes(op *Operation) bool {
	if h != nil {
		op.In, op.Out = h.in, h.out
	}
	return h != nil
}

// Read declares what answers from the store.
func Read[I, O any](f func(*store.View, *Call, I) (O, error)) Reading {
	return newHook((*I)(nil), (*O)(nil), func(v *store.View, c *Call, in any) (any, error) {
		out, err := f(v, c, in.(I))
		return &out, err
	})
}

// ReadPlain declares what answers from the store without fields.
func ReadPlain[O any](f func(*store.View, *Call) (O, error)) Reading {
	return newHook((*struct{})(nil), (*O)(nil), func(v *store.View, c *Call, _ any) (any, error) {
		out, err := f(v, c)
		return &out, err
	})
}

// Write declares what runs in a write transaction.
func Write[I, O any](f func(*store.Tx, *Call, I) (O, error)) Writing {
	return newHook((*I)(nil), (*O)(nil), write(func(tx *store.Tx, c *Call, in any) (any, error) {
		out, err := f(tx, c, in.(I))
		return &out, err
	}))
}

// WritePlain declares what runs in a write transaction without fields.
func WritePlain[O any](f func(*store.Tx, *Call) (O, error)) Writing {
	return newHook((*struct{})(nil), (*O)(nil), write(func(tx *store.Tx, c *Call, _ any) (any, error) {
		out, err := f(tx, c)
		return &out, err
	}))
}

// Prepared is the part of an operation that runs in the write transaction, after the work of Prepare.
type Prepared[O any] = func(*store.Tx) (O, error)

// Prepare declares work before the write transaction, and returns the function that runs in it.
// f may read the store (see Call.View), use Call.HashPassword and Call.CheckPassword, and refuse
// the call. What it has read may have changed when its function runs, so the function must check
// it again.
func Prepare[I, O any](f func(context.Context, *Call, I) (Prepared[O], error)) Preparation {
	return newHook((*I)(nil), (*O)(nil), func(ctx context.Context, c *Call, in any) (write, error) {
		do, err := f(ctx, c, in.(I))
		return func(tx *store.Tx, _ *Call, _ any) (any, error) {
			out, err := do(tx)
			return &out, err
		}, err
	})
}

// Complete declares what is added to the answer and need not be stored, since it can be computed
// from the rest. The answer without it is remembered.
func Complete[O any](f func(*O) error) Completion {
	return newHook((*any)(nil), (*O)(nil), func(out any) error { return f(out.(*O)) })
}

// Repeat declares that devices may call an operation again with the reference of an earlier call,
// for ever. f returns the answer to that call, before Complete, with found false if there was none.
// known is false if the call names its card by a code that names none any longer. The operation's
// function returns [store.ErrRepeated] in this case.
func Repeat[I, O any](f func(v *store.View, c *Call, in I) (out O, found, known bool, err error)) Repetition {
	return newHook((*I)(nil), (*O)(nil), func(v *store.View, c *Call, in any) (any, bool, error) {
		out, found, known, err := f(v, c, in.(I))
		if err != nil || !found {
			return nil, known, err
		}
		return &out, known, nil
	})
}

// WriteBefore declares what an operation that reads writes before it reads, in a transaction of its
// own, such as an audit row: if that fails, nothing is read. f returns the function that writes, or nil if
// a call needs none.
func WriteBefore[I any](f func(v *store.View, c *Call, in I) (func(*store.Tx) error, error)) EarlierWrite {
	return newHook((*I)(nil), (*any)(nil), func(v *store.View, c *Call, in any) (func(*store.Tx) error, error) {
		return f(v, c, in.(I))
	})
}

// NewOperation returns the operation that op declares. It panics if op has not exactly one of
// Read, Write and Prepare, or a function for other fields or another answer.
func NewOperation(op Operation) *Operation {
	functions := 0
	for _, set := range []bool{op.Read.setTypes(&op), op.Write.setTypes(&op), op.Prepare.setTypes(&op)} {
		if set {
			functions++
		}
	}
	if functions != 1 {
		panic("kernel: operation " + op.ID + " needs one of Read, Write and Prepare")
	}
	if !op.Complete.suits(&op) || !op.Repeat.suits(&op) || !op.WriteBefore.suits(&op) {
		panic("kernel: operation " + op.ID + " has a function for other fields or another answer")
	}
	if op.Out == reflect.TypeFor[None]() {
		op.Out = nil
	}
	return &op
}

// None is the answer type of an operation without an answer.
type None struct{}

// Call is one invocation of an operation.
type Call struct {
	Caller
	in  Input
	now store.Time

	decoded *decoded // nil: the fields were not decoded yet
	kernel  *Kernel  // nil: the fields are only validated
}

// decoded is what decoding an operation's fields returned.
type decoded struct {
	fields  any
	details []store.Detail
	err     error
}

// Param returns an id from the path or its equivalent. If a device's code is a handle, which a
// search gave it, Param returns what the card's QR code holds instead.
func (c *Call) Param(name string) string {
	if name == "code" && c.Kind == Device && c.kernel != nil {
		return c.kernel.staff.heldCode(c.Device, c.StaffSession, c.in.Param(name), c.now)
	}
	return c.in.Param(name)
}

// NamesHandle reports whether code is a handle that stands for a card.
func (c *Call) NamesHandle() bool { return c.in.Param("code") != c.Param("code") }

// TestMail sends a message and returns what the mail server made of it.
func (c *Call) TestMail(ctx context.Context, m store.Mail) error {
	if c.kernel.conf.TestMail == nil {
		return Refuse(store.Unprocessable, "There is no mail server. Start the server with --smtp-url and --mail-from.")
	}
	return c.kernel.conf.TestMail(ctx, m)
}

// PassIssuer returns the authority that issues certificates for Apple Wallet, nil for that of Apple.
func (c *Call) PassIssuer() *x509.Certificate { return c.kernel.conf.PassIssuer }

// Google calls Google Wallet; nil: the server sends nothing.
func (c *Call) Google() GoogleWallet { return c.kernel.conf.Google }

// PhonesOpen reports whether phones can open a public URL, which needs https and a name on the internet. Those of a fixture
// may be of this machine.
func (c *Call) PhonesOpen(publicURL string) bool {
	if IsLoopbackURL(publicURL) {
		return c.kernel.conf.Fixture
	}
	return IsHTTPS(publicURL)
}

// Backups returns those that the server makes, nil if it makes none.
func (c *Call) Backups() Backups { return c.kernel.conf.Backups }

// Now returns the time at which the call began.
func (c *Call) Now() store.Time { return c.now }

// Described returns an operation that describes a route which a face serves by itself, for the
// document of the face. It cannot be invoked.
func Described(op Operation, in, out reflect.Type, writes bool) *Operation {
	if op.In, op.Out = in, out; out == reflect.TypeFor[None]() {
		op.Out = nil
	}
	if writes {
		op.Write = &hook[write]{}
	}
	return &op
}

// Writes reports whether the operation may change something.
func (op *Operation) Writes() bool { return op.Write != nil || op.Prepare != nil }

// restore decodes a remembered answer and returns a pointer to it.
func (op *Operation) restore(body []byte) (any, error) {
	if op.Out == nil {
		return new(None), nil
	}
	out := reflect.New(op.Out).Interface()
	if len(body) == 0 {
		return out, nil
	}
	return out, json.Unmarshal(body, out)
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

// Params are the ids of an Input by name. The call has no idempotency key.
type Params map[string]string

// Param returns a named id.
func (p Params) Param(name string) string { return p[name] }

// IdempotencyKey returns nil.
func (Params) IdempotencyKey() (*IdempotencyKey, error) { return nil, nil }

// ParamsOf returns what a path names.
func ParamsOf(path httprouter.Params) Params {
	params := Params{}
	for _, p := range path {
		params[p.Key] = undoneEscapes.Replace(p.Value)
	}
	return params
}

// Args is an Input that the program itself makes, for example in a command.
type Args struct {
	Params
	Fields any // of the operation's type In; nil: no field is set
}

// Decode copies the fields to dst and validates them by the rules for requests.
func (a Args) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	if a.Fields != nil {
		reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(a.Fields))
	}
	return wire.Validate(dst, mode, lim), nil
}

// Form is the input of a caller that has the fields as a form has them, as text.
type Form struct {
	Params
	Fields url.Values
}

// Decode decodes and validates the fields.
func (f Form) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	return wire.DecodeForm(f.Fields, dst, mode, lim), nil
}

// Query is the input of a caller that has the fields of a read as a query has them.
type Query struct {
	Params
	Fields url.Values
}

// Decode decodes and validates the fields.
func (q Query) Decode(dst any, _ wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	return wire.DecodeQuery(q.Fields, dst, lim), nil
}
