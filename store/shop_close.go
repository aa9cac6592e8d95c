package store

import (
	"fmt"
	"time"
)

// The states of a closed shop.
const (
	ShopMoving  = "moving"  // it is copied into a file of its own: it can be read, and writes are refused
	ShopMoved   = "moved"   // another file has it: everything leads there
	shopDeleted = "deleted" // nobody finds it, and housekeeping erases it
)

// MovedKept is how long the file that a shop was moved from leads to the new address.
const MovedKept = 30 * 24 * time.Hour

// movingRetry is when a write that a move refuses may be tried again.
const movingRetry = 10 * time.Second

// ofOpenShop is the condition on a row with shop_id that its shop, if it has one, is open.
const ofOpenShop = "shop_id NOT IN (SELECT id FROM shops WHERE closed IS NOT NULL)"

// ofShopNotDeleted is the condition on a row with shop_id that its shop was not deleted.
const ofShopNotDeleted = "shop_id IN (SELECT id FROM shops WHERE " + notDeleted + ")"

// Closing says how a shop is closed. The zero value is an open shop.
type Closing struct {
	State   string // ShopMoving or ShopMoved
	MovedTo string // public URL of the server that it moves to
}

// Refuse returns the refusal of a read or a write of the shop, nil for none.
func (c Closing) Refuse(write bool) error {
	switch {
	case c.State == shopDeleted:
		return notFound("shop")
	case c.State == ShopMoved:
		e := refuse(Gone, "The shop has moved to %s.", c.MovedTo)
		e.MovedTo = c.MovedTo
		return e
	case c.State == ShopMoving && write:
		e := refuse(Unavailable, "The shop is being moved to another server. Try again in a moment.")
		e.RetryAfter = movingRetry
		return e
	}
	return nil
}

// closing returns how a shop is closed. A shop that does not exist is open.
func (q *queries) closing(shop int64) (c Closing) {
	q.one(into(&c.State, &c.MovedTo), "SELECT closed, moved_to FROM shops WHERE id=?", shop)
	return c
}

// requireOpen has a write fail if its shop, unless that is 0, is closed.
func (tx *Tx) requireOpen(shop int64) {
	if shop != 0 {
		c := readThrough(tx, &tx.s.closings, shop, func() Closing { return tx.closing(shop) })
		tx.fail(c.Refuse(true))
	}
}

// MoveFields are the fields of BeginMove.
type MoveFields struct {
	MovedTo Opt[string] `json:"moved_to" req:"true" format:"url" max:"2048" doc:"The public URL of the server that will have the shop, such as https://cards.example.com."`
}

// Move is a shop that is moved to a file of its own.
type Move struct {
	Shop  Shop `json:"shop"`
	Began Time `json:"began_at" doc:"When its writes were first refused, or when it had moved."`
}

// MoveEnd are the fields of FinishMove.
type MoveEnd struct {
	Began Opt[Time] `json:"began_at" req:"true" doc:"Of the move that is finished."`
}

// move returns the state of a shop's move.
func (tx *Tx) move(shop int64) (m Move, err error) {
	m.Shop = tx.shop(shop)
	m.Began = Time(tx.number("SELECT ifnull(closed_at, 0) FROM shops WHERE id=?", shop))
	return m, tx.failed
}

// BeginMove refuses all writes of a shop from the next one on, until the move is finished or
// aborted. A shop that moves or has moved stays as it is, and must do so to this address: its copy has it.
func (tx *Tx) BeginMove(shop int64, url string) (m Move, err error) {
	m, err = tx.move(shop)
	switch {
	case err != nil || m.Shop.MovedTo.V == url:
		return m, err
	case url == tx.s.opts.PublicURL:
		return m, errOwnURL
	case m.Shop.Closed.V == ShopMoved:
		return m, errMoved(m)
	case m.Shop.Closed.Valid:
		return m, refuse(Conflict, "The shop is being moved to %s already.", m.Shop.MovedTo.V)
	}
	if err := tx.numberCopy(shop); err != nil {
		return m, err
	}
	m.Shop.Closed, m.Shop.MovedTo = Some(ShopMoving), Some(url)
	m.Began = max(tx.Now, m.Began+1) // so that no copy of an earlier move has this time
	tx.exec("UPDATE shops SET closed=?, closed_at=?, moved_to=? WHERE id=?", m.Shop.Closed, m.Began, url, shop)
	tx.bumpAuth()
	tx.insertAudit(shop, "shop.begin_move", KindShop, shop)
	return m, tx.failed
}

var errOwnURL = InvalidField("moved_to", "invalid_value", "must not be the public URL of this server")

// CorrectMove changes the address that a moved shop leads to.
func (tx *Tx) CorrectMove(shop int64, url string) (m Move, err error) {
	m, err = tx.move(shop)
	switch {
	case err != nil:
		return m, err
	case m.Shop.Closed.V != ShopMoved:
		return m, refuse(Conflict, "The shop has not moved.")
	case url == tx.s.opts.PublicURL:
		return m, errOwnURL
	}
	tx.exec("UPDATE shops SET moved_to=? WHERE id=?", url, shop)
	tx.bumpAuth()
	tx.insertAudit(shop, "shop.correct_move", KindShop, shop)
	return tx.move(shop)
}

