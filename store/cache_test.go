package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Programs and locations are cached, and answers at a till use the cache. The tests compare them
// with those of another store on the same file, which has nothing cached.

// text returns a value as JSON, for comparisons.
func text(t testing.TB, v any) string {
	b := check(json.Marshal(v))
	return string(b)
}

// withNewStore returns the till with a second store on the same file.
func (k till) withNewStore() till {
	c := k
	c.fixture = k.second()
	return c
}

// matches compares the lookups of cards with those of cold, a store on the same file, which first forgets
// what it has cached.
func (k till) matches(cold till, when string, cards ...string) {
	k.t.Helper()
	s := cold.Store
	s.locations, s.programs = epochCache[shopLocations]{}, epochCache[*program]{}
	s.shops, s.closings = epochCache[Shop]{}, epochCache[Closing]{}
	for _, card := range cards {
		for range 2 { // from the file, then from the cache
			if got, want := text(k.t, k.lookup(card)), text(k.t, cold.lookup(card)); got != want {
				k.t.Errorf("%s: the lookup shows %s\nwant %s", when, got, want)
			}
		}
	}
}

// cacheChange is a write that changes cached values, and the code with which a stamp
// is refused afterwards.
type cacheChange struct {
	name string
	do   func(*Tx) error
	then Code
}

// cacheChanges returns the changes in order; each leaves the state that the next one needs.
func (k till) cacheChanges(program string, prize *string) []cacheChange {
	update := func(f ProgramFields) func(*Tx) error {
		return func(tx *Tx) error { return errorOf(tx.UpdateProgram(k.a, program, f)) }
	}
	action := func(a string) func(*Tx) error {
		return func(tx *Tx) error { return errorOf(tx.ProgramAction(k.a, program, a)) }
	}
	scope := func(ids ...string) func(*Tx) error {
		return update(onlyAt(ProgramFields{}, ids...))
	}
	minimum := func(cents Opt[int64]) func(*Tx) error {
		return func(tx *Tx) error {
			return errorOf(tx.UpdateProgramSettings(k.a.Shop, program, ProgramSettings{MinSpendCents: cents}))
		}
	}
	elsewhere := k.fixture.location()
	return []cacheChange{
		{name: "program renamed", do: update(ProgramFields{Name: set("Tea")})},
		{name: "prize added", do: func(tx *Tx) error {
			z, err := tx.AddPrize(k.a, program, PrizeFields{Threshold: setInt(2), Name: set("Biscuit")})
			*prize = z.ID
			return err
		}},
		{name: "prize renamed", do: func(tx *Tx) error {
			return errorOf(tx.UpdatePrize(k.a, program, *prize, PrizeFields{Name: set("Scone")}))
		}},
		{name: "prize deleted", do: func(tx *Tx) error { return tx.DeletePrize(k.a, program, *prize) }},
		{name: "purchase demanded", do: minimum(setInt(500)), then: SpendRequired},
		{name: "purchase no longer demanded", do: minimum(null[int64]())},
		{name: "program out of scope", do: scope(elsewhere), then: Unprocessable},
		{name: "program in scope", do: scope(elsewhere, k.location)},
		{name: "program suspended", do: action(Suspend), then: CardSuspended},
		{name: "program resumed", do: action(Unsuspend)},
		{name: "program unpublished", do: action(Unpublish)},
		{name: "location renamed", do: func(tx *Tx) error {
			return errorOf(tx.UpdateLocation(k.a, k.location, LocationPatch{Name: set("Corner")}))
		}},
		{name: "location disabled", do: func(tx *Tx) error { return errorOf(tx.SetLocationActive(k.a, elsewhere, false)) }},
		{name: "location enabled", do: func(tx *Tx) error { return errorOf(tx.SetLocationActive(k.a, elsewhere, true)) }},
		{name: "location added", do: func(tx *Tx) error {
			return errorOf(tx.CreateLocation(k.a.Shop, LocationFields{LocationPatch: LocationPatch{Name: set("Annexe")}}, StaffPIN{}))
		}},
		{name: "program deleted", do: func(tx *Tx) error { return tx.DeleteProgram(k.a.Shop, program) }, then: Conflict},
	}
}

