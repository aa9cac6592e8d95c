package command

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

// flagSet is the flags of an operation's fields and the arguments of a command.
type flagSet struct {
	binding *binding
	made    reflect.Value // pointer to the struct of arguments and flags that kong fills
	flags   []fieldFlag
}

// fieldFlag is the flag of a field of an operation.
type fieldFlag struct {
	wire.Input
	op    *kernel.Operation
	value reflect.Value
}

// clears reports whether none clears the field, or leaves it without a value where there is none yet.
func (f fieldFlag) clears() bool {
	never := f.op == operation.CreateKey && f.Kind == wire.KindTime
	emptied := f.op == operation.UpdateHolderContact && f.Name == "codes" // a list that may be empty
	return never || emptied || f.Clears && (f.op.Mode == wire.Patch || f.op == operation.CreateShop)
}

// flagNames are the names of flags that differ from those of their fields.
var flagNames = map[string]string{
	"amount_cents":        "amount",
	"card_id":             "card",
	"custom_headers":      "header",
	"events":              "event",
	"issuer_id":           "issuer",
	"expires_at":          "expires",
	"location_id":         "location",
	"location_ids":        "location",
	"prizes":              "prize",
	"program_id":          "program",
	"program_ids":         "only-program",
	"scoped_location_ids": "location",
	"scopes":              "scope",
	"with_events":         "events",
	"to_shop_id":          "to",
}

// withoutFlag are the fields that are no flags, each with the reason.
var withoutFlag = map[string]string{
	"file_name":   "it is the argument",
	"cursor":      "pages are read to the end, or to --limit",
	"grace_hours": "--credential-rotation-grace-hours sets it for commands too",
	"limit":       "--limit is the number of rows of all pages",
	"password":    "--password-file names the file that has it",
	"pin":         "it is read from standard input",
	"staff_pin":   "it is read from standard input",
}

// secretFields are the fields whose flags have no value: it is asked for at a terminal, or
// read from standard input, by what the prompt says.
var secretFields = map[string]string{"bearer_token": "Bearer token"}

// pinArgument is the argument that a command which reads a PIN takes to refuse it, since the parser would
// repeat it.
const pinArgument = "pin"

// flagName returns the name of the flag of a field.
func flagName(field string) string {
	return cmp.Or(flagNames[field], strings.ReplaceAll(field, "_", "-"))
}

// flagOf returns the flag of a field, such as "--scope (value 2)" for scopes.1, or
// "--name-localizations (it)" for name_localizations.it. What is read from standard input is called PIN, and a
// file that is an argument FILE.
func flagOf(field string) string {
	switch field {
	case "file", "account":
		return "FILE"
	case "person":
		return "PERSON"
	case "password":
		return "--password-file"
	case "pin", "staff_pin":
		return "PIN"
	}
	name, index, inList := strings.Cut(field, ".")
	flag := "--" + flagName(name)
	first, _, _ := strings.Cut(index, ".")
	if n, err := strconv.Atoi(first); inList && err == nil {
		flag += fmt.Sprintf(" (value %d)", n+1)
	} else if inList {
		flag += " (" + index + ")"
	}
	return flag
}

// faultOf returns what is wrong with a field, after its flag. Some messages are sentences.
func faultOf(d store.Detail) string {
	if first, _ := utf8.DecodeRuneInString(d.Message); unicode.IsUpper(first) {
		return flagOf(d.Field) + ": " + d.Message + lifting(d)
	}
	return flagOf(d.Field) + " " + strings.Replace(d.Message, "card_ids", flagOf("card_ids"), 1)
}

// lifting names the flag that lifts the refusal of a webhook's URL, as a sentence; empty for other
// refusals.
func lifting(d store.Detail) string {
	switch {
	case d.Code == "not_public":
		return " --webhook-allow-cidr admits further networks; the server needs it too."
	case d.Field == "url" && strings.HasSuffix(d.Message, "must begin with https://."):
		return " --webhook-allow-http admits plain http; the server needs it too."
	}
	return ""
}

// flagType returns the type of the flag of a field.
func flagType(in wire.Input) reflect.Type {
	switch {
	case secretFields[in.Name] != "":
		return reflect.TypeFor[*secretFlag]()
	case in.Kind == wire.KindBool:
		return reflect.TypeFor[*bool]()
	case in.Kind >= wire.KindList:
		return reflect.TypeFor[[]string]()
	}
	return reflect.TypeFor[*string]()
}

// placeholders stand for the values of flags in the help. A flag without a value has none.
var placeholders = map[wire.Kind]string{
	wire.KindString:  "TEXT",
	wire.KindInt:     "N",
	wire.KindFloat:   "N",
	wire.KindTime:    "TIME",
	wire.KindList:    "TEXT",
	wire.KindMap:     "LANGUAGE=TEXT",
	wire.KindObjects: "STAMPS=NAME",
}

