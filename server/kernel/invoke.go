package kernel

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"punchcard/server/wire"
	"punchcard/store"
)

// Result is the outcome of an operation.
type Result struct {
	// Replayed is true if the outcome is that of an earlier call with the same
	// idempotency key. It is also set if that call was refused.
	Replayed bool

	value any    // pointer to the answer
	json  []byte // the answer as JSON; nil: it was not encoded yet
}

// AppendJSON appends the answer as JSON, or nothing if there is none.
func (r *Result) AppendJSON(b []byte) []byte {
	if r.json == nil && r.value != nil {
		return wire.Append(b, r.value)
	}
	return append(b, r.json...)
}

// Secretive is implemented by answers with a secret that the file must not contain, such
// as a new key. A replay by an idempotency key gets the answer without it.
type Secretive interface {
	WithoutSecret() any
}

// ShownOnce is implemented by answers with a secret that the file contains, such as that of a
// new webhook. A replay to a person gets the answer without it, since a page shows a secret
// once; a key gets the whole answer again, since its program may have lost the first one.
type ShownOnce interface {
	Shown() any
}

// toRemember returns the answer as it is remembered, and whether it is all of the answer.
func toRemember(c *Caller, out any) (remembered any, whole bool) {
	if s, ok := out.(Secretive); ok {
		return s.WithoutSecret(), false
	}
	if s, ok := out.(ShownOnce); ok && c.Kind == Person {
		return s.Shown(), false
	}
	return out, true
}

// Invoke runs an operation for a caller. In this order, it looks whether the caller's shop is closed,
// authorizes the caller, waits for a running call with the same idempotency key, returns the answer that
// is remembered for that key, validates the fields, and runs the operation. The
// change, its audit row, its events and the remembered answer are written in one
// transaction.
//
// The caller's identity may be out of date, since other processes may write to the
// file. Invoke then returns store.ErrEpoch, and the face must identify the caller
// again and repeat the call. Every other outcome is based on an identity that was
// up to date. Refusals are *Error or *store.Error.
func (k *Kernel) Invoke(ctx context.Context, c Caller, op *Operation, in Input) (Result, error) {
	r, err := k.invoke(ctx, c, op, in)
	if err != nil || op.Complete == nil {
		return r, err
	}
	r.json = nil
	return r, op.Complete.call(r.value)
}

// newCall returns the call of an operation by a caller.
func (k *Kernel) newCall(c Caller, in Input) *Call {
	return &Call{Caller: c, in: in, now: k.st.Now(), kernel: k}
}

func (k *Kernel) invoke(ctx context.Context, c Caller, op *Operation, in Input) (r Result, err error) {
	call := k.newCall(c, in)
	if err := op.requireOpen(&call.Caller); err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	if r, err = k.repeated(call, op); err != nil || r.Replayed {
		return r, err
	}
	if err := k.authorize(ctx, &call.Caller, op, call.now); err != nil {
		return Result{}, err
	}
	if !op.Writes() {
		return k.read(ctx, call, op)
	}
	r, err = k.writeOnce(ctx, call, op)
	if errors.Is(err, store.ErrRepeated) { // by a write at the same time
		return k.repeated(call, op)
	}
	return r, err
}

// repeated answers a device's call whose client reference was used before. Such a call writes
// nothing, so it is admitted like a lookup: without a staff PIN, and in any state of the shop
// and location. It leaves all other calls, also invalid ones, to the rest of Invoke.
func (k *Kernel) repeated(call *Call, op *Operation) (r Result, err error) {
	if op.Repeat == nil || call.Kind != Device {
		return r, nil
	}
	d := call.decode(op, k.conf.Fields)
	if d.err != nil || d.details != nil {
		return r, nil
	}
	if f, ok := d.fields.(interface{ Reference() store.Once }); !ok || !f.Reference().ClientReference.Set || k.countCode(call, nil) != nil {
		return r, nil
	}
	known := false
	err = k.st.View(call.Epoch, func(v *store.View) (err error) {
		r.value, known, err = op.Repeat.call(v, call, d.fields)
		return err
	})
	if err != nil || r.value == nil {
		return Result{}, err
	}
	if !known {
		// The answer shows that the code names no card, so it counts as a failed attempt.
		k.countCode(call, store.ErrUnknownCode)
	}
	r.Replayed = true
	return r, nil
}

// Do calls Invoke and returns the operation's answer, whose type must be O.
func Do[O any](ctx context.Context, k *Kernel, c Caller, op *Operation, in Input) (out O, err error) {
	r, err := k.Invoke(ctx, c, op, in)
	if err != nil {
		return out, err
	}
	if op.Out == nil {
		return out, nil
	}
	if r.value == nil { // replayed
		if r.value, err = op.restore(r.json); err != nil {
			return out, err
		}
	}
	return *r.value.(*O), nil
}

// read runs an operation that only reads.
func (k *Kernel) read(ctx context.Context, call *Call, op *Operation) (r Result, err error) {
	fields, _, err := k.validate(ctx, op, call)
	if err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	if err := k.countCode(call, nil); err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	if op.WriteBefore != nil {
		if err := k.writeBefore(ctx, call, op, fields); err != nil {
			return r, err
		}
	}
	err = call.View(func(v *store.View) (err error) {
		r.value, err = op.Read.call(v, call, fields)
		return err
	})
	if err == nil && !call.seesContacts() {
		redact(reflect.ValueOf(r.value))
	}
	return r, k.countCode(call, err)
}

