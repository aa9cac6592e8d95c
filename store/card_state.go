package store

import "punchcard/store/event"

// cardAndLiveInstance finds a card and the oldest live card of its chain, which has
// the chain's state. The latter is nil if all are archived.
func (tx *Tx) cardAndLiveInstance(a Access, id string) (c card, live *card, err error) {
	if c, err = tx.card(a, id); err != nil {
		return c, nil, err
	}
	return c, tx.chainByRoot(Till{Shop: a.Shop}, c.root).oldestLive(), tx.failed
}

// SetCardLocked locks or unlocks all live cards of a chain. It changes nothing if the
// chain is in that state already, and refuses an archived or expired chain with
// conflict. Only operators lock cards.
func (tx *Tx) SetCardLocked(shop int64, id string, lock bool) (d CardDetail, err error) {
	a := Access{Shop: shop}
	c, live, err := tx.cardAndLiveInstance(a, id)
	switch {
	case err != nil:
		return d, err
	case live == nil || live.Status == StatusExpired:
		return d, refuse(Conflict, "The card is %s.", c.Status)
	case live.lockedAt.Valid == lock:
		return tx.cardDetail(a, id)
	}
	tx.exec("UPDATE cards SET locked_at=?, updated_at=? WHERE archived_at IS NULL AND "+inChain, Null[Time]{tx.Now, lock}, tx.Now,
		c.root, c.root)
	action := "card.lock"
	if !lock {
		action = "card.unlock"
		tx.releaseMail(c.root)
	}
	return tx.auditedCard(a, action, c)
}

// ArchiveCard archives all live cards of a chain. An archived chain stays as it is,
// and no event is emitted. Only operators archive cards.
func (tx *Tx) ArchiveCard(shop int64, id string) (d CardDetail, err error) {
	a := Access{Shop: shop}
	c, live, err := tx.cardAndLiveInstance(a, id)
	if err != nil {
		return d, err
	}
	if live == nil {
		return tx.cardDetail(a, id)
	}
	tx.archiveChain(shop, c)
	return tx.cardDetail(a, c.ID)
}

// archiveChain archives all live cards of the chain of a card.
func (tx *Tx) archiveChain(shop int64, c card) {
	tx.emitForInstances(shop, c, event.CardArchived, "archived_at IS NULL AND ")
	tx.exec("UPDATE cards SET archived_at=?, updated_at=? WHERE archived_at IS NULL AND "+inChain, tx.Now, tx.Now, c.root, c.root)
	tx.setLive(shop, c.root, false)
	tx.deleteMail(c.root)
	tx.endSubscriptions(c.root)
	tx.audit(shop, "card.archive", KindCard, c.key)
	tx.cardChanged(c.root)
}

// emitForInstances emits an event for every card of c's chain that meets a condition,
// oldest first.
func (tx *Tx) emitForInstances(shop int64, c card, name event.Name, cond string) {
	for _, key := range tx.keys("SELECT id FROM cards WHERE "+cond+inChain+" ORDER BY id", c.root, c.root) {
		tx.emit(pendingEvent{name: name, shop: shop, program: c.program, card: key})
	}
}