// TestCachedProgramsFollowTheFile checks that each change, by any process, is visible to the next
// lookup and applies to the next stamp.
func TestCachedProgramsFollowTheFile(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"this process", "another process", "a write that is rolled back", "the same group"} {
		t.Run(who, func(t *testing.T) {
			k := startTill(t)
			fields := stamps("Coffee")
			fields.TotalStamps = setInt(1000)
			program, _ := k.ladderOf(fields, 1, 900)
			card := k.card(program)
			other := k.withNewStore()
			var prize string
			stamp := func(tx *Tx) (Stamped, error) { return tx.Stamp(k.device, card, StampFields{}) }
			holds := func(c cacheChange, s Stamped, err error) {
				t.Helper()
				if c.then != "" {
					refused(t, err, c.then)
				} else if err != nil {
					t.Errorf("%s: a stamp is refused: %v", c.name, err)
				} else if got, want := text(t, s.Card), text(t, other.get(card)); got != want {
					t.Errorf("%s: the answer is %s, want %s", c.name, got, want)
				}
			}
			for _, c := range k.cacheChanges(program, &prize) {
				k.lookup(card) // caches the state before
				switch who {
				case "this process":
					k.must(c.do)
				case "another process":
					other.must(c.do)
				case "a write that is rolled back":
					// A change is rolled back together with what the write has cached.
					err := k.do(func(tx *Tx) error {
						if err := c.do(tx); err != nil {
							t.Fatalf("%s: %v", c.name, err)
						}
						s, err := stamp(tx)
						if (err == nil) != (c.then == "") {
							t.Errorf("%s: a stamp in the same write: %+v, %v", c.name, s, err)
						}
						return notFound("anything")
					})
					refused(t, err, NotFound)
					k.matches(other, "rolled back: "+c.name, card)
					k.must(c.do) // the next change needs it
				case "the same group":
					var s Stamped
					errs := k.group(
						write(func(tx *Tx) error { _, err := stamp(tx); return ignored(err) }),
						write(func(tx *Tx) error { c.do(tx); stamp(tx); return notFound("anything") }),
						write(c.do),
						write(func(tx *Tx) (err error) { s, err = stamp(tx); return err }),
					)
					if errs[0] != nil || errs[2] != nil {
						t.Fatalf("%s: %v", c.name, errs)
					}
					holds(c, s, errs[3])
				}
				k.matches(other, c.name, card)
				s, err := attempt(k.fixture, stamp)
				holds(c, s, err)
			}
			k.checkFile()
		})
	}
}

// ignored returns nil for a refusal and other errors as they are.
func ignored(err error) error {
	if _, ok := AsError(err); ok {
		return nil
	}
	return err
}

// answerEqualsFile compares an answer with what cold, another store, reads from the file.
func (k till) answerEqualsFile(cold till, name string, s Stamped) {
	k.t.Helper()
	ledger := map[string]string{}
	cold.view(func(v *View) error {
		rows, err := v.TillTransactions(k.device, 2)
		for _, row := range rows {
			ledger[row.ID] = text(k.t, row.TillTransaction)
		}
		return err
	})
	equals := func(got any, want string) {
		k.t.Helper()
		if got := text(k.t, got); got != want {
			k.t.Errorf("%s answers %s\nthe file has %s", name, got, want)
		}
	}
	equals(s.Transaction, ledger[s.Transaction.ID])
	equals(s.Card, text(k.t, cold.get(s.Card.ID)))
	if s.OverflowCard != nil {
		equals(*s.OverflowTransaction, ledger[s.OverflowTransaction.ID])
		equals(*s.OverflowCard, text(k.t, cold.get(s.OverflowCard.ID)))
	}
}

// TestAnswersEqualTheFile checks that the answer of each action at a till equals what the file has.
func TestAnswersEqualTheFile(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladderOf(onlyAt(expiring(10), k.location), 2, 5, 10)
	issued := k.issue(
		program,
		CardFields{
			ExternalRef: set("ada"),
			HolderName:  set("Ada"),
			HolderEmail: set("ada@example.com"),
			ExpiresAt:   set(k.clock.at().Add(days(100))),
		},
	)
	money := k.card(k.program(prepaid("Gift", 1000)))
	pass := k.card(k.program(access("Club")))
	k.fixture.location()
	var rows []Stamped
	cold := k.withNewStore()
	same := func(name string, s Stamped, err error) {
		t.Helper()
		check(s, err)
		k.clock.move(time.Minute)
		k.answerEqualsFile(cold, name, s)
		rows = append(rows, s)
		k.matches(cold, name, issued.ID, money, pass)
	}
	stamp := func(n int64) { t.Helper(); s, err := k.stamp(issued.ID, n); same(fmt.Sprint("stamp ", n), s, err) }
	redeem := func(i int) {
		t.Helper()
		s, err := k.redeem(issued.ID, prizes[i])
		same(fmt.Sprint("redeem ", i), s, err)
	}
	reverse := func(of Stamped) {
		t.Helper()
		s, err := k.reverse(of.Transaction.ID)
		same("reverse a "+of.Transaction.Type, s, err)
	}
	last := func() Stamped { return rows[len(rows)-1] }

	stamp(3) // activates
	redeem(0)
	reverse(last())
	check(k.install(issued.InstallURL))
	stamp(9) // overflows
	reverse(last())
	stamp(7)
	stamp(2) // starts another card
	redeem(0)
	redeem(1)
	redeem(2) // archives the first card
	stamp(8)
	redeem(2) // removes all stamps
	stamp(20)
	redeem(2)
	k.clock.move(days(10))
	stamp(4) // on a card whose stamps expire
	live := k.lookup(issued.ID).Card.ID
	k.reissue(live, ReissueFields{HolderName: set("Grace")})
	stamp(1)
	reverse(last())
	for _, c := range []struct {
		name string
		do   func() (Stamped, error)
	}{
		{"top up", func() (Stamped, error) { return k.topUp(money, 250) }},
		{"spend", func() (Stamped, error) { return k.spend(money, 1250) }},
		{"reverse", func() (Stamped, error) { return k.reverse(last().Transaction.ID) }},
		{"use", func() (Stamped, error) { return k.use(pass) }},
		{"reverse", func() (Stamped, error) { return k.reverse(last().Transaction.ID) }},
	} {
		s, err := c.do()
		same(c.name, s, err)
	}
	k.checkFile()
}

