package web

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// KeyField is the name of the form field that holds the idempotency key.
const KeyField = "idempotency_key"

// Form is the state of a form: what its fields contain and what is wrong with it.
// The methods of a nil Form describe an empty one.
type Form struct {
	ID      string            // prefix of the ids of the fields, if a page has several forms
	Key     string            // idempotency key
	Values  url.Values        // by field
	Errors  map[string]string // by field
	Problem string            // what is wrong with the form as a whole
	shown   []FieldError      // of the fields that the page has shown, in its order; see newField
}

// Value returns what a field contains.
func (f *Form) Value(name string) string {
	if f == nil {
		return ""
	}
	return f.Values.Get(name)
}

// Checked reports whether a value is among those of a field.
func (f *Form) Checked(name, value string) bool {
	return f != nil && slices.Contains(f.Values[name], value)
}

// Error returns what is wrong with a field, or an empty string.
func (f *Form) Error(name string) string {
	if f == nil {
		return ""
	}
	return f.Errors[name]
}

// FieldID returns the id of a field's element.
func (f *Form) FieldID(name string) string {
	prefix := "f"
	if f != nil && f.ID != "" {
		prefix = f.ID
	}
	return prefix + "-" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '-'
	}, name)
}

// FieldError is an entry of the summary of errors.
type FieldError struct {
	ID      string // of the field's element
	Label   string // may be empty
	Message string
}

// Summary returns the errors: first those of the fields in the order of the page, then the others
// by name.
func (f *Form) Summary() (list []FieldError) {
	if f == nil {
		return nil
	}
	list = slices.Clone(f.shown)
	for _, name := range slices.Sorted(maps.Keys(f.Errors)) {
		if !f.hasShown(name) {
			list = append(list, FieldError{ID: f.FieldID(name), Message: f.Errors[name]})
		}
	}
	return list
}

// hasShown reports whether the page has shown a faulty field.
func (f *Form) hasShown(name string) bool {
	id := f.FieldID(name)
	return slices.ContainsFunc(f.shown, func(e FieldError) bool { return e.ID == id })
}

// Failed reports whether there is anything to show in the summary of errors.
func (f *Form) Failed() bool { return f != nil && (f.Problem != "" || len(f.Errors) > 0) }
