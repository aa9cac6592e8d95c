package kernel

import (
	"context"
	"net/url"
	"slices"

	"punchcard/server/wire"
	"punchcard/store"
)

// Checker is implemented by fields with rules across them, or about time.
type Checker interface {
	Check(now store.Time) []store.Detail
}

// Targeter is implemented by fields of which url may name where requests are to
// be sent. Whether they may go there is checked before the transaction, since it
// can take a look-up of the host's name.
type Targeter interface {
	Target() string // empty: none is named
}

// Validate reports what is wrong with an operation's fields, as far as it can be
// told without the store and the network.
func (op *Operation) Validate(in Input, lim wire.Limits, now store.Time) error {
	_, details, err := op.fields(in, lim, now)
	if err == nil && details != nil {
		err = store.Invalid(details...)
	}
	return err
}

// fields reads the operation's fields, with everything that is wrong with them.
func (op *Operation) fields(in Input, lim wire.Limits, now store.Time) (any, []store.Detail, error) {
	fields, details, err := op.decode(in, lim)
	if c, ok := fields.(Checker); ok && err == nil {
		details = wire.Join(details, c.Check(now)...)
	}
	return fields, details, err
}

// validate reads the operation's fields and refuses them for everything that is
// wrong with them. target is the URL that was found fit to send requests to.
func (k *Kernel) validate(ctx context.Context, op *Operation, in Input, now store.Time) (fields any, target string, err error) {
	fields, details, err := op.fields(in, k.conf.Fields, now)
	if err != nil {
		return nil, "", err
	}
	if t, ok := fields.(Targeter); ok && t.Target() != "" && !slices.ContainsFunc(details, func(d store.Detail) bool { return d.Field == "url" }) {
		target = t.Target()
		if d := k.conf.checkTarget(ctx, target); d != nil {
			details = append(details, store.Detail{Field: "url", Code: d.Code, Message: d.Message})
		}
	}
	if details != nil {
		return nil, "", store.Invalid(details...)
	}
	return fields, target, nil
}

// checkTarget asks Targets. Without one, an https URL is required: any other
// would send secrets in clear.
func (c *Config) checkTarget(ctx context.Context, target string) *store.Detail {
	if c.Targets != nil {
		return c.Targets(ctx, target)
	}
	if u, err := url.Parse(target); err != nil || u.Scheme != "https" {
		return &store.Detail{Code: wire.CodeInvalidValue, Message: "must be an https URL"}
	}
	return nil
}
