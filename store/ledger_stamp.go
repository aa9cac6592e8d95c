package store

import (
	"encoding/json"
	"slices"
	"time"

	"punchcard/store/event"
)

// Stamped is the answer of every action at a till: the ledger row and the card, and
// the same of the second card if stamps overflowed. The till's OpenAPI document
// calls its schema by this name.
type Stamped struct {
	Transaction         TillTransaction  `json:"transaction"`
	Card                CardDetail       `json:"card"`
	OverflowTransaction *TillTransaction `json:"overflow_transaction,omitempty" doc:"Present when a second card was touched."`
	OverflowCard        *CardDetail      `json:"overflow_card,omitempty"`
}

// Metadata is a part of every action's body: a JSON object of at most 4 KiB that is
// passed to webhooks.
type Metadata struct {
	Metadata Opt[json.RawMessage] `json:"metadata" max:"4096" doc:"Any JSON object of at most 4 KiB, with numbers within the range of a double; passed to v2 webhook payloads."`
}

func (m Metadata) text() Null[string] {
	return Null[string]{string(m.Metadata.V), m.Metadata.Set}
}

// StampFields is the body of a stamp.
type StampFields struct {
	Count      Opt[int64] `json:"count" min:"1" max:"100" doc:"Default 1."`
	SpendCents Opt[int64] `json:"spend_cents" min:"1" max:"100000000" doc:"What was bought; required where the program demands a purchase, else not allowed."`
	OccurredAt Opt[Time]  `json:"occurred_at" doc:"When the stamp was given, if the till could not send it then: at most 7 days ago; later than now counts as now. It moves the sums by day and hour, and nothing else."`
	Metadata
	Once
}

// longestDelay is how long after it was given a till may send a stamp.
const longestDelay = 7 * 24 * time.Hour

// Check validates occurred_at against the time.
func (f StampFields) Check(now Time) []Detail {
	if f.OccurredAt.Set && f.OccurredAt.V < now.Add(-longestDelay) {
		return []Detail{{"occurred_at", "invalid_value", "must be at most 7 days ago"}}
	}
	return nil
}

// occurred returns when the stamps were given, null if the till sent them at once.
func (f StampFields) occurred(now Time) Null[Time] {
	return Null[Time]{min(f.OccurredAt.V, now), f.OccurredAt.Set}
}

// Stamp gives stamps to the oldest live card of the chain that is not full, and the
// rest to the next one. The rules are in store/README.md, "The till's rules".
func (tx *Tx) Stamp(till Till, code string, f StampFields) (out Stamped, err error) {
	if err = tx.checkUnused(till.Shop, f.Once); err != nil {
		return out, err
	}
	if details := f.Check(tx.Now); details != nil {
		return out, Invalid(details...)
	}
	chain, err := tx.chainForAction(till, code, Once{}, ProgramStandard, ProgramPrivate)
	if err != nil {
		return out, err
	}
	expired := tx.expireStamps(chain)
	if err = chain.program.checkSpend(f.SpendCents); err != nil {
		return out, commitRefusal(expired, err)
	}
	plan, err := chain.planStamps(f.Count.Or(1))
	if err == nil {
		err = tx.checkStampsOfDay(chain, plan.stamps+plan.overflow)
	}
	if err != nil {
		return out, commitRefusal(expired, err)
	}
	tx.activateInvited(chain)
	return tx.tillAnswer(chain, tx.bookStamps(chain, plan,
		entry{kind: TransactionStamp, metadata: f.text(), occurred: f.occurred(tx.Now), reference: f.reference()})...)
}

// commitRefusal returns err. If err is a refusal and rows were written before it, it
// returns a CommittedRefusal, so that the rows stay.
func commitRefusal(written bool, err error) error {
	if e, ok := AsError(err); ok && written {
		return &CommittedRefusal{e}
	}
	return err
}

// checkSpend checks a purchase against the minimum that the program demands.
func (p *program) checkSpend(cents Opt[int64]) error {
	switch {
	case p.minSpendCents.Valid && !cents.Set:
		return refuse(SpendRequired, "The program demands a purchase: give spend_cents.")
	case p.minSpendCents.Valid && cents.V < p.minSpendCents.V:
		return refuse(AmountBelowMinStamp, "The purchase is below the %d cents that a stamp demands.", p.minSpendCents.V)
	case !p.minSpendCents.Valid && cents.Set:
		return refuse(SpendNotEnabled, "The program demands no purchase: spend_cents is not allowed.")
	}
	return nil
}

// longestDay is longer than any day of a calendar. With a change of the clocks, a day
// has 25 hours.
const longestDay = 26 * time.Hour

