package store

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"punchcard/store/event"
)

// At is where and by what a card is presented.
type At struct {
	Shop, Location, Device int64
}

// presentation is a card in the hands of a till: its whole chain and its
// program. A code stands for its chain (contract section 4).
type presentation struct {
	At
	program   *program // shared: not to be changed
	instances []*card  // neither archived nor erased, oldest first
	newest    *card    // of all that are not erased, archived or not
}

// code makes what a card's QR code holds. It names the chain and dies with the
// next reissue.
func (s *Store) code(root, generation int64) string {
	return string(s.seal(nil, kindCode, uint64(generation), root))
}

// chainCols are what every query of a chain selects.
var chainCols = append([]string{epochColumn, "c.id", "c.root_id IS NOT NULL", "c.cycle", "c.code_generation", "c.live", "c.first_location_id IS NULL", "c.last_stamp_at"}, cardCols...)

// Of a chain that is known by its root, and of one that a card of it names.
const (
	chainOfRoot = " FROM cards c WHERE (c.id=?1 OR c.root_id=?1) AND c.deleted_at IS NULL"
	chainOfCard = " FROM (SELECT ifnull(root_id, id) AS root FROM cards WHERE id=?1 AND shop_id=?2) r" +
		" JOIN cards c ON (c.id=r.root OR c.root_id=r.root) AND c.deleted_at IS NULL"
)

var (
	chainSQL      = "SELECT " + columns(chainCols...) + chainOfRoot
	namedChainSQL = "SELECT " + columns(chainCols...) + chainOfCard
)

// readChain reads every instance of a chain, oldest first, with a query that
// has chainCols; more, if set, is called at each card's row. It also gives the
// auth epoch that came along.
func (s *Store) readChain(c *conn, now Time, more func(*card) error, sql string, args ...any) (all []*card, epoch int64, err error) {
	r := c.query(sql, args...)
	for r.next() {
		epoch = r.int()
		key, child, cycle, generation, live := r.int(), r.bool(), r.int(), r.int(), r.bool()
		unplaced, lastStamp := r.bool(), r.nullTime()
		i := s.scanCard(r, key, now)
		i.unplaced, i.lastStamp = unplaced, lastStamp
		i.child, i.cycle, i.generation, i.live = child, cycle, generation, live
		if more != nil {
			if merr := more(&i); merr != nil {
				return nil, 0, errors.Join(merr, r.close())
			}
		}
		all = append(all, &i)
	}
	if err := r.close(); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(all, func(a, b *card) int { return cmp.Compare(a.key, b.key) })
	for _, i := range all {
		i.root = all[0].key
	}
	return all, epoch, nil
}

// asTyped takes out what people put between the groups of a code they type,
// and reads the letters that codes do not have as the digits they look like.
var asTyped = strings.NewReplacer(" ", "", "-", "", "o", "0", "i", "1", "l", "1")

// namedChain reads the chain that a card's id or code names; none where there
// is no such card in the shop, or the code is an old one.
func (s *Store) namedChain(c *conn, shop int64, text string, now Time, more func(*card) error, sql string, args ...any) (all []*card, epoch int64, err error) {
	generation, isCode := uint64(0), false
	key, ok := s.Key(KindCard, text)
	if !ok {
		if generation, key, isCode = s.IDs.openAny(kindCode, asTyped.Replace(strings.ToLower(text))); !isCode {
			return nil, 0, nil
		}
	}
	all, epoch, err = s.readChain(c, now, more, sql, append([]any{key, shop}, args...)...)
	if isCode && len(all) > 0 && all[0].generation != int64(generation) {
		return nil, epoch, err
	}
	return all, epoch, err
}

// present looks a card up and applies the refusals that every action at a till
// has in common, in the order of contract section 4. actions are the program
// types that the action is for.
func (tx *Tx) present(at At, text string, types ...string) (p *presentation, err error) {
	all, _, err := tx.s.namedChain(tx.conn, at.Shop, text, tx.Now, nil, namedChainSQL)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, notFound("card")
	}
	return tx.presentChain(inHand(at, all), types...)
}

// inHand is a chain that was read, without its program.
func inHand(at At, all []*card) *presentation {
	p := &presentation{At: at, newest: all[len(all)-1]}
	for _, c := range all {
		if c.Status != StatusArchived {
			p.instances = append(p.instances, c)
		}
	}
	return p
}

// chain is the chain of a root that exists.
func (tx *Tx) chain(at At, root int64) (*presentation, error) {
	all, _, err := tx.s.readChain(tx.conn, tx.Now, nil, chainSQL, root)
	if err != nil {
		return nil, err
	}
	return inHand(at, all), nil
}

// of notes the program of the chain's cards.
func (p *presentation) of(program *program) {
	p.program = program
	p.newest.of(program)
	for _, c := range p.instances {
		c.of(program)
	}
}

