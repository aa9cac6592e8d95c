package mcp

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// input is the Input of an operation that a tool invokes: the arguments that are fields of
// the operation, and what the tool makes of the others.
type input struct {
	params map[string]string
	body   []byte         // JSON object with the operation's fields
	own    []store.Detail // what is wrong with the arguments of the tool itself
	key    *kernel.IdempotencyKey
	// The write is made only if the resource with this id still has this version.
	conditionID string
	version     store.Time
	expired     bool // the confirmation has expired; a call that was made with it is still answered
}

// Param returns a named id.
func (in *input) Param(name string) string { return in.params[name] }

// IdempotencyKey returns the key of a write.
func (in *input) IdempotencyKey() (*kernel.IdempotencyKey, error) { return in.key, nil }

// Condition returns what must not have changed.
func (in *input) Condition() (string, store.Time) { return in.conditionID, in.version }

// Decode decodes and validates the fields by the rules of the REST API.
func (in *input) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	if in.expired {
		return nil, store.InvalidField("confirm_token", wire.CodeInvalidValue, tokenRule)
	}
	details := wire.DecodeBody(in.body, dst, mode, lim)
	if in.own == nil {
		return details, nil
	}
	return wire.Join(in.own, details...), nil
}

// splitArgs separates the arguments of a tool itself, which are the fields of T, from those of
// the operation, and decodes and validates them.
func splitArgs[T any](c *call) (own T, in *input) {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf((*T)(nil)).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
	}
	ours, rest, ok := divide(c.args, names)
	if !ok { // it is no valid JSON object, which decoding says
		ours, rest = c.args, c.args
	}
	in = &input{params: map[string]string{}, body: rest, own: wire.DecodeBody(ours, &own, wire.Create, c.Kernel.Fields())}
	if r, ok := any(own).(resource); ok {
		in.params["id"] = r.id()
	}
	return own, in
}

// resource is implemented by the arguments of tools that act on one resource.
type resource interface{ id() string }

// resourceArgs are the arguments of a writing tool that names one resource.
type resourceArgs struct {
	writeArgs
	ID store.Opt[string] `json:"id" req:"true" min:"1"`
}

func (a resourceArgs) id() string { return a.ID.V }

// change makes a write that need not be confirmed. view returns what is shown of the outcome.
func change[O, V any](c *call, op *kernel.Operation, in *input, w writeArgs, view func(O) V) (any, error) {
	c.key(in, w, "")
	made, err := do[O](c, op, in)
	return view(made), err
}

// toolArgs decodes the arguments of a tool that passes none of them on to an operation.
func toolArgs[T any](c *call) (own T, err error) {
	if details := wire.DecodeBody(c.args, &own, wire.Create, c.Kernel.Fields()); details != nil {
		return own, store.Invalid(details...)
	}
	return own, nil
}

// divide divides a JSON object into the members with some names and all others.
func divide(object []byte, names map[string]bool) (with, without []byte, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return nil, nil, false
	}
	parts := [2][]byte{{'{'}, {'{'}}
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, nil, false
		}
		field := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, nil, false
		}
		at := 1
		if names[field] {
			at = 0
		}
		if len(parts[at]) > 1 {
			parts[at] = append(parts[at], ',')
		}
		parts[at], _ = jsontext.AppendQuote(parts[at], field)
		parts[at] = append(append(parts[at], ':'), value...)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, false
	}
	return append(parts[0], '}'), append(parts[1], '}'), true
}

// with sets members of the operation's fields, which replace arguments of that name.
func (in *input) with(name string, value jsontext.Value) {
	_, rest, ok := divide(in.body, map[string]bool{name: true})
	if !ok {
		return
	}
	member := append([]byte("{"), quote(name)...)
	member = append(append(member, ':'), value...)
	if len(rest) > 2 {
		member = append(member, ',')
	}
	in.body = append(member, rest[1:]...)
}
