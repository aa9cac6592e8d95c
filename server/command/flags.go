package command

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"punchcard/server/wire"
	"punchcard/store"
)

// flagSet is the flags of an operation's fields and the arguments of a command.
type flagSet struct {
	binding *binding
	made    reflect.Value // pointer to the struct of arguments and flags that kong fills
	flags   []fieldFlag
}

// fieldFlag is the flag of a field.
type fieldFlag struct {
	wire.Input
	value reflect.Value
}

// given reports whether the flag is given, or has a default.
func (f fieldFlag) given() bool { return !f.value.IsZero() || f.value.Kind() == reflect.String }

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

// secretFields are the fields whose flags have no value: it is asked for at a terminal, or
// read from standard input, by what the prompt says.
var secretFields = map[string]string{"bearer_token": "Bearer token"}

// flagName returns the name of the flag of a field.
func flagName(field string) string {
	return cmp.Or(flagNames[field], strings.ReplaceAll(field, "_", "-"))
}

// flagOf returns the flag of a field, such as "--scope (value 2)" for scopes.1, or
// "--name-localizations (it)" for name_localizations.it.
func flagOf(field string) string {
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

// fieldTypes are the types of flags by the kinds of their fields.
var fieldTypes = map[wire.InputKind]reflect.Type{
	wire.InputText:    reflect.TypeFor[*string](),
	wire.InputNumber:  reflect.TypeFor[*string](),
	wire.InputTime:    reflect.TypeFor[*instant](),
	wire.InputBool:    reflect.TypeFor[*bool](),
	wire.InputTexts:   reflect.TypeFor[[]string](),
	wire.InputMap:     reflect.TypeFor[[]string](),
	wire.InputObjects: reflect.TypeFor[[]string](),
}

// placeholders stand for the values of flags in the help.
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
	var left []string
	if b.paged {
		left = append(left, "limit", "cursor")
	}
	var fields []reflect.StructField
	for _, a := range b.args {
		if a.field != "" {
			left = append(left, a.field)
		}
		pairs := []string{"arg", "", "name", a.name, "help", a.help}
		if a.optional {
			pairs = append(pairs, "optional", "")
		}
		name := fmt.Sprintf("Argument%d", len(fields))
		fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeFor[string](), Tag: tag(pairs...)})
	}
	var inputs []wire.Input
	if !b.own {
		inputs = wire.Inputs(b.op.In)
	}
	for _, in := range inputs {
		if slices.Contains(left, in.Name) || in.Kind == wire.InputObject || in.Fixed && b.op.Mode == wire.Patch {
			continue
		}
		pairs := []string{"name", flagName(in.Name), "env", "-", "help", flagHelp(in, b.op.Mode)}
		kind := fieldTypes[in.Kind]
		switch {
		case secretFields[in.Name] != "":
			kind = reflect.TypeFor[*secretFlag]()
		case in.Name == headersField:
			pairs = append(pairs, "placeholder", "NAME: VALUE")
		case in.Kind == wire.InputBool:
			pairs = append(pairs, "negatable", "")
		case len(in.Enum) > 0:
			pairs = append(pairs, "placeholder", strings.Join(in.Enum, "|"))
		default:
			pairs = append(pairs, "placeholder", placeholders[in.Kind])
		}
		if in.Kind == wire.InputObjects || in.Kind == wire.InputMap {
			pairs = append(pairs, "sep", "none")
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Flag%d", len(fields)), Type: kind, Tag: tag(pairs...)})
		s.flags = append(s.flags, fieldFlag{Input: in})
	}
	s.made = reflect.New(reflect.StructOf(fields))
	for i := range s.flags {
		s.flags[i].value = s.made.Elem().Field(len(b.args) + i)
	}
	return s
}