// writeBefore writes what an operation that reads writes first.
func (k *Kernel) writeBefore(ctx context.Context, call *Call, op *Operation, fields any) error {
	var write func(*store.Tx) error
	err := call.View(func(v *store.View) (err error) {
		write, err = op.WriteBefore.call(v, call, fields)
		return err
	})
	if err != nil || write == nil {
		return err
	}
	return k.write(ctx, &call.Caller, write)
}

// writeOnce runs an operation that writes, once for each idempotency key.
func (k *Kernel) writeOnce(ctx context.Context, call *Call, op *Operation) (r Result, err error) {
	given, err := call.in.IdempotencyKey()
	if err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	if given == nil {
		r, _, err = k.commit(ctx, call, op, nil, nil)
		return r, err
	}
	scope, ok := call.idempotencyScope()
	if !ok {
		return r, errors.New("kernel: this kind of caller cannot use idempotency keys")
	}
	key := store.NewIdempotencyKey(scope, given.Value, given.Method, given.Path, given.Body)
	unlock, err := k.keyLocks.lock(ctx, key)
	if err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	defer unlock()
	// Few calls are repeated, so the write itself looks for the key, and the remembered answer is read only
	// if the write was not made. Where the write needs slow work first, the answer is read before it.
	_, slow := call.decode(op, k.conf.Fields).fields.(Targeter)
	for slow = slow || op.Prepare != nil; ; slow = false {
		failed := errRemembered
		if !slow {
			var answered bool
			if r, answered, failed = k.commit(ctx, call, op, given, &key); answered {
				return r, failed
			}
		}
		var m *store.Remembered
		if err := k.st.View(call.Epoch, func(v *store.View) (err error) {
			m, err = v.Recall(key)
			return err
		}); err != nil {
			return Result{}, err
		}
		if m != nil {
			return op.replay(m)
		}
		if !errors.Is(failed, errRemembered) {
			return Result{}, failed
		}
	}
}

// errRemembered ends a write whose idempotency key has an answer already.
var errRemembered = errors.New("kernel: the idempotency key has a remembered answer")

// replay returns a remembered answer.
func (op *Operation) replay(m *store.Remembered) (r Result, err error) {
	r.Replayed = true
	if m.Status >= http.StatusBadRequest {
		return r, recallError(m)
	}
	r.json = m.Body
	if op.Complete != nil {
		r.value, err = op.restore(m.Body)
	}
	return r, err
}

// Conditional is implemented by inputs of writes that are to be made only if a resource
// was not changed since it had a version. An empty id sets no condition.
type Conditional interface {
	Condition() (id string, version store.Time)
}

// checkCondition refuses a write whose condition does not hold.
func checkCondition(tx *store.Tx, call *Call, c Conditional) error {
	if id, version := c.Condition(); id != "" {
		return tx.RequireVersion(call.Access.Shop, id, version)
	}
	return nil
}

// commit runs the operation in a transaction. With a key it also stores the answer
// under the key, for replays, if the status is that of a success, or 404, 409 or 422,
// but not if a till's code names no card, which may be mistyped. Nothing else of a
// refused operation is written, unless the refusal is a [store.CommittedRefusal].
// answered is true if the write was made, with an answer or a refusal: a remembered
// answer of the key is older only if it is false.
func (k *Kernel) commit(
	ctx context.Context,
	call *Call,
	op *Operation,
	given *IdempotencyKey,
	key *store.IdempotencyKey,
) (r Result, answered bool, err error) {
	fields, target, err := k.validate(ctx, op, call)
	if err != nil {
		return r, false, k.confirm(&call.Caller, err)
	}
	if err := k.countCode(call, nil); err != nil {
		return r, false, k.confirm(&call.Caller, err)
	}
	var write write
	if op.Prepare == nil {
		write = op.Write.call
	} else if write, err = op.Prepare.call(ctx, call, fields); err != nil {
		return r, false, k.confirm(&call.Caller, err)
	}
	var refusal error
	var stored []byte // the answer as it is remembered
	w := store.Write{Actor: call.Actor}
	w.Do = func(tx *store.Tx) error {
		if call.Epoch != 0 && tx.Epoch != call.Epoch {
			return store.ErrEpoch
		}
		if key != nil {
			if m, err := tx.Recall(*key); m != nil || err != nil {
				return errRemembered
			}
		}
		tx.CheckedTarget = target
		if c, ok := call.in.(Conditional); ok {
			if err := checkCondition(tx, call, c); err != nil {
				return err
			}
		}
		out, err := write(tx, call, fields)
		if err = k.countCode(call, err); err != nil {
			return err
		}
		r.value = out
		if key != nil && op.Out != nil {
			remembered, whole := toRemember(&call.Caller, out)
			stored = wire.Append(make([]byte, 0, 512), remembered)
			if whole {
				r.json = stored
			}
		}
		return nil
	}
	if key != nil {
		w.Finish = func(tx *store.Tx, err error) error {
			if err == nil {
				return tx.Remember(*key, store.Remembered{Status: given.Success, Body: stored})
			}
			var kept *store.CommittedRefusal
			switch e := AsError(err, given.Status); {
			case errors.Is(err, store.ErrUnknownCode), errors.Is(err, errRemembered):
				return err
			case slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, e.Status):
				refusal = err
				return tx.Remember(*key, e.remembered())
			case errors.As(err, &kept):
				refusal = err // its changes are committed, but its answer is not stored
				return nil
			}
			return err
		}
	}
	// The end of the request does not cancel the write.
	err = k.st.Write(context.WithoutCancel(ctx), w)
	if err != nil {
		return r, false, err
	}
	return r, true, refusal
}
