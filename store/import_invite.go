package store

import "time"

// invitationShare is the part of the hourly mail of a shop that invitations may use, so that the mail
// of a lost card does not wait behind them.
const invitationShare = 2

// InviteImported mails the install links of up to n imported cards that are due, and reports whether
// more are. Without a mail server they wait.
func (tx *Tx) InviteImported(n int) (more bool, err error) {
	if !tx.s.mails() {
		return false, nil
	}
	var interval time.Duration
	if perHour := tx.s.opts.Limits.MailPerHour; perHour > 0 {
		interval = time.Hour / time.Duration(max(1, perHour/invitationShare))
	}
	for range n {
		var run, shop, card int64
		var at Time
		if !tx.one(into(&run, &shop, &at, &card), `SELECT id, shop_id, invite_at, ifnull((SELECT c.id FROM cards c WHERE c.import_id=i.id
			AND c.id>i.through AND c.holder_email IS NOT NULL AND c.install_hash IS NULL AND c.installed_at IS NULL AND c.locked_at IS NULL
			AND c.live=1 ORDER BY c.id LIMIT 1), 0) FROM imports i WHERE invite_at<=? AND `+ofOpenShop+`
			ORDER BY invite_at LIMIT 1`, tx.Now) {
			return false, tx.failed
		}
		if card == 0 {
			// Rows may still be written.
			tx.exec("UPDATE imports SET invite_at=iif(state='done', NULL, ?) WHERE id=?", tx.Now.Add(time.Minute), run)
			continue
		}
		c, err := tx.card(Access{Shop: shop}, tx.ID(KindCard, card))
		if err != nil {
			return false, err
		}
		if c.Status != StatusExpired && !tx.cachedProgram(shop, c.program).SuspendedAt.Valid {
			if _, err = tx.replaceInstallLink(shop, c, Given(true)); err != nil {
				return false, err
			}
		}
		tx.exec("UPDATE imports SET through=? WHERE id=?", card, run)
		// All imports of the shop share its mail. What could not be mailed in an earlier minute is not made up for.
		next := max(at, tx.Now.Add(-time.Minute)).Add(interval)
		tx.exec("UPDATE imports SET invite_at=max(invite_at, ?) WHERE shop_id=? AND invite_at IS NOT NULL", next, shop)
	}
	return true, tx.failed
}
