package store

import "punchcard/store/event"

// ReissueFields is the body of POST /cards/{id}/reissue.
type ReissueFields struct {
	HolderName  Opt[string] `json:"holder_name" min:"1" max:"200" format:"line"`
	HolderEmail Opt[string] `json:"holder_email" format:"email" min:"1" max:"254"`
	ExpiresAt   Opt[Time]   `json:"expires_at" doc:"In the future. An expired card that is given none gets a fresh default."`
	SendEmail   Opt[bool]   `json:"send_email" doc:"Mail the install link; needs a holder_email, given or on the card, and a configured mail server."`
}

// ReissueCard replaces a card's QR code, short code and install link: the old ones end, as do the
// codes of earlier cards, and the status becomes invited. Id, ledger, stamps and balance stay. Every live card of
// the chain fires card.reissued.
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
	c.HolderName, c.HolderEmail = f.HolderName.Apply(c.HolderName), f.HolderEmail.Apply(c.HolderEmail)
	p, err := tx.checkNewLink(a, c, f.SendEmail)
	if err != nil {
		return out, err
	}
	if c.Status == StatusExpired {
		if err = tx.makeLive(a.Shop, c, c.ExternalRef); err != nil {
			return out, err
		}
		c.ExpiresAt = tx.defaultExpiry(p.DefaultExpireAfterDays)
	}
	c.ExpiresAt = f.ExpiresAt.Apply(c.ExpiresAt)
	tx.reindexChain(a.Shop, c.root, false, c.HolderName)
	tx.exec(
		`UPDATE cards SET holder_name=?, holder_email=?, email_key=?, expires_at=?, installed_at=NULL, platform=NULL, activated_at=NULL,
			locked_at=NULL,
		updated_at=? WHERE archived_at IS NULL AND `+inChain, c.HolderName, c.HolderEmail, emailKey(c.HolderEmail), c.ExpiresAt, tx.Now,
		c.root, c.root)
	// The root has the chain's generation, even if the root is archived. In a restored
	// file the last reissues may be missing; the new generation must be above theirs,
	// so that their codes do not become valid again.
	tx.exec("UPDATE cards SET code_generation=max(code_generation, ?)+1, short_code=NULL, expires_at=? WHERE id=?",
		tx.s.floors[reissues], c.ExpiresAt, c.root)
	tx.exec("DELETE FROM foreign_codes WHERE card_id=?", c.root)
	tx.endSubscriptions(c.root)
	tx.audit(a.Shop, "card.reissue", KindCard, c.key)
	tx.cardChanged(c.root)
	tx.emitForInstances(a.Shop, c, event.CardReissued, "archived_at IS NULL AND ")
	return tx.replaceInstallLink(a.Shop, c, f.SendEmail)
}

// checkNewLink returns the program of a card that is to get a new link. It refuses a suspended one, and a link
// that cannot be mailed although send is true.
func (tx *Tx) checkNewLink(a Access, c card, send Opt[bool]) (*program, error) {
	p := tx.cachedProgram(a.Shop, c.program)
	if p.SuspendedAt.Valid {
		return p, refuse(Unprocessable, "The program is suspended; its cards get no new links.")
	}
	if details := checkSendEmail(send, c.HolderEmail); details != nil {
		return p, Invalid(details...)
	}
	return p, tx.requireMailServer(send)
}

// LinkFields is the body of POST /cards/{id}/install-link.
type LinkFields struct {
	SendEmail Opt[bool] `json:"send_email" doc:"Mail the install link; needs a holder_email on the card and a configured mail server."`
}

// NewInstallLink gives a card that is neither installed nor locked a new link and
// ends the earlier one.
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
	case c.Status == StatusLocked:
		return out, refuse(Conflict, "The card is locked.")
	}
	if _, err = tx.checkNewLink(a, c, f.SendEmail); err != nil {
		return out, err
	}
	tx.audit(a.Shop, "card.install_link", KindCard, c.key)
	return tx.replaceInstallLink(a.Shop, c, f.SendEmail)
}
