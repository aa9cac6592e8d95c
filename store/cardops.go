package store

import "punchcard/store/event"

// chain selects every instance of an overflow chain by its root.
const chain = "(id=? OR root_id=?) AND deleted_at IS NULL"

// UpdateCard changes what f names, by the order of refusals in contract
// section 4, "PATCH a card". Nothing named changes nothing in every state.
func (tx *Tx) UpdateCard(a Access, id string, f CardPatch) (d CardDetail, err error) {
	if details := f.Check(tx.Now); details != nil {
		return d, Invalid(details...)
	}
	c, err := tx.card(a, id)
	if err != nil {
		return d, err
	}
	if !named(&f) {
		return tx.detail(a, id)
	}
	held := f.HolderName.Set || f.HolderEmail.Set || f.ExpiresAt.Set
	switch {
	case c.Status == StatusArchived:
		return d, refuse(Conflict, "The card is archived.")
	case c.InstalledAt.Valid && held:
		return d, refuse(CardLocked, "The card is installed on a device; holder fields and expiry are frozen. Reissue the card instead.")
	case c.Status == StatusExpired && held && !f.ExpiresAt.Set:
		return d, refuse(CardExpired, "The card has expired; give it a future expires_at, or null, in the same request.")
	}
	ref, name, email := f.ExternalRef.Apply(c.ExternalRef), f.HolderName.Apply(c.HolderName), f.HolderEmail.Apply(c.HolderEmail)
	if c.Status == StatusExpired && f.ExpiresAt.Set {
		err = tx.revive(a.Shop, c, ref)
	} else if c.Status != StatusExpired && ref != c.ExternalRef {
		err = tx.mustBeOnlyCard(a.Shop, c.program, c.root, ref)
	}
	if err != nil {
		return d, err
	}
	if _, err = tx.exec("UPDATE cards SET external_ref=?, holder_name=?, holder_email=?, email_key=?, expires_at=?, updated_at=? WHERE "+chain,
		ref, name, email, emailKey(email), f.ExpiresAt.Apply(c.ExpiresAt), tx.Now, c.root, c.root); err != nil {
		return d, err
	}
	if err = tx.audit(a.Shop, "card.update", KindCard, c.key, ""); err != nil {
		return d, err
	}
	return tx.detail(a, id)
}

// detail returns a card for a write's answer.
func (tx *Tx) detail(a Access, id string) (CardDetail, error) {
	tx.Touches(id)
	d, _, err := tx.s.cardDetail(tx.conn, a, id, tx.Now, func(*conn, int64, int64) (sites, error) { return tx.keptSites(a.Shop) })
	return d, err
}

func issued(c card) IssuedCard {
	return IssuedCard{ID: c.ID, ProgramID: c.ProgramID, ExternalRef: c.ExternalRef, HolderName: c.HolderName, HolderEmail: c.HolderEmail, ExpiresAt: c.ExpiresAt}
}

// ReissueFields is the body of POST /cards/{id}/reissue.
type ReissueFields struct {
	HolderName  Opt[string] `json:"holder_name" min:"1" max:"200"`
	HolderEmail Opt[string] `json:"holder_email" format:"email" min:"1" max:"254"`
	ExpiresAt   Opt[Time]   `json:"expires_at" doc:"In the future. An expired card that is given none gets a fresh default."`
	SendEmail   Opt[bool]   `json:"send_email" doc:"Mail the install link; needs a holder_email, given or on the card, and a configured mail server."`
}

