package wire

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"punchcard/store"
)

// DecodeForm decodes the fields of a form in a page into the struct that dst points to,
// by the rules of DecodeBody. A form can only send text, so the type of a field says what
// its text means:
//
//   - A text without content, or of blanks, is no value: in mode Create the field is
//     absent; in mode Patch it is null where null is allowed, and required otherwise.
//   - Of a field that is repeated, the last value counts. So a hidden input with the value
//     false before a checkbox makes an unchecked box false.
//   - A list takes all values of its name and leaves out those without content. A hidden
//     input without content makes it empty.
//   - A file takes the bytes of the text.
//   - An object of strings takes the inputs named field.key, in mode Patch also those
//     without content, which remove nothing but are left out.
//   - A list of objects takes the inputs named field.0.key, field.1.key and so on. An
//     object whose inputs have no content is left out.
//
// Names that begin with an underscore belong to the page and are ignored.
func DecodeForm(form url.Values, dst any, mode Mode, lim Limits) []Detail {
	p, v := target(dst, lim)
	var body object
	var out details
	for _, name := range sortedNames(form) {
		field, _, nested := strings.Cut(name, ".")
		r := p.byName[field]
		switch {
		case strings.HasPrefix(name, "_") || nested && r != nil && (r.kind == KindMap || r.item() != nil):
		case r == nil || nested || r.kind == KindMap || r.kind == KindObject || r.item() != nil:
			out.add(name, CodeUnknownField, "is not a known field")
		case r.elem == reflect.TypeFor[[]byte]():
			file := r.in(v).Addr().Interface().(*store.Opt[[]byte])
			*file = store.Given([]byte(last(form[name])))
			r.check(file, lim, &out)
		case slices.ContainsFunc(form[name], func(v string) bool { return !utf8.ValidString(v) }):
			out.add(name, CodeInvalidValue, "must be valid UTF-8")
		case r.kind == KindList:
			body.add(name, withContent(form[name]))
		case strings.TrimSpace(last(form[name])) != "":
			body.add(name, r.value(last(form[name])))
		case mode == Patch && r.patch == "":
			out.add(name, CodeRequired, "is required")
		case mode == Patch:
			body.add(name, nil)
		}
	}
	for _, r := range p.rules {
		switch {
		case r.kind == KindMap:
			r.addObject(&body, form, &out)
		case r.item() != nil:
			r.addObjects(&body, form, &out)
		}
	}
	return Join(out.list, DecodeBody(body.json(), dst, mode, lim)...)
}

// object is a JSON object without the brace at its end.
type object []byte

// add adds a member.
func (o *object) add(name string, value any) {
	separator := byte(',')
	if len(*o) == 0 {
		separator = '{'
	}
	*o = Append(append(AppendString(append(*o, separator), name), ':'), value)
}

// json returns the whole object.
func (o object) json() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return append(o, '}')
}

// sortedNames returns the names of the form's inputs in order, so that details have one.
func sortedNames(form url.Values) []string { return slices.Sorted(maps.Keys(form)) }

func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// withContent returns the values that have content.
func withContent(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return strings.TrimSpace(v) == "" })
}

// value returns what text, which is not empty, is as a value of the field. What does not fit
// stays a text, which DecodeBody refuses.
func (r *rule) value(text string) any {
	switch short := strings.TrimSpace(text); {
	case r.kind == KindBool && (short == "true" || short == "false"),
		r.kind == KindInt && isInteger(short) && (short == "0" || strings.TrimLeft(short, "-")[0] != '0'):
		return json.RawMessage(short)
	case r.kind == KindInt || r.kind == KindFloat:
		f, err := strconv.ParseFloat(strings.Replace(short, ",", ".", 1), 64)
		if err == nil && strings.Trim(short, "+-.,0123456789") == "" {
			return f
		}
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// belowField returns the names of the form's inputs for parts of the field, with what comes after
// the field's name, in order.
func (r *rule) belowField(form url.Values) (names, parts []string) {
	for _, name := range sortedNames(form) {
		if part, ok := strings.CutPrefix(name, r.name+"."); ok {
			names, parts = append(names, name), append(parts, part)
		}
	}
	return names, parts
}

// addObject adds the object of the form's inputs for the field, if it has any.
func (r *rule) addObject(body *object, form url.Values, out *details) {
	texts := map[string]string{}
	names, keys := r.belowField(form)
	for i, name := range names {
		value := last(form[name])
		switch {
		case !utf8.ValidString(name + value):
			out.add(name, CodeInvalidValue, "must be valid UTF-8")
		case strings.TrimSpace(value) != "":
			texts[keys[i]] = strings.ReplaceAll(value, "\r\n", "\n")
		}
	}
	if names != nil {
		body.add(r.name, texts)
	}
}

// addObjects adds the array of the form's objects for the field, if it has any.
func (r *rule) addObjects(body *object, form url.Values, out *details) {
	rules := planFor(r.item()).byName
	objects := map[int]map[string]any{}
	names, parts := r.belowField(form)
	for n, name := range names {
		index, key, _ := strings.Cut(parts[n], ".")
		i, err := strconv.Atoi(index)
		of := rules[key]
		value := last(form[name])
		switch {
		case err != nil || strconv.Itoa(i) != index || i < 0 ||
			of == nil || of.kind == KindList || of.kind == KindMap || of.kind == KindObject:
			out.add(name, CodeUnknownField, "is not a known field")
		case !utf8.ValidString(value):
			out.add(name, CodeInvalidValue, "must be valid UTF-8")
		case strings.TrimSpace(value) != "":
			if objects[i] == nil {
				objects[i] = map[string]any{}
			}
			objects[i][key] = of.value(value)
		}
	}
	var items []any
	for _, i := range slices.Sorted(maps.Keys(objects)) {
		items = append(items, objects[i])
	}
	if names != nil {
		body.add(r.name, items)
	}
}
