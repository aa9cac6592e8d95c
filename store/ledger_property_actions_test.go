package store

import (
	"path"
	"time"
)

// location returns the index of a till: mostly 0, sometimes 1.
func (s *simulation) location() int { return s.draw("not here", 0, 7) / 7 }

func (s *simulation) issue() {
	p, ref := s.anyProgram(), pick(s, "ref", "", "ada", "grace")
	h, code := s.model.issue(p, ref)
	out, err := attempt(s.f, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueCard(s.f.a, p.id, CardFields{ExternalRef: optional(ref)}, SourceAPI)
	})
	s.recordIssue(h, code, out, err)
}

// counter issues a card at a till.
func (s *simulation) counter() {
	p, ref, at := s.anyProgram(), pick(s, "ref", "", "ada"), s.location()
	h, code := (*simChain)(nil), Unprocessable
	if !p.scoped || at == 0 {
		h, code = s.model.issue(p, ref)
	}
	out, err := attempt(s.f, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueAtCounter(s.tills[at].device, p.id, CounterFields{ExternalRef: optional(ref)})
	})
	if h != nil {
		h.active, h.firstLocation = true, at
	}
	s.recordIssue(h, code, out, err)
}

func (s *simulation) recordIssue(h *simChain, code Code, out IssuedCard, err error) {
	s.checkCode(code, err)
	if h != nil {
		h.setLink(out)
		s.compareChain(h)
	}
	s.compareLedger(nil)
}

func (h *simChain) setLink(out IssuedCard) {
	h.link, h.linkUntil = path.Base(out.InstallURL), out.InstallURLExpiresAt
}

// act performs an action in the store and in the model, at a random till, and compares the results.
func (s *simulation) act(
	c *simCard,
	do func(tx *Tx, at Till, text string) (Stamped, error),
	expect func(h *simChain, location int) result,
) {
	location := s.location()
	text, dead := s.idOrCode(c)
	want := resultOf(NotFound)
	if !dead {
		want = expect(c.chain, location)
	}
	out, err := attempt(s.f, func(tx *Tx) (Stamped, error) { return do(tx, s.tills[location].device, text) })
	s.compareResult(c.chain, want, out, err)
}

func (s *simulation) stamp() {
	c := s.card((*simProgram).collectsStamps)
	if c == nil {
		return
	}
	n := int64(s.draw("count", 1, int(c.chain.program.total)+2))
	if s.chance("sent later", 3) {
		s.model.occurred = Some(s.model.now.Add(time.Duration(s.draw("minutes ago", -60, 7*24*60)) * -time.Minute))
		s.tally["sent later"]++
	}
	var spend Null[int64]
	if c.chain.program.minSpend > 0 != s.chance("wrong about spending", 10) {
		spend = Some(pick[int64](s, "spend", 500, 499, 2000))
	}
	s.act(c, func(tx *Tx, at Till, text string) (Stamped, error) {
		return tx.Stamp(
			at,
			text,
			StampFields{
				Count:      set(n),
				SpendCents: Opt[int64]{V: spend.V, Set: spend.Valid},
				OccurredAt: Opt[Time]{V: s.model.occurred.V, Set: s.model.occurred.Valid},
			},
		)
	}, func(h *simChain, location int) result { return s.model.stamp(h, location, n, spend) })
	s.model.occurred = Null[Time]{}
}

func (s *simulation) redeem() {
	c := s.card(func(p *simProgram) bool { return len(p.prizes) > 0 })
	if c == nil {
		return
	}
	from := c.chain.program
	if s.chance("foreign prize", 15) {
		from = s.anyProgram()
	}
	prize := "prz_"
	if len(from.prizes) > 0 {
		prize = pick(s, "prize", from.prizes...).id
	}
	s.act(c, func(tx *Tx, at Till, text string) (Stamped, error) {
		return tx.Redeem(at, text, RedeemFields{PrizeID: set(prize)})
	}, func(h *simChain, location int) result { return s.model.redeem(h, location, prize) })
}

func (s *simulation) changeBalance() {
	c := s.card(func(p *simProgram) bool { return p.kind == "prepaid" })
	if c == nil {
		return
	}
	cents, up := int64(s.draw("cents", 1, 1500)), s.chance("top up", 2)
	if c.value > 0 && s.chance("all of it", 4) {
		cents = c.value
	}
	s.act(c, func(tx *Tx, at Till, text string) (Stamped, error) {
		if up {
			return tx.TopUp(at, text, AmountFields{AmountCents: set(cents)})
		}
		return tx.Spend(at, text, AmountFields{AmountCents: set(cents)})
	}, func(h *simChain, location int) result {
		if up {
			return s.model.changeBalance(h, location, "topup", cents)
		}
		return s.model.changeBalance(h, location, "spend", -cents)
	})
}

func (s *simulation) use() {
	c := s.card(func(p *simProgram) bool { return p.kind == "access" || p.kind == "discount" })
	if c == nil {
		return
	}
	s.act(c, func(tx *Tx, at Till, text string) (Stamped, error) { return tx.Use(at, text, UseFields{}) },
		func(h *simChain, location int) result { return s.model.use(h, location) })
}