// ReissueCard makes the same card as good as new: id, ledger, stamps and
// balance stay; the old QR code and install links die and the status is
// invited (contract section 3).
func (tx *Tx) ReissueCard(a Access, id string, f ReissueFields) (out IssuedCard, err error) {
	if details := f.Check(tx.Now); details != nil {
		return out, Invalid(details...)
	}
	c, err := tx.card(a, id)
	if err != nil {
		return out, err
	}
	if c.Status == StatusArchived {
		return out, refuse(Conflict, "The card is archived.")
	}
	email := f.HolderEmail.Apply(c.HolderEmail)
	if details := mayMail(f.SendEmail, email); details != nil {
		return out, Invalid(details...)
	}
	if err = tx.mailConfigured(f.SendEmail); err != nil {
		return out, err
	}
	c.HolderName, c.HolderEmail = f.HolderName.Apply(c.HolderName), email
	if c.Status == StatusExpired {
		if err = tx.revive(a.Shop, c, c.ExternalRef); err != nil {
			return out, err
		}
		var days Null[int64]
		if _, err = tx.one(func(r *rows) { days = r.nullInt() }, "SELECT default_expire_after_days FROM programs WHERE id=?", c.program); err != nil {
			return out, err
		}
		c.ExpiresAt = tx.freshExpiry(days)
	}
	c.ExpiresAt = f.ExpiresAt.Apply(c.ExpiresAt)
	if _, err = tx.exec(`UPDATE cards SET holder_name=?, holder_email=?, email_key=?, expires_at=?, installed_at=NULL, platform=NULL, activated_at=NULL, locked_at=NULL,
		updated_at=? WHERE archived_at IS NULL AND `+chain,
		c.HolderName, c.HolderEmail, emailKey(c.HolderEmail), c.ExpiresAt, tx.Now, c.root, c.root); err != nil {
		return out, err
	}
	// The root speaks for the chain, also once it was completed and archived. In a
	// restored file reissues may be lost, whose codes must not come to life again.
	if _, err = tx.exec("UPDATE cards SET code_generation=max(code_generation, ?)+1, expires_at=? WHERE id=?", tx.s.floors[reissues], c.ExpiresAt, c.root); err != nil {
		return out, err
	}
	if err = tx.audit(a.Shop, "card.reissue", KindCard, c.key, ""); err != nil {
		return out, err
	}
	tx.emit(pendingEvent{name: event.CardReissued, shop: a.Shop, program: c.program, card: c.key})
	out = issued(c)
	return out, tx.relink(&out, c, f.SendEmail)
}

// LinkFields is the body of POST /cards/{id}/install-link.
type LinkFields struct {
	SendEmail Opt[bool] `json:"send_email" doc:"Mail the install link; needs a holder_email on the card and a configured mail server."`
}

// NewInstallLink gives a card that is not installed a new link and ends the
// earlier one.
func (tx *Tx) NewInstallLink(a Access, id string, f LinkFields) (out IssuedCard, err error) {
	c, err := tx.card(a, id)
	if err != nil {
		return out, err
	}
	switch {
	case c.Status == StatusArchived:
		return out, refuse(Conflict, "The card is archived.")
	case c.InstalledAt.Valid:
		return out, refuse(CardLocked, "The card is installed on a device; reissue it to get a new link.")
	case c.Status == StatusExpired:
		return out, refuse(CardExpired, "The card has expired.")
	}
	if details := mayMail(f.SendEmail, c.HolderEmail); details != nil {
		return out, Invalid(details...)
	}
	if err = tx.mailConfigured(f.SendEmail); err != nil {
		return out, err
	}
	if err = tx.audit(a.Shop, "card.install_link", KindCard, c.key, ""); err != nil {
		return out, err
	}
	out = issued(c)
	return out, tx.relink(&out, c, f.SendEmail)
}

// stands finds a card and the state of its chain, which operators' actions are
// about: the oldest live instance, or nil where all are archived.
func (tx *Tx) stands(a Access, id string) (c card, live *card, err error) {
	if c, err = tx.card(a, id); err != nil {
		return c, nil, err
	}
	p, err := tx.chain(At{Shop: a.Shop}, c.root)
	if err != nil {
		return c, nil, err
	}
	return c, p.oldest(), nil
}

