package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// binding is a command that binds an operation: its flags are made of the operation's
// fields.
type binding struct {
	path string // such as "program create"
	help string
	action
	args  []argument
	extra func() any // returns a pointer to a struct of further flags; may be nil
	asks  string     // what is asked before the operation runs, with %s for the resource; empty: nothing

}

// argument is a positional argument of a bound command: the id of a resource, or a field.
type argument struct {
	name, help string
	kind       *resource // nil: a field
	param      string    // of the operation, for the id
	field      string
	optional   bool
}

// action runs an operation and prints its answer.
type action struct {
	op    *kernel.Operation
	do    func(*invocation) (any, error)
	print func(w io.Writer, b *Bound, answer any)
}

// invocation is one run of a bound command.
type invocation struct {
	ctx    context.Context
	store  *store.Store
	kernel *kernel.Kernel
	caller kernel.Caller
	args   kernel.Form
	bound  *Bound
}

// bind returns the action that runs an operation and prints its answer with human.
func bind[O any](op *kernel.Operation, human func(io.Writer, O)) action {
	return action{op, func(i *invocation) (any, error) {
		out, err := kernel.Do[O](i.ctx, i.kernel, i.caller, op, i.args)
		return &out, err
	}, func(w io.Writer, _ *Bound, answer any) { human(w, *answer.(*O)) }}
}

// pageSize is how many items bindPages asks for at once.
const pageSize = 100

// bindPages returns the action that lists what an operation returns in pages, up to the
// flag --limit, and prints it with human.
func bindPages[T any](op *kernel.Operation, human func(io.Writer, ...T)) action {
	type list struct {
		Data []T `json:"data"`
	}
	return action{op, func(i *invocation) (any, error) {
		all, limit := list{}, i.bound.extras.(*limitFlag).Limit
		i.args.Fields.Set("limit", strconv.Itoa(pageSize))
		for {
			p, err := kernel.Do[store.Page[T]](i.ctx, i.kernel, i.caller, op, i.args)
			if err != nil {
				return nil, err
			}
			all.Data = append(all.Data, p.Data...)
			if limit > 0 && len(all.Data) >= limit {
				all.Data = all.Data[:limit]
				return &all, nil
			}
			if !p.NextCursor.Valid {
				return &all, nil
			}
			i.args.Fields.Set("cursor", p.NextCursor.V)
		}
	}, func(w io.Writer, _ *Bound, answer any) { human(w, answer.(*list).Data...) }}
}

// limitFlag is the flag of commands that list pages.
type limitFlag struct {
	Limit int `default:"100" env:"-" help:"Maximum number of rows; 0 for all."`
}

// check refuses a negative limit.
func (f *limitFlag) check() error {
	if f.Limit < 0 {
		return errors.New("--limit: must not be negative")
	}
	return nil
}

// Bound is a command that binds an operation.
type Bound struct {
	OfShop
	Made  kong.Plugins `embed:""` // the flags of the fields and the arguments
	Extra kong.Plugins `embed:""`

	binding *binding
	flags   flagSet
	extras  any
}

