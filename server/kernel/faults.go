package kernel

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"punchcard/server/wire"
	"punchcard/store"
)

// otherFaults runs the operation without the fields that are at fault, and undoes it, so that a refusal
// reports all faults: also those that only the store shows, of ids and cursors. It returns none if the
// operation has no fields, if the body or query as a whole is at fault, if there may be more faults
// than details, or if the operation is refused for another reason than its fields.
func (k *Kernel) otherFaults(
	ctx context.Context,
	op *Operation,
	call *Call,
	fields any,
	target string,
	details []store.Detail,
) (more []store.Detail, err error) {
	whole := slices.ContainsFunc(details, func(d store.Detail) bool { return d.Field == "" })
	if op.In.NumField() == 0 || op.Prepare != nil || whole || len(details) == store.MaxDetails || k.countCode(call, nil) != nil {
		return nil, nil
	}
	fields = wire.Without(fields, details)
	var outcome error
	if op.Writes() {
		err = k.undone(ctx, &call.Caller, func(tx *store.Tx) error {
			tx.CheckedTarget = target
			_, outcome = op.Write.call(tx, call, fields)
			return nil
		})
	} else {
		outcome = k.st.View(call.Epoch, func(v *store.View) error {
			_, err := op.Read.call(v, call, fields)
			return err
		})
	}
	if outcome = k.countCode(call, cmp.Or(err, outcome)); call.Epoch != 0 && errors.Is(outcome, store.ErrEpoch) {
		return nil, outcome
	}
	if refusal, ok := store.AsError(outcome); ok {
		return refusal.Details, nil
	}
	return nil, nil
}

// write runs do in a write transaction of the caller. The end of the request does not cancel it.
func (k *Kernel) write(ctx context.Context, c *Caller, do func(*store.Tx) error) error {
	return k.st.Write(context.WithoutCancel(ctx), store.Write{Actor: c.Actor, Do: func(tx *store.Tx) error {
		if c.Epoch != 0 && tx.Epoch != c.Epoch {
			return store.ErrEpoch
		}
		return do(tx)
	}})
}

// undone runs do in a write transaction of the caller and undoes what it did.
func (k *Kernel) undone(ctx context.Context, c *Caller, do func(*store.Tx) error) error {
	err := k.write(ctx, c, func(tx *store.Tx) error { return cmp.Or(do(tx), errUndone) })
	if errors.Is(err, errUndone) {
		return nil
	}
	return err
}

// errUndone undoes what undone ran.
var errUndone = errors.New("this write is undone")

// countCode counts the outcome of a device's call that names its card by a code that can be guessed, and returns
// the outcome, or the refusal of a device that is locked. Other calls keep their outcome.
func (k *Kernel) countCode(call *Call, outcome error) error {
	if call.Kind != Device || call.NamesHandle() || !store.CanBeGuessed(call.Param("code")) {
		return outcome
	}
	return k.codes.count(call.Device.Device, call.now, outcome)
}
