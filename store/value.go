package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Time is an instant in unix milliseconds, the only form in which the store keeps and
// compares times. On the wire it is 2026-01-02T03:04:05.678Z: always UTC, always with
// three decimals.
type Time int64

// TimeOf converts t and drops fractions of a millisecond.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add returns t+d.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// String returns the wire form of t.
func (t Time) String() string { return string(t.Append(nil)) }

// Append appends the wire form of t, without quotes.
func (t Time) Append(b []byte) []byte {
	return t.Std().AppendFormat(b, "2006-01-02T15:04:05.000Z")
}

// MarshalJSON returns the wire form.
func (t Time) MarshalJSON() ([]byte, error) { return append(t.Append([]byte{'"'}), '"'), nil }

// UnmarshalJSON reads the wire form; null changes nothing.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	at, err := time.Parse(`"`+time.RFC3339+`"`, string(b))
	if err != nil {
		return fmt.Errorf("store: %s is no time", b)
	}
	*t = TimeOf(at)
	return nil
}

// Null is a value that may be NULL in the database and null on the wire.
type Null[T any] struct {
	V     T
	Valid bool
}

// Some returns a present value.
func Some[T any](v T) Null[T] { return Null[T]{V: v, Valid: true} }

// nonZero returns a value, or null for the zero value.
func nonZero[T comparable](v T) Null[T] {
	var zero T
	return Null[T]{v, v != zero}
}

// UnmarshalJSON reads null or the value.
func (n *Null[T]) UnmarshalJSON(b []byte) error {
	*n = Null[T]{Valid: string(b) != "null"}
	return json.Unmarshal(b, &n.V)
}

// Opt is a field of a request: absent (neither flag), null, or a value. In a create
// request null means absent, so Set is false for both; in a PATCH {Set, Null} asks to
// clear the field.
type Opt[T any] struct {
	V    T
	Set  bool
	Null bool
}

// Given returns a field with the value v.
func Given[T any](v T) Opt[T] { return Opt[T]{V: v, Set: true} }

// Or returns the value, or def if the field is absent or null.
func (o Opt[T]) Or(def T) T {
	if o.Set && !o.Null {
		return o.V
	}
	return def
}

// Value returns the field as a nullable value: null if it is absent or null.
func (o Opt[T]) Value() Null[T] { return Null[T]{V: o.V, Valid: o.Set && !o.Null} }

// Apply returns the new value of a field: old if the field is absent, null if it is
// null.
func (o Opt[T]) Apply(old Null[T]) Null[T] {
	if !o.Set {
		return old
	}
	return o.Value()
}

// mergeInto sets a field to the new value, as Apply does. A field that cannot be null becomes zero.
func (o Opt[T]) mergeInto(field any) {
	switch p := field.(type) {
	case *T:
		var zero T
		if o.Set {
			*p = o.Or(zero)
		}
	case *Null[T]:
		*p = o.Apply(*p)
	}
}

// merge sets the fields of the resource that to points to from those of the same names that a
// request sets. It leaves out lists and maps, which the caller validates.
func merge(to, request any) {
	resource, fields := reflect.ValueOf(to).Elem(), reflect.ValueOf(request)
	for i := range fields.NumField() {
		field := resource.FieldByName(fields.Type().Field(i).Name)
		if field.IsValid() && field.Comparable() {
			fields.Field(i).Interface().(interface{ mergeInto(any) }).mergeInto(field.Addr().Interface())
		}
	}
}

// namesAnyField reports whether a request sets any of its fields. f is a pointer to a
// struct of Opt fields and of embedded structs of these.
func namesAnyField(f any) bool {
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if v.Type().Field(i).Anonymous {
			if namesAnyField(field.Addr().Interface()) {
				return true
			}
		} else if field.FieldByName("Set").Bool() {
			return true
		}
	}
	return false
}