// addOwn adds the flags of a struct that have the name of the flag of a field. Those that are hidden
// are refused elsewhere. A field can be cleared if the help says so.
func (s *flagSet) addOwn(flags reflect.Value) {
	inputs := wire.Inputs(s.binding.op.In)
	if s.binding.other != nil {
		inputs = append(inputs, wire.Inputs(s.binding.other.op.In)...)
	}
	for i := range flags.NumField() {
		field := flags.Type().Field(i)
		if field.Anonymous {
			s.addOwn(flags.Field(i))
			continue
		}
		if _, hidden := field.Tag.Lookup("hidden"); hidden {
			continue
		}
		name := cmp.Or(field.Tag.Get("name"), field.Name)
		for _, in := range inputs {
			in.Clears = in.Clears && strings.Contains(field.Tag.Get("help"), "none")
			if strings.EqualFold(strings.ReplaceAll(name, "-", ""), strings.ReplaceAll(flagName(in.Name), "-", "")) {
				s.flags = append(s.flags, fieldFlag{in, flags.Field(i)})
			}
		}
	}
}

// tag returns a struct tag of keys and values.
func tag(pairs ...string) reflect.StructTag {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "%s:%s ", pairs[i], strconv.Quote(pairs[i+1]))
	}
	return reflect.StructTag(b.String())
}

