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

// Of declares an operation: everything that is the same for all faces. I is the struct of its
// fields and O the type of its answer, or None. See NewOperation.
type Of[I, O any] struct {
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

	// Exactly one of Read, Write and Prepare is set.

	// Read answers from the store.
	Read func(*store.View, *Call, I) (O, error)
	// Write runs in a write transaction.
	Write func(*store.Tx, *Call, I) (O, error)
	// Prepare does work that is too slow for the store's single writer, and then writes;
	// see the function Prepare.
	Prepare Preparation

	// These may be left out; see the functions of these names.

	Complete    Completion
	LookUp      StoreCheck
	Repeat      Repetition
	WriteBefore EarlierWrite
}

// hook is a function of a declaration for the types in and out, whose function F takes any.
//
// The binary has a copy of generic functions for each type, with the whole type in its name. So only
// hooks that are declared have such functions, and TypeOf of a pointer stands for TypeFor.
type hook[F any] struct {
	in, out reflect.Type // any: all
	call    F
}

// The functions of a declaration that are made by the functions of similar names.
type (
	Preparation = *hook[func(context.Context, *Call, any) (write, error)]
	Completion  = *hook[func(out any) error]
	StoreCheck  = *hook[func(v *store.View, c *Call, in any, faulty func(string) bool) error]
	Repetition  = *hook[func(v *store.View, c *Call, in any) (out any, known bool, err error)]

	EarlierWrite = *hook[func(c *Call, in any) (func(*store.Tx) error, error)]
)

// newHook returns the hook for the types I and O.
func newHook[I, O, F any](call F) *hook[F] {
	return &hook[F]{reflect.TypeOf((*I)(nil)).Elem(), reflect.TypeOf((*O)(nil)).Elem(), call}
}

// suits reports whether the hook, if there is one, is for the types of an operation.
func (h *hook[F]) suits(in, out reflect.Type) bool {
	all := reflect.TypeFor[any]()
	return h == nil || (h.in == in || h.in == all) && (h.out == out || h.out == all)
}

// Prepare declares work before the write transaction, and returns the function that runs in it.
// f may read the store (see Call.View), use Call.HashPassword and Call.CheckPassword, and refuse
// the call. What it has read may have changed when its function runs, so the function must check
// it again.
func Prepare[I, O any](f func(context.Context, *Call, I) (func(*store.Tx) (O, error), error)) Preparation {
	return newHook[I, O](func(ctx context.Context, c *Call, in any) (write, error) {
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
	return newHook[any, O](func(out any) error { return f(out.(*O)) })
}

// LookUp declares how fields are checked against the store if some of them are invalid already, so
// that a refusal reports all of them. f returns nil or a refusal, whose details are added; faulty
// reports whether a field is reported already. Where the fields are valid, the operation makes the
// same checks itself.
func LookUp[I any](f func(v *store.View, c *Call, in I, faulty func(field string) bool) error) StoreCheck {
	return newHook[I, any](func(v *store.View, c *Call, in any, faulty func(string) bool) error {
		return f(v, c, in.(I), faulty)
	})
}

// Repeat declares that devices may call an operation again with the reference of an earlier call,
// for ever. f returns the answer to that call, before Complete, with found false if there was none.
// known is false if the call names its card by a code that names none any longer. The operation's
// function returns [store.ErrRepeated] in this case.
func Repeat[I, O any](f func(v *store.View, c *Call, in I) (out O, found, known bool, err error)) Repetition {
	return newHook[I, O](func(v *store.View, c *Call, in any) (any, bool, error) {
		out, found, known, err := f(v, c, in.(I))
		if err != nil || !found {
			return nil, known, err
		}
		return &out, known, nil
	})
}

// WriteBefore declares what an operation that reads writes before it reads, in a transaction of its
// own, such as an audit row: if that fails, nothing is read. f may read the store (see Call.View). It
// returns the function that writes, or nil if a call needs none.
func WriteBefore[I any](f func(c *Call, in I) (func(*store.Tx) error, error)) EarlierWrite {
	return newHook[I, any](func(c *Call, in any) (func(*store.Tx) error, error) { return f(c, in.(I)) })
}

// Operation is something that a caller can do. It is what NewOperation makes of a declaration, whose
// fields of the same names it has.
type Operation struct {
	ID, Group, Title, Doc string

	Callers          Callers
	Codes            []store.Code
	Proof            bool
	WithoutLocations bool
	WithoutStaff     bool
	StaffSession     bool

	In   reflect.Type // struct of the fields
	Out  reflect.Type // type of the answer; nil: there is none
	Mode wire.Mode

	read  func(*store.View, *Call, any) (any, error)
	write write

	prepare     Preparation
	complete    Completion
	lookUp      StoreCheck
	repeat      Repetition
	writeBefore EarlierWrite
}

// write is the function of an operation that runs in the write transaction. It returns a
// pointer to the answer.
type write func(tx *store.Tx, c *Call, in any) (any, error)

// NewOperation returns the operation that d declares. It panics if d has not exactly one of
// Read, Write and Prepare, or a function for other fields or another answer.
func NewOperation[I, O any](d Of[I, O]) *Operation {
	op := Operation{
		ID:               d.ID,
		Group:            d.Group,
		Title:            d.Title,
		Doc:              d.Doc,
		Callers:          d.Callers,
		Codes:            d.Codes,
		Proof:            d.Proof,
		WithoutLocations: d.WithoutLocations,
		WithoutStaff:     d.WithoutStaff,
		StaffSession:     d.StaffSession,
		In:               reflect.TypeOf((*I)(nil)).Elem(),
		Out:              reflect.TypeOf((*O)(nil)).Elem(),
		Mode:             d.Mode,
		prepare:          d.Prepare,
		complete:         d.Complete,
		lookUp:           d.LookUp,
		repeat:           d.Repeat,
		writeBefore:      d.WriteBefore,
	}
	if read := d.Read; read != nil {
		op.read = func(v *store.View, c *Call, in any) (any, error) {
			out, err := read(v, c, in.(I))
			return &out, err
		}
	}
	if write := d.Write; write != nil {
		op.write = func(tx *store.Tx, c *Call, in any) (any, error) {
			out, err := write(tx, c, in.(I))
			return &out, err
		}
	}
	return op.checked()
}

// checked returns a copy of the operation, which has no Out if there is no answer. It panics if
// the operation has not one function, or hooks for other types.
func (op *Operation) checked() *Operation {
	functions := 0
	for _, set := range []bool{op.read != nil, op.write != nil, op.prepare != nil} {
		if set {
			functions++
		}
	}
	if functions != 1 {
		panic("kernel: operation " + op.ID + " needs one of Read, Write and Prepare")
	}
	if in, out := op.In, op.Out; !op.prepare.suits(in, out) || !op.complete.suits(in, out) || !op.lookUp.suits(in, out) ||
		!op.repeat.suits(in, out) || !op.writeBefore.suits(in, out) {
		panic("kernel: operation " + op.ID + " has a function for other fields or another answer")
	}
	c := *op
	if c.Out == reflect.TypeFor[None]() {
		c.Out = nil
	}
	return &c
}

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
func (op *Operation) Writes() bool { return op.write != nil || op.prepare != nil }

// decode decodes and validates an input.
func (op *Operation) decode(in Input, lim wire.Limits) (any, []store.Detail, error) {
	fields := reflect.New(op.In)
	details, err := in.Decode(fields.Interface(), op.Mode, lim)
	return fields.Elem().Interface(), details, err
}

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