// groupsOf returns the bound commands of a group, such as program, as kong takes them.
func groupsOf(group string) kong.Plugins {
	var fields []reflect.StructField
	var made []*binding
	for i := range bindings {
		name, ok := strings.CutPrefix(bindings[i].path, group+" ")
		if !ok {
			continue
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Bound%d", i), Type: reflect.TypeFor[Bound](), Tag: tag("cmd", "", "name", name, "help", bindings[i].help)})
		made = append(made, &bindings[i])
	}
	commands := reflect.New(reflect.StructOf(fields))
	for i, m := range made {
		commands.Elem().Field(i).Addr().Interface().(*Bound).make(m)
	}
	return kong.Plugins{commands.Interface()}
}

// make adds the flags and arguments of a binding.
func (b *Bound) make(from *binding) {
	b.binding = from
	b.flags = newFlagSet(from)
	b.Made = kong.Plugins{b.flags.target.Interface()}
	if from.extra != nil {
		b.extras = from.extra()
		b.Extra = kong.Plugins{b.extras}
	}
}

// filler is implemented by further flags that fill in fields, whose texts are in the
// language of the shop.
type filler interface {
	fill(form url.Values, language string) error
}

// adder is implemented by further flags that add fields, or refuse those of other flags.
type adder interface {
	add(form url.Values, flags flagSet) error
}

// Run runs the operation and prints its answer. It validates the fields before it opens
// the file.
func (b *Bound) Run() error {
	if c, ok := b.extras.(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return err
		}
	}
	form, err := b.flags.form()
	if err != nil {
		return err
	}
	if x, ok := b.extras.(adder); ok {
		if err := x.add(form, b.flags); err != nil {
			return err
		}
	}
	if err := b.validate(form); err != nil {
		return err
	}
	if err := b.flags.readSecrets(form); err != nil { // the operation validates them
		return err
	}
	opts := existing
	if x, ok := b.extras.(interface{ configure(*store.Options) }); ok {
		x.configure(&opts)
	}
	var out any
	err = b.with(opts, func(st *store.Store) (err error) {
		out, err = b.invoke(st, form)
		return err
	})
	if err != nil {
		return err
	}
	if err := b.show(out, func(w io.Writer) { b.binding.print(w, b, out) }); err != nil {
		return err
	}
	if x, ok := b.extras.(interface{ verdict(answer any) error }); ok {
		return x.verdict(out) // what was asked for is done and shown, and did not succeed
	}
	return nil
}

// validate validates the fields, with those that are filled in.
func (b *Bound) validate(form url.Values) error {
	if x, ok := b.extras.(filler); ok {
		form = maps.Clone(form)
		if err := x.fill(form, "en"); err != nil { // the language changes texts alone
			return err
		}
	}
	return plain(b.binding.op.Validate(kernel.Form{Fields: form}, fieldLimits, store.TimeOf(time.Now())))
}

// invoke replaces the names among the arguments and flags by ids, and runs the operation.
func (b *Bound) invoke(st *store.Store, form url.Values) (any, error) {
	shop, err := b.resolve(st)
	if err != nil {
		return nil, err
	}
	conf := kernel.Config{Fields: fieldLimits}
	if x, ok := b.extras.(interface{ kernel(*kernel.Config) error }); ok {
		if err := x.kernel(&conf); err != nil {
			return nil, err
		}
	}
	ctx, stop := interruptible()
	defer stop()
	i := &invocation{ctx: ctx, store: st, kernel: kernel.New(st, conf), caller: person(shop), bound: b}
	if x, ok := b.extras.(filler); ok {
		in, err := kernel.Do[store.Shop](ctx, i.kernel, i.caller, operation.GetShop, kernel.Args{})
		if err == nil {
			err = x.fill(form, in.Language)
		}
		if err != nil {
			return nil, err
		}
	}
	f := finder{i.kernel, i.caller}
	params, last := map[string]string{}, candidate{}
	for _, a := range b.binding.args {
		if a.kind == nil {
			continue
		}
		found, err := f.find(a.kind, b.flags.argument(a.name), params)
		if err != nil {
			return nil, err
		}
		for name, id := range found.params {
			params[name] = id
		}
		params[a.param], last = found.id, found
	}
	for name, kind := range idFields {
		for n, text := range form[name] {
			if text == "" {
				continue
			}
			found, err := f.find(kind, text, params)
			if err != nil {
				return nil, asUsage(err, flagOf(name)+": ")
			}
			form[name][n] = found.id
		}
	}
	i.args = kernel.Form{Params: params, Fields: form}
	if sure, ok := b.extras.(*confirmFlag); ok {
		if err := sure.confirm(fmt.Sprintf(b.binding.asks, last)); err != nil {
			return nil, err
		}
	}
	return b.binding.do(i)
}