// flagHelp returns the help of a flag: what the documents say of the field, without what
// concerns JSON alone.
func flagHelp(in wire.Input, mode wire.Mode) string {
	var kept []string
	for _, sentence := range strings.Split(strings.TrimSuffix(in.Doc, "."), ". ") {
		var parts []string
		for _, part := range strings.Split(sentence, "; ") {
			if !strings.Contains(part, "PATCH") && !strings.Contains(part, "null") && !strings.Contains(part, "restricted key") &&
				part != "" &&
				(part != "Replaces all" || mode == wire.Patch) {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			kept = append(kept, strings.Join(parts, "; ")+".")
		}
	}
	if kind := idFields[in.Name]; kind != nil && len(kept) == 0 {
		kept = append(kept, "The "+kind.one+": its id or name.")
	}
	if len(kept) == 0 {
		words := strings.ReplaceAll(in.Name, "_", " ")
		kept = append(kept, strings.ToUpper(words[:1])+words[1:]+".")
	}
	if in.Required && mode == wire.Create {
		kept = append(kept, "Required.")
	}
	if in.Kind == wire.InputObjects || in.Kind == wire.InputMap {
		kept = append(kept, "May be repeated.")
	}
	if secretFields[in.Name] != "" {
		kept = append(kept, "The flag has no value: a terminal asks for it, and elsewhere it is the first line of standard input.")
	}
	if in.Name == headersField {
		kept = append(kept, "What is secret belongs into --header-file, since other users of this machine can read arguments.")
	}
	if in.Clears && mode == wire.Patch {
		kept = append(kept, "none clears it.")
	}
	return strings.Join(kept, " ")
}

// argument returns an argument by its name.
func (s flagSet) argument(name string) string {
	i := slices.IndexFunc(s.binding.args, func(a argument) bool { return a.name == name })
	return s.made.Elem().Field(i).String()
}

// given reports whether the flag of a field is given.
func (s flagSet) given(field string) bool {
	return slices.ContainsFunc(s.flags, func(f fieldFlag) bool { return f.Name == field && f.given() })
}

// form returns what the flags hold as the form of the operation's fields.
func (s flagSet) form() (url.Values, error) {
	form := url.Values{}
	for _, a := range s.binding.args {
		if text := s.argument(a.name); a.field != "" && text != "" {
			form.Set(a.field, text)
		}
	}
	for _, f := range s.flags {
		if !f.given() {
			continue
		}
		if err := s.add(form, f.Input, reflect.Indirect(f.value).Interface()); err != nil {
			return nil, err
		}
	}
	return form, nil
}

// add adds the value of a flag to a form. A pointer to it stands for what it points to.
func (s flagSet) add(form url.Values, in wire.Input, value any) error {
	clears := in.Clears && s.binding.op.Mode == wire.Patch
	switch v := value.(type) {
	case bool, int64, float64:
		form.Set(in.Name, fmt.Sprint(v))
	case string:
		return addText(form, in, v, clears)
	case number:
		if v == "none" {
			form.Set(in.Name, "")
			return nil
		}
		var n int64
		if _, err := fmt.Sscanf(string(v)+"\n", "%d\n", &n); err != nil {
			return fmt.Errorf("%s: must be a whole number, or none", flagOf(in.Name))
		}
		form.Set(in.Name, fmt.Sprint(n))
	case expiry:
		if v == "none" || v == "never" {
			form.Set(in.Name, "")
			return nil
		}
		at, err := instant(v).at(flagName(in.Name), false)
		if err != nil {
			return fmt.Errorf("%w, or never", err)
		}
		form.Set(in.Name, at.String())
	case instant:
		if v == "none" || v == "never" {
			if !clears {
				return fmt.Errorf("%s: must be a time", flagOf(in.Name))
			}
			form.Set(in.Name, "")
			return nil
		}
		at, err := v.at(flagName(in.Name), in.Name != "expires_at")
		form.Set(in.Name, at.String())
		return err
	case []string:
		switch {
		case len(v) == 0 && s.binding.own: // an empty value: the default
		case in.Kind == wire.InputObjects:
			return addObjects(form, in.Name, v)
		case clears && len(v) == 1 && v[0] == "none" && in.Kind == wire.InputMap:
			form.Set(in.Name+".none", "") // an entry without content leaves an empty object
		case in.Name == headersField:
			return addHeaders(form, v)
		case in.Kind == wire.InputMap:
			return addTexts(form, in.Name, v)
		case clears && len(v) == 1 && v[0] == "none":
			form[in.Name] = []string{""}
		default:
			form[in.Name] = slices.Clone(v)
		}
	}
	return nil
}

// addTexts adds the entries of a field of texts by language.
func addTexts(form url.Values, field string, values []string) error {
	for n, entry := range values {
		language, text, ok := strings.Cut(entry, "=")
		if language, text = strings.TrimSpace(language), strings.TrimSpace(text); !ok || language == "" || text == "" {
			return fmt.Errorf("%s: must be a language and the text, such as it=Caffè", flagOf(fmt.Sprint(field, ".", n)))
		}
		if form.Has(field + "." + language) {
			return fmt.Errorf("%s: must be given once", flagOf(field+"."+language))
		}
		form.Set(field+"."+language, text)
	}
	return nil
}

// addText adds a text or number. A form cannot tell an empty text from none, so it is
// refused.
func addText(form url.Values, in wire.Input, text string, clears bool) error {
	switch {
	case clears && text == "none":
		text = ""
	case strings.TrimSpace(text) == "" && clears:
		return fmt.Errorf("%s: must not be empty; none clears it", flagOf(in.Name))
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%s: must not be empty", flagOf(in.Name))
	}
	form.Set(in.Name, text)
	return nil
}

// noPrizes is the input of a form that says that a program is to have no prizes, also if its
// template has some. Operations ignore it, as they do names that begin with an underscore.
const noPrizes = "_no_prizes"

// addObjects adds prizes, each as the stamps that it takes and its name, or none.
func addObjects(form url.Values, field string, values []string) error {
	if len(values) == 1 && values[0] == "none" {
		form.Set(noPrizes, "true")
		return nil
	}
	for n, text := range values {
		stamps, name, ok := strings.Cut(text, "=")
		if stamps, name = strings.TrimSpace(stamps), strings.TrimSpace(name); !ok || stamps == "" || name == "" {
			return fmt.Errorf("%s: must be the number of stamps and the name, such as 10=Free coffee", flagOf(fmt.Sprint(field, ".", n)))
		}
		form.Set(fmt.Sprintf("%s.%d.threshold", field, n), stamps)
		form.Set(fmt.Sprintf("%s.%d.name", field, n), name)
	}
	return nil
}

// number is a flag with a whole number, or "none" to clear a field.
type number string

// instant is a flag with a time in RFC 3339, a number of days from now such as 90d,
// or "none" or "never" to clear a field.
type instant string

// expiry is a flag as instant, whose help says that it may be "never" or "none".
type expiry string

// at returns the time of the flag. A number of days is from now on, or, in the past,
// before now.
func (i instant) at(flag string, past bool) (store.Time, error) {
	var days int
	if n, _ := fmt.Sscanf(string(i), "%dd", &days); n == 1 && string(i) == fmt.Sprintf("%dd", days) && days > 0 && days <= 36500 {
		if past {
			days = -days
		}
		return store.TimeOf(time.Now().AddDate(0, 0, days)), nil
	}
	t, err := time.Parse(time.RFC3339, string(i))
	if err != nil {
		return 0, fmt.Errorf("--%s: must be a time such as 2027-01-31T00:00:00Z, or a number of days such as 90d", flag)
	}
	return store.TimeOf(t), nil
}