// newFlagSet makes the flags and arguments of a binding.
func newFlagSet(b *binding) flagSet {
	s := flagSet{binding: b}
	var fields []reflect.StructField
	add := func(kind reflect.Type, pairs ...string) {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Field%d", len(fields)), Type: kind, Tag: tag(pairs...)})
	}
	for _, a := range b.arguments() {
		pairs := []string{"arg", "", "name", a.name, "help", a.help}
		if a.optional {
			pairs = append(pairs, "optional", "")
		}
		if a.name == pinArgument {
			pairs = append(pairs, "hidden", "")
		}
		add(reflect.TypeFor[string](), pairs...)
	}
	for _, op := range b.operations() {
		for _, in := range wire.Inputs(op.In) {
			_, without := withoutFlag[in.Name]
			if without || b.isArgument(in.Name) || in.Kind == wire.KindObject || in.Fixed && op.Mode == wire.Patch {
				continue
			}
			flag := fieldFlag{Input: in, op: op}
			pairs := []string{"name", flagName(in.Name), "env", "-", "help", b.helpOf(flag)}
			switch {
			case in.Kind == wire.KindBool:
				pairs = append(pairs, "negatable", "")
			case in.Name == headersField:
				pairs = append(pairs, "placeholder", "NAME: VALUE")
			case len(in.Enum) > 0:
				pairs = append(pairs, "placeholder", strings.Join(in.Enum, "|"))
			case secretFields[in.Name] == "":
				pairs = append(pairs, "placeholder", placeholders[in.Kind])
			}
			if in.Kind == wire.KindObjects || in.Kind == wire.KindMap || in.Name == "map" {
				pairs = append(pairs, "sep", "none")
			}
			if slices.Contains(b.required, in.Name) {
				pairs = append(pairs, "required", "")
			}
			s.flags = append(s.flags, flag)
			add(flagType(in), pairs...)
		}
	}
	s.made = reflect.New(reflect.StructOf(fields))
	for i := range s.flags {
		s.flags[i].value = s.made.Elem().Field(len(fields) - len(s.flags) + i)
	}
	return s
}

// operations returns the operations of a command.
func (b *binding) operations() []*kernel.Operation {
	if b.other == nil {
		return []*kernel.Operation{b.op}
	}
	return []*kernel.Operation{b.op, b.other}
}

// arguments returns the arguments of a command, with the one that is refused.
func (b *binding) arguments() []argument {
	if b.pin == "" {
		return b.args
	}
	return append(slices.Clip(b.args), argument{name: pinArgument, help: "Refused: the PIN is read from standard input.", optional: true})
}

// isArgument reports whether a field is an argument.
func (b *binding) isArgument(field string) bool {
	return slices.ContainsFunc(b.args, func(a argument) bool { return a.field == field })
}

// tag returns a struct tag of keys and values.
func tag(pairs ...string) reflect.StructTag {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "%s:%s ", pairs[i], strconv.Quote(pairs[i+1]))
	}
	return reflect.StructTag(b.String())
}

// ofJSON matches what the documents say of JSON or of keys alone.
var ofJSON = regexp.MustCompile(`PATCH|null|restricted key`)

// helpOf returns the help of a flag: what the binding says or, where that says nothing, what the
// documents say of the field, without what concerns JSON alone.
func (b *binding) helpOf(f fieldFlag) string {
	if text := b.texts[f.Name]; text != "" {
		return text
	}
	var kept []string
	for _, sentence := range strings.Split(strings.TrimSuffix(f.Doc, "."), ". ") {
		var parts []string
		for _, part := range strings.Split(sentence, "; ") {
			if part != "" && !ofJSON.MatchString(part) && (part != "Replaces all" || f.op.Mode == wire.Patch) {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			kept = append(kept, strings.Join(parts, "; ")+".")
		}
	}
	if kind := idFields[f.Name]; kind != nil && len(kept) == 0 {
		kept = append(kept, "The "+kind.one+": its id or name.")
	}
	if len(kept) == 0 {
		words := strings.ReplaceAll(f.Name, "_", " ")
		kept = append(kept, strings.ToUpper(words[:1])+words[1:]+".")
	}
	if f.Required && f.op.Mode == wire.Create {
		kept = append(kept, "Required.")
	}
	if f.Kind == wire.KindObjects || f.Kind == wire.KindMap {
		kept = append(kept, "May be repeated.")
	}
	if secretFields[f.Name] != "" {
		kept = append(kept, "The flag has no value: a terminal asks for it, and elsewhere it is the first line of standard input.")
	}
	if f.Name == headersField {
		kept = append(kept, "What is secret belongs into --header-file, since other users of this machine can read arguments.")
	}
	if f.clears() {
		kept = append(kept, "none clears it.")
	}
	return strings.Join(kept, " ")
}

// argument returns an argument by its name; empty if the command has none of that name.
func (s flagSet) argument(name string) string {
	i := slices.IndexFunc(s.binding.arguments(), func(a argument) bool { return a.name == name })
	if i < 0 {
		return ""
	}
	return s.made.Elem().Field(i).String()
}