func (s *simulation) adjust() {
	c := s.card(func(p *simProgram) bool { return p.collectsStamps() || p.kind == "prepaid" })
	if c == nil {
		return
	}
	h, location, f := c.chain, s.location(), AdjustFields{Reason: set("A mistake")}
	f.LocationID = set(s.tills[location].location)
	money := (h.program.kind == "prepaid") != s.chance("other type", 20)
	n := int64(s.draw("adjustment", -8, 8))
	if n == 0 {
		n = -1
	}
	if money {
		n *= 100
		f.AmountCents = set(n)
	} else {
		f.Stamps = set(n)
	}
	want := s.model.adjust(h, location, n, money)
	out, err := attempt(s.f, func(tx *Tx) (Adjusted, error) { return tx.AdjustCard(s.f.a.Shop, c.id, f) })
	s.checkOperation(c, want.code, err, want.rows...)
	if err != nil {
		return
	}
	if len(out.Transactions) != len(want.rows) {
		s.Fatalf("%d rows, want %d", len(out.Transactions), len(want.rows))
	}
	for i, row := range want.rows {
		s.compareRow("adjusted", row, &out.Transactions[i])
	}
	s.compareCard("adjusted", h.shown(), &out.Card)
}

func (s *simulation) reverse() {
	if len(s.model.rows) == 0 {
		return
	}
	rows := s.model.rows
	if recent := len(rows) - 12; recent > 0 && !s.chance("any row", 4) {
		rows = rows[recent:]
	}
	row := pick(s, "row", rows...)
	location := row.location
	if s.chance("elsewhere", 8) {
		location = 1 - location
	}
	want := s.model.reverse(row, location)
	out, err := attempt(s.f, func(tx *Tx) (Stamped, error) { return tx.Reverse(s.tills[location].device, row.id, UseFields{}) })
	s.compareResult(row.card.chain, want, out, err)
}

func (s *simulation) advanceClock() { s.wait(time.Duration(s.draw("hours", 0, 30)) * time.Hour) }

func (s *simulation) wait(d time.Duration) {
	s.f.clock.move(d)
	s.model.now = s.f.clock.at()
}

func (s *simulation) lock() {
	if c := s.card(anyType); c != nil {
		lock := !c.chain.locked != s.chance("as it is", 5)
		_, err := attempt(s.f, func(tx *Tx) (CardDetail, error) { return tx.SetCardLocked(s.f.a.Shop, c.id, lock) })
		s.checkOperation(c, s.model.lock(c, lock), err)
	}
}

// archive archives a card, erases it, or does nothing.
func (s *simulation) archive() {
	switch c := s.card(anyType); {
	case c == nil:
	case s.chance("erase", 3):
		s.checkOperation(c, s.model.erase(c), s.f.do(func(tx *Tx) error { return tx.EraseCard(s.f.a.Shop, c.id) }))
	case s.chance("archive", 2):
		_, err := attempt(s.f, func(tx *Tx) (CardDetail, error) { return tx.ArchiveCard(s.f.a.Shop, c.id) })
		s.checkOperation(c, s.model.archive(c), err)
	}
}

func (s *simulation) reissue() {
	c := s.card(anyType)
	if c == nil {
		return
	}
	until := s.expiry()
	out, err := attempt(s.f, func(tx *Tx) (IssuedCard, error) {
		return tx.ReissueCard(s.f.a, c.id, ReissueFields{ExpiresAt: Opt[Time]{V: until, Set: until != 0}})
	})
	code := s.model.reissue(c, until)
	if code == "" {
		c.chain.setLink(out)
	}
	s.checkOperation(c, code, err)
}

// expiry returns an expiry within three days, or 0 for none.
func (s *simulation) expiry() Time {
	if s.chance("no expiry", 3) {
		return 0
	}
	return s.model.now.Add(time.Duration(s.draw("hours", 1, 72)) * time.Hour)
}

func (s *simulation) patch() {
	c := s.card(anyType)
	if c == nil {
		return
	}
	var p CardPatch
	var expires Null[Time]
	var ref Null[string]
	if s.chance("reference", 2) {
		ref = Some(pick(s, "ref", "", "ada", "grace"))
		p.ExternalRef = Opt[string]{V: ref.V, Set: true, Null: ref.V == ""}
	}
	if s.chance("expiry", 2) {
		expires = Some(s.expiry())
		p.ExpiresAt = Opt[Time]{V: expires.V, Set: true, Null: expires.V == 0}
	}
	_, err := attempt(s.f, func(tx *Tx) (CardDetail, error) { return tx.UpdateCard(s.f.a, c.id, p) })
	s.checkOperation(c, s.model.patch(c, expires, ref), err)
}

// limitCards changes max_cards of the shop.
func (s *simulation) limitCards() {
	s.model.maxCards = s.draw("max_cards", 0, 12)
	limit := Opt[int64]{V: int64(s.model.maxCards), Set: true, Null: s.model.maxCards == 0}
	s.f.updateShop(ShopFields{MaxCards: limit})
}

// settings changes the stamps with which the cards of a program begin.
func (s *simulation) settings() {
	if p := s.anyProgram(); p.collectsStamps() {
		s.welcome(p, s.draw("welcome", 0, int(p.total)+1))
	}
}

func (s *simulation) welcome(p *simProgram, n int) {
	code := p.checkWelcome(int64(n))
	_, err := attempt(s.f, func(tx *Tx) (ProgramDetail, error) {
		return tx.UpdateProgramSettings(s.f.a.Shop, p.id, ProgramSettings{WelcomeStamps: set(int64(n))})
	})
	s.checkCode(code, err)
	if code == "" {
		p.welcome = int64(n)
		s.tally["welcome"]++
	}
}

func (s *simulation) install() {
	if c := s.card(anyType); c != nil {
		platform := pick(s, "platform", "apple", "google")
		_, err := attempt(s.f, func(tx *Tx) (Installation, error) {
			return tx.Install(c.chain.link, InstallFields{Platform: set(platform)})
		})
		s.checkOperation(c, s.model.install(c.chain, platform), err)
	}
}

func (s *simulation) suspend() {
	p := s.anyProgram()
	if !p.suspended && !s.chance("suspend", 3) {
		return
	}
	p.suspended = !p.suspended
	s.tills[0].action(p.id, map[bool]string{true: Suspend, false: Unsuspend}[p.suspended])
}