// SetCardLocked locks or unlocks every live instance of the card's chain. To
// ask for the state it is in is a no-op; an archived or expired chain is a
// conflict. Operators only.
func (tx *Tx) SetCardLocked(shop int64, id string, lock bool) (d CardDetail, err error) {
	a := Access{Shop: shop}
	c, live, err := tx.stands(a, id)
	switch {
	case err != nil:
		return d, err
	case live == nil || live.Status == StatusExpired:
		return d, refuse(Conflict, "The card is %s.", c.Status)
	case live.lockedAt.Valid == lock:
		return tx.detail(a, id)
	}
	at, action := Null[Time]{}, "card.unlock"
	if lock {
		at, action = Some(tx.Now), "card.lock"
	}
	if _, err = tx.exec("UPDATE cards SET locked_at=?, updated_at=? WHERE archived_at IS NULL AND "+chain, at, tx.Now, c.root, c.root); err != nil {
		return d, err
	}
	if !lock {
		if err = tx.releaseMail(c.root); err != nil {
			return d, err
		}
	}
	if err = tx.audit(shop, action, KindCard, c.key, ""); err != nil {
		return d, err
	}
	return tx.detail(a, id)
}

// ArchiveCard archives every live instance of the card's chain; an archived
// chain stays as it is, without event. Operators only.
func (tx *Tx) ArchiveCard(shop int64, id string) (d CardDetail, err error) {
	a := Access{Shop: shop}
	c, live, err := tx.stands(a, id)
	if err != nil {
		return d, err
	}
	if live == nil {
		return tx.detail(a, id)
	}
	if err = tx.eachInstance(shop, c, event.CardArchived, "archived_at IS NULL AND "); err != nil {
		return d, err
	}
	if _, err = tx.exec("UPDATE cards SET archived_at=?, updated_at=? WHERE archived_at IS NULL AND "+chain, tx.Now, tx.Now, c.root, c.root); err != nil {
		return d, err
	}
	if err = tx.setLive(shop, c.root, false); err != nil {
		return d, err
	}
	if err = tx.dropMail(c.root); err != nil {
		return d, err
	}
	if err = tx.audit(shop, "card.archive", KindCard, c.key, ""); err != nil {
		return d, err
	}
	return tx.detail(a, id)
}

// eachInstance emits an event for every instance of c's chain that meets the
// condition, oldest first.
func (tx *Tx) eachInstance(shop int64, c card, name event.Name, cond string) error {
	r := tx.query("SELECT id FROM cards WHERE "+cond+chain+" ORDER BY id", c.root, c.root)
	for r.next() {
		tx.emit(pendingEvent{name: name, shop: shop, program: c.program, card: r.int()})
	}
	return r.close()
}

// EraseCard removes a person: the whole chain reads as not_found from now on,
// its personal data is gone from cards, ledger metadata, event payloads and
// remembered responses; the ledger's rows stay. A retry of a request whose
// response is gone is answered not_found and makes no second card. Operators
// only (contract section 4, "Delete = erase").
func (tx *Tx) EraseCard(shop int64, id string) error {
	c, err := tx.card(Access{Shop: shop}, id)
	if err != nil {
		return err
	}
	if err := tx.setLive(shop, c.root, false); err != nil {
		return err
	}
	if err := tx.eachInstance(shop, c, event.CardDeleted, ""); err != nil {
		return err
	}
	const instances = "IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1)"
	for _, sql := range []string{
		"UPDATE transactions SET metadata=NULL WHERE metadata IS NOT NULL AND card_id " + instances,
		"UPDATE idempotency SET status=404, body=CAST('{\"code\":\"not_found\",\"message\":\"The card was deleted.\"}' AS BLOB) WHERE card_id " + instances,
	} {
		if _, err := tx.exec(sql, c.root); err != nil {
			return err
		}
	}
	if _, err := tx.exec(`UPDATE cards SET external_ref=NULL, holder_name=NULL, holder_email=NULL, email_key=NULL, install_hash=NULL, install_expires_at=NULL,
		archived_at=ifnull(archived_at, ?2), deleted_at=?2, updated_at=?2 WHERE id `+instances, c.root, tx.Now); err != nil {
		return err
	}
	if err := tx.scrubEvents(c.root); err != nil {
		return err
	}
	if err := tx.dropMail(c.root); err != nil {
		return err
	}
	tx.erases = true
	return tx.audit(shop, "card.delete", KindCard, c.key, "")
}
