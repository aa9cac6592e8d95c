package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

// binding is a command that binds an operation: its flags are made of the operation's
// fields, and what it prints of the answer's.
type binding struct {
	path, help   string // the path is such as "program create"
	op           *kernel.Operation
	other        *kernel.Operation // which runs if one of its flags, or the optional argument, is given
	args         []argument
	required     []string          // fields without which the command does not begin
	texts        map[string]string // the help of the flags of fields, of which the documents say less
	defaults     map[string]string // of fields, where no flag is given
	pin          string            // field with a PIN, which is read from standard input
	extra        func() extra      // returns a pointer to a struct of further flags; may be nil
	ofServer     bool              // the operation acts on no shop, so there is no flag --shop
	byDefault    bool              // it is what its group does if no command of it is named
	asks         string            // what is asked before the operation runs, with %s for the resource; empty: nothing
	columns      []string          // of the table of the answer; none: there is no table
	otherColumns []string          // of the answer of other
	asList       bool              // each column of the answer has a line of its own
	lists        []list            // in the answer, which are printed below
	below        func(o output, r row)
}

// argument is a positional argument of a bound command: the id of a resource, or a field.
type argument struct {
	name, help string
	kind       *resource // nil: a field
	param      string    // of the operation, for the id
	field      string
	optional   bool
}

// extra has the further flags of a command. prepare checks them and notes what they change.
type extra interface{ prepare(i *invocation) error }

// invocation is one run of a bound command. The flags of the command may change all but the first
// two fields before the file is opened.
type invocation struct {
	finder
	ctx       context.Context
	op        *kernel.Operation
	args      kernel.Form
	options   store.Options
	conf      kernel.Config
	ofServer  bool
	limit     int           // of the rows of a list; 0: none
	confirmed bool          // nothing is asked
	needsURL  bool          // the public URL is needed
	wait      time.Duration // for the delivery of a webhook
	// then does what the command does after the operation, and returns what it prints; nil: nothing.
	then func(i *invocation, answer []byte) ([]byte, error)
	// verdict returns the error of a command that has printed its answer; nil: none.
	verdict  func(i *invocation, answer []byte) error
	liftedBy string // the flags that raise a maximum
	// fill fills in fields, whose texts are in the language of the shop. The store is nil before the
	// file is opened.
	fill func(form url.Values, sh store.Shop, st *store.Store) error
}

// output is where a command prints the answer of an operation as text.
type output struct {
	io.Writer
	*invocation
}

// Bound is a command that binds an operation.
type Bound struct {
	Of    kong.Plugins `embed:""` // the flags of the file and the shop
	Made  kong.Plugins `embed:""` // the flags of the fields and the arguments
	Extra kong.Plugins `embed:""`

	binding *binding
	target  OfShop
	flags   flagSet
	extra   extra
}

// groupsOf returns the bound commands of a group, such as program, as kong takes them.
func groupsOf(group string) kong.Plugins {
	var fields []reflect.StructField
	var made []*binding
	for i := range bindings {
		name, ok := strings.CutPrefix(bindings[i].path, group+" ")
		if !ok || strings.Contains(name, " ") { // a command of a group within it
			continue
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Bound%d", i),
			Type: reflect.TypeFor[Bound](),
			Tag:  tag("cmd", "", "name", name, "help", bindings[i].help),
		})
		if bindings[i].byDefault {
			fields[len(fields)-1].Tag += ` default:"withargs"`
		}
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
	b.Of = kong.Plugins{&b.target}
	if from.ofServer {
		b.Of = kong.Plugins{&b.target.File}
	}
	if from.extra != nil {
		b.extra = from.extra()
		b.Extra = kong.Plugins{b.extra}
	}
	b.flags = newFlagSet(from)
	b.Made = kong.Plugins{b.flags.made.Interface()}
}

// paged reports whether an operation lists pages.
func paged(op *kernel.Operation) bool {
	return slices.ContainsFunc(wire.Inputs(op.In), func(in wire.Input) bool { return in.Name == "cursor" })
}

