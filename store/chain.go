package store

import (
	"cmp"
	"slices"
)

// At is where and by what a card is presented.
type At struct {
	Shop, Location, Device int64
}

// presentation is a card in the hands of a till: its whole chain and its
// program. A code stands for its chain (contract section 4).
type presentation struct {
	At
	program   program
	instances []*card // neither archived nor erased, oldest first
	newest    *card   // of all that are not erased, archived or not
}

// code makes what a card's QR code holds. It names the chain and dies with the
// next reissue.
func (s *Store) code(root, generation int64) string {
	return string(s.seal(nil, kindCode, uint64(generation), root))
}

// rootOf finds the chain that a card's id or code names: 0 for none.
func (c *conn) rootOf(s *Store, shop int64, text string) (root int64, err error) {
	if key, ok := s.Key(KindCard, text); ok {
		return c.number("SELECT ifnull(root_id, id) FROM cards WHERE id=? AND shop_id=? AND deleted_at IS NULL", key, shop)
	}
	generation, key, ok := s.IDs.openAny(kindCode, text)
	if !ok {
		return 0, nil
	}
	return c.number("SELECT id FROM cards WHERE id=? AND shop_id=? AND code_generation=? AND deleted_at IS NULL", key, shop, int64(generation))
}

var chainSQL = "SELECT " + packed(append([]string{"c.id", "c.root_id IS NOT NULL", "c.cycle", "c.code_generation", "c.live"}, cardCols...)...) +
	" FROM cards c JOIN programs p ON p.id=c.program_id WHERE (c.id=?1 OR c.root_id=?1) AND c.deleted_at IS NULL"

// chainOf reads every instance of a chain, oldest first.
func (s *Store) chainOf(c *conn, root int64, now Time) (all []*card, err error) {
	r := c.query(chainSQL, root)
	for r.next() {
		key, child, cycle, generation, live := r.int(), r.bool(), r.int(), r.int(), r.bool()
		i := s.scanCard(r, key, now)
		i.root, i.child, i.cycle, i.generation, i.live = root, child, cycle, generation, live
		all = append(all, &i)
	}
	slices.SortFunc(all, func(a, b *card) int { return cmp.Compare(a.key, b.key) })
	return all, r.close()
}

// present looks a card up and applies the refusals that every action at a till
// has in common, in the order of contract section 4. actions are the program
// types that the action is for.
func (tx *Tx) present(at At, text string, types ...string) (p *presentation, err error) {
	root, err := tx.rootOf(tx.s, at.Shop, text)
	if err != nil {
		return nil, err
	}
	if root == 0 {
		return nil, notFound("card")
	}
	return tx.presentChain(at, root, types...)
}

// inHand reads a chain that exists: all its cards, and those of them that are
// live. The program is the caller's to read.
func (s *Store) inHand(c *conn, at At, root int64, now Time) (p *presentation, all []*card, err error) {
	if all, err = s.chainOf(c, root, now); err != nil {
		return nil, nil, err
	}
	p = &presentation{At: at, newest: all[len(all)-1]}
	for _, c := range all {
		if c.Status != StatusArchived {
			p.instances = append(p.instances, c)
		}
	}
	return p, all, nil
}

// oldest is the live instance that has the chain's state; nil where all are
// archived.
func (p *presentation) oldest() *card {
	if len(p.instances) == 0 {
		return nil
	}
	return p.instances[0]
}

func (tx *Tx) presentChain(at At, root int64, types ...string) (*presentation, error) {
	p, _, err := tx.s.inHand(tx.conn, at, root, tx.Now)
	if err != nil {
		return nil, err
	}
	if p.program, err = tx.s.programByKey(tx.conn, at.Shop, p.newest.program); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains(types, p.program.Type):
		return nil, refuse(Unprocessable, "A card of a %s program does not take this.", p.program.Type)
	case !p.program.worksAt(tx.s, at.Location):
		return nil, refuse(Unprocessable, "The program's cards do not work at this location.")
	case p.program.SuspendedAt.Valid:
		return nil, refuse(CardSuspended, "The program is suspended.")
	case len(p.instances) == 0:
		return nil, refuse(Conflict, "The card is archived.")
	case p.instances[0].Status == StatusExpired:
		return nil, tx.presentedExpired(p)
	case p.instances[0].lockedAt.Valid:
		return nil, refuse(CardSuspended, "The card is locked.")
	}
	return p, nil
}

// worksAt tells whether the program's scope has a location.
func (p *program) worksAt(s *Store, location int64) bool {
	return p.LocationScope == "all_locations" || slices.Contains(p.ScopedLocationIDs, s.ID(KindLocation, location))
}

