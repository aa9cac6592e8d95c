package store

import (
	"flag"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var operationsFlag = flag.Int("operations", 2000, "operations that the ledger's random histories have at least, together")

// racing reports whether the race detector is on, which makes these tests many times slower.
var racing bool

// simulation applies the same operations to a store and its model.
type simulation struct {
	*rapid.T
	f        *fixture
	tills    []till
	programs []*simProgram
	zone     string // of the shop
	model    tillModel
	seen     int64 // newest ledger row that was compared
	tally    map[string]int
}

// kindsOfResults are the results that the random histories must have, each at least once.
var kindsOfResults = []string{
	"stamp", "redemption", "reversal", "adjustment", "expiry", "topup", "spend", "discount", "access", "overflow",
	"reversed pair", "completed",
	"completed parent", "sent later", "welcome", "zone", "burst", "taken back", "ladder", "total", "lapsed", "dropped",
	string(AmountBelowMinStamp), string(CannotReverseCompletedCycle), string(CardExpired), string(CardFullNoRepeat), string(CardLocked),
	string(CardSuspended), string(Conflict), string(Gone), string(NotFound), string(PrepaidInsufficientBalance),
	string(ProgramHasInstalledCards), string(SpendNotEnabled), string(SpendRequired),
	string(ThresholdAlreadyClaimed), string(Unprocessable),
}

// TestLedgerFollowsItsModel performs random operations in a store and in its model, and compares the
// results, cards and ledger rows after each, and now and then all statistics. It goes on until each kind
// of result has come, and fails if one does not come in ten times as many operations as the flag says.
func TestLedgerFollowsItsModel(t *testing.T) {
	t.Parallel()
	setFlag(t, "rapid.steps", "120") // of a history, on average
	setFlag(t, "rapid.checks", "5")  // histories at once
	setFlag(t, "rapid.shrinktime", "5s")
	setFlag(t, "rapid.nofailfile", "true") // the log has the seed
	min, max := *operationsFlag, 10**operationsFlag
	if testing.Short() {
		min, max = min/4, 0
	}
	if racing {
		min, max = 50, 0
	}
	ops, tally := 0, map[string]int{}
	never := func() []string {
		return slices.DeleteFunc(slices.Clone(kindsOfResults), func(kind string) bool { return tally[kind] > 0 })
	}
	for !t.Failed() && (ops < min || ops < max && len(never()) > 0) {
		rapid.Check(t, func(rt *rapid.T) {
			f := start(t)
			defer f.Close()
			s := &simulation{T: rt, f: f, tills: []till{f.till(), f.till()}, zone: "UTC", tally: tally}
			s.start()
			actions := s.actions()
			rt.Repeat(map[string]func(*rapid.T){"operation": func(rt *rapid.T) {
				s.T = rt
				ops++
				s.wait(time.Duration(s.draw("minutes", 0, 5*60)) * time.Minute)
				actions[s.draw("action", 0, len(actions)-1)]()
			}})
			s.compare()
			s.finish()
		})
	}
	t.Logf("%d operations: %v", ops, tally)
	if missing := never(); max > 0 && len(missing) > 0 && !t.Failed() {
		t.Errorf("none of %d operations had the results %q: %v", ops, missing, tally)
	}
}

// actions returns the operations, each as often as its weight.
func (s *simulation) actions() (all []func()) {
	for _, a := range []struct {
		weight int
		do     func()
	}{
		{4, s.issue}, {2, s.counter}, {24, s.stamp}, {14, s.redeem}, {6, s.changeBalance}, {2, s.use}, {14, s.reverse}, {4, s.advanceClock},
		{1, s.advanceFar}, {4, s.burst}, {2, s.lock}, {1, s.archive}, {2, s.reissue}, {3, s.patch}, {3, s.install}, {2, s.suspend},
		{6, s.adjust}, {1, s.limitCards}, {1, s.settings}, {3, s.ladder}, {2, s.total}, {2, s.move}, {2, s.lapse},
		{1, s.deleteProgram}, {1, s.recount}, {1, s.compare},
	} {
		for range a.weight {
			all = append(all, a.do)
		}
	}
	return all
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

// draw returns a number from low to high, both included.
func (s *simulation) draw(what string, low, high int) int {
	return low + uniform.Draw(s.T, what)*(high-low+1)>>16
}

// chance returns true with the probability 1/n.
func (s *simulation) chance(what string, n int) bool { return s.draw(what, 1, n) == n }

func pick[T any](s *simulation, what string, of ...T) T { return of[s.draw(what, 0, len(of)-1)] }

// start creates three random stamp programs and one program of each other type.
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
				z := f.addPrize(p.id, PrizeFields{Threshold: set(threshold), Name: set("Prize")})
				p.prizes = append(p.prizes, simPrize{z.ID, threshold})
			}
		}
		s.welcome(p, s.draw("welcome", 0, 1)*s.draw("welcome stamps", 0, int(p.total)))
		if s.chance("min spend", 4) {
			p.minSpend = 500
			f.settings(p.id, ProgramSettings{MinSpendCents: set(p.minSpend)})
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
		fields = onlyAt(fields, s.tills[0].location)
	}
	p.id = s.f.program(fields)
	s.programs = append(s.programs, p)
}

func (s *simulation) anyProgram() *simProgram {
	return pick(s, "program", s.programs...)
}

// card returns a random card, mostly of a usable chain whose program fits, or nil if there is none.
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
// the code, the short code, or the code of the generation before, which names no card: dead is then
// true.
func (s *simulation) idOrCode(c *simCard) (text string, dead bool) {
	switch h := c.chain; s.draw("text", 0, 15) {
	case 0, 1, 2, 3:
		return s.f.cardCode(s.f.key(KindCard, h.cards[0].id), h.generation), false
	case 4:
		return s.f.cardCode(s.f.key(KindCard, h.cards[0].id), h.generation-1), true
	case 5, 6:
		return s.f.shortCode(h.cards[0].id), false
	default:
		return c.id, false
	}
}

// finish checks the whole file, and that the stamps and balance of every card that is not archived are
// the sums of its ledger.
func (s *simulation) finish() {
	if found := check(s.f.Check()); len(found) > 0 {
		s.Fatalf("check: %q", found)
	}
	stamps, value, rows := map[string]int64{}, map[string]int64{}, 0
	for _, t := range allPages(s.f.t.(*testing.T), func(q PageQuery) Page[Transaction] {
		return view(s.f, func(v *View) (Page[Transaction], error) {
			return v.Transactions(s.f.a, TransactionFilter{PageQuery: q})
		})
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
			if !h.erased && (c.stamps != c.began+stamps[c.id] || c.value != h.program.initial+value[c.id]) {
				s.Fatalf("card %+v, but its ledger adds up to %d stamps and %d cents", *c, stamps[c.id], value[c.id])
			}
		}
	}
}
