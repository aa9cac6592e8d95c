package seed

import "punchcard/store"

// ShopFields returns the fields of a new shop of the fixture: those of f, and
// defaults for the name and the mode.
func ShopFields(f store.ShopFields) store.ShopFields {
	f.Name = store.Given(f.Name.Or("My shop"))
	f.Mode = store.Given(f.Mode.Or("test"))
	return f
}

// LocationFields returns the fields of a new location of the fixture: those of
// f, and defaults for the name and the address.
func LocationFields(f store.LocationFields) store.LocationFields {
	f.Name = store.Given(f.Name.Or("Main street"))
	f.Address = store.Given(f.Address.Or("Main street 1"))
	f.City = store.Given(f.City.Or("Springfield"))
	f.PostalCode = store.Given(f.PostalCode.Or("00000"))
	f.CountryCode = store.Given(f.CountryCode.Or("IT"))
	return f
}
