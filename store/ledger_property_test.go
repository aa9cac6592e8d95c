package store

import (
	"errors"
	"flag"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var daysFlag = flag.Int("days", 12, "days that each of the ledger's random histories lasts, of about ten operations each")

// racing is whether the race detector is on, which makes these tests many times slower.
var racing bool

// simulation applies the same operations to a store and its model.
type simulation struct {
	*rapid.T
	f        *fixture
	tills    []till
	programs []*simProgram
	model    tillModel
	seen     int64 // newest ledger row that was compared
	tally    map[string]int
}

func TestLedgerFollowsItsModel(t *testing.T) {
	setFlag(t, "rapid.steps", fmt.Sprint(10**daysFlag))
	setFlag(t, "rapid.shrinktime", "5s")
	setFlag(t, "rapid.nofailfile", "true") // the log has the seed
	if racing {
		setFlag(t, "rapid.checks", "5")
	}
	ops, tally := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		f := start(t, Options{})
		defer f.Close()
		s := &simulation{T: rt, f: f, tills: []till{f.till(f.a), f.till(f.a)}, tally: tally}
		s.start()
		var actions []func()
		for _, a := range []struct {
			weight int
			do     func()
		}{{4, s.issue}, {2, s.counter}, {24, s.stamp}, {14, s.redeem}, {6, s.changeBalance}, {2, s.use}, {14, s.reverse}, {4, s.advanceClock},
			{2, s.lock}, {1, s.archive}, {2, s.reissue}, {3, s.patch}, {3, s.install}, {2, s.suspend}} {
			for range a.weight {
				actions = append(actions, a.do)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){"operation": func(rt *rapid.T) {
			s.T = rt
			ops++
			s.wait(time.Duration(s.draw("minutes", 0, 5*60)) * time.Minute)
			actions[s.draw("action", 0, len(actions)-1)]()
		}})
		s.finish()
	})
	t.Logf("%d operations: %v", ops, tally)
	var never []string
	for _, what := range []string{"stamp", "redemption", "reversal", "expiry", "topup", "spend", "discount", "access", "overflow", "reversed pair", "completed", "completed parent",
		string(AmountBelowMinStamp), string(CannotReverseCompletedCycle), string(CardExpired), string(CardFullNoRepeat), string(CardLocked), string(CardSuspended), string(Conflict),
		string(Gone), string(NotFound), string(PrepaidInsufficientBalance), string(SpendNotEnabled), string(SpendRequired), string(ThresholdAlreadyClaimed), string(Unprocessable)} {
		if tally[what] == 0 {
			never = append(never, what)
		}
	}
	if len(never) > 0 && ops > 5000 && !t.Failed() {
		t.Errorf("of %d operations none came to %q: %v", ops, never, tally)
	}
}

// setFlag sets a flag of rapid for one test, unless it was given.
func setFlag(t *testing.T, name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	f := flag.Lookup(name)
	old := f.Value.String()
	f.Value.Set(value)
	t.Cleanup(func() { f.Value.Set(old) })
}

// uniform draws 16-bit numbers with equal probability, since rapid prefers small ones.
var uniform = rapid.Custom(func(t *rapid.T) (n int) {
	for range 16 {
		n <<= 1
		if rapid.Bool().Draw(t, "bit") {
			n |= 1
		}
	}
	return n
})

func (s *simulation) draw(what string, low, high int) int {
	return low + uniform.Draw(s.T, what)*(high-low+1)>>16
}

// chance returns true with the probability 1/n.
func (s *simulation) chance(what string, n int) bool { return s.draw(what, 1, n) == n }

func pick[T any](s *simulation, what string, of ...T) T { return of[s.draw(what, 0, len(of)-1)] }

// start creates two random stamp programs and one program of each other type.
func (s *simulation) start() {
	f := s.f
	s.model.now = f.clock.at()
	for range 3 {
		p := &simProgram{kind: pick(s, "kind", "standard", "standard", "private"), total: int64(s.draw("total", 1, 6)),
			repeat: !s.chance("no repeat", 3)}
		fields := stamps("Coffee")
		fields.Type, fields.TotalStamps, fields.RepeatAfterReset = set(p.kind), set(p.total), set(p.repeat)
		if s.chance("stamps expire", 3) {
			p.stampDays = s.draw("stamp days", 1, 3)
			fields.StampsExpireAfterDays = set(int64(p.stampDays))
		}
		s.program(p, fields)
		thresholds := rapid.SliceOfNDistinct(rapid.Int64Range(0, p.total), 0, min(3, int(p.total)), rapid.ID[int64]).Draw(s.T, "thresholds")
		if s.chance("top is total", 2) && len(thresholds) > 0 && !slices.Contains(thresholds, p.total) {
			thresholds[0] = p.total
		}
		for _, threshold := range thresholds {
			for range s.draw("options", 1, 2) {
				z := must(f, func(tx *Tx) (Prize, error) {
					return tx.AddPrize(f.a, p.id, PrizeFields{Threshold: set(threshold), Name: set("Prize")})
				})
				p.prizes = append(p.prizes, simPrize{z.ID, threshold})
			}
		}
		if s.chance("min spend", 4) {
			p.minSpend = 500
			f.must(func(tx *Tx) error { _, err := tx.SetMinSpend(f.a.Shop, p.id, set(p.minSpend)); return err })
		}
	}
	initial := int64(s.draw("initial", 0, 10)) * 100
	s.program(&simProgram{kind: "prepaid", initial: initial}, prepaid("Gift", initial))
	s.program(&simProgram{kind: "access"}, access("Club"))
	s.program(&simProgram{kind: "discount"}, discount("Off"))
}