// checkStampsOfDay refuses stamps over the program's maximum for a chain on a day of
// the shop's calendar.
func (tx *Tx) checkStampsOfDay(chain *cardChain, n int64) error {
	max := chain.program.maxStampsPerDay
	if !max.Valid {
		return nil
	}
	given := tx.stampsOfDay(chain)
	if given+n > max.V {
		return refuse(Unprocessable, "The program gives a card at most %d stamps a day; this one has %d of today.", max.V, given)
	}
	return nil
}

// stampsOfDay returns the stamps that a chain was given today, by the shop's calendar.
// Reversed stamps do not count.
func (tx *Tx) stampsOfDay(chain *cardChain) (given int64) {
	sh := tx.cachedShop(chain.Shop)
	zone := Zone(sh.Timezone)
	today := Day(tx.Now.Std().In(zone))
	// Keys grow with created_at, so a bound on the key keeps the query from reading a
	// card's whole ledger.
	for r := range tx.each(`SELECT created_at, stamps_delta FROM transactions WHERE card_id IN (SELECT id FROM cards WHERE id=?1
		OR root_id=?1)
		AND id>=(SELECT id FROM transactions WHERE shop_id=?2 AND created_at>=?3 ORDER BY created_at, id LIMIT 1)
		AND type='stamp' AND reversed_at IS NULL`, chain.newest.root, chain.Shop, tx.Now.Add(-longestDay)) {
		if at, stamps := r.time(), r.int(); Day(at.Std().In(zone)) == today {
			given += stamps
		}
	}
	return given
}

// stampPlan says how stamps are spread over cards: first gets stamps, and second, or
// a new child of parent, gets overflow. If first is nil, the child gets stamps.
type stampPlan struct {
	first, second    *card
	parent           *card
	stamps, overflow int64
}

// planStamps spreads n stamps over the live cards and, if necessary, a new one.
func (chain *cardChain) planStamps(n int64) (plan stampPlan, err error) {
	total := chain.program.TotalStamps.V
	var open []*card
	for _, c := range chain.instances {
		if !chain.isFull(c) {
			open = append(open, c)
		}
	}
	last := chain.instances[len(chain.instances)-1]
	if len(open) == 0 {
		if !chain.program.RepeatAfterReset {
			return plan, refuse(CardFullNoRepeat, "The card is full and the program does not repeat.")
		}
		if n > total {
			return plan, errTooManyStamps
		}
		return stampPlan{parent: last, stamps: n}, nil
	}
	plan.first = open[0]
	plan.stamps = min(n, total-plan.first.StampsCount)
	if plan.stamps == n || !chain.program.RepeatAfterReset {
		return plan, nil
	}
	plan.overflow = n - plan.stamps
	room := total
	if len(open) > 1 {
		plan.second = open[1]
		room -= plan.second.StampsCount
	} else {
		plan.parent = last
	}
	if plan.overflow > room {
		return plan, errTooManyStamps
	}
	return plan, nil
}

var errTooManyStamps = refuse(Unprocessable, "So many stamps would need a third card; give fewer at once.")

// bookStamps writes the rows of a plan, of which e has what both have in common and the
// reference of the first, adds a card if the plan needs one, and
// archives the cards that are complete.
func (tx *Tx) bookStamps(chain *cardChain, plan stampPlan, e entry) []writtenRow {
	first, second := plan.first, plan.second
	if plan.parent != nil {
		child := tx.addOverflowCard(chain, plan.parent)
		if first == nil {
			first = child
		} else {
			second = child
		}
	}
	e.stamps = Some(plan.stamps)
	t, firstKey := tx.book(chain, first, e)
	written := []writtenRow{{t, first}}
	if second != nil {
		e.stamps, e.overflowOf, e.reference = Some(plan.overflow), firstKey, Null[string]{}
		t, _ = tx.book(chain, second, e)
		written = append(written, writtenRow{t, second})
	}
	tx.archiveCompleted(chain)
	return written
}

// addOverflowCard adds a child to the chain, which takes the stamps that its full
// parent cannot.
func (tx *Tx) addOverflowCard(chain *cardChain, parent *card) *card {
	key := tx.insert(`INSERT INTO cards (id, shop_id, program_id, root_id, parent_id, source, `+inherited()+`,
		expires_at, lapsed, activated_at, locked_at, installed_at, platform, live, created_at, updated_at)
		SELECT ?1, shop_id, program_id, ?2, id, 'overflow', `+inherited()+`,
		expires_at, ifnull(expires_at<=?3, 0), activated_at, locked_at, installed_at, platform, 0, ?3, ?3 FROM cards WHERE id=?4`,
		tx.nextKey("cards"), parent.root, tx.Now, parent.key)
	tx.countNewCard()
	c := &card{Card: parent.Card, key: key, program: parent.program, root: parent.root, child: true, activatedAt: parent.activatedAt,
		lockedAt: parent.lockedAt}
	c.ID, c.StampsCount, c.CreatedAt = tx.ID(KindCard, key), 0, tx.Now
	chain.instances = append(chain.instances, c)
	tx.counts.addTotals(c.program, totals{active: oneIf(c.Status == StatusActive)}) // an adjustment leaves the status alone
	tx.emit(pendingEvent{name: event.CardAdded, shop: chain.Shop, program: chain.program.key, card: key, location: chain.Location})
	return c
}

