package web

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Field is the argument of the component "field". The template function field makes
// one from a form, a name, a label, and pairs of an option and its value.
type Field struct {
	Form         *Form
	Name         string
	Label        string
	Type         string   // see fieldTypes
	Hint         string   // shown below the label
	Locked       string   // why the field cannot be changed; the field is then read-only
	Default      string   // contents, if the form has no value of this name
	Prefix       string   // shown inside the field before the contents, such as €
	Suffix       string   // shown inside the field after the contents, such as %
	Width        string   // "short" (10 characters), "medium" (20), or empty: all of it
	Placeholder  string   // an example
	Autocomplete string   // attribute; default "off"
	InputMode    string   // attribute
	Min          string   // attribute
	Max          string   // attribute
	Step         string   // attribute
	Accept       string   // attribute, of a file
	MaxLength    int      // attribute
	Rows         int      // of a textarea
	Options      []Option // of a select, radios or checkboxes
	Sends        string   // the value that a single checkbox sends; default "true"
	Required     bool     // attribute; fields without it are labelled as optional
	Plain        bool     // not labelled as optional
	Hidden       bool     // the label is for screen readers only
	Autofocus    bool     // attribute
	Suggest      string   // what the browser suggests as the value: "timezone" or "country"
	Summary      string   // label in the summary of errors; default: Label
}

// Option is one choice of a field.
type Option struct {
	Value    string
	Label    string // translated
	Hint     string
	Group    string // heading above this option and those after it, in a select
	Disabled bool
}

// Options returns the choices of pairs of a value and a label. It panics if a value has no label.
func Options(pairs ...string) (list []Option) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Option{Value: pairs[i], Label: pairs[i+1]})
	}
	return list
}

// fieldTypes are the types of fields: those of inputs, and those with markup of their own.
var fieldTypes = strings.Fields(`
	text email password number search url tel date time datetime-local month money code color file textarea select checkbox checkboxes
	radios
`)

// newField is the template function field. The form learns the labels and the order of
// its faulty fields, which its summary of errors shows when the page is rendered once more.
func newField(form *Form, name, label string, pairs ...any) (Field, error) {
	f := Field{Form: form, Name: name, Label: label, Type: "text", Autocomplete: "off", Sends: "true", Rows: 4}
	if len(pairs)%2 != 0 {
		return f, fmt.Errorf("field %s: an option has no value", name)
	}
	for i := 0; i < len(pairs); i += 2 {
		option, ok := pairs[i].(string)
		if !ok {
			return f, fmt.Errorf("field %s: %v is not the name of an option", name, pairs[i])
		}
		if err := f.set(option, pairs[i+1]); err != nil {
			return f, err
		}
	}
	if problem := form.Error(name); problem != "" && !form.hasShown(name) {
		form.shown = append(form.shown, FieldError{form.FieldID(name), cmp.Or(f.Summary, label), problem})
	}
	if !slices.Contains(fieldTypes, f.Type) {
		return f, fmt.Errorf("field %s: there is no type %q", name, f.Type)
	}
	return f, nil
}

// set sets an option of a field: those of Field, in lower case.
func (f *Field) set(option string, value any) error {
	switch option {
	case "optional":
		f.Plain = value == false
		return nil
	case "value": // the name of a method of Field
		option = "sends"
	}
	field := reflect.ValueOf(f).Elem().FieldByNameFunc(func(name string) bool { return strings.ToLower(name) == option })
	switch {
	case !field.IsValid():
		return fmt.Errorf("field %s: there is no option %q", f.Name, option)
	case field.Kind() == reflect.String:
		field.SetString(fmt.Sprint(value))
	case reflect.TypeOf(value) != field.Type():
		return fmt.Errorf("field %s: %s cannot be %v", f.Name, option, value)
	default:
		field.Set(reflect.ValueOf(value))
	}
	return nil
}

// ID returns the id of the field's element.
func (f Field) ID() string { return f.Form.FieldID(f.Name) }

// Error returns what is wrong with the field.
func (f Field) Error() string { return f.Form.Error(f.Name) }

// Value returns what the field contains. A password and a file are never shown again.
func (f Field) Value() string {
	switch {
	case f.Type == "password" || f.Type == "file":
		return ""
	case f.Form != nil && f.Form.Values.Has(f.Name):
		return f.Form.Value(f.Name)
	}
	return f.Default
}

// Chosen reports whether the field contains a value.
func (f Field) Chosen(value string) bool {
	if f.Form != nil && f.Form.Values.Has(f.Name) {
		return f.Form.Checked(f.Name, value)
	}
	return value == f.Default
}

// OptionGroup is the options of a select that stand under one heading.
type OptionGroup struct {
	Label   string // empty: no heading
	Options []Option
}

// Grouped returns the options of a select by their headings.
func (f Field) Grouped() (groups []OptionGroup) {
	for i, o := range f.Options {
		if i == 0 || o.Group != "" {
			groups = append(groups, OptionGroup{Label: o.Group})
		}
		last := &groups[len(groups)-1]
		last.Options = append(last.Options, o)
	}
	return groups
}

