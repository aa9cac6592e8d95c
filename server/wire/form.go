package wire

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
//   - An object of strings takes the inputs named field.key, in mode Patch also those
//     without content, which remove nothing but are left out.
//   - A list of objects takes the inputs named field.0.key, field.1.key and so on. An
//     object whose inputs have no content is left out.
//
// Names that begin with an underscore belong to the page and are ignored.
func DecodeForm(form url.Values, dst any, mode Mode, lim Limits) []Detail {
	p, _ := target(dst, lim)
	var body []byte
	var out details
	add := func(name string, value []byte) {
		body = append(append(AppendString(append(body, ','), name), ':'), value...)
	}
	for _, name := range sortedNames(form) {
		field, _, nested := strings.Cut(name, ".")
		r := p.byName[field]
		switch {
		case strings.HasPrefix(name, "_") || nested && r != nil && (r.kind == kindMap || r.item() != nil):
		case r == nil || nested || r.kind == kindMap || r.kind == kindObject || r.item() != nil:
			out.add(name, CodeUnknownField, "is not a known field")
		case slices.ContainsFunc(form[name], func(v string) bool { return !utf8.ValidString(v) }):
			out.add(name, CodeInvalidValue, "must be valid UTF-8")
		case r.kind == kindList:
			add(name, appendTexts(nil, form[name]))
		case strings.TrimSpace(last(form[name])) != "":
			add(name, r.appendToken(nil, last(form[name])))
		case mode == Patch && r.patch == "":
			out.add(name, CodeRequired, "is required")
		case mode == Patch:
			add(name, []byte("null"))
		}
	}
	for _, r := range p.rules {
		if object := r.formObject(form, &out); object != nil {
			add(r.name, object)
		}
		if objects := r.formObjects(form, &out); objects != nil {
			add(r.name, objects)
		}
	}
	if len(body) > 0 {
		body[0] = '{'
	} else {
		body = append(body, '{')
	}
	return Join(out.list, DecodeBody(append(body, '}'), dst, mode, lim)...)
}

// sortedNames returns the names of the form's inputs in order, so that details have one.
func sortedNames(form url.Values) []string {
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// appendTexts appends an array of the values that have content.
func appendTexts(b []byte, values []string) []byte {
	b = append(b, '[')
	for _, v := range values {
		if strings.TrimSpace(v) == "" {
			continue
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = AppendString(b, v)
	}
	return append(b, ']')
}

// appendToken appends the JSON value that text, which is not empty, has as a value of the
// field. What does not fit becomes a string, which DecodeBody refuses.
func (r *rule) appendToken(b []byte, text string) []byte {
	switch short := strings.TrimSpace(text); {
	case r.kind == kindBool && (short == "true" || short == "false"),
		r.kind == kindInt && isInteger(short) && (short == "0" || strings.TrimLeft(short, "-")[0] != '0'):
		return append(b, short...)
	case r.kind == kindInt || r.kind == kindFloat:
		f, err := strconv.ParseFloat(strings.Replace(short, ",", ".", 1), 64)
		if err == nil && strings.Trim(short, "+-.,0123456789") == "" {
			return strconv.AppendFloat(b, f, 'f', -1, 64)
		}
	}
	return AppendString(b, strings.ReplaceAll(text, "\r\n", "\n"))
}

// formObject returns the JSON object of the form's inputs for the field, or nil if it has
// none.
func (r *rule) formObject(form url.Values, out *details) []byte {
	if r.kind != kindMap {
		return nil
	}
	var object []byte
	for _, name := range sortedNames(form) {
		key, ok := strings.CutPrefix(name, r.name+".")
		if !ok {
			continue
		}
		if object == nil {
			object = []byte{'{'}
		}
		value := last(form[name])
		if !utf8.ValidString(name + value) {
			out.add(name, CodeInvalidValue, "must be valid UTF-8")
			continue
		}
		if strings.TrimSpace(value) == "" {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(AppendString(object, key), ':')
		object = AppendString(object, strings.ReplaceAll(value, "\r\n", "\n"))
	}
	if object == nil {
		return nil
	}
	return append(object, '}')
}

// formObjects returns the JSON array of the form's objects for the field, or nil if it
// has none.
func (r *rule) formObjects(form url.Values, out *details) []byte {
	item := r.item()
	if item == nil {
		return nil
	}
	var array []byte
	rules := planFor(item).byName
	objects := map[int][]byte{}
	for _, name := range sortedNames(form) {
		rest, ok := strings.CutPrefix(name, r.name+".")
		if !ok {
			continue
		}
		if array == nil {
			array = []byte{'['}
		}
		index, key, _ := strings.Cut(rest, ".")
		i, err := strconv.Atoi(index)
		of := rules[key]
		value := last(form[name])
		switch {
		case err != nil || strconv.Itoa(i) != index || i < 0 || of == nil || of.kind == kindList || of.kind == kindMap || of.kind == kindObject:
			out.add(name, CodeUnknownField, "is not a known field")
		case !utf8.ValidString(value):
			out.add(name, CodeInvalidValue, "must be valid UTF-8")
		case strings.TrimSpace(value) != "":
			objects[i] = append(append(AppendString(append(objects[i], ','), key), ':'), of.appendToken(nil, value)...)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(objects)) {
		if len(array) > 1 {
			array = append(array, ',')
		}
		objects[i][0] = '{'
		array = append(append(array, objects[i]...), '}')
	}
	if array == nil {
		return nil
	}
	return append(array, ']')
}
