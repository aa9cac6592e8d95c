package kernel

import (
	"context"
	"errors"

	"punchcard/store"
)

// Previewed is the outcome that a call of an operation would have.
type Previewed struct {
	Result Result
	Err    error // the refusal
}

// Preview does what Invoke does with each of the inputs, one after the other in one
// transaction, and undoes it: nothing is written, sent, audited or remembered, and the
// idempotency keys of the inputs are ignored. The callers and the fields are checked as by
// Invoke. version is that of the resource with the id, if the id is not empty, before the
// writes. An error other than a refusal of an input is returned as err.
func (k *Kernel) Preview(
	ctx context.Context,
	c Caller,
	op *Operation,
	id string,
	inputs ...Input,
) (all []Previewed, version store.Time, err error) {
	if !op.Writes() || op.Prepare != nil {
		return nil, 0, errors.New("kernel: this operation has no preview: " + op.ID)
	}
	if err := k.authorize(ctx, &c, op, k.st.Now()); err != nil {
		return nil, 0, err
	}
	all = make([]Previewed, len(inputs))
	calls, fields, targets := make([]*Call, len(inputs)), make([]any, len(inputs)), make([]string, len(inputs))
	for i, in := range inputs {
		calls[i] = k.newCall(c, in)
		fields[i], targets[i], all[i].Err = k.validate(ctx, op, calls[i])
		if all[i].Err != nil && !isRefusal(all[i].Err) {
			return nil, 0, all[i].Err
		}
	}
	err = k.undone(ctx, &c, func(tx *store.Tx) error {
		if id != "" {
			version = tx.Version(c.Access.Shop, id)
		}
		for i := range inputs {
			if all[i].Err != nil {
				continue
			}
			tx.CheckedTarget = targets[i]
			out, err := op.Write.call(tx, calls[i], fields[i])
			if err != nil && !isRefusal(err) {
				return err
			}
			all[i] = Previewed{Result{value: out}, err}
		}
		return nil
	})
	return all, version, err
}

// isRefusal reports whether the caller may read the reason of an error.
func isRefusal(err error) bool {
	var own *Error
	_, ok := store.AsError(err)
	return ok || errors.As(err, &own)
}

// AnswerOf returns the answer that a previewed call would have, or its refusal.
func AnswerOf[O any](p Previewed) (out O, err error) {
	if value, ok := p.Result.value.(*O); ok && p.Err == nil {
		out = *value
	}
	return out, p.Err
}
