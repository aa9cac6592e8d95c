package kernel

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"punchcard/server/wire"
	"punchcard/store"
)

// Result is the outcome of an operation.
type Result struct {
	// Replayed reports that the outcome is that of an earlier call with the same
	// idempotency key. It is set beside an error, too.
	Replayed bool

	value any    // pointer to the answer
	json  []byte // its canonical JSON, where that was written already
}

// AppendJSON appends the answer as JSON, or nothing where the operation has none.
func (r *Result) AppendJSON(b []byte) []byte {
	if r.json == nil && r.value != nil {
		return wire.Append(b, r.value)
	}
	return append(b, r.json...)
}

// Invoke lets a caller do an operation. In this order it admits the caller,
// waits for a call with the same idempotency key, answers what is remembered
// under that key, validates the fields, and does the operation. A write, its
// audit row, its events and the remembered answer are one transaction.
//
// What is known of the caller may be out of date, since other processes may
// write to the file. The store tells so together with its data: then Invoke
// returns store.ErrEpoch, and the face identifies the caller again and repeats
// the call. No other outcome rests on an identity that the store has not
// confirmed. Refusals are *Error or *store.Error.
func (k *Kernel) Invoke(ctx context.Context, c Caller, op *Operation, in Input) (Result, error) {
	now := k.st.Now()
	if err := k.authorize(&c, op, now); err != nil {
		return Result{}, err
	}
	call := &Call{Caller: c, in: in, now: now}
	var r Result
	var err error
	if op.Writes() {
		r, err = k.change(ctx, call, op)
	} else {
		r, err = k.look(ctx, call, op)
	}
	if err != nil || op.complete == nil {
		return r, err
	}
	r.json = nil
	r.value, err = op.complete(r.value)
	return r, err
}

// Do is Invoke for callers in Go: it returns the operation's answer, which is of
// type O.
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

// look does an operation that reads.
func (k *Kernel) look(ctx context.Context, call *Call, op *Operation) (r Result, err error) {
	fields, _, err := k.validate(ctx, op, call.in, call.now)
	if err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	err = k.st.View(call.Epoch, func(v *store.View) error {
		r.value, err = op.read(v, call, fields)
		return err
	})
	return r, err
}

// change does an operation that writes, once for each idempotency key.
func (k *Kernel) change(ctx context.Context, call *Call, op *Operation) (r Result, err error) {
	given, err := call.in.IdempotencyKey()
	if err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	if given == nil {
		return k.write(ctx, call, op, nil, nil)
	}
	scope, ok := call.idempotencyScope()
	if !ok {
		return r, errors.New("kernel: a caller without idempotency keys gave one")
	}
	key := store.NewIdempotencyKey(scope, given.Value, given.Method, given.Path, given.Body)
	leave, err := k.inFlight.enter(ctx, key)
	if err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	defer leave()
	var m *store.Remembered
	if err := k.st.View(call.Epoch, func(v *store.View) (err error) {
		m, err = v.Recall(key)
		return err
	}); err != nil {
		return r, err
	}
	if m == nil {
		return k.write(ctx, call, op, &key, given.Status)
	}
	r.Replayed = true
	if m.Status >= http.StatusBadRequest {
		return r, recallError(m)
	}
	r.json = m.Body
	if op.complete != nil {
		r.value, err = op.restore(m.Body)
	}
	return r, err
}

// write makes the change and, with a key, remembers the answer in the same
// transaction: that of a refusal by the operation itself as well (404, 409,
// 422), though nothing else of a refused operation stays.
func (k *Kernel) write(ctx context.Context, call *Call, op *Operation, key *store.IdempotencyKey, status func(store.Code) int) (r Result, err error) {
	fields, target, err := k.validate(ctx, op, call.in, call.now)
	if err != nil {
		return r, k.confirm(&call.Caller, err)
	}
	var refusal error
	w := store.Write{Actor: call.Actor}
	w.Do = func(tx *store.Tx) error {
		if call.Epoch != 0 && tx.Epoch != call.Epoch {
			return store.ErrEpoch
		}
		tx.CheckedTarget = target
		out, err := op.write(tx, call, fields)
		if err != nil {
			return err
		}
		r.value = out
		if key != nil && op.Out != nil {
			r.json = wire.Append(make([]byte, 0, 512), out)
		}
		return nil
	}
	if key != nil {
		w.Finish = func(tx *store.Tx, err error) error {
			if err == nil {
				return tx.Remember(*key, store.Remembered{Status: status(""), Body: r.json})
			}
			var stays *store.CommittedRefusal
			switch e := AsError(err, status); {
			case !errors.Is(err, store.ErrEpoch) && slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, e.Status):
				refusal = err
				return tx.Remember(*key, e.remembered())
			case errors.As(err, &stays):
				refusal = err // not remembered, but what it left stays
				return nil
			}
			return err
		}
	}
	// The write is made whether or not the caller stays to hear of it.
	err = k.st.Write(context.WithoutCancel(ctx), w)
	if err == nil {
		err = refusal
	}
	return r, err
}
