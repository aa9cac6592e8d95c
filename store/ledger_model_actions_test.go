package store

import "slices"

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
	m.give(&r, h, n, simRow{kind: "stamp", location: location, occurred: Null[Time]{min(m.occurred.V, m.now), m.occurred.Valid}})
	if r.code == "" {
		h.active = true
	}
	return r
}

// give spreads n stamps over the cards of a chain, one row for each.
func (m *tillModel) give(r *result, h *simChain, n int64, row simRow) {
	p := h.program
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
		return
	}
	fresh := 0
	for ; rest > 0; rest -= min(rest, p.total) {
		shares = append(shares, share{nil, min(rest, p.total)})
		fresh++
	}
	// Choice: a full card is one of the two, so a stamp opens one card at most.
	if len(shares) > 2 || fresh > 1 {
		r.code = Unprocessable
		return
	}
	if row.kind == "adjustment" && !p.repeat && shares[0].n < n {
		r.code = Unprocessable
		return
	}
	for i, s := range shares {
		if s.c == nil {
			s.c = h.addChild()
		}
		row.stamps = Some(s.n)
		row := m.addRow(r, s.c, row)
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
}

// adjust gives or takes n stamps or cents. Choices: a card that loses its last stamp keeps its cycle, unless
// that is complete; a child that is left with nothing stays.
func (m *tillModel) adjust(h *simChain, location int, n int64, money bool) (r result) {
	p, live := h.program, h.live()
	row := simRow{kind: "adjustment", location: location}
	have := int64(0)
	for _, c := range live {
		have += c.stamps
	}
	switch {
	case h.erased:
		r.code = NotFound
	case len(live) == 0:
		r.code = Conflict
	case money != (p.kind == "prepaid") || !money && !p.collectsStamps() || p.scoped && location != 0:
		r.code = Unprocessable
	case money && live[0].value+n < 0:
		r.code = PrepaidInsufficientBalance
	case money:
		row.value = Some(n)
		m.addRow(&r, live[0], row)
	case n > 0:
		m.give(&r, h, n, row)
	case have < -n:
		r.code = Unprocessable
	default:
		m.take(&r, live, -n, row)
	}
	return r
}

func (m *tillModel) take(r *result, live []*simCard, n int64, row simRow) {
	for _, c := range slices.Backward(live) {
		k := min(n, c.stamps)
		if k == 0 {
			continue
		}
		n -= k
		row.stamps = Some(-k)
		for _, given := range slices.Backward(m.rows) {
			if given.isHeld(c) {
				taken := min(k, given.stamps.V-given.taken)
				given.taken += taken
				k -= taken
			}
		}
		c.left -= k
		if m.addRow(r, c, row); c.stamps == 0 && c.done[c.cycle] {
			c.startCycle()
		}
	}
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
	// Choice: the refusal is ThresholdAlreadyClaimed if any live instance has reached the threshold,
	// else that it is not reached.
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
		case row.kind == "reversal" || row.kind == "expiry" || row.kind == "adjustment":
			return resultOf(Unprocessable)
		case row.reversed:
			return resultOf(Conflict)
		case c.done[row.cycle]:
			return resultOf(CannotReverseCompletedCycle)
		case row.expired || row.taken > 0:
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
	// A child without stamps is archived. Choices: it does not matter which reversal removed the
	// stamps, the youngest child is archived first, and the last live card of a chain stays.
	for i := len(h.cards) - 1; i > 0; i-- {
		c := h.cards[i]
		touched := slices.ContainsFunc(pair, func(row *simRow) bool { return row.card == c && row.kind == "stamp" })
		if touched && c.stamps == 0 && len(h.live()) > 1 {
			c.archived = true
		}
	}
	return r
}

// lock locks or unlocks the whole chain, whichever instance is named.
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

// archive archives the whole chain, whichever instance is named.
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

// reissue reissues a chain; until is 0 if the request has no expires_at. Choice: an archived instance
// is refused, as by patch, also while other instances of its chain are live.
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
		if code := m.checkRevival(h, h.ref); code != "" {
			return code
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

// patch changes expires_at (0 for null), the reference (empty for null), both or none.
func (m *tillModel) patch(c *simCard, expires Null[Time], ref Null[string]) Code {
	h, wanted := c.chain, c.chain.ref
	if ref.Valid {
		wanted = ref.V
	}
	switch {
	case h.erased:
		return NotFound
	case !expires.Valid && !ref.Valid:
		return ""
	case c.archived:
		return Conflict
	case expires.Valid && h.installed:
		return CardLocked
	case expires.Valid && h.expired(m.now):
		if code := m.checkRevival(h, wanted); code != "" {
			return code
		}
	case !h.expired(m.now) && wanted != h.ref && m.refIsTaken(h.program, wanted, h):
		return Conflict
	}
	h.ref = wanted
	if expires.Valid {
		h.expires = expires.V
	}
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