// oldest is the live instance that has the chain's state; nil where all are
// archived.
func (p *presentation) oldest() *card {
	if len(p.instances) == 0 {
		return nil
	}
	return p.instances[0]
}

func (tx *Tx) presentChain(p *presentation, types ...string) (*presentation, error) {
	program, err := tx.keptProgram(p.Shop, p.newest.program)
	if err != nil {
		return nil, err
	}
	p.of(program)
	switch {
	case !slices.Contains(types, p.program.Type):
		return nil, refuse(Unprocessable, "A card of a %s program does not take this.", p.program.Type)
	case !p.program.worksAt(tx.s, p.Location):
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
	if _, _, err := tx.book(p, c, entry{kind: "expiry"}); err != nil {
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
// in events. It is the only place where either count changes. The row that it
// answers lacks the location's name.
func (tx *Tx) book(p *presentation, c *card, e entry) (t Transaction, key int64, err error) {
	null := func(n int64) Null[int64] { return Null[int64]{n, n != 0} }
	id, err := tx.nextKey("transactions")
	if err != nil {
		return t, 0, err
	}
	key, err = tx.insert(`INSERT INTO transactions (id, shop_id, card_id, program_id, location_id, device_id, type, stamps_delta, value_delta, prize_id, cycle,
		reverses_id, overflow_of, metadata, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, id, p.Shop, c.key, p.program.key, p.Location, p.Device, e.kind,
		e.stamps, e.value, null(e.prize), c.cycle, null(e.reverses), null(e.overflowOf), e.metadata, tx.Now)
	if err != nil {
		return t, 0, err
	}
	had := c.StampsCount > 0
	c.StampsCount += e.stamps.V
	c.CurrentValue.V += e.value.V
	if err = tx.countBooked(p, c, e, had); err != nil {
		return t, 0, err
	}
	if _, err = tx.exec("UPDATE cards SET stamps_count=?, current_value=?, first_location_id=ifnull(first_location_id, ?), last_stamp_at=?, updated_at=? WHERE id=?",
		c.StampsCount, c.CurrentValue, p.Location, c.lastStamp, tx.Now, c.key); err != nil {
		return t, 0, err
	}
	tx.emitLedger(p, c, key, e)
	t = Transaction{ID: tx.s.ID(KindTransaction, key), CardID: c.ID, ProgramID: c.ProgramID, Type: e.kind, LocationID: tx.s.ID(KindLocation, p.Location),
		StampsDelta: e.stamps, ValueDelta: e.value, CreatedAt: tx.Now}
	if e.prize != 0 {
		t.PrizeID = Some(tx.s.ID(KindPrize, e.prize))
	}
	return t, key, tx.audit(p.Shop, "transaction."+e.kind, KindTransaction, key, "")
}

// countBooked counts a row that book writes, and what it changes of its card.
func (tx *Tx) countBooked(p *presentation, c *card, e entry, had bool) error {
	tx.countRow(p.Shop, p.program.key, p.Location, tx.Now, e.kind, e.stamps.V, e.value.V, 1)
	t := totals{balance: e.value.V}
	if e.kind == "stamp" {
		if c.lastStamp.Valid {
			t.span, t.gaps = int64(tx.Now-c.lastStamp.V), 1
		}
		c.lastStamp = Some(tx.Now)
	}
	if has := c.StampsCount > 0; has != had {
		t.open = oneIf(has) - oneIf(had)
		if e.kind == "expiry" { // of a completed cycle's stamps: it was not open
			n, err := tx.number("SELECT count(*) FROM cycles WHERE card_id=? AND cycle=?", c.key, c.cycle)
			if err != nil {
				return err
			}
			if n > 0 {
				t.open = 0
			}
		}
	}
	if c.unplaced && !c.child {
		tx.countPlace(p.program.key, p.Location)
	}
	c.unplaced = false
	tx.counts.total(p.program.key, t)
	return nil
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
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
		tx.emit(pendingEvent{name: event.CardActivated, shop: p.Shop, program: p.program.key, card: c.key})
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
	tx.late(pendingEvent{name: event.CardArchived, shop: p.Shop, program: p.program.key, card: c.key})
	return nil
}

// complete ends the card's cycle as a completed one.
func (tx *Tx) complete(c *card) error {
	n, err := tx.exec("INSERT OR IGNORE INTO cycles (card_id, cycle, completed_at) VALUES (?,?,?)", c.key, c.cycle, tx.Now)
	if err == nil && n > 0 {
		tx.counts.total(c.program, totals{completed: 1, open: -oneIf(c.StampsCount > 0)})
	}
	return err
}

// newCycle starts claims afresh.
func (tx *Tx) newCycle(c *card) error {
	c.cycle++
	_, err := tx.exec("UPDATE cards SET cycle=? WHERE id=?", c.cycle, c.key)
	return err
}
