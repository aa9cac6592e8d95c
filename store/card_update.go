package store

// inChain is the condition that a card belongs to the chain of a root.
const inChain = "(id=? OR root_id=?) AND deleted_at IS NULL"

// UpdateCard changes the fields that f sets. If f sets none, it changes nothing, in
// every state of the card. An archived card is refused first, then an installed and
// then an expired one. A card that has the values already stays as it is.
func (tx *Tx) UpdateCard(a Access, id string, f CardPatch) (d CardDetail, err error) {
	if details := f.Check(tx.Now); details != nil {
		return d, Invalid(details...)
	}
	c, err := tx.card(a, id)
	if err != nil {
		return d, err
	}
	if !namesAnyField(&f) {
		return tx.cardDetail(a, id)
	}
	holder := f.HolderName.Set || f.HolderEmail.Set || f.ExpiresAt.Set
	switch {
	case c.Status == StatusArchived:
		return d, refuse(Conflict, "The card is archived.")
	case c.InstalledAt.Valid && holder:
		return d, refuse(CardLocked, "The card is installed on a device; holder fields and expiry are frozen. Reissue the card instead.")
	case c.Status == StatusExpired && holder && !f.ExpiresAt.Set:
		return d, refuse(CardExpired, "The card has expired; give it a future expires_at, or null, in the same request.")
	}
	ref, name, email := f.ExternalRef.Apply(c.ExternalRef), f.HolderName.Apply(c.HolderName), f.HolderEmail.Apply(c.HolderEmail)
	expires := f.ExpiresAt.Apply(c.ExpiresAt)
	if ref == c.ExternalRef && name == c.HolderName && email == c.HolderEmail && expires == c.ExpiresAt {
		return tx.cardDetail(a, id)
	}
	if c.Status == StatusExpired && f.ExpiresAt.Set {
		err = tx.makeLive(a.Shop, c, ref)
	} else if c.Status != StatusExpired && ref != c.ExternalRef {
		err = tx.checkExternalRef(a.Shop, c.program, c.root, ref)
	}
	if err != nil {
		return d, err
	}
	tx.reindexChain(a.Shop, c.root, true, name)
	tx.exec("UPDATE cards SET external_ref=?, holder_name=?, holder_email=?, email_key=?, expires_at=?, updated_at=? WHERE "+inChain,
		ref, name, email, emailKey(email), expires, tx.Now, c.root, c.root)
	return tx.auditedCard(a, "card.update", c)
}

// auditedCard audits a change of a card and returns the card.
func (tx *Tx) auditedCard(a Access, action string, c card) (d CardDetail, err error) {
	tx.audit(a.Shop, action, KindCard, c.key)
	tx.cardChanged(c.root)
	return tx.cardDetail(a, c.ID)
}

// cardDetail returns a card for a write's answer.
func (tx *Tx) cardDetail(a Access, id string) (CardDetail, error) {
	tx.Touches(id)
	return tx.detailOf(a, id, func(int64) shopLocations { return tx.cachedLocations(a.Shop) })
}
