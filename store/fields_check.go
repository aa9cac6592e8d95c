package store

// The functions in this file find the faults that only the file shows: of ids, of
// cursors, and of fields beside those of an existing resource. They are for requests
// that are refused for the fields' form, so that such a request is told of all faults
// at once; the operations themselves find the same faults when they run. The
// parameter faulty reports whether a field has a fault already.

// CheckProgramFields checks the fields of a change to the program of an id, or of a
// new program if the id is empty.
func (v *View) CheckProgramFields(a Access, id string, f ProgramFields, faulty func(field string) bool) (err error) {
	p := program{}
	var details []Detail
	if p.LocationScope = f.LocationScope.Or(allLocations); id != "" {
		if p, err = v.program(a, id); err != nil {
			return err
		}
		details = p.mergeTypeFields(f)
	}
	if faulty("scoped_location_ids") {
		return invalid(details)
	}
	if !faulty("location_scope") {
		scope := p.checkScopeField(f)
		if details = append(details, scope...); scope != nil {
			return invalid(details)
		}
	}
	return invalid(append(details, v.foreignIDs(KindLocation, a.Shop, "scoped_location_ids", f.ScopedLocationIDs)...))
}

// CheckWebhookFields checks the filters, the secrets and the custom headers of a
// change to the webhook of an id, or of a new webhook if the id is empty.
func (v *View) CheckWebhookFields(a Access, programID, id string, f WebhookFields, faulty func(field string) bool) (err error) {
	w := webhook{}
	if id != "" {
		if w, err = v.webhook(a, programID, id); err != nil {
			return err
		}
	}
	var details []Detail
	if !faulty("url") {
		details = w.movedSecrets(f)
	}
	for _, list := range []struct {
		kind  Kind
		field string
		ids   Opt[[]string]
		have  []int64
	}{{KindProgram, "program_ids", f.ProgramIDs, w.programs}, {KindLocation, "location_ids", f.LocationIDs, w.locations}} {
		if !faulty(list.field) {
			details = append(details, v.foreignIDs(list.kind, a.Shop, list.field, list.ids, list.have...)...)
		}
	}
	return invalid(append(details, v.s.opts.Limits.checkHeaders(f.CustomHeaders.Or(nil))...))
}

// CheckKeyFields checks the locations of a new key.
func (v *View) CheckKeyFields(shop int64, f KeyFields, faulty func(field string) bool) error {
	if faulty("location_ids") {
		return nil
	}
	return invalid(v.foreignIDs(KindLocation, shop, "location_ids", f.LocationIDs))
}

// CheckSendEmail checks that a card to which an install link is to be mailed has an
// address, or is given one.
func (v *View) CheckSendEmail(a Access, id string, send Opt[bool], email Opt[string]) error {
	c, err := v.Card(a, id)
	if err != nil {
		return err
	}
	return invalid(checkSendEmail(send, email.Apply(c.HolderEmail)))
}

// CheckPrize checks that a prize belongs to the program of the card that is
// presented.
func (v *View) CheckPrize(till Till, code, prize string) error {
	l, err := v.Lookup(till, code)
	if err != nil {
		return err
	}
	for _, z := range l.Prizes {
		if z.ID == prize {
			return nil
		}
	}
	return Invalid(Detail{"prize_id", "invalid_value", "must be the id of a prize of the card's program"})
}

// foreignIDs returns an invalid_value detail for every id that is not of a resource
// of the shop. The keys in have are not looked up.
func (v *View) foreignIDs(kind Kind, shop int64, field string, ids Opt[[]string], have ...int64) []Detail {
	_, details := v.ownKeys(kind, shop, field, ids.Or(nil), have...)
	return details
}

// invalid is Invalid without the refusal of a request that has no details.
func invalid(details []Detail) error {
	if details == nil {
		return nil
	}
	return Invalid(details...)
}
