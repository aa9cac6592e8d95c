package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"reflect"
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
	other    *alternative
	args     []argument
	extra    func() any // returns a pointer to a struct of further flags; may be nil
	own      bool       // extra has all flags of the fields: none is made
	ofServer bool       // the operation acts on no shop, so there is no flag --shop
	asks     string     // what is asked before the operation runs, with %s for the resource; empty: nothing
}

// alternative is another operation of a command, with the flags and arguments for which it is.
type alternative struct {
	action
	applies func(*Bound) bool
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
	print func(o output, answer any)
	paged bool
}

// output is where a command prints the answer of an operation as text.
type output struct {
	io.Writer
	*invocation
}

// invocation is one run of a bound command.
type invocation struct {
	finder
	ctx   context.Context
	args  kernel.Form
	bound *Bound
}

// bind returns the action that runs an operation and prints its answer with human. It is not inlined,
// since the binary would have a copy for each command.
//
//go:noinline
func bind[O any](op *kernel.Operation, human func(output, O)) action {
	return action{op: op, do: func(i *invocation) (any, error) {
		out, err := kernel.Do[O](i.ctx, i.kernel, i.caller, op, i.args)
		return &out, err
	}, print: func(o output, answer any) { human(o, *answer.(*O)) }}
}

// bindRow returns the action that runs an operation and prints its answer as a table of one row.
func bindRow[T any](op *kernel.Operation, human func(output, ...T)) action {
	return bind(op, func(o output, row T) { human(o, row) })
}

// bindList returns the action that prints a list that has one page.
func bindList[T any](op *kernel.Operation, human func(output, ...T)) action {
	return bind(op, func(o output, l operation.List[T]) { human(o, l.Data...) })
}

// pageSize is how many items bindPages asks for at once.
const pageSize = 100

// bindPages returns the action that lists what an operation returns in pages, up to the
// flag --limit if the command has it, and prints it with human.
func bindPages[T any](op *kernel.Operation, human func(output, ...T)) action {
	return action{op: op, paged: true, do: func(i *invocation) (any, error) {
		limit := 0
		if f, ok := i.bound.extras.(*limitFlag); ok {
			limit = f.Limit
		}
		all, err := readPages[T](i.ctx, i.finder, op, i.args, limit)
		return &operation.List[T]{Data: all}, err
	}, print: func(o output, answer any) { human(o, answer.(*operation.List[T]).Data...) }}
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
	Of    kong.Plugins `embed:""` // the flags of the file and the shop
	Made  kong.Plugins `embed:""` // the flags of the fields and the arguments
	Extra kong.Plugins `embed:""`

	binding *binding
	action  action
	target  OfShop
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
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Bound%d", i),
			Type: reflect.TypeFor[Bound](),
			Tag:  tag("cmd", "", "name", name, "help", bindings[i].help),
		})
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
	b.binding, b.action = from, from.action
	b.Of = kong.Plugins{&b.target}
	if from.ofServer {
		b.Of = kong.Plugins{&b.target.File}
	}
	if from.extra != nil {
		b.extras = from.extra()
		b.Extra = kong.Plugins{b.extras}
	}
	b.flags = newFlagSet(from)
	b.Made = kong.Plugins{b.flags.made.Interface()}
}

// The further flags of a command may implement these, in the order in which they are called.
type (
	// checker refuses values of the flags.
	checker interface{ check() error }
	// adder adds fields, or refuses those of other flags.
	adder interface {
		add(form url.Values, flags flagSet) error
	}
	// configurer changes how the file is opened.
	configurer interface{ configure(*store.Options) }
	// shopless says whether the operation acts on no shop this time.
	shopless interface{ ofServer() bool }
	// kernelConfigurer changes the configuration of the kernel.
	kernelConfigurer interface{ kernel(*kernel.Config) error }
	// opener looks at the store before the operation runs.
	opener interface{ opened(*store.Store) error }
	// filler fills in fields, whose texts are in the language of the shop.
	filler interface {
		fill(form url.Values, language string) error
	}
	// judge decides whether the answer is a success, after it was shown.
	judge interface{ verdict(answer any) error }
	// explainer changes the error with which the command ends.
	explainer interface{ explain(error) error }
)

