package wire

import "reflect"

// Input describes a field of a request for a face that makes an input of it, such as a
// flag. DecodeForm decodes what such inputs hold.
type Input struct {
	Name     string
	Kind     Kind
	Doc      string
	Enum     []string
	Required bool // when something is created
	Clears   bool // null clears it in mode Patch
	Fixed    bool // not allowed in mode Patch
}

// Inputs returns the fields of a request struct in the order of their declaration.
func Inputs(t reflect.Type) []Input {
	var list []Input
	for _, r := range planFor(t).rules {
		in := Input{
			Name:     r.name,
			Kind:     r.kind,
			Doc:      r.doc,
			Enum:     r.enum,
			Required: r.required,
			Clears:   r.patch == "nullable" || r.patch == "default",
			Fixed:    r.patch == notAllowed,
		}
		if r.item() != nil {
			in.Kind = KindObjects
		}
		list = append(list, in)
	}
	return list
}
