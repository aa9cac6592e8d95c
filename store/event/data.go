package event

import (
	"fmt"
	"strconv"
)

// Data is the data object of an envelope: names and values in turn, which are
// exactly the fields that the catalogue lists for the event, in that order. A
// value is a string, an int64, a bool, or a *string or *int64, of which nil is null.
type Data []any

// fits reports whether d has the fields of an event.
func (d Data) fits(in *Info) bool {
	for i, name := range in.Fields {
		if 2*i >= len(d) || d[2*i] != name {
			return false
		}
	}
	return len(d) == 2*len(in.Fields)
}

func (d Data) appendTo(b []byte) []byte {
	before := byte('{')
	for i := 0; i < len(d); i += 2 {
		b = append(append(b, before, '"'), d[i].(string)...)
		b = appendValue(append(b, `":`...), d[i+1])
		before = ','
	}
	return append(b, '}')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	case *string:
		if v != nil {
			return appendString(b, *v)
		}
	case *int64:
		if v != nil {
			return strconv.AppendInt(b, *v, 10)
		}
	default:
		panic(fmt.Sprintf("event: a value of type %T", v))
	}
	return append(b, "null"...)
}

// field appends a string member. key is all that comes before the value: the name with
// its quotes, the colon, and what separates the member from the one before.
func field(b []byte, key, v string) []byte { return appendString(append(b, key...), v) }

// nullable appends a member that is a string or null, with key as in field.
func nullable(b []byte, key string, v *string) []byte { return appendValue(append(b, key...), v) }
