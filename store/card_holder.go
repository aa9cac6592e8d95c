package store

// HolderFields are what a till says of the holder of a card.
type HolderFields struct {
	HolderName  Opt[string] `json:"holder_name" min:"1" max:"200" format:"line"`
	HolderEmail Opt[string] `json:"holder_email" format:"email" min:"1" max:"254"`
	PhoneField
}

// SetHolder gives a card without a holder, such as a printed one, its holder. A card that is on a phone, or has a name, an email or a
// phone number, is refused with conflict, also if they are the same: a till must not find out a number by guesses.
func (tx *Tx) SetHolder(till Till, text string, f HolderFields) (d CardDetail, err error) {
	var patch HolderContactPatch
	patch.Phone = f.Phone
	_, faults := patch.apply(HolderContact{}, tx.cachedShop(till.Shop).CountryCode)
	if faults != nil {
		return d, Invalid(faults...)
	}
	chain, err := tx.chainForAction(till, text, Once{}, programTypes...)
	if err != nil {
		return d, err
	}
	if err = tx.checkForeignUse(chain); err != nil {
		return d, err
	}
	c, a := chain.instances[0], Access{Shop: till.Shop}
	known := c.HolderName.Valid || c.HolderEmail.Valid || tx.contact(chain.first.key).Phone.Valid
	if known || c.InstalledAt.Valid || chain.first.copies != 0 { // wallets and notices do not install a card
		return d, refuse(Conflict, "The card has a holder already.")
	}
	if d, err = tx.UpdateCard(a, c.ID, CardPatch{HolderName: f.HolderName, HolderEmail: f.HolderEmail}); err == nil {
		_, err = tx.UpdateHolderContact(a, c.ID, patch)
	}
	return d, err
}