// Run runs the operation and prints its answer. It validates the fields before it opens the file.
func (b *Bound) Run() error {
	i := &invocation{op: b.binding.op, conf: kernel.Config{Fields: fieldLimits}, ofServer: b.binding.ofServer}
	i.options.MustExist = i.op != operation.CreateShop
	form, err := b.flags.form(i)
	if err != nil {
		return err
	}
	i.args = kernel.Form{Params: map[string]string{}, Fields: form}
	if err := b.prepare(i); err != nil {
		return err
	}
	var answer []byte
	var text bytes.Buffer
	err = b.target.with(i.options, func(st *store.Store) (err error) {
		if answer, err = b.invoke(i, st); err != nil || b.target.JSON {
			return err
		}
		return b.print(&text, i, answer)
	})
	if err != nil {
		if i.liftedBy != "" && strings.HasSuffix(err.Error(), "which is the maximum.") {
			err = fmt.Errorf("%w %s", err, i.liftedBy)
		}
		return err
	}
	if b.target.JSON {
		text.Write(append(printableJSON(answer), '\n'))
	}
	if _, err = Out.Write(text.Bytes()); err != nil || i.verdict == nil {
		return err
	}
	return i.verdict(i, answer)
}

// prepare notes what the further flags change, validates the fields, and reads those that are secret.
func (b *Bound) prepare(i *invocation) error {
	if b.extra != nil {
		if err := b.extra.prepare(i); err != nil {
			return err
		}
	}
	if err := b.addPIN(i.args.Fields); err != nil {
		return err
	}
	complete := maps.Clone(i.args.Fields)
	if i.fill != nil {
		if err := i.fill(complete, store.Shop{Language: "en"}, nil); err != nil { // the language changes texts alone
			return err
		}
	}
	form := kernel.Form{Params: i.args.Params, Fields: complete}
	if err := plain(i.op.Validate(form, fieldLimits, store.TimeOf(time.Now()))); err != nil {
		return err
	}
	return b.flags.readSecrets(i.args.Fields) // the operation validates them
}

// invoke asks for a confirmation if the command has one, and runs the operation. It returns the
// answer as JSON.
func (b *Bound) invoke(i *invocation, st *store.Store) ([]byte, error) {
	var shop int64
	if !i.ofServer {
		var err error
		if shop, err = b.target.resolve(st); err != nil {
			return nil, err
		}
	}
	if i.needsURL {
		url, err := store.Read(st, func(v *store.View) (string, error) { return v.PublicURLOf(shop), nil })
		if err != nil || url == "" {
			return nil, cmp.Or(err, usagef("--public-url (PUNCHCARD_PUBLIC_URL): is required, since neither the shop nor the file has one"))
		}
	}
	ctx, stop := interruptible()
	defer stop()
	i.ctx, i.finder = ctx, finder{kernel.New(st, i.conf), person(shop)}
	if i.fill != nil {
		in, err := do[store.Shop](ctx, i.finder, operation.GetShop, nil)
		if err == nil {
			err = i.fill(i.args.Fields, in, st)
		}
		if err != nil {
			return nil, err
		}
	}
	subject, err := b.name(i)
	if err != nil {
		return nil, err
	}
	if question := b.binding.asks; question != "" && !i.confirmed && i.args.Fields.Get("yes") != "true" {
		if err := confirm(strings.ReplaceAll(question, "%s", subject.String())); err != nil {
			return nil, err
		}
	}
	if paged(i.op) {
		rows, more, err := i.readPages(i.ctx, i.op, i.args, i.limit)
		if err != nil {
			return nil, err
		}
		if more {
			fmt.Fprintf(os.Stderr, "These are the first %d; --limit 0 prints all.\n", i.limit)
		}
		return append(append([]byte(`{"data":[`), bytes.Join(rows, []byte(","))...), "]}"...), nil
	}
	answer, err := i.call(i.ctx, i.op, i.args)
	switch {
	case err != nil:
		return nil, err
	case i.op.Out == nil:
		return json.Marshal(deleted{subject.id, true})
	case i.then != nil:
		return i.then(i, answer)
	}
	return answer, nil
}

// deleted is the JSON that a deletion prints.
type deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
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
