package kernel

import (
	"context"
	"reflect"
	"slices"

	"punchcard/server/wire"
	"punchcard/store"
)

// Checker is implemented by structs of fields with rules that involve several
// fields or the time.
type Checker interface {
	Check(now store.Time) []store.Detail
}

// Targeter is implemented by structs with a field that says where requests are to be
// sent. It is checked before the transaction, since that may take a DNS lookup.
type Targeter interface {
	Target() (field, url string) // the URL; empty: it is not given
}

// Validate validates an operation's fields without using the store or the network.
func (op *Operation) Validate(in Input, lim wire.Limits, now store.Time) error {
	call := Call{in: in, now: now}
	_, details, err := call.fields(op, lim)
	if err == nil && details != nil {
		err = store.Invalid(details...)
	}
	return err
}

// decode decodes and validates the operation's fields. It does so once for each call.
func (call *Call) decode(op *Operation, lim wire.Limits) *decoded {
	if call.decoded == nil {
		fields := reflect.New(op.In)
		details, err := call.in.Decode(fields.Interface(), op.Mode, lim)
		call.decoded = &decoded{fields.Elem().Interface(), details, err}
	}
	return call.decoded
}

// fields decodes and validates the operation's fields.
func (call *Call) fields(op *Operation, lim wire.Limits) (any, []store.Detail, error) {
	d := call.decode(op, lim)
	if c, ok := d.fields.(Checker); ok && d.err == nil {
		return d.fields, wire.Join(d.details, c.Check(call.now)...), nil
	}
	return d.fields, d.details, d.err
}

// validate decodes and validates the operation's fields, and checks their target if
// they are a Targeter. target is the checked URL.
func (k *Kernel) validate(ctx context.Context, op *Operation, call *Call) (fields any, target string, err error) {
	fields, details, err := call.fields(op, k.conf.Fields)
	if err != nil {
		return nil, "", err
	}
	if t, ok := fields.(Targeter); ok {
		field, url := t.Target()
		if url != "" && !slices.ContainsFunc(details, func(d store.Detail) bool { return d.Field == field }) {
			target = url
			if d := k.conf.CheckTarget(ctx, url); d != nil {
				d.Field = field
				details = append(details, hideLookup(&call.Caller, *d))
			}
		}
	}
	if details != nil {
		more, err := k.otherFaults(ctx, op, call, fields, target, details)
		if err != nil {
			return nil, "", err
		}
		return nil, "", store.Invalid(wire.Join(details, more...)...)
	}
	return fields, target, nil
}

// hideLookup returns the detail about a URL as the caller may see it. Only operators
// are told whether a host resolves to other than public addresses or not at all:
// others could find out with it which names there are in the operator's network.
func hideLookup(c *Caller, d store.Detail) store.Detail {
	operator := c.Kind == Person && c.Role == Operator
	if !operator && (d.Code == wire.CodeNotPublic || d.Code == wire.CodeUnresolvable) {
		d.Code = wire.CodeNotPublic
		d.Message = "The URL's host must be a public address, or a name that resolves to public addresses only."
	}
	return d
}
