package kernel

import (
	"context"
	"errors"
	"slices"

	"punchcard/server/wire"
	"punchcard/store"
)

// Checker is implemented by structs of fields with rules that involve several
// fields or the time.
type Checker interface {
	Check(now store.Time) []store.Detail
}

// Targeter is implemented by structs whose field url says where requests are to be
// sent. It is checked before the transaction, since that may take a DNS lookup.
type Targeter interface {
	Target() string // the URL; empty: it is not given
}

// Validate validates an operation's fields without using the store or the network.
func (op *Operation) Validate(in Input, lim wire.Limits, now store.Time) error {
	_, details, err := op.fields(in, lim, now)
	if err == nil && details != nil {
		err = store.Invalid(details...)
	}
	return err
}

// fields decodes and validates the operation's fields.
func (op *Operation) fields(in Input, lim wire.Limits, now store.Time) (any, []store.Detail, error) {
	fields, details, err := op.decode(in, lim)
	if c, ok := fields.(Checker); ok && err == nil {
		details = wire.Join(details, c.Check(now)...)
	}
	return fields, details, err
}

// validate decodes and validates the operation's fields, and checks their URL if
// they are a Targeter. target is the checked URL.
func (k *Kernel) validate(ctx context.Context, op *Operation, call *Call) (fields any, target string, err error) {
	fields, details, err := op.fields(call.in, k.conf.Fields, call.now)
	if err == nil && details != nil && op.lookUp != nil {
		details, err = k.lookUp(op, call, fields, details)
	}
	if err != nil {
		return nil, "", err
	}
	if t, ok := fields.(Targeter); ok && t.Target() != "" && !slices.ContainsFunc(details, func(d store.Detail) bool { return d.Field == "url" }) {
		target = t.Target()
		if d := k.conf.CheckTarget(ctx, target); d != nil {
			details = append(details, *d)
		}
	}
	if details != nil {
		return nil, "", store.Invalid(details...)
	}
	return fields, target, nil
}

// lookUp adds to the details of invalid fields those that only the store shows. It
// adds none if the body or query as a whole is at fault, or if the operation would
// be refused for another reason than its fields.
func (k *Kernel) lookUp(op *Operation, call *Call, fields any, details []store.Detail) ([]store.Detail, error) {
	faulty := func(field string) bool {
		return slices.ContainsFunc(details, func(d store.Detail) bool { return d.Field == field })
	}
	if faulty("") {
		return details, nil
	}
	err := k.st.View(call.Epoch, func(v *store.View) error { return op.lookUp(v, call, fields, faulty) })
	if refusal, ok := store.AsError(err); ok {
		return wire.Join(details, refusal.Details...), nil
	}
	if call.Epoch == 0 && errors.Is(err, store.ErrEpoch) { // see read
		return details, nil
	}
	return details, err
}
