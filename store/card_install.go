package store

import (
	"crypto/subtle"

	"punchcard/store/event"
)

// HolderCard is a card as its holder sees it.
type HolderCard struct {
	Lookup
	Code          string // what the QR code holds
	ShortCode     string // what the holder can read out, in its normal form
	LinkExpiresAt Time   // when the link ends
	ShopName      string
	LogoHash      Null[string] // of the program's logo; null: none was uploaded
}

// cardByInstallToken finds the chain of an install token, and the time until which
// the token is valid. A token that was replaced or has expired is refused as gone.
// The hash is compared in constant time.
func (c *conn) cardByInstallToken(s *Store, token string, now Time) (shop, root int64, until Time, err error) {
	if len(token) != 2*blockLen {
		return 0, 0, 0, notFound("card")
	}
	key, ok := s.IDs.open(kindInstall, 0, token[:blockLen])
	if !ok {
		return 0, 0, 0, notFound("card")
	}
	var hash []byte
	var ends Null[Time]
	err = c.find("card", func(r *rows) { shop, hash, ends = r.int(), r.bytes(), r.nullTime() },
		"SELECT "+columns("shop_id", "install_hash", "install_expires_at")+" FROM cards WHERE id=? AND deleted_at IS NULL", key)
	switch {
	case err != nil:
		return 0, 0, 0, err
	case subtle.ConstantTimeCompare(hash, Hash(token)) != 1:
		return 0, 0, 0, refuse(Gone, "This link was replaced by a newer one.")
	case ends.V <= now:
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
		return refuse(Gone, "This card has ended.")
	}
	return nil
}

// HolderCard returns the card of an install link.
func (v *View) HolderCard(token string) (h HolderCard, err error) {
	err = v.snapshot(func() error {
		shop, root, until, err := v.cardByInstallToken(v.s, token, v.Now)
		if err != nil {
			return err
		}
		var chain *card
		if h.Lookup, chain, err = v.lookupRoot(Till{Shop: shop}, root); err != nil {
			return err
		}
		if err := checkInstallable(h.Card.Status); err != nil {
			return err
		}
		h.Code, h.ShortCode, h.LinkExpiresAt = v.s.cardCode(root, chain.generation), chain.shortCode.V, until
		sh, err := v.s.shop(v.conn, shop)
		h.ShopName = sh.Name
		if err != nil {
			return err
		}
		_, err = v.one(func(r *rows) { h.LogoHash = r.nullStr() }, "SELECT ifnull(logo_hash, '') FROM programs WHERE id=?", chain.program)
		return err
	})
	return h, err
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

// Install records that the card of a link was installed on a device. From then on
// the holder fields, the expiry and the program are frozen. A card that is installed
// already stays as it is, and no event is emitted.
func (tx *Tx) Install(token string, f InstallFields) (out Installation, err error) {
	shop, root, _, err := tx.cardByInstallToken(tx.s, token, tx.Now)
	if err != nil {
		return out, err
	}
	p, err := tx.chainByRoot(Till{Shop: shop}, root)
	if err != nil {
		return out, err
	}
	shown := p.oldestLive()
	if shown == nil {
		shown = p.newest
	}
	if err := checkInstallable(shown.Status); err != nil {
		return out, err
	}
	out = Installation{CardURL: tx.s.installURL(token), Platform: f.Platform.V, InstalledAt: tx.Now}
	if shown.InstalledAt.Valid {
		out.InstalledAt = shown.InstalledAt.V
		tx.one(func(r *rows) { out.Platform = r.str() }, "SELECT platform FROM cards WHERE id=?", shown.key)
		return out, tx.failed
	}
	p.program = &program{key: shown.program}
	tx.activateInvited(p)
	tx.exec("UPDATE cards SET installed_at=?, platform=?, updated_at=? WHERE archived_at IS NULL AND "+inChain, tx.Now, f.Platform.V, tx.Now, root, root)
	if tx.exec("UPDATE programs SET has_installed_cards=1 WHERE id=? AND has_installed_cards=0", shown.program) > 0 {
		tx.bumpAuth() // programs are cached by epoch
	}
	tx.deleteMail(root)
	tx.emit(pendingEvent{name: event.CardRegistered, shop: shop, program: shown.program, card: shown.key,
		data: event.Data{"card_instance_id", shown.ID, "platform", f.Platform.V}})
	tx.audit(shop, "card.install", KindCard, shown.key, "")
	return out, tx.failed
}
