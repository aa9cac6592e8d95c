package store

import "slices"

// MergeFields is the body of merging two cards.
type MergeFields struct {
	Yes Opt[bool] `json:"yes" doc:"Merge the cards although it is not certain that they are one person's."`
}

// Merged is the answer of merging two cards.
type Merged struct {
	Adjusted
	ArchivedID string `json:"archived_id" doc:"The card that has gone. Its rows are among the transactions."`
}

// MergeCards moves the open stamps or the balance of one chain to another, gives the other what it does not
// know about the holder, and archives the first. The rules are in store/README.md, "The till's rules".
func (tx *Tx) MergeCards(shop int64, keepID, goneID string, f MergeFields) (out Merged, err error) {
	keep, err := tx.chainToAdjust(Till{Shop: shop}, keepID)
	if err != nil {
		return out, err
	}
	gone, err := tx.chainToAdjust(Till{Shop: shop}, goneID)
	if err == errArchived {
		err = refuse(Conflict, "The card that is to go is archived.")
	}
	if err != nil {
		return out, err
	}
	if err = tx.checkMerge(keep, gone, f); err != nil {
		return out, err
	}
	written, err := tx.moveBalance(keep, gone)
	if err != nil {
		return out, err
	}
	tx.archiveChain(shop, *gone.first)
	tx.fillHolder(keep, gone)
	tx.audit(shop, "card.merge", KindCard, keep.first.key, `{"merged":"`+gone.first.ID+`"}`)
	tx.cardChanged(keep.first.key)
	if out.Adjusted, err = tx.adjusted(keep, written); err != nil {
		return out, err
	}
	out.ArchivedID = gone.first.ID
	out.Card, err = tx.cardDetail(Access{Shop: shop}, out.Card.ID)
	return out, err
}

// checkMerge refuses chains that cannot be merged, and sets the location of their rows. Stamps that are too old
// expire before.
func (tx *Tx) checkMerge(keep, gone *cardChain, f MergeFields) error {
	switch {
	case keep.first.key == gone.first.key:
		return refuse(Unprocessable, "Both are the same card, or one has overflowed from the other.")
	case keep.program.key != gone.program.key:
		return refuse(Unprocessable, "The cards are of different programs.")
	}
	// Its first location, else the shop's.
	at := tx.number(`SELECT coalesce((SELECT first_location_id FROM cards WHERE id=?), (SELECT min(id) FROM locations WHERE shop_id=?), 0)`,
		keep.first.key, keep.Shop)
	if at == 0 {
		return refuse(Unprocessable, "The shop has no location, which the ledger names. Create one first.")
	}
	keep.Location, gone.Location = at, at
	tx.expireStamps(keep)
	tx.expireStamps(gone)
	for _, c := range gone.instances {
		if tx.claimedPrizes(c) != nil {
			return refuse(Unprocessable, "A prize of the card that is to go was redeemed in this cycle. Finish the cycle, or keep that "+
				"card.")
		}
	}
	known, other := tx.contact(keep.first.key), tx.contact(gone.first.key)
	switch {
	case len(known.Codes)+len(other.Codes) > maxForeignCodes:
		return refuse(Conflict, "Both cards have more than %d codes of earlier cards together. Remove some first.", maxForeignCodes)
	case !f.Yes.V && !samePerson(keep.first, gone.first, known.Phone, other.Phone):
		return InvalidField("yes", "required", "is required: the cards may be of different people")
	}
	return tx.failed
}

// samePerson reports whether two cards are certainly one person's: they have the same external_ref, the
// same email and no different names, or the same phone number and the same name. Families share emails and
// phone numbers.
func samePerson(a, b *card, phone, other Null[string]) bool {
	named := a.HolderName.Valid && b.HolderName.Valid
	sameName := named && slices.Equal(nameWords(a.HolderName.V), nameWords(b.HolderName.V))
	switch {
	case a.ExternalRef.Valid && a.ExternalRef == b.ExternalRef:
		return true
	case a.HolderEmail.Valid && emailKey(a.HolderEmail) == emailKey(b.HolderEmail):
		return sameName || !named
	}
	return phone.Valid && phone == other && sameName
}

// moveBalance books the open stamps or the balance of a chain off it and onto another one.
func (tx *Tx) moveBalance(keep, gone *cardChain) (written []writtenRow, err error) {
	n := gone.stamps()
	if gone.program.Type == ProgramPrepaid {
		n = gone.instances[0].CurrentValue.V
	}
	if n == 0 {
		return nil, nil
	}
	if written, err = tx.adjust(gone, -n, "merged_with", keep.first.ID); err != nil {
		return nil, err
	}
	arrived, err := tx.adjust(keep, n, "merged_with", gone.first.ID)
	if _, refused := AsError(err); refused {
		err = refuse(Unprocessable, "The %d stamps of the card that is to go do not fit on the other one.", n)
	}
	return append(written, arrived...), err
}

// fillHolder gives a chain what another one knows about the holder and it does not, and the codes of
// earlier cards. The other one is archived. What is frozen on an installed card stays empty.
func (tx *Tx) fillHolder(keep, gone *cardChain) {
	to, from := keep.first, gone.first
	frozen := to.InstalledAt.Valid
	taken := tx.checkExternalRef(keep.Shop, keep.newest.program, to.key, from.ExternalRef) != nil
	tx.exec("UPDATE foreign_codes SET card_id=? WHERE card_id=?", to.key, from.key)
	if !to.HolderName.Valid && !frozen {
		tx.reindexChain(keep.Shop, to.key, true, from.HolderName)
	}
	if tx.number("SELECT count(*) FROM contacts WHERE card_id=?", from.key) > 0 {
		tx.exec("INSERT OR IGNORE INTO contacts (card_id, shop_id) VALUES (?,?)", to.key, keep.Shop)
	}
	for _, c := range ColumnsOf(Holder, HolderRow) {
		key, rows := "card_id", "card_id=?1"
		if c.Table == "cards" {
			key, rows = "id", "(id=?1 OR root_id=?1) AND deleted_at IS NULL"
		}
		isRef := c.Name == "external_ref"
		switch {
		case c.Table != "cards" && c.Table != "contacts": // several rows of a card
		case isRef && taken, c.Table == "cards" && !isRef && frozen:
		default:
			tx.exec("UPDATE "+c.Table+" SET "+c.Name+"=ifnull("+c.Name+", (SELECT "+c.Name+" FROM "+c.Table+
				" WHERE "+key+"=?2)) WHERE "+rows, to.key, from.key)
		}
	}
	for _, ask := range asks { // requests that have moved are open on one card only
		tx.exec("UPDATE contacts SET "+ask.at+"=NULL WHERE card_id=? AND "+ask.at+"=(SELECT "+ask.at+" FROM contacts WHERE card_id=?)",
			from.key, to.key)
	}
	tx.exec("UPDATE contacts SET correction=NULL WHERE card_id=? AND correction_at IS NULL", from.key)
}
