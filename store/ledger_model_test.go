package store

import "slices"

// This file has a model of the till (tillModel), written from the rules in store/README.md and not
// from the store's code: the answer of each operation and the cards after it. Where the rules allow
// several results, "choice" marks the one that the store gives.

type simPrize struct {
	id        string
	threshold int64
}

type simProgram struct {
	id, kind  string
	total     int64
	repeat    bool
	prizes    []simPrize
	stampDays int   // stamps_expire_after_days; 0 for none
	cardDays  int   // default_expire_after_days; 0 for none
	minSpend  int64 // minimum spend; 0 for none
	initial   int64 // initial balance, prepaid only
	scoped    bool  // only at the first location
	suspended bool
	frozen    bool // a card was installed
}

// simCard is one instance of a chain.
type simCard struct {
	id       string // empty until it was read
	chain    *simChain
	stamps   int64
	value    int64
	archived bool
	cycle    int
	done     map[int]bool // completed cycles
	claims   map[int64]*simRow
}

// simChain is a holder's card: what all its instances share.
type simChain struct {
	program       *simProgram
	cards         []*simCard
	ref           string
	active        bool
	installed     bool
	platform      string
	locked        bool
	erased        bool
	expires       Time // 0 for none
	noted         Time // the date of expiry for which the ledger has a row
	made          Time
	firstLocation int // of the counter issue or first accepted presentation; -1 for none yet
	link          string
	linkUntil     Time
	generation    int64
}

type simRow struct {
	id            string
	card          *simCard
	kind          string
	stamps, value Null[int64]
	prize         string
	location      int
	at            Time
	cycle         int
	pair          *simRow
	reversed      bool
	expired       bool
	reverses      *simRow
	overflow      bool // the second row of its pair
}

type tillModel struct {
	now    Time
	chains []*simChain
	rows   []*simRow
}

// result is the expected result of an operation.
type result struct {
	code          Code // empty if accepted
	rows          []*simRow
	first, second *simRow // in the answer
}

func resultOf(code Code) result { return result{code: code} }

func (p *simProgram) collectsStamps() bool { return p.kind == "standard" || p.kind == "private" }

func (p *simProgram) highestThreshold() (int64, bool) {
	if len(p.prizes) == 0 {
		return 0, false
	}
	return slices.MaxFunc(p.prizes, func(a, b simPrize) int { return int(a.threshold - b.threshold) }).threshold, true
}

func (c *simCard) isFull() bool { return c.stamps >= c.chain.program.total }

// isComplete reports whether a card is full and its highest threshold is claimed or the program has
// no prizes.
func (c *simCard) isComplete() bool {
	top, has := c.chain.program.highestThreshold()
	return c.isFull() && (!has || c.claims[top] != nil)
}

func (h *simChain) live() (list []*simCard) {
	for _, c := range h.cards {
		if !c.archived {
			list = append(list, c)
		}
	}
	return list
}

func (h *simChain) expired(now Time) bool { return h.expires != 0 && h.expires <= now }

func (c *simCard) status(now Time) string {
	switch h := c.chain; {
	case c.archived:
		return StatusArchived
	case h.expired(now):
		return StatusExpired
	case h.locked:
		return StatusLocked
	case !h.active:
		return StatusInvited
	}
	return StatusActive
}

// shown returns the card that takes the next stamp: the oldest live one that is not full. Choice:
// the newest if all are full, and the newest of all if none is live.
func (h *simChain) shown() *simCard {
	live := h.live()
	for _, c := range live {
		if h.program.collectsStamps() && !c.isFull() {
			return c
		}
	}
	if len(live) > 0 {
		return live[len(live)-1]
	}
	return h.cards[len(h.cards)-1]
}

func (h *simChain) addChild() *simCard {
	c := &simCard{chain: h, done: map[int]bool{}, claims: map[int64]*simRow{}, value: h.program.initial}
	h.cards = append(h.cards, c)
	return c
}