// presentedExpired refuses an expired card and writes that down, once for each
// date of expiry.
func (tx *Tx) presentedExpired(p *presentation) error {
	c := p.next()
	refusal := refuse(CardExpired, "The card expired on %s.", c.ExpiresAt.V)
	n, err := tx.exec("UPDATE cards SET expiry_noted=?1 WHERE id=?2 AND ifnull(expiry_noted, 0)<>?1", c.ExpiresAt, c.root)
	if err != nil || n == 0 {
		return keepBut(refusal, err)
	}
	if _, err := tx.book(p, c, entry{kind: "expiry"}); err != nil {
		return err
	}
	return &Kept{refusal}
}

func keepBut(refusal *Error, err error) error {
	if err != nil {
		return err
	}
	return refusal
}

// Kept is a refusal beside which the write's changes stay.
type Kept struct{ Refusal *Error }

func (k *Kept) Error() string { return k.Refusal.Error() }

// Unwrap gives the refusal.
func (k *Kept) Unwrap() error { return k.Refusal }

// full tells whether an instance has all its stamps.
func (p *presentation) full(c *card) bool { return c.StampsCount >= p.program.TotalStamps.V }

// next is the instance that takes the next stamp: the oldest that is not full,
// or the newest where all are.
func (p *presentation) next() *card {
	for _, c := range p.instances {
		if !p.full(c) {
			return c
		}
	}
	if len(p.instances) == 0 {
		return p.newest
	}
	return p.instances[len(p.instances)-1]
}

// after are the live instances newer than c.
func (p *presentation) after(c *card) []*card {
	i := slices.Index(p.instances, c)
	return p.instances[i+1:]
}

// entry is a ledger row to be written.
type entry struct {
	kind       string
	stamps     Null[int64]
	value      Null[int64]
	prize      int64
	reverses   int64
	overflowOf int64
	metadata   Null[string]
	reversed   string // type of the row reversed
}

// book writes one ledger row and what follows from it in the card's counts and
// in events. It is the only place where either count changes.
func (tx *Tx) book(p *presentation, c *card, e entry) (key int64, err error) {
	null := func(n int64) Null[int64] { return Null[int64]{n, n != 0} }
	key, err = tx.insert(`INSERT INTO transactions (shop_id, card_id, program_id, location_id, device_id, type, stamps_delta, value_delta, prize_id, cycle,
		reverses_id, overflow_of, metadata, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, p.Shop, c.key, p.program.key, p.Location, p.Device, e.kind,
		e.stamps, e.value, null(e.prize), c.cycle, null(e.reverses), null(e.overflowOf), e.metadata, tx.Now)
	if err != nil {
		return 0, err
	}
	c.StampsCount += e.stamps.V
	c.CurrentValue.V += e.value.V
	if _, err = tx.exec("UPDATE cards SET stamps_count=?, current_value=?, first_location_id=ifnull(first_location_id, ?), updated_at=? WHERE id=?",
		c.StampsCount, c.CurrentValue, p.Location, tx.Now, c.key); err != nil {
		return 0, err
	}
	tx.emitLedger(p, c, key, e)
	return key, tx.audit(p.Shop, "transaction."+e.kind, KindTransaction, key, "")
}

// accept makes an accepted presentation of an invited card its activation.
func (tx *Tx) accept(p *presentation) error {
	for _, c := range p.instances {
		if c.Status != StatusInvited {
			continue
		}
		if _, err := tx.exec("UPDATE cards SET activated_at=?, updated_at=? WHERE id=?", tx.Now, tx.Now, c.key); err != nil {
			return err
		}
		c.activatedAt, c.Status = Some(tx.Now), StatusActive
		tx.emit(pendingEvent{name: eventCardActivated, shop: p.Shop, program: p.program.key, card: c.key})
	}
	return nil
}

// archive ends an instance whose place others have taken.
func (tx *Tx) archive(p *presentation, c *card) error {
	if _, err := tx.exec("UPDATE cards SET archived_at=?, updated_at=? WHERE id=?", tx.Now, tx.Now, c.key); err != nil {
		return err
	}
	c.archivedAt, c.Status = Some(tx.Now), StatusArchived
	p.instances = slices.DeleteFunc(p.instances, func(i *card) bool { return i == c })
	tx.late(pendingEvent{name: eventCardArchived, shop: p.Shop, program: p.program.key, card: c.key})
	return nil
}

// complete ends the card's cycle as a completed one.
func (tx *Tx) complete(c *card) error {
	_, err := tx.exec("INSERT OR IGNORE INTO cycles (card_id, cycle, completed_at) VALUES (?,?,?)", c.key, c.cycle, tx.Now)
	return err
}

// newCycle starts claims afresh.
func (tx *Tx) newCycle(c *card) error {
	c.cycle++
	_, err := tx.exec("UPDATE cards SET cycle=? WHERE id=?", c.cycle, c.key)
	return err
}