// Run runs the operation and prints its answer.
func (b *Bound) Run() error {
	err := b.run()
	if x, ok := b.extras.(explainer); ok && err != nil {
		return x.explain(err)
	}
	return err
}

// run validates the fields before it opens the file.
func (b *Bound) run() error {
	if other := b.binding.other; other != nil && other.applies(b) {
		b.action = other.action
	}
	if c, ok := b.extras.(checker); ok {
		if err := c.check(); err != nil {
			return err
		}
	}
	if b.binding.own {
		b.flags.addOwn(reflect.ValueOf(b.extras).Elem())
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
	if x, ok := b.extras.(configurer); ok {
		x.configure(&opts)
	}
	var out any
	i := &invocation{bound: b}
	err = b.target.with(opts, func(st *store.Store) (err error) {
		out, err = b.invoke(i, st, form)
		return err
	})
	if err != nil {
		return err
	}
	if err := b.target.show(out, func(w io.Writer) { b.action.print(output{w, i}, out) }); err != nil {
		return err
	}
	if x, ok := b.extras.(judge); ok {
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
	return plain(b.action.op.Validate(kernel.Form{Fields: form}, fieldLimits, store.TimeOf(time.Now())))
}

// shop returns the key of the shop that the operation acts on, or 0 for none.
func (b *Bound) shop(st *store.Store) (int64, error) {
	x, ok := b.extras.(shopless)
	if b.binding.ofServer || ok && x.ofServer() {
		return 0, nil
	}
	return b.target.resolve(st)
}

// invoke asks for a confirmation if the command has one, and runs the operation.
func (b *Bound) invoke(i *invocation, st *store.Store, form url.Values) (any, error) {
	shop, err := b.shop(st)
	if err != nil {
		return nil, err
	}
	conf := kernel.Config{Fields: fieldLimits}
	if x, ok := b.extras.(kernelConfigurer); ok {
		if err := x.kernel(&conf); err != nil {
			return nil, err
		}
	}
	if x, ok := b.extras.(opener); ok {
		if err := x.opened(st); err != nil {
			return nil, err
		}
	}
	ctx, stop := interruptible()
	defer stop()
	i.ctx, i.finder = ctx, finder{kernel.New(st, conf), person(shop)}
	if x, ok := b.extras.(filler); ok {
		in, err := kernel.Do[store.Shop](ctx, i.kernel, i.caller, operation.GetShop, kernel.Args{})
		if err == nil {
			err = x.fill(form, in.Language)
		}
		if err != nil {
			return nil, err
		}
	}
	i.args = kernel.Form{Params: map[string]string{}, Fields: form}
	subject, err := b.name(i)
	if err != nil {
		return nil, err
	}
	if sure, ok := b.extras.(*confirmFlag); ok {
		question := b.binding.asks
		if strings.Contains(question, "%s") {
			question = fmt.Sprintf(question, subject)
		}
		if err := sure.confirm(question); err != nil {
			return nil, err
		}
	}
	return b.action.do(i)
}

// name replaces the names among the arguments and flags by ids, and returns what the last argument
// names.
func (b *Bound) name(i *invocation) (last candidate, err error) {
	params, form := i.args.Params, i.args.Fields
	for _, a := range b.binding.args {
		text := b.flags.argument(a.name)
		if a.kind == nil || a.optional && text == "" {
			continue
		}
		if last, err = i.find(a.kind, text, params); err != nil {
			return last, err
		}
		maps.Copy(params, last.params)
		params[a.param] = last.id
	}
	for name, kind := range idFields {
		for n, text := range form[name] {
			if text == "" {
				continue
			}
			found, err := i.find(kind, text, params)
			if err != nil {
				return last, asUsage(err, flagOf(name)+": ")
			}
			form[name][n] = found.id
		}
	}
	return last, nil
}