// errMoved refuses to begin, finish or abort a move that is done.
func errMoved(m Move) error {
	return refuse(Conflict, "The shop has moved to %s already.", m.Shop.MovedTo.V)
}

// numberCopy chooses the number of the copy that a move makes. That of an aborted move is not given again, since somebody may serve
// its copy.
func (tx *Tx) numberCopy(shop int64) error {
	k := 1 + tx.number("SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name=?", moves)
	number, ok := copyNumber(tx.lastKey("shops")>>keyBits, k)
	if !ok {
		return refuse(Conflict, "No more shops can be moved out of this file: too many were.")
	}
	tx.setSequence(moves, k)
	tx.setSequence(moveOf(shop), number)
	return nil
}

// moveOf returns the name in sqlite_sequence of the number of a shop's copy.
func moveOf(shop int64) string { return fmt.Sprint(moves, " ", shop) }

// AbortMove opens a shop again whose move is not finished.
func (tx *Tx) AbortMove(shop int64) (m Move, err error) {
	m, err = tx.move(shop)
	switch {
	case err != nil:
		return m, err
	case m.Shop.Closed.V == ShopMoved:
		return m, errMoved(m)
	case !m.Shop.Closed.Valid:
		return m, refuse(Conflict, "The shop is not being moved.")
	}
	tx.exec("UPDATE shops SET closed=NULL, moved_to=NULL WHERE id=?", shop)
	tx.bumpAuth()
	tx.audit(shop, "shop.abort_move", KindShop, shop)
	return tx.move(shop)
}

// FinishMove has everything about a shop lead to the address that it moves to. began is that of
// its move, which must not have been aborted or finished meanwhile: of two copies one counts.
func (tx *Tx) FinishMove(shop int64, began Time) (m Move, err error) {
	m, err = tx.move(shop)
	switch {
	case err != nil:
		return m, err
	case m.Shop.Closed.V == ShopMoved:
		return m, errMoved(m)
	case m.Shop.Closed.V != ShopMoving || m.Began != began:
		return m, refuse(Conflict, "The move was aborted meanwhile.")
	}
	tx.exec("UPDATE shops SET closed=?, closed_at=? WHERE id=?", ShopMoved, tx.Now, shop)
	tx.bumpAuth()
	tx.insertAudit(shop, "shop.move", KindShop, shop)
	return tx.move(shop)
}

// ShopName are the fields of DeleteShop.
type ShopName struct {
	Name Opt[string] `json:"name" req:"true" min:"1" max:"200" doc:"The name of the shop, as a confirmation."`
}

// DeleteShop deletes a shop that has the name. Nothing of it can be reached from then on: its keys,
// devices, memberships, links and webhooks end in this transaction. The rest of its rows are erased
// later; see EraseShop. Accounts and other shops stay.
func (tx *Tx) DeleteShop(shop int64, name string) (sh Shop, err error) {
	if sh, err = tx.findShop(shop); err != nil {
		return sh, err
	}
	switch {
	case name != sh.Name:
		return sh, InvalidField("name", "invalid_value", "must be the name of the shop, exactly as it is written")
	case sh.Closed.V == ShopMoving:
		return sh, refuse(Conflict, "The shop is being moved to another server. Abort the move first.")
	}
	tx.endShop(shop)
	return sh, tx.failed
}

// endShop does what DeleteShop does to a shop.
func (tx *Tx) endShop(shop int64) {
	tx.exec("UPDATE shops SET closed=?, closed_at=?, moved_to=NULL, public_url=NULL WHERE id=?", shopDeleted, tx.Now, shop)
	tx.exec("UPDATE keys SET revoked_at=? WHERE shop_id=? AND revoked_at IS NULL", tx.Now, shop)
	tx.exec("UPDATE devices SET revoked_at=? WHERE shop_id=? AND revoked_at IS NULL", tx.Now, shop)
	tx.exec(deleteWebhooks+"shop_id=?2 AND deleted_at IS NULL", tx.Now, shop)
	tx.exec("UPDATE sessions SET shop_id=NULL WHERE shop_id=?", shop)
	for _, table := range []string{"pairings", "memberships", "links"} {
		tx.exec("DELETE FROM "+table+" WHERE shop_id=?", shop)
	}
	tx.bumpAuth()
	tx.keepKeys()
	tx.insertAudit(0, "shop.delete", KindShop, shop)
}

// EndedShops returns the shops that are to be erased: the deleted ones, and those that moved away more
// than 30 days ago.
func (v *View) EndedShops() ([]int64, error) {
	return v.keys("SELECT id FROM shops WHERE closed=? OR closed=? AND closed_at<=? ORDER BY id", shopDeleted, ShopMoved,
		v.Now.Add(-MovedKept)), v.failed
}