// MustFill reports whether the browser has to demand a value. A select without an empty first
// option has one always, and HTML permits no demand there.
func (f Field) MustFill() bool {
	return f.Required && (f.Type != "select" || len(f.Options) > 0 && f.Options[0].Value == "" && f.Options[0].Group == "")
}

// On reports whether the single checkbox is checked.
func (f Field) On() bool { return f.Form.Checked(f.Name, f.Sends) }

// Input returns the type attribute of the input element.
func (f Field) Input() string {
	if f.Type == "money" || f.Type == "code" {
		return "text"
	}
	return f.Type
}

// Mode returns the inputmode attribute.
func (f Field) Mode() string {
	switch {
	case f.InputMode != "":
		return f.InputMode
	case f.Type == "money":
		return "decimal"
	case f.Type == "code", f.Type == "number":
		return "numeric"
	}
	return ""
}

// DescribedBy returns the ids of the elements that describe the field.
func (f Field) DescribedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Locked != "" {
		ids = append(ids, f.ID()+"-locked")
	}
	if f.Error() != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

// ShowOptional reports whether the label says that the field is optional.
func (f Field) ShowOptional() bool {
	return !f.Required && !f.Plain && !f.Hidden && f.Locked == "" && f.Type != "checkbox"
}

// Action is a link or a button, the argument of the component "action".
type Action struct {
	Label string // translated
	Path  string // of a link; of a POST if Post is set
	Icon  string
	Kind  string // "primary", "danger", "quiet", or empty
	Post  bool
	Key   string // idempotency key of a POST
	Name  string // a field that a POST sends
	Value string // of that field
}

// newAction is the template function link.
func newAction(path, label string, pairs ...string) (Action, error) {
	return Action{Label: label, Path: path}.with(pairs)
}

// newPost is the template function post.
func newPost(path, label, key string, pairs ...string) (Action, error) {
	return Action{Label: label, Path: path, Key: key, Post: true}.with(pairs)
}

// with returns the action with options, which are pairs of a name and a value.
func (a Action) with(pairs []string) (Action, error) {
	options := map[string]*string{"icon": &a.Icon, "kind": &a.Kind}
	if a.Post {
		options["name"], options["value"] = &a.Name, &a.Value
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		option := options[pairs[i]]
		if option == nil {
			return a, fmt.Errorf("link or post %s: there is no option %q", a.Label, pairs[i])
		}
		*option = pairs[i+1]
	}
	return a, nil
}

// Badge is a short state, the argument of the component "badge".
type Badge struct {
	Label string // translated
	Tone  string // "good", "warn", "bad", "info", or empty: neutral
}

// Change is how a figure differs from an earlier one, for the component "tile".
type Change struct {
	Label string // such as +12%
	Tone  string // as of a Badge
}

// ChangeOf returns how a figure differs from the one before. Only a rise has a colour.
// The label is empty if there was nothing before.
func (p *Printer) ChangeOf(now, before int64) Change {
	switch {
	case now == before:
		return Change{Label: "±0" + p.locale.percentSpace + "%"}
	case before == 0:
		return Change{}
	case now > before:
		return Change{Label: "+" + p.Percent(float64(now-before)/float64(before)), Tone: "good"}
	}
	return Change{Label: p.Percent(float64(now-before) / float64(before))}
}

// Fact is a row of the component "facts".
type Fact struct {
	Label string // translated
	Value any    // text, template.HTML or Badge
	Hint  string
}

// IsBadge reports whether the value is a Badge.
func (f Fact) IsBadge() bool {
	_, ok := f.Value.(Badge)
	return ok
}

// Step is one step of the component "steps".
type Step struct {
	Label   string // translated
	Done    bool
	Current bool
}

// Event is an entry of the component "timeline".
type Event struct {
	Time  any    // as the template function time takes it
	Title string // translated
	Who   string
}

// Pager is the argument of the component "pager" of a keyset list.
type Pager struct {
	First string // URL of the first page; empty on the first page itself
	Next  string // URL of the next page; empty on the last one
	Shown int    // entries on this page
}

// ErrorPage is the data of the page "error".
type ErrorPage struct {
	Frame
	Status    int
	Message   string // a sentence
	Hint      string // what to do
	RequestID string
	Back      Action // where to go on
}

// ConfirmPage is the data of the page "confirm", which asks before a change that is
// hard to take back.
type ConfirmPage struct {
	Frame
	Path         string   // that gets the POST
	Text         string   // what happens
	Consequences []string // each a sentence
	Type         string   // what the person has to type into the field "_confirmation"; empty: nothing
	TypeLabel    string   // label of that field
	Check        string   // label of the field "yes", which the person has to tick; empty: there is none
	Button       string   // translated
	Danger       bool
	Cancel       string            // path
	Fields       map[string]string // hidden fields
}