// TestIssuesFollowTheFile checks that each change of a program and its shop, by any process, applies to the next card.
func TestIssuesFollowTheFile(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"this process", "another process", "a write that is rolled back", "the same group"} {
		t.Run(who, func(t *testing.T) {
			f := start(t)
			program, stamped := f.program(prepaid("Gift", 100)), f.program(stamps("Coffee"))
			other := f.second()
			update := func(p ProgramFields) func(*Tx) error {
				return func(tx *Tx) error { return errorOf(tx.UpdateProgram(f.a, program, p)) }
			}
			action := func(a string) func(*Tx) error {
				return func(tx *Tx) error { return errorOf(tx.ProgramAction(f.a, program, a)) }
			}
			shop := func(s ShopFields) func(*Tx) error {
				return func(tx *Tx) error { return errorOf(tx.UpdateShop(f.a.Shop, s, "")) }
			}
			// issue returns what the changes decide of a card of each program, or the refusal.
			issue := func(tx *Tx) (string, error) {
				var all string
				for _, p := range []string{program, stamped} {
					c, err := tx.IssueCard(f.a, p, CardFields{}, SourceAPI)
					if _, refused := AsError(err); refused {
						return err.Error(), nil
					} else if err != nil {
						return "", err
					}
					d, err := tx.card(f.a, c.ID)
					if err != nil {
						return "", err
					}
					all += fmt.Sprint(d.CurrentValue, d.StampsCount, d.ExpiresAt, strings.HasPrefix(c.InstallURL, "https://a.example.com/"))
				}
				return all, nil
			}
			last := must(f, issue)
			for i, change := range []func(*Tx) error{
				update(ProgramFields{InitialBalanceCents: setInt(250)}),
				update(ProgramFields{DefaultExpireAfterDays: setInt(7)}),
				func(tx *Tx) error {
					return errorOf(tx.UpdateProgramSettings(f.a.Shop, stamped, ProgramSettings{WelcomeStamps: setInt(2)}))
				},
				shop(ShopFields{PublicURL: set("https://a.example.com")}),
				action(Suspend), action(Unsuspend), action(Unpublish), action(Publish),
				shop(ShopFields{MaxCards: setInt(1)}), shop(ShopFields{MaxCards: null[int64]()}),
			} {
				var got string
				do := func(tx *Tx) (err error) {
					got, err = issue(tx)
					return err
				}
				switch who {
				case "this process":
					f.must(change)
				case "another process":
					other.must(change)
				case "a write that is rolled back":
					refused(t, f.do(func(tx *Tx) error {
						succeed(change(tx))
						do(tx)
						return notFound("anything")
					}), NotFound)
					other.must(func(tx *Tx) error { tx.bumpAuth(); return tx.failed }) // to the epoch that was rolled back
					if now := must(f, issue); now != last || got == last {
						t.Errorf("change %d: %s, then rolled back %s, before %s", i, got, now, last)
					}
					f.must(change)
				case "the same group":
					if errs := f.group(write(do), write(change), write(do)); errors.Join(errs...) != nil {
						t.Fatal(errs)
					}
				}
				if got == "" || who != "the same group" {
					f.must(do)
				}
				if want := must(other, issue); got != want || got == last {
					t.Errorf("change %d: %s, another store %s, before %s", i, got, want, last)
				}
				last = got
			}
			f.checkFile()
		})
	}
}
