package store

import "slices"

// This file has a model of the till (tillModel), written from the rules in store/README.md and not
// from the store's code. It gives the answer of each operation and the cards after it. Where the rules allow
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
	welcome   int64
}

// simCard is one instance of a chain.
type simCard struct {
	id       string // empty until it was read
	chain    *simChain
	stamps   int64
	began    int64 // stamps that it was issued with
	left     int64 // of began, those that neither expired nor were taken
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
	noted         Time // the expiry for which the ledger has a row
	made          Time
	firstLocation int // of the issue at a counter, or of the first accepted presentation; -1 for none
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
	occurred      Null[Time] // of a stamp that the till sent later
	cycle         int
	pair          *simRow
	reversed      bool
	expired       bool
	taken         int64 // of its stamps, by later adjustments
	reverses      *simRow
	overflow      bool // the second row of its pair
}

type tillModel struct {
	occurred Null[Time] // occurred_at of the next stamp
	maxCards int        // max_cards of the shop; 0 for none
	now      Time
	chains   []*simChain
	rows     []*simRow
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

// checkWelcome returns the code with which n stamps of a new card are refused, or "".
func (p *simProgram) checkWelcome(n int64) Code {
	reached := slices.ContainsFunc(p.prizes, func(z simPrize) bool { return z.threshold <= n })
	if n > 0 && (reached || n >= p.total) {
		return Unprocessable
	}
	return ""
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
	switch {
	case p.suspended, m.isFull():
		return nil, Unprocessable
	case m.refIsTaken(p, ref, nil):
		return nil, Conflict
	}
	h := &simChain{program: p, ref: ref, made: m.now, firstLocation: -1}
	h.setDefaultExpiry(m.now)
	c := h.addChild()
	c.stamps, c.began, c.left = p.welcome, p.welcome, p.welcome
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
		return h != but && h.program == p && h.ref == ref && h.isLive(m.now)
	})
}

// isLive reports whether a chain counts for max_cards and for the rule of one live card.
func (h *simChain) isLive(now Time) bool { return !h.erased && !h.expired(now) && len(h.live()) > 0 }

// isFull reports whether the shop has as many live cards as it may have.
func (m *tillModel) isFull() bool {
	n := 0
	for _, h := range m.chains {
		if h.isLive(m.now) {
			n++
		}
	}
	return m.maxCards > 0 && n >= m.maxCards
}

// checkRevival returns the code with which it is refused that an expired chain becomes live, or "".
func (m *tillModel) checkRevival(h *simChain, ref string) Code {
	switch {
	case m.refIsTaken(h.program, ref, h):
		return Conflict
	case m.isFull():
		return Unprocessable
	}
	return ""
}

func (m *tillModel) addRow(r *result, c *simCard, row simRow) *simRow {
	row.card, row.at, row.cycle = c, m.now, c.cycle
	// Choice: adjustments and imports may fill the first card before anything is presented; a row of a later card counts then.
	if c.chain.firstLocation < 0 && row.kind != "expiry" && row.kind != "adjustment" {
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
		if c.cycle == 0 && h.made <= m.now.Add(-days(h.program.stampDays)) {
			lost, c.left = c.left, 0
		}
		for _, row := range m.rows {
			if row.isHeld(c) && row.at <= m.now.Add(-days(h.program.stampDays)) {
				row.expired = true
				lost += row.stamps.V - row.taken
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

// isHeld reports whether the row gave stamps that the card may still have.
func (r *simRow) isHeld(c *simCard) bool {
	gave := r.kind == "stamp" || r.kind == "adjustment" && r.stamps.V > 0
	return r.card == c && gave && !r.reversed && !r.expired && r.cycle == c.cycle
}

func (c *simCard) startCycle() {
	c.cycle++
	c.claims = map[int64]*simRow{}
}
