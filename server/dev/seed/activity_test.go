package seed

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/store"
)

// activities counts what was done in a shop, according to its seed or to the ledger.
type activities struct {
	rows map[activityKey]int // how many there are
	sums map[string]int64    // stamps and amounts, by kind; 0 of redemptions and reversals
}

// activityKey identifies an activity. The card is a ref, also for what happened on the cards that it
// overflowed into.
type activityKey struct{ card, kind, at string }

// activitiesOfSeed reads the activities of the first shop of a seed file independently of the package.
func activitiesOfSeed(t *testing.T, name string, start time.Time) activities {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(seedFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Shops []struct {
			Activity []struct {
				At, Ago, Ref, Card, Location, Redeem, Reverse string
				Stamp, Spend                                  int64
				TopUp                                         int64 `json:"top_up"`
				Use                                           bool
			}
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	a := activities{map[activityKey]int{}, map[string]int64{}}
	cards := map[string]string{} // by the refs of activities
	for _, x := range file.Shops[0].Activity {
		at := x.At
		if x.Ago != "" {
			at = start.Add(-durationOf(t, x.Ago)).UTC().Format(time.RFC3339)
		}
		cards[x.Ref] = x.Card
		if x.Reverse != "" {
			x.Card = cards[x.Reverse]
		}
		kind := "use"
		switch {
		case x.Stamp > 0:
			kind = "stamp"
		case x.TopUp > 0:
			kind = "topup"
		case x.Spend > 0:
			kind = "spend"
		case x.Redeem != "":
			kind = "redemption"
		case x.Reverse != "":
			kind = "reversal"
		}
		a.rows[activityKey{x.Card, kind, at}]++
		a.sums[kind] += x.Stamp + x.TopUp - x.Spend
	}
	return a
}

// durationOf parses a duration, in which a day has 24 hours.
func durationOf(t *testing.T, text string) time.Duration {
	t.Helper()
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		days, rest = "0", text
	}
	if rest == "" {
		rest = "0s"
	}
	var n int64
	if _, err := fmt.Sscan(days, &n); err != nil {
		t.Fatal(err)
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		t.Fatal(err)
	}
	return d + time.Duration(n)*24*time.Hour
}

// add adds the ledger of a card of the seed and of the cards that it overflowed into.
func (a activities) add(v *store.View, ready *Ready, ref string) error {
	lookup, err := v.Lookup(store.Till{Shop: ready.shop}, ready.Refs[ref])
	if err != nil {
		return err
	}
	chain := []string{lookup.Card.ID}
	for _, e := range lookup.EarlierCards {
		chain = append(chain, e.ID)
	}
	if first := ready.Refs[ref]; !slices.Contains(chain, first) {
		chain = append(chain, first) // it is no longer in use
	}
	for _, id := range chain {
		ledger, err := ledgerOf(v, store.Access{Shop: ready.shop}, id)
		if err != nil {
			return err
		}
		for _, x := range ledger {
			kind := strings.NewReplacer("access", "use", "discount", "use").Replace(x.Type)
			a.rows[activityKey{ref, kind, x.CreatedAt.Std().Format(time.RFC3339)}] = 1 // also for the two rows of an overflow
			if kind != "reversal" && kind != "redemption" {
				a.sums[kind] += x.StampsDelta.V + x.ValueDelta.V
			}
		}
	}
	return nil
}

// TestLedgerIsTheActivity checks that the ledger has each activity of the seed files, with its time and
// amount, and no other row.
func TestLedgerIsTheActivity(t *testing.T) {
	for _, name := range seedNames {
		s := readSeed(t, name)
		st, ready := apply(t, s)
		want, got := activitiesOfSeed(t, name, startOf(s)), activities{map[activityKey]int{}, map[string]int64{}}
		if err := st.View(0, func(v *store.View) error {
			for _, c := range s.shops[0].Cards.V {
				if err := got.add(v, ready, c.Ref.V); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for r, n := range want.rows {
			if got.rows[r] != n {
				t.Errorf("%s: %v is %d times in the file and %d times in the ledger", name, r, n, got.rows[r])
			}
		}
		if len(got.rows) != len(want.rows) {
			t.Errorf("%s: %d rows, %d activities", name, len(got.rows), len(want.rows))
		}
		for kind, n := range got.sums {
			if want.sums[kind] != n {
				t.Errorf("%s: %s comes to %d, in the file to %d", name, kind, n, want.sums[kind])
			}
		}
	}
}
