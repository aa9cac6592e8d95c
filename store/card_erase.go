package store

import (
	"slices"

	"punchcard/store/event"
)

// EraseCard deletes a chain and its holder's personal data: all of its cards are
// not_found from now on, and the columns that personal.go declares, event payloads and
// remembered responses lose the data. The ledger's rows stay. A retry of a request whose
// response was removed is refused as not_found and makes no second card. Only
// operators erase cards.
func (tx *Tx) EraseCard(shop int64, id string) error {
	return tx.eraseCards(shop, []string{id}, "")
}

// eraseCards erases the chains of cards because of their holders: also what files that wait to be imported say of
// them. It erases none if a card is not found. detail is that of the audit rows.
func (tx *Tx) eraseCards(shop int64, ids []string, detail string) error {
	var chains []card
	for _, id := range ids {
		c, err := tx.card(Access{Shop: shop}, id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(chains, func(other card) bool { return other.root == c.root }) {
			chains = append(chains, c)
		}
	}
	tx.eraseFromImports(shop, chains)
	for _, c := range chains {
		tx.eraseChain(shop, c)
		tx.audit(shop, "card.delete", KindCard, c.key, detail)
	}
	tx.noteErased()
	return tx.failed
}

// eraseChain erases a chain, without an audit row and without emptying the log of the file.
func (tx *Tx) eraseChain(shop int64, c card) {
	tx.setLive(shop, c.root, false)
	tx.emitForInstances(shop, c, event.CardDeleted, "")
	const instances = "IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1)"
	tx.exec(`UPDATE idempotency SET status=404, body=CAST('{"code":"not_found","message":"The card was deleted."}' AS BLOB)
		WHERE card_id `+instances, c.root)
	tx.reindexChain(shop, c.root, true, Null[string]{})
	tx.exec("DELETE FROM lost_mails WHERE email IN (SELECT lower(holder_email) FROM cards WHERE id "+instances+")", c.root)
	for _, t := range personalTables() {
		tx.exec(t.eraseSQL(), c.root)
	}
	tx.exec("UPDATE cards SET archived_at=ifnull(archived_at, ?2), deleted_at=?2, updated_at=?2 WHERE id "+instances, c.root, tx.Now)
	tx.eraseReasons(c.root)
	tx.scrubEvents(c.root)
	tx.deleteMail(c.root)
	tx.endSubscriptions(c.root)
	tx.exec("DELETE FROM sent_mails WHERE card_id=?", c.root)
	tx.cardChanged(c.root)
}
