package store

// The journal and the mailbox of a fixture are outside the file. The methods below
// tell which cards their entries are about, and which cards were erased.

// ErasedCards returns the keys of all cards that were erased.
func (v *View) ErasedCards() ([]int64, error) {
	return v.keys("SELECT id FROM cards WHERE deleted_at IS NOT NULL"), v.failed
}

// CardsNamed returns the keys of the cards that any of texts names: a card's id, the
// content of a QR code or a held code, also of one that a reissue replaced, a short code, the token of
// an install link or a page, or the id of a transaction. Of a code or token it is the first card
// of the chain. The cards need not exist.
func (v *View) CardsNamed(texts []string) (keys []int64, err error) {
	for _, text := range texts {
		if key, ok := v.Key(KindCard, text); ok {
			keys = append(keys, key)
		} else if key, ok := v.Key(KindTransaction, text); ok {
			found := v.keys("SELECT card_id FROM transactions WHERE id=?", key)
			keys = append(keys, found...)
		} else if IsShortCode(text) {
			found := v.keys("SELECT id FROM cards WHERE shop_id IN (SELECT id FROM shops) AND short_code=?", normalizeCode(text))
			keys = append(keys, found...)
		} else if _, key, ok := v.openAny(kindCode, normalizeCode(text)); ok {
			keys = append(keys, key)
		} else if _, key, ok := v.openAny(kindHeldCode, text); ok {
			keys = append(keys, key)
		} else if key, ok := v.rootOfLink(text); ok {
			keys = append(keys, key)
		}
	}
	return keys, v.failed
}

// CardsOf returns the keys of the cards of any shop that have an external_ref or a
// holder_email. An empty text is that of no card.
func (v *View) CardsOf(externalRef, holderEmail string) ([]int64, error) {
	refs := v.keys("SELECT id FROM cards WHERE shop_id IN (SELECT id FROM shops) AND external_ref=? AND external_ref<>''", externalRef)
	emails := v.keys("SELECT id FROM cards WHERE shop_id IN (SELECT id FROM shops) AND email_key=? AND email_key<>''",
		foldCase(holderEmail))
	return append(refs, emails...), v.failed
}