func (m *tillModel) issue(p *simProgram, ref string) (*simChain, Code) {
	if p.suspended {
		return nil, Unprocessable
	}
	if m.refIsTaken(p, ref, nil) {
		return nil, Conflict
	}
	h := &simChain{program: p, ref: ref, made: m.now, firstLocation: -1}
	h.setDefaultExpiry(m.now)
	h.addChild()
	m.chains = append(m.chains, h)
	return h, ""
}

func (h *simChain) setDefaultExpiry(now Time) {
	if h.expires = 0; h.program.cardDays > 0 {
		h.expires = now.Add(days(h.program.cardDays))
	}
}

// refIsTaken reports whether another live chain of the program has the reference.
func (m *tillModel) refIsTaken(p *simProgram, ref string, but *simChain) bool {
	return ref != "" && slices.ContainsFunc(m.chains, func(h *simChain) bool {
		return h != but && h.program == p && h.ref == ref && !h.erased && !h.expired(m.now) && len(h.live()) > 0
	})
}

func (m *tillModel) addRow(r *result, c *simCard, row simRow) *simRow {
	row.card, row.at, row.cycle = c, m.now, c.cycle
	if c.chain.firstLocation < 0 && row.kind != "expiry" {
		c.chain.firstLocation = row.location
	}
	c.stamps += row.stamps.V
	c.value += row.value.V
	m.rows = append(m.rows, &row)
	r.rows = append(r.rows, &row)
	return &row
}

// checkAction returns the refusals that all actions share, in order.
func (m *tillModel) checkAction(h *simChain, location int, kinds ...string) (r result) {
	p := h.program
	switch {
	case h.erased:
		return resultOf(NotFound)
	case !slices.Contains(kinds, p.kind):
		return resultOf(Unprocessable)
	case p.scoped && location != 0:
		return resultOf(Unprocessable)
	case p.suspended:
		return resultOf(CardSuspended)
	case len(h.live()) == 0:
		return resultOf(Conflict)
	case h.expired(m.now):
		r = resultOf(CardExpired)
		if h.noted != h.expires {
			h.noted = h.expires
			m.addRow(&r, h.shown(), simRow{kind: "expiry", location: location}) // choice: on the instance that is shown
		}
		return r
	case h.locked:
		return resultOf(CardSuspended)
	}
	return r
}

// expireStamps expires old stamps. Choice: stamps of exactly that age expire too, and there is one
// row for each card that lost stamps.
func (m *tillModel) expireStamps(r *result, h *simChain, location int) {
	if h.program.stampDays == 0 {
		return
	}
	for _, c := range h.live() {
		lost := int64(0)
		for _, row := range m.rows {
			if row.card == c && row.kind == "stamp" && !row.reversed && !row.expired && row.cycle == c.cycle && row.at <= m.now.Add(-days(h.program.stampDays)) {
				row.expired = true
				lost += row.stamps.V
			}
		}
		if lost == 0 {
			continue
		}
		m.addRow(r, c, simRow{kind: "expiry", location: location, stamps: Some(-lost)})
		if c.stamps == 0 {
			c.startCycle()
		}
	}
}

func (c *simCard) startCycle() {
	c.cycle++
	c.claims = map[int64]*simRow{}
}

