package kernel

import (
	"context"
	"net/url"
	"slices"
	"sync"

	"punchcard/server/wire"
	"punchcard/store"
)

// Checked is a body with rules across its fields, or about time.
type Checked interface {
	Check(now store.Time) []store.Detail
}

// check adds what a body's own rules find in fields that are sound by
// themselves, so that all offending fields are reported at once.
func check(body any, now store.Time, details []store.Detail) []store.Detail {
	c, ok := body.(Checked)
	if !ok {
		return details
	}
	return wire.Join(details, c.Check(now)...)
}

// Targeted is a body that may name, as its field url, where requests are to be
// sent. Whether they may go there is not for a transaction to find out: it can
// take a look-up of the host's name.
type Targeted interface {
	Target() string // empty: none is named
}

// checkTarget adds what is wrong with where a body's URL leads. A text that is
// no URL is not looked up.
func (x *exchange) checkTarget(body any, details []store.Detail) []store.Detail {
	t, ok := body.(Targeted)
	if !ok || t.Target() == "" || slices.ContainsFunc(details, func(d store.Detail) bool { return d.Field == "url" }) {
		return details
	}
	if x.target == nil {
		x.target = sync.OnceValue(func() *store.Detail { return x.k.conf.target(x.r.Context(), t.Target()) })
	}
	if d := x.target(); d != nil {
		details = append(details, store.Detail{Field: "url", Code: d.Code, Message: d.Message})
	}
	return details
}

// target asks Targets. Without one a URL is still not taken that sends secrets
// in clear.
func (c *Config) target(ctx context.Context, target string) *store.Detail {
	if c.Targets != nil {
		return c.Targets(ctx, target)
	}
	if u, err := url.Parse(target); err != nil || u.Scheme != "https" {
		return &store.Detail{Code: wire.CodeInvalidValue, Message: "must be an https URL"}
	}
	return nil
}
