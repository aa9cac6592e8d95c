package seed

import "punchcard/store"

// ShopFields returns the fields of a new shop of the fixture: those of f, and
// defaults for the name and the mode.
func ShopFields(f store.ShopFields) store.ShopFields {
	setDefault(&f.Name, "My shop")
	setDefault(&f.Mode, "test")
	return f
}

// LocationFields returns the fields of a new location of the fixture: those of
// f, and defaults for the name and the address.
func LocationFields(f store.LocationFields) store.LocationFields {
	setDefault(&f.Name, "Main street")
	setDefault(&f.Address, "Main street 1")
	setDefault(&f.City, "Springfield")
	setDefault(&f.PostalCode, "00000")
	setDefault(&f.CountryCode, "IT")
	return f
}

// setDefault sets a field to v if the field is absent.
func setDefault(field *store.Opt[string], v string) {
	if !field.Set {
		*field = store.Given(v)
	}
}