func (m *tillModel) stamp(h *simChain, location int, n int64, spend Null[int64]) result {
	r := m.checkAction(h, location, "standard", "private")
	if r.code != "" {
		return r
	}
	p := h.program
	m.expireStamps(&r, h, location)
	switch {
	case p.minSpend > 0 && !spend.Valid:
		r.code = SpendRequired
	case p.minSpend > 0 && spend.V < p.minSpend:
		r.code = AmountBelowMinStamp
	case p.minSpend == 0 && spend.Valid:
		r.code = SpendNotEnabled
	}
	if r.code != "" {
		return r
	}
	// The stamps fill the open instances in order, then a new one; at most two in all.
	type share struct {
		c *simCard // nil for a new one
		n int64
	}
	var shares []share
	rest := n
	for _, c := range h.live() {
		if room := p.total - c.stamps; room > 0 && rest > 0 {
			shares = append(shares, share{c, min(room, rest)})
			rest -= min(room, rest)
			if !p.repeat {
				rest = 0 // the rest is dropped
			}
		}
	}
	if !p.repeat && len(shares) == 0 {
		r.code = CardFullNoRepeat
		return r
	}
	fresh := 0
	for ; rest > 0; rest -= min(rest, p.total) {
		shares = append(shares, share{nil, min(rest, p.total)})
		fresh++
	}
	// Choice: a full card is one of the two, so a stamp opens one card at most.
	if len(shares) > 2 || fresh > 1 {
		r.code = Unprocessable
		return r
	}
	h.active = true
	for i, s := range shares {
		if s.c == nil {
			s.c = h.addChild()
		}
		row := m.addRow(&r, s.c, simRow{kind: "stamp", location: location, stamps: Some(s.n)})
		if i == 0 {
			r.first = row
			continue
		}
		r.second, row.overflow = row, true
		row.pair, r.first.pair = r.first, row
	}
	// Choice: a complete card with a younger live one is archived by any stamp, also by the one
	// that filled it and overflowed.
	live := h.live()
	for _, c := range live[:len(live)-1] {
		if p.repeat && c.isComplete() {
			c.done[c.cycle] = true
			c.archived = true
		}
	}
	return r
}

func (m *tillModel) redeem(h *simChain, location int, prize string) result {
	r := m.checkAction(h, location, "standard", "private")
	if r.code != "" {
		return r
	}
	p := h.program
	m.expireStamps(&r, h, location)
	i := slices.IndexFunc(p.prizes, func(z simPrize) bool { return z.id == prize })
	if i < 0 {
		r.code = NotFound
		return r
	}
	threshold := p.prizes[i].threshold
	var c *simCard
	// Choice: already claimed if any live instance has reached it, else not reached.
	r.code = Unprocessable
	live := h.live()
	for _, l := range live {
		if l.stamps >= threshold {
			r.code = ThresholdAlreadyClaimed
			if l.claims[threshold] == nil {
				c, r.code = l, ""
				break
			}
		}
	}
	if c == nil {
		return r
	}
	h.active = true
	top, _ := p.highestThreshold()
	completes, alone := c.isFull() && threshold == top, live[len(live)-1] == c
	row := simRow{kind: "redemption", location: location, stamps: Some[int64](0), prize: prize}
	if completes && p.repeat && alone {
		row.stamps.V = -c.stamps
	}
	r.first = m.addRow(&r, c, row)
	c.claims[threshold] = r.first
	if completes {
		c.done[c.cycle] = true
		if p.repeat && alone {
			c.startCycle()
		} else if p.repeat {
			c.archived = true
		}
	}
	return r
}

func (m *tillModel) changeBalance(h *simChain, location int, kind string, cents int64) result {
	r := m.checkAction(h, location, "prepaid")
	if r.code != "" {
		return r
	}
	c := h.live()[0]
	if c.value+cents < 0 {
		return resultOf(PrepaidInsufficientBalance)
	}
	h.active = true
	r.first = m.addRow(&r, c, simRow{kind: kind, location: location, value: Some(cents)})
	return r
}

func (m *tillModel) use(h *simChain, location int) result {
	r := m.checkAction(h, location, "access", "discount")
	if r.code != "" {
		return r
	}
	h.active = true
	r.first = m.addRow(&r, h.live()[0], simRow{kind: h.program.kind, location: location})
	return r
}

