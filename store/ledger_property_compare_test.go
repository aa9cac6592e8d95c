package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (s *simulation) compareResult(h *simChain, want result, out Stamped, err error) {
	s.checkCode(want.code, err)
	var kept *CommittedRefusal
	if stays := errors.As(err, &kept); stays != (want.code != "" && len(want.rows) > 0) {
		s.Fatalf("%v, want %d rows to stay", err, len(want.rows))
	}
	s.compareChain(h)
	s.compareLedger(want.rows)
	if want.code != "" {
		return
	}
	s.compareAnswer("first", want.first, &out.Transaction, &out.Card)
	s.compareAnswer("second", want.second, out.OverflowTransaction, out.OverflowCard)
	if want.second != nil {
		s.tally[map[bool]string{true: "reversed pair", false: "overflow"}[want.first.kind == "reversal"]]++
	}
	if r := want.first; r.kind == "redemption" && r.card.done[r.cycle] {
		s.tally[map[bool]string{true: "completed parent", false: "completed"}[r.card.archived]]++
	}
}

func (s *simulation) compareAnswer(which string, want *simRow, t *TillTransaction, d *CardDetail) {
	switch {
	case want == nil && t == nil && d == nil:
	case want == nil || t == nil || d == nil:
		s.Fatalf("the %s row is %v of card %v, want %v", which, t, d, want)
	default:
		s.compareRow(which, want, t)
		s.compareCard(which, want.card, d)
	}
}

func (s *simulation) compareRow(which string, want *simRow, t *TillTransaction) {
	if t.ID != want.id || t.CardID != want.card.id || t.Type != want.kind || t.StampsDelta != want.stamps ||
		t.ValueDelta != want.value || t.PrizeID.V != want.prize || t.OccurredAt != want.occurred {
		s.Fatalf("the %s row is %+v, want %+v", which, *t, *want)
	}
}

func (s *simulation) compareCard(which string, want *simCard, d *CardDetail) {
	if d.ID != want.id || d.Status != want.status(s.model.now) || d.StampsCount != want.stamps || d.CurrentValue.V != want.value {
		s.Fatalf("the %s card is %+v, want %+v", which, d.Card, *want)
	}
}

func (s *simulation) checkOperation(c *simCard, want Code, err error, rows ...*simRow) {
	s.checkCode(want, err)
	s.compareChain(c.chain)
	s.compareLedger(rows)
}

func (s *simulation) checkCode(want Code, err error) {
	got := Code("")
	if e, ok := AsError(err); ok {
		got = e.Code
	} else if err != nil {
		s.Fatal(err)
	}
	s.tally[string(got)]++
	if got != want {
		s.Fatalf("answered %v, want code %q", err, want)
	}
}

// compareChain compares a chain with its cards in the store and with the lookup.
func (s *simulation) compareChain(h *simChain) {
	f := s.f
	if h.cards[0].id == "" { // just issued, so it is the newest card
		h.cards[0].id = f.ID(KindCard, f.number("SELECT max(id) FROM cards"))
	}
	root := f.key(KindCard, h.cards[0].id)
	keys := f.lines("SELECT id FROM cards WHERE id=?1 OR root_id=?1 ORDER BY id", root)
	if len(keys) != len(h.cards) {
		s.Fatalf("the chain has %d cards, want %d", len(keys), len(h.cards))
	}
	for i, key := range keys {
		c := h.cards[i]
		if c.id == "" {
			var n int64
			fmt.Sscan(key, &n)
			c.id = f.ID(KindCard, n)
		}
		d, err := f.read(c.id)
		if h.erased {
			s.checkCode(NotFound, err)
			continue
		}
		if err != nil || d.Status != c.status(s.model.now) || d.StampsCount != c.stamps ||
			d.CurrentValue != (Null[int64]{c.value, h.program.kind == "prepaid"}) ||
			!c.archived && (d.ExpiresAt != Null[Time]{h.expires, h.expires != 0} || d.InstalledAt.Valid != h.installed) ||
			d.ExternalRef != (Null[string]{h.ref, h.ref != ""}) {
			s.Fatalf("card %d of the chain is %+v, %v\nwant %+v of %+v", i, d.Card, err, *c, *h)
		}
	}
	if !h.erased {
		s.compareLookup(h)
	}
}

func (s *simulation) compareLookup(h *simChain) {
	l := s.tills[1].lookup(h.cards[0].id)
	shown := h.shown()
	s.compareLadder(shown, l.Card.ID, l.Prizes)
	i := 0
	for _, c := range h.live() {
		if c != shown && i < len(l.EarlierCards) {
			s.compareLadder(c, l.EarlierCards[i].ID, l.EarlierCards[i].Prizes)
		}
		if c != shown {
			i++
		}
	}
	if i != len(l.EarlierCards) {
		s.Fatalf("the lookup shows %d earlier cards, want %d", len(l.EarlierCards), i)
	}
}

func (s *simulation) compareLadder(c *simCard, id string, prizes []LadderPrize) {
	if id != c.id || len(prizes) != len(c.chain.program.prizes) {
		s.Fatalf("the lookup shows card %s with %d prizes, want %s", id, len(prizes), c.id)
	}
	for i, z := range c.chain.program.prizes {
		claim := c.claims[z.threshold]
		if p := prizes[i]; p.ID != z.id || p.Claimed != (claim != nil && claim.prize == z.id) ||
			p.Available != (claim == nil && c.stamps >= z.threshold) {
			s.Fatalf("the lookup shows prize %+v on a card with %d stamps and claim %+v", p, c.stamps, claim)
		}
	}
}

// compareLedger compares the rows that the last operation wrote.
func (s *simulation) compareLedger(want []*simRow) {
	f := s.f
	var got []string
	f.view(func(v *View) error {
		r := v.query(
			`SELECT id, card_id, type, location_id, stamps_delta, value_delta, prize_id, reverses_id, occurred_at
				FROM transactions WHERE id>? ORDER BY id`,
			s.seen,
		)
		for r.next() {
			s.seen = r.int()
			if len(got) < len(want) {
				want[len(got)].id = f.ID(KindTransaction, s.seen)
			}
			got = append(
				got,
				fmt.Sprint(f.ID(KindCard, r.int()), r.str(), r.int(), r.nullInt(), r.nullInt(), r.nullInt().V, r.nullInt().V, r.nullTime()),
			)
		}
		return r.close()
	})
	var expect []string
	for _, w := range want {
		var prize, reverses int64
		if w.prize != "" {
			prize = f.key(KindPrize, w.prize)
		}
		if w.reverses != nil {
			reverses = f.key(KindTransaction, w.reverses.id)
		}
		expect = append(
			expect,
			fmt.Sprint(w.card.id, w.kind, s.tills[w.location].device.Location, w.stamps, w.value, prize, reverses, w.occurred),
		)
		s.tally[w.kind]++
	}
	if !slices.Equal(got, expect) {
		s.Fatalf("the ledger has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expect, "\n"))
	}
}