// archiveCompleted archives every full card that has a younger card in its chain and
// whose highest threshold is claimed, or whose program has no prizes.
func (tx *Tx) archiveCompleted(chain *cardChain) {
	if !chain.program.RepeatAfterReset {
		return
	}
	for _, c := range slices.Clone(chain.instances) {
		if chain.isFull(c) && len(chain.youngerThan(c)) > 0 && tx.nothingToClaim(chain, c) {
			tx.completeCycle(c) // statistics count it since it is full and nothing is left to claim
			tx.archiveInstance(chain, c)
		}
	}
}

// highestThreshold returns the highest threshold of the ladder; has is false if
// there are no prizes.
func (p *program) highestThreshold() (threshold int64, has bool) {
	for _, prize := range p.Prizes {
		threshold, has = max(threshold, prize.Threshold), true
	}
	return threshold, has
}

// claimedPrizes returns the prizes claimed in the card's cycle by threshold, or nil
// if there are none.
func (q *queries) claimedPrizes(of *card) (m map[int64]int64) {
	r := q.query("SELECT threshold, prize_id FROM claims WHERE card_id=? AND cycle=?", of.key, of.cycle)
	for r.next() {
		if m == nil {
			m = map[int64]int64{}
		}
		t := r.int()
		m[t] = r.int()
	}
	q.fail(r.close())
	return m
}

// heldRow is the condition on a row of the ledger that it gave stamps which its card may still
// have, if its cycle is the card's.
const heldRow = "type IN ('stamp', 'adjustment') AND stamps_delta>0 AND reversed_at IS NULL AND expired_at IS NULL"

// expireStamps writes an expiry row for each card of the chain that has stamps which
// are too old, and reports whether there were any. Those that a card began with are as old
// as the card. Claims stay, but a card that is left without stamps starts a new cycle, which
// does not count as completed.
func (tx *Tx) expireStamps(chain *cardChain) (any bool) {
	if !chain.program.stampsExpireAfterDays.Valid {
		return false
	}
	before := tx.Now.Add(-time.Duration(chain.program.stampsExpireAfterDays.V) * 24 * time.Hour)
	const old = " FROM transactions WHERE card_id=? AND cycle=? AND created_at<=? AND " + heldRow
	for _, c := range chain.instances {
		n := tx.number("SELECT ifnull(sum(stamps_delta-taken), 0)"+old, c.key, c.cycle, before)
		if c.cycle == 0 && c.openingLeft > 0 && c.CreatedAt <= before {
			n += c.openingLeft
			tx.setOpeningLeft(c, 0)
		}
		if n == 0 {
			continue
		}
		tx.exec("UPDATE transactions SET expired_at=? WHERE id IN (SELECT id"+old+")", tx.Now, c.key, c.cycle, before)
		tx.book(chain, c, entry{kind: TransactionExpiry, stamps: Some(-n)})
		any = true
		if c.StampsCount == 0 {
			tx.startCycle(c)
		}
	}
	return any
}

// setOpeningLeft sets what is left of the stamps that a card began with.
func (tx *Tx) setOpeningLeft(c *card, n int64) {
	c.openingLeft = n
	tx.exec("UPDATE cards SET opening_left=? WHERE id=?", n, c.key)
}

// writtenRow is a ledger row that was written, with its card.
type writtenRow struct {
	row  TillTransaction
	card *card
}

// tillAnswer returns the answer for the rows that were written: one, or two with an
// overflow. It reads no cards, since book and the other writes keep those in memory
// up to date.
func (tx *Tx) tillAnswer(chain *cardChain, written ...writtenRow) (out Stamped, err error) {
	locations := tx.cachedLocations(chain.Shop)
	tx.touchCard(written[0].card.key)
	for i, w := range written {
		w.row.LocationName = locations.all[chain.Location].Name
		d := chain.cardDetail(w.card, locations)
		if i == 0 {
			out.Transaction, out.Card = w.row, d
		} else {
			row, detail := w.row, d // so that only these are allocated
			out.OverflowTransaction, out.OverflowCard = &row, &detail
		}
	}
	return out, nil
}