func (s *simulation) program(p *simProgram, fields ProgramFields) {
	if s.chance("cards expire", 2) {
		p.cardDays = s.draw("card days", 2, 12)
		fields.DefaultExpireAfterDays = set(int64(p.cardDays))
	}
	if p.scoped = s.chance("scoped", 4); p.scoped {
		fields.LocationScope, fields.ScopedLocationIDs = set("selected_locations"), set([]string{s.tills[0].location})
	}
	p.id = s.f.program(s.f.a, fields)
	s.programs = append(s.programs, p)
}

func (s *simulation) anyProgram() *simProgram {
	return pick(s, "program", s.programs...)
}

// card returns a card of a random chain, mostly one that fits.
func (s *simulation) card(fits func(*simProgram) bool) *simCard {
	var all, fit []*simChain
	for _, h := range s.model.chains {
		if all = append(all, h); fits(h.program) && !h.erased && !h.expired(s.model.now) && !h.locked && len(h.live()) > 0 {
			fit = append(fit, h)
		}
	}
	if len(fit) > 0 && !s.chance("any card", 6) {
		all = fit
	}
	if len(all) == 0 {
		return nil
	}
	h := pick(s, "chain", all...)
	return pick(s, "instance", h.cards...)
}

func anyType(*simProgram) bool { return true }

// idOrCode returns a text that a till may scan or type for the card: the id of a card of the chain,
// the code, or a code that a reissue replaced.
func (s *simulation) idOrCode(c *simCard) (text string, dead bool) {
	switch h := c.chain; s.draw("text", 0, 15) {
	case 0, 1, 2, 3:
		return s.f.cardCode(s.f.key(KindCard, h.cards[0].id), h.generation), false
	case 4:
		return s.f.cardCode(s.f.key(KindCard, h.cards[0].id), h.generation-1), true
	default:
		return c.id, false
	}
}

func (s *simulation) location() int { return s.draw("not here", 0, 7) / 7 }

func (s *simulation) issue() {
	p, ref := s.anyProgram(), pick(s, "ref", "", "ada", "grace")
	h, code := s.model.issue(p, ref)
	out, err := attempt(s.f, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueCard(s.f.a, p.id, CardFields{ExternalRef: optional(ref)}, SourceAPI)
	})
	s.recordIssue(h, code, out, err)
}

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

// act performs a till's action in the store and in the model, and compares the results.
func (s *simulation) act(c *simCard, do func(tx *Tx, at Till, text string) (Stamped, error), expect func(h *simChain, location int) result) {
	location := s.location()
	text, dead := s.idOrCode(c)
	want := resultOf(NotFound)
	if !dead {
		want = expect(c.chain, location)
	}
	out, err := attempt(s.f, func(tx *Tx) (Stamped, error) { return do(tx, s.tills[location].device, text) })
	s.compareResult(c.chain, want, out, err)
}

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

func (s *simulation) compareAnswer(which string, want *simRow, t *Transaction, d *CardDetail) {
	switch {
	case want == nil && t == nil && d == nil:
	case want == nil || t == nil || d == nil:
		s.Fatalf("the %s row is %v of card %v, want %v", which, t, d, want)
	case t.ID != want.id || t.CardID != want.card.id || t.Type != want.kind || t.StampsDelta != want.stamps || t.ValueDelta != want.value || t.PrizeID.V != want.prize:
		s.Fatalf("the %s row is %+v, want %+v", which, *t, *want)
	case d.ID != want.card.id || d.Status != want.card.status(s.model.now) || d.StampsCount != want.card.stamps || d.CurrentValue.V != want.card.value:
		s.Fatalf("the %s card is %+v, want %+v", which, d.Card, *want.card)
	}
}

