package store

// The methods of this file make one write each, which must succeed, in the fixture's shop.

func (f *fixture) location() (id string) {
	return must(f, func(tx *Tx) (Location, error) { return tx.CreateLocation(f.a.Shop, LocationFields{}, StaffPIN{}) }).ID
}

// stamps returns the fields of a program of ten stamps.
func stamps(name string) ProgramFields {
	return ProgramFields{Name: set(name), Type: set("standard"), TotalStamps: setInt(10), IconKey: set("star")}
}

// repeating returns the fields of a program of ten stamps that repeats, and expiring those of one whose stamps expire, too.
func repeating() ProgramFields {
	fields := stamps("Coffee")
	fields.RepeatAfterReset = set(true)
	return fields
}

func expiring(days int64) ProgramFields {
	fields := repeating()
	fields.StampsExpireAfterDays = set(days)
	return fields
}

// onlyAt returns the fields of a program of some locations.
func onlyAt(fields ProgramFields, locations ...string) ProgramFields {
	fields.LocationScope, fields.ScopedLocationIDs = set("selected_locations"), set(locations)
	return fields
}

// draft creates an unpublished program.
func (f *fixture) draft(fields ProgramFields) (id string) {
	return must(f, func(tx *Tx) (ProgramDetail, error) { return tx.CreateProgram(f.a, fields) }).ID
}

// program creates a published program.
func (f *fixture) program(fields ProgramFields) string {
	id := f.draft(fields)
	f.action(id, Publish)
	return id
}

// apiKey creates a key.
func (f *fixture) apiKey(fields KeyFields) (id string) {
	return must(f, func(tx *Tx) (Key, error) { return first(tx.CreateKey(f.a.Shop, fields)), nil }).ID
}

func (f *fixture) action(program, action string) ProgramDetail {
	return must(f, func(tx *Tx) (ProgramDetail, error) { return tx.ProgramAction(f.a, program, action) })
}

func (f *fixture) updateProgram(program string, fields ProgramFields) ProgramDetail {
	return must(f, func(tx *Tx) (ProgramDetail, error) { return tx.UpdateProgram(f.a, program, fields) })
}

func (f *fixture) settings(program string, fields ProgramSettings) ProgramDetail {
	return must(f, func(tx *Tx) (ProgramDetail, error) { return tx.UpdateProgramSettings(f.a.Shop, program, fields) })
}

func (f *fixture) deleteProgram(program string) {
	f.must(func(tx *Tx) error { return tx.DeleteProgram(f.a.Shop, program) })
}

func (f *fixture) addPrize(program string, fields PrizeFields) Prize {
	return must(f, func(tx *Tx) (Prize, error) { return tx.AddPrize(f.a, program, fields) })
}

// card issues a card without fields and returns its id.
func (f *fixture) card(program string) (id string) {
	return f.issue(program, CardFields{}).ID
}

func (f *fixture) cardWith(program string, fields CardFields) (id string) {
	return f.issue(program, fields).ID
}

// cardOf issues a card whose holder has a name, and cardTo one whose holder has an email.
func (f *fixture) cardOf(program, name string) (id string) {
	return f.cardWith(program, CardFields{HolderName: set(name)})
}

func (f *fixture) cardTo(program, email string) (id string) {
	return f.cardWith(program, CardFields{HolderEmail: set(email)})
}

// issue issues a card over the REST API.
func (f *fixture) issue(program string, fields CardFields) IssuedCard {
	return must(f, func(tx *Tx) (IssuedCard, error) { return tx.IssueCard(f.a, program, fields, SourceAPI) })
}

// issuing returns a function that issues a card over the REST API in a write.
func (f *fixture) issuing(program string, fields CardFields) func(*Tx) error {
	return func(tx *Tx) error { return errorOf(tx.IssueCard(f.a, program, fields, SourceAPI)) }
}

func (f *fixture) update(card string, patch CardPatch) CardDetail {
	return must(f, func(tx *Tx) (CardDetail, error) { return tx.UpdateCard(f.a, card, patch) })
}

// contact sets the contact of a card.
func (f *fixture) contact(card string, patch HolderContactPatch) {
	f.writes(func(tx *Tx) { check(tx.UpdateHolderContact(f.a, card, patch)) })
}

func (f *fixture) reissue(card string, fields ReissueFields) IssuedCard {
	return must(f, func(tx *Tx) (IssuedCard, error) { return tx.ReissueCard(f.a, card, fields) })
}

func (f *fixture) newLink(card string) IssuedCard {
	return must(f, func(tx *Tx) (IssuedCard, error) { return tx.NewInstallLink(f.a, card, LinkFields{}) })
}

func (f *fixture) lock(card string, lock bool) CardDetail {
	return must(f, func(tx *Tx) (CardDetail, error) { return tx.SetCardLocked(f.a.Shop, card, lock) })
}

func (f *fixture) archive(card string) CardDetail {
	return must(f, func(tx *Tx) (CardDetail, error) { return tx.ArchiveCard(f.a.Shop, card) })
}

func (f *fixture) erase(card string) {
	f.must(func(tx *Tx) error { return tx.EraseCard(f.a.Shop, card) })
}

// markExpired marks all expired cards, as housekeeping does.
func (f *fixture) markExpired() {
	for must(f, func(tx *Tx) (bool, error) { return tx.MarkExpiredCards(1) }) {
	}
}

func (f *fixture) updateShop(fields ShopFields) Shop {
	return must(f, func(tx *Tx) (Shop, error) { return tx.UpdateShop(f.a.Shop, fields, "") })
}

func (f *fixture) setActive(location string, active bool) Location {
	return must(f, func(tx *Tx) (Location, error) { return tx.SetLocationActive(f.a, location, active) })
}

func (f *fixture) updateLocation(location string, patch LocationPatch) Location {
	return must(f, func(tx *Tx) (Location, error) { return tx.UpdateLocation(f.a, location, patch) })
}

func (f *fixture) updateWebhook(program, webhook string, patch WebhookPatch) UpdatedWebhook {
	return must(f, func(tx *Tx) (UpdatedWebhook, error) {
		return tx.UpdateWebhook(f.a, program, webhook, uncheckedPatch(tx, patch))
	})
}

// activate switches a webhook on or off.
func (f *fixture) activate(program, webhook string, active bool) {
	f.updateWebhook(program, webhook, WebhookPatch{WebhookFields: WebhookFields{Active: set(active)}})
}

func (f *fixture) deleteWebhook(program, webhook string) {
	f.must(func(tx *Tx) error { return tx.DeleteWebhook(f.a, program, webhook) })
}

func (f *fixture) testWebhook(program, webhook string) Delivery {
	return must(f, func(tx *Tx) (Delivery, error) { return tx.TestWebhook(f.a, program, webhook) })
}

func (f *fixture) redeliver(program, webhook, delivery string) Delivery {
	return must(f, func(tx *Tx) (Delivery, error) { return tx.Redeliver(f.a, program, webhook, delivery) })
}

func (f *fixture) recordOutcome(o Outcome) {
	f.must(func(tx *Tx) error { return tx.RecordOutcome(o) })
}
