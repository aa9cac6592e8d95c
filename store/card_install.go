package store

import (
	"crypto/subtle"

	"punchcard/store/event"
)

// cardByInstallToken finds the chain of an install token, and the time until which
// the token is valid. A token that was replaced or has expired is refused as gone.
// The hash is compared in constant time.
func (q *queries) cardByInstallToken(token string) (shop, root int64, until Time, err error) {
	key, ok := q.openInstall(token)
	if !ok {
		return 0, 0, 0, notFound("card")
	}
	var hash []byte
	var ends Null[Time]
	err = q.find("card", into(&shop, &hash, &ends),
		"SELECT shop_id, install_hash, install_expires_at FROM cards WHERE id=? AND deleted_at IS NULL", key)
	switch {
	case err != nil:
		return 0, 0, 0, err
	case q.closing(shop).Refuse(false) != nil:
		return 0, 0, 0, q.closing(shop).Refuse(false)
	case subtle.ConstantTimeCompare(hash, Hash(token)) != 1:
		return 0, 0, 0, refuse(Gone, "This link was replaced by a newer one. Ask the shop for a new one.")
	case ends.V <= q.Now:
		return 0, 0, 0, refuse(Gone, "This link has expired. Ask the shop for a new one.")
	}
	return shop, key, ends.V, nil
}

// checkInstallable refuses a card whose status does not let it be installed.
func checkInstallable(status string) error {
	switch status {
	case StatusExpired:
		return refuse(CardExpired, "This card has expired.")
	case StatusLocked:
		return refuse(Conflict, "This card is locked. Ask the shop.")
	case StatusArchived:
		return errEnded
	}
	return nil
}

// InstallFields is the body of an installation.
type InstallFields struct {
	Platform Opt[string] `json:"platform" req:"true" enum:"apple,google" doc:"The device family."`
}

// Installation is the answer to an installation. It has no id of the card: a holder
// knows codes and links, which end with a reissue.
type Installation struct {
	CardURL     string `json:"card_url"`
	Platform    string `json:"platform"`
	InstalledAt Time   `json:"installed_at"`
}

// cardByLink finds the chain of the token of a page or of an install link.
func (q *queries) cardByLink(token string) (shop, root int64, err error) {
	if isPageToken(token) {
		return q.chainByPageToken(token)
	}
	shop, root, _, err = q.cardByInstallToken(token)
	return shop, root, err
}

// Install records that the card of an install link, or of a page, was installed on a
// device. From then on the holder fields, the expiry and the program are frozen. A card that is installed
// already stays as it is, and no event is emitted.
func (tx *Tx) Install(token string, f InstallFields) (out Installation, err error) {
	shop, root, err := tx.cardByLink(token)
	if err != nil {
		return out, err
	}
	p := tx.chainByRoot(Till{Shop: shop}, root)
	shown := p.oldestLive()
	if shown == nil {
		shown = p.newest
	}
	if err := checkInstallable(shown.Status); err != nil {
		return out, err
	}
	out = Installation{CardURL: tx.pageURL(shop, root, p.generation()), Platform: f.Platform.V, InstalledAt: tx.Now}
	if shown.InstalledAt.Valid {
		out.InstalledAt = shown.InstalledAt.V
		tx.one(into(&out.Platform), "SELECT platform FROM cards WHERE id=?", shown.key)
		return out, tx.failed
	}
	p.program = &program{key: shown.program}
	tx.activateInvited(p)
	tx.exec("UPDATE cards SET installed_at=?, platform=?, updated_at=? WHERE archived_at IS NULL AND "+inChain, tx.Now, f.Platform.V,
		tx.Now, root, root)
	if tx.exec("UPDATE programs SET has_installed_cards=1 WHERE id=? AND has_installed_cards=0", shown.program) > 0 {
		tx.bumpAuth() // programs are cached by epoch
	}
	tx.deleteMail(root)
	tx.cardChanged(root)
	tx.emit(pendingEvent{name: event.CardRegistered, shop: shop, program: shown.program, card: shown.key,
		data: event.Data{"card_instance_id", shown.ID, "platform", f.Platform.V}})
	tx.audit(shop, "card.install", KindCard, shown.key)
	return out, tx.failed
}