func (s *simulation) stamp() {
	c := s.card((*simProgram).collectsStamps)
	if c == nil {
		return
	}
	n := int64(s.draw("count", 1, 9))
	var spend Null[int64]
	if c.chain.program.minSpend > 0 != s.chance("wrong about spending", 10) {
		spend = Some(pick[int64](s, "spend", 500, 499, 2000))
	}
	s.act(c, func(tx *Tx, at Till, text string) (Stamped, error) {
		return tx.Stamp(at, text, StampFields{Count: set(n), SpendCents: Opt[int64]{V: spend.V, Set: spend.Valid}})
	}, func(h *simChain, location int) result { return s.model.stamp(h, location, n, spend) })
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
	s.act(c, func(tx *Tx, at Till, text string) (Stamped, error) { return tx.Use(at, text, Metadata{}) },
		func(h *simChain, location int) result { return s.model.use(h, location) })
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
	out, err := attempt(s.f, func(tx *Tx) (Stamped, error) { return tx.Reverse(s.tills[location].device, row.id, Metadata{}) })
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

// archive archives or erases a card.
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
	expires, ref := Some(s.expiry()), ""
	if s.chance("reference", 2) {
		expires, ref = Null[Time]{}, pick(s, "ref", "ada", "grace")
		p.ExternalRef = set(ref)
	} else {
		p.ExpiresAt = Opt[Time]{V: expires.V, Set: true, Null: expires.V == 0}
	}
	_, err := attempt(s.f, func(tx *Tx) (CardDetail, error) { return tx.UpdateCard(s.f.a, c.id, p) })
	s.checkOperation(c, s.model.patch(c, expires, ref), err)
}

func (s *simulation) install() {
	if c := s.card(anyType); c != nil {
		platform := pick(s, "platform", "apple", "google")
		_, err := attempt(s.f, func(tx *Tx) (CardDetail, error) {
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

func (s *simulation) checkOperation(c *simCard, want Code, err error) {
	s.checkCode(want, err)
	s.compareChain(c.chain)
	s.compareLedger(nil)
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
	for i, key := range f.lines("SELECT id FROM cards WHERE id=?1 OR root_id=?1 ORDER BY id", root) {
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
		if err != nil || d.Status != c.status(s.model.now) || d.StampsCount != c.stamps || d.CurrentValue != (Null[int64]{c.value, h.program.kind == "prepaid"}) ||
			!c.archived && (d.ExpiresAt != Null[Time]{h.expires, h.expires != 0} || d.InstalledAt.Valid != h.installed) || d.ExternalRef != (Null[string]{h.ref, h.ref != ""}) {
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
		if p := prizes[i]; p.ID != z.id || p.Claimed != (claim != nil && claim.prize == z.id) || p.Available != (claim == nil && c.stamps >= z.threshold) {
			s.Fatalf("the lookup shows prize %+v on a card with %d stamps and claim %+v", p, c.stamps, claim)
		}
	}
}

// compareLedger compares the rows that the last operation wrote.
func (s *simulation) compareLedger(want []*simRow) {
	f := s.f
	var got []string
	f.view(func(v *View) error {
		r := v.query("SELECT "+columns("id", "card_id", "type", "location_id", "stamps_delta", "value_delta", "prize_id", "reverses_id")+" FROM transactions WHERE id>? ORDER BY id", s.seen)
		for r.next() {
			s.seen = r.int()
			if len(got) < len(want) {
				want[len(got)].id = f.ID(KindTransaction, s.seen)
			}
			got = append(got, fmt.Sprint(f.ID(KindCard, r.int()), r.str(), r.int(), r.nullInt(), r.nullInt(), r.nullInt().V, r.nullInt().V))
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
		expect = append(expect, fmt.Sprint(w.card.id, w.kind, s.tills[w.location].device.Location, w.stamps, w.value, prize, reverses))
		s.tally[w.kind]++
	}
	if !slices.Equal(got, expect) {
		s.Fatalf("the ledger has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expect, "\n"))
	}
}

// finish checks the invariants of the file, and that the stamps and balance of every card that is
// not archived are the sums of its ledger.
func (s *simulation) finish() {
	found, err := s.f.Check()
	if err != nil || len(found) > 0 {
		s.Fatalf("check: %q, %v", found, err)
	}
	stamps, value, rows := map[string]int64{}, map[string]int64{}, 0
	for _, t := range allPages(s.f.t.(*testing.T), func(q PageQuery) Page[Transaction] {
		var p Page[Transaction]
		s.f.view(func(v *View) (err error) {
			p, err = v.Transactions(s.f.a, TransactionFilter{}, q)
			return err
		})
		return p
	}, nil) {
		rows++
		stamps[t.CardID] += t.StampsDelta.V
		value[t.CardID] += t.ValueDelta.V
	}
	if rows != len(s.model.rows) {
		s.Fatalf("the ledger has %d rows, want %d", rows, len(s.model.rows))
	}
	for _, h := range s.model.chains {
		s.compareChain(h)
		for _, c := range h.live() {
			if !h.erased && (c.stamps != stamps[c.id] || c.value != h.program.initial+value[c.id]) {
				s.Fatalf("card %+v, but its ledger adds up to %d stamps and %d cents", *c, stamps[c.id], value[c.id])
			}
		}
	}
}
