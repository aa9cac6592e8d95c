package command

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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
	never := f.op == operation.CreateKey && f.Kind == wire.InputTime
	return never || f.Clears && (f.op.Mode == wire.Patch || f.op == operation.CreateShop)
}

// flagNames are the names of flags that differ from those of their fields.
var flagNames = map[string]string{
	"card_id":             "card",
	"custom_headers":      "header",
	"events":              "event",
	"expires_at":          "expires",
	"location_id":         "location",
	"location_ids":        "location",
	"prizes":              "prize",
	"program_id":          "program",
	"program_ids":         "only-program",
	"scoped_location_ids": "location",
	"scopes":              "scope",
}

// withoutFlag are the fields that are no flags, each with the reason.
var withoutFlag = map[string]string{
	"cursor":      "pages are read to the end, or to --limit",
	"grace_hours": "--credential-rotation-grace-hours sets it for commands too",
	"limit":       "--limit is the number of rows of all pages",
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
// "--name-localizations (it)" for name_localizations.it. What is read from standard input is called PIN.
func flagOf(field string) string {
	if field == "pin" || field == "staff_pin" {
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
	return flagOf(d.Field) + " " + d.Message
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
	case in.Kind == wire.InputBool:
		return reflect.TypeFor[*bool]()
	case in.Kind >= wire.InputTexts:
		return reflect.TypeFor[[]string]()
	}
	return reflect.TypeFor[*string]()
}

// placeholders stand for the values of flags in the help. A flag without a value has none.
var placeholders = map[wire.InputKind]string{
	wire.InputText:    "TEXT",
	wire.InputNumber:  "N",
	wire.InputTime:    "TIME",
	wire.InputTexts:   "TEXT",
	wire.InputMap:     "LANGUAGE=TEXT",
	wire.InputObjects: "STAMPS=NAME",
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
			if without || b.isArgument(in.Name) || in.Kind == wire.InputObject || in.Fixed && op.Mode == wire.Patch {
				continue
			}
			flag := fieldFlag{Input: in, op: op}
			pairs := []string{"name", flagName(in.Name), "env", "-", "help", b.helpOf(flag)}
			switch {
			case in.Kind == wire.InputBool:
				pairs = append(pairs, "negatable", "")
			case in.Name == headersField:
				pairs = append(pairs, "placeholder", "NAME: VALUE")
			case len(in.Enum) > 0:
				pairs = append(pairs, "placeholder", strings.Join(in.Enum, "|"))
			case secretFields[in.Name] == "":
				pairs = append(pairs, "placeholder", placeholders[in.Kind])
			}
			if in.Kind == wire.InputObjects || in.Kind == wire.InputMap {
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
	if f.Kind == wire.InputObjects || f.Kind == wire.InputMap {
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

// form returns what the flags hold as the form of the operation's fields, and sets the operation of
// an invocation to the one that has the flags.
func (s flagSet) form(i *invocation) (url.Values, error) {
	form := url.Values{}
	for name, text := range s.binding.defaults {
		form.Set(name, text)
	}
	for _, a := range s.binding.args {
		text := s.argument(a.name)
		if text != "" && a.field != "" {
			form.Set(a.field, text)
		}
		if text != "" && a.optional && s.binding.other != nil {
			i.op = s.binding.other
		}
	}
	var all []string
	first := ""
	for _, f := range s.flags {
		all = append(all, flagOf(f.Name))
		if f.value.IsZero() {
			continue
		}
		if first != "" && f.op != i.op {
			return nil, usagef("%s: must not be given with %s; it needs a command of its own", flagOf(f.Name), first)
		}
		i.op, first = f.op, flagOf(f.Name)
		if err := f.add(form); err != nil {
			return nil, err
		}
	}
	if first == "" && len(all) > 0 && s.binding.other != nil {
		return nil, usagef("missing flags: one of %s", strings.Join(all, ", "))
	}
	return form, nil
}

// add adds the value of a flag to a form. The value of a secret is read later.
func (f fieldFlag) add(form url.Values) error {
	switch v := reflect.Indirect(f.value).Interface().(type) {
	case bool:
		form.Set(f.Name, strconv.FormatBool(v))
	case secretFlag:
		form.Set(f.Name, "")
	case string:
		return f.addText(form, v)
	case []string:
		none := f.clears() && len(v) == 1 && v[0] == "none"
		switch {
		case len(v) == 0 && f.op.Mode == wire.Create: // an empty value: the default
		case f.Kind == wire.InputObjects:
			return addPrizes(form, f.Name, v)
		case f.Kind == wire.InputMap && none:
			form.Set(f.Name+".none", "") // an entry without content leaves an empty object
		case f.Name == headersField:
			return addHeaders(form, v)
		case f.Kind == wire.InputMap:
			return addTexts(form, f.Name, v)
		case none:
			form[f.Name] = []string{""}
		default:
			form[f.Name] = slices.Clone(v)
		}
	}
	return nil
}

// addText adds a text, a number or a time. A form cannot tell an empty text from none, so it is
// refused.
func (f fieldFlag) addText(form url.Values, text string) (err error) {
	none := text == "none" || text == "never" && f.Kind == wire.InputTime
	switch {
	case none && f.clears():
		text = ""
	case strings.TrimSpace(text) == "" && f.clears():
		return usagef("%s: must not be empty; none clears it", flagOf(f.Name))
	case strings.TrimSpace(text) == "":
		return usagef("%s: must not be empty", flagOf(f.Name))
	case f.Kind == wire.InputTime:
		var at store.Time
		if at, err = f.time(text); err == nil {
			text = at.String()
		}
	}
	form.Set(f.Name, text)
	return err
}

// addTexts adds the entries of a field of texts by language.
func addTexts(form url.Values, field string, values []string) error {
	for n, entry := range values {
		language, text, ok := cutPair(entry)
		if !ok {
			return usagef("%s: must be a language and the text, such as it=Caffè", flagOf(fmt.Sprint(field, ".", n)))
		}
		if form.Has(field + "." + language) {
			return usagef("%s: must be given once", flagOf(field+"."+language))
		}
		form.Set(field+"."+language, text)
	}
	return nil
}

// noPrizes is the input of a form that says that a program is to have no prizes, also if its
// template has some. Operations ignore it, as they do names that begin with an underscore.
const noPrizes = "_no_prizes"

// addPrizes adds prizes, each as the stamps that it takes and its name, or none.
func addPrizes(form url.Values, field string, values []string) error {
	if len(values) == 1 && values[0] == "none" {
		form.Set(noPrizes, "true")
		return nil
	}
	for n, entry := range values {
		stamps, name, ok := cutPair(entry)
		if !ok {
			return usagef("%s: must be the number of stamps and the name, such as 10=Free coffee", flagOf(fmt.Sprint(field, ".", n)))
		}
		form.Set(fmt.Sprintf("%s.%d.threshold", field, n), stamps)
		form.Set(fmt.Sprintf("%s.%d.name", field, n), name)
	}
	return nil
}

// cutPair returns what stands before and after an equals sign, and whether there is something at both.
func cutPair(entry string) (key, text string, ok bool) {
	key, text, _ = strings.Cut(entry, "=")
	key, text = strings.TrimSpace(key), strings.TrimSpace(text)
	return key, text, key != "" && text != ""
}

// time returns the time of the flag: one in RFC 3339, or a number of days such as 90d, which is from
// now on for an end, and before now for a period.
func (f fieldFlag) time(text string) (store.Time, error) {
	if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil && strings.HasSuffix(text, "d") && days > 0 && days <= 36500 {
		if !strings.HasSuffix(f.Name, "expires_at") {
			days = -days
		}
		return store.TimeOf(time.Now().AddDate(0, 0, days)), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		or := ""
		if f.clears() {
			or = ", or never"
		}
		return 0, usagef("%s: must be a time such as 2027-01-31T00:00:00Z, or a number of days such as 90d%s", flagOf(f.Name), or)
	}
	return store.TimeOf(at), nil
}