// reverse reverses a row. Choices: it neither activates a card nor expires stamps. The rules are
// checked for the named row first, then for the other of its pair, in this order: type, reversed
// already, completed cycle, expired stamps, archived, below zero.
func (m *tillModel) reverse(t *simRow, location int) result {
	h := t.card.chain
	if t.location != location {
		return resultOf(NotFound)
	}
	r := m.checkAction(h, location, programTypes...)
	if r.code != "" {
		return r
	}
	pair := []*simRow{t}
	if t.pair != nil {
		pair = append(pair, t.pair)
	}
	for _, row := range pair {
		c := row.card
		switch {
		case row.kind == "reversal" || row.kind == "expiry":
			return resultOf(Unprocessable)
		case row.reversed:
			return resultOf(Conflict)
		case c.done[row.cycle]:
			return resultOf(CannotReverseCompletedCycle)
		case row.expired:
			return resultOf(Unprocessable)
		case c.archived:
			return resultOf(Conflict)
		case c.stamps < row.stamps.V:
			return resultOf(Unprocessable)
		case c.value < row.value.V:
			return resultOf(PrepaidInsufficientBalance)
		}
	}
	for i, row := range pair {
		opposite := simRow{kind: "reversal", location: location, prize: row.prize, reverses: row,
			stamps: Null[int64]{-row.stamps.V, row.stamps.Valid}, value: Null[int64]{-row.value.V, row.value.Valid}}
		back := m.addRow(&r, row.card, opposite)
		row.reversed = true
		for threshold, claim := range row.card.claims {
			if claim == row {
				delete(row.card.claims, threshold)
			}
		}
		if i == 0 {
			r.first = back
		} else {
			r.second = back
		}
	}
	// A child without stamps is archived. Choices: whichever reversal removed them, the younger one
	// first, and never the last live card of its chain.
	for i := len(h.cards) - 1; i > 0; i-- {
		c := h.cards[i]
		touched := slices.ContainsFunc(pair, func(row *simRow) bool { return row.card == c && row.kind == "stamp" })
		if touched && c.stamps == 0 && len(h.live()) > 1 {
			c.archived = true
		}
	}
	return r
}

// lock and archive change the whole chain, whichever instance is named.
func (m *tillModel) lock(c *simCard, lock bool) Code {
	switch h := c.chain; {
	case h.erased:
		return NotFound
	case len(h.live()) == 0 || h.expired(m.now): // the rule is about the chain, whichever card is named
		return Conflict
	default:
		h.locked = lock
	}
	return ""
}

func (m *tillModel) archive(c *simCard) Code {
	if c.chain.erased {
		return NotFound
	}
	for _, i := range c.chain.cards {
		i.archived = true
	}
	return ""
}

func (m *tillModel) erase(c *simCard) Code {
	if c.chain.erased {
		return NotFound
	}
	c.chain.erased = true
	return ""
}

// reissue reissues a chain; until is 0 without expires_at. Choice: an archived instance is refused,
// also while others of its chain are live, as by patch.
func (m *tillModel) reissue(c *simCard, until Time) Code {
	h := c.chain
	switch {
	case h.erased:
		return NotFound
	case c.archived:
		return Conflict
	case h.program.suspended:
		return Unprocessable
	case h.expired(m.now):
		if m.refIsTaken(h.program, h.ref, h) {
			return Conflict
		}
		h.setDefaultExpiry(m.now)
	}
	if until != 0 {
		h.expires = until
	}
	h.active, h.installed, h.locked = false, false, false
	h.generation++
	return ""
}

// patch changes expires_at (0 for null) or the reference.
func (m *tillModel) patch(c *simCard, expires Null[Time], ref string) Code {
	h := c.chain
	switch {
	case h.erased:
		return NotFound
	case c.archived:
		return Conflict
	case !expires.Valid:
		if !h.expired(m.now) && ref != h.ref && m.refIsTaken(h.program, ref, h) {
			return Conflict
		}
		h.ref = ref
		return ""
	case h.installed:
		return CardLocked
	case h.expired(m.now) && m.refIsTaken(h.program, h.ref, h):
		return Conflict
	}
	h.expires = expires.V
	return ""
}

func (m *tillModel) install(h *simChain, platform string) Code {
	switch {
	case h.erased:
		return NotFound
	case h.linkUntil <= m.now:
		return Gone
	case len(h.live()) == 0:
		return Gone
	case h.expired(m.now):
		return CardExpired
	case h.locked:
		return Conflict
	}
	if !h.installed {
		h.active, h.installed, h.platform, h.program.frozen = true, true, platform, true
	}
	return ""
}
