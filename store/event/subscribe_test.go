package event

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestValidPattern(t *testing.T) {
	for _, in := range All() {
		if got, want := ValidPattern(string(in.Name)), in.Name != TestPing; got != want {
			t.Errorf("%s: %v", in.Name, got)
		}
	}
	for _, p := range strings.Fields("* card.* stamp.* prize.* value.* transaction.* program.* location.* subscription.*") {
		if !ValidPattern(p) {
			t.Errorf("%q refused", p)
		}
	}
	for _, p := range []string{"", ".", ".*", "**", "*.*", "test.*", "test.ping", "card", "card.", "card*", "card.**", "card.add*",
		"cards.*", "Card.added", "CARD.*", " *", "* ", "card.added.*", "*.added", "card.*.*", "card.unknown", "te.*", "car.*"} {
		if ValidPattern(p) {
			t.Errorf("%q accepted", p)
		}
	}
}

func TestConflicts(t *testing.T) {
	excluded := map[Name]bool{StampAssigned: true, PrizeRedeemed: true, ValueChanged: true,
		TransactionReversed: true, CardUsed: true, CardExpired: true}
	for _, in := range All() {
		n := in.Name
		want := excluded[n]
		if got := Conflicts([]string{"transaction.created", string(n)}); got != want {
			t.Errorf("firehose, %s: %v", n, got)
		}
		if got := Conflicts([]string{string(n), "*", "transaction.created"}); got != want {
			t.Errorf("%s, *, firehose: %v", n, got)
		}
		if got := slices.Contains(ExclusiveWith(), n); got != want {
			t.Errorf("ExclusiveWith has %s: %v", n, got)
		}
		if Conflicts([]string{string(n), "transaction.*", "*"}) {
			t.Errorf("%s conflicts with wildcards", n)
		}
	}
	if Conflicts(nil) || Conflicts([]string{"transaction.created"}) {
		t.Error("conflict with nothing")
	}
	for _, p := range append(slices.Clone(prefixes), "*") {
		if Conflicts([]string{"transaction.created", p + ".*"}) {
			t.Errorf("firehose conflicts with the wildcard of %s", p)
		}
	}
}

// Locations and programs of the events in these tests.
const (
	here, elsewhere, nowhere int64 = 10, 11, 0
	ours, theirs, none       int64 = 20, 21, 0
)

// TestFilters checks which events pass filters of locations and programs. A filter of locations lets events of the listed ones
// pass, and with include_shop_wide_events those that are shop-wide, wherever they happen, instead of none. A filter of programs
// lets no event pass that has no program, even if its facts name one. An event must pass both.
func TestFilters(t *testing.T) {
	for n := range 8 {
		s := Subscription{Events: []string{"*", "transaction.created"}, IncludeShopWide: n&1 > 0}
		if n&2 > 0 {
			s.LocationIDs = []int64{99, here}
		}
		if n&4 > 0 {
			s.ProgramIDs = []int64{99, ours}
		}
		for _, in := range All() {
			for _, at := range []int64{here, elsewhere, nowhere} {
				for _, of := range []int64{ours, theirs, none} {
					want := in.Name != TestPing
					switch {
					case s.LocationIDs == nil:
					case in.ShopWide:
						want = want && s.IncludeShopWide
					default:
						want = want && at == here
					}
					if s.ProgramIDs != nil {
						want = want && of == ours && !in.Programless
					}
					f := Facts{Name: in.Name, LocationID: at, ProgramID: of, Preview: true}
					if got := s.Matches(f); got != want {
						t.Errorf("%+v passes %+v: %v", f, s, got)
					}
				}
			}
		}
	}
}

// TestEveryEvent combines every event with every form of subscription, with and without preview.
func TestEveryEvent(t *testing.T) {
	patterns := []string{"*"}
	for _, n := range Subscribable() {
		patterns = append(patterns, string(n))
	}
	for _, p := range prefixes {
		patterns = append(patterns, p+".*")
	}
	// These patterns cannot be saved, and must not match anyway.
	patterns = append(patterns, "test.ping", "test.*", "car.*", ".*")
	for _, p := range patterns {
		for _, in := range All() {
			for _, preview := range []bool{false, true} {
				n := string(in.Name)
				family, wild := strings.CutSuffix(p, ".*")
				want := p == n || wild && family == n[:strings.Index(n, ".")]
				if p == "*" {
					want = in.Name != TransactionCreated
				}
				want = want && in.Name != TestPing && (in.Sends || preview)
				s := Subscription{Events: []string{p}}
				if got := s.Matches(Facts{Name: in.Name, ProgramID: ours, LocationID: here, Preview: preview}); got != want {
					t.Errorf("%s on %s, preview %v: %v", p, n, preview, got)
				}
			}
		}
	}
	for _, in := range All() {
		if (&Subscription{}).Matches(Facts{Name: in.Name, Preview: true}) {
			t.Errorf("no patterns match %s", in.Name)
		}
	}
	if (&Subscription{Events: []string{"*", "card.*", "card.lost"}}).Matches(Facts{Name: "card.lost", Preview: true}) {
		t.Error("matched an event outside the catalogue")
	}
}

// sentOfRow returns the events that s gets of a ledger row, which are transaction.created and the
// given specific ones. All have the facts f but their names.
func sentOfRow(s Subscription, specific []Name, f Facts) (sent []string) {
	for _, n := range append([]Name{TransactionCreated}, specific...) {
		f.Name, f.Specific, f.AlsoSpecific = n, "", ""
		if n == TransactionCreated && len(specific) > 0 {
			f.Specific = specific[0]
		}
		if n == TransactionCreated && len(specific) > 1 {
			f.AlsoSpecific = specific[1]
		}
		if s.Matches(f) {
			sent = append(sent, string(n))
		}
	}
	return sent
}

// TestOneTransaction checks which of the events of one row of the ledger, transaction.created and
// the more specific ones, a subscription gets.
func TestOneTransaction(t *testing.T) {
	rows := map[string][]Name{
		"stamp":     {StampAssigned},
		"redeem":    {PrizeRedeemed},
		"topup":     {ValueChanged},
		"reversal":  {TransactionReversed},
		"unspend":   {TransactionReversed, ValueChanged},
		"access":    {CardUsed},
		"discount":  {},
		"expiry":    {CardExpired},
		"wrongname": {"no.such"},
	}
	for _, c := range []struct {
		row      string
		patterns string
		preview  bool
		want     string
	}{
		{"stamp", "transaction.created", false, "transaction.created"},
		{"stamp", "*", false, "stamp.assigned"},
		{"stamp", "stamp.assigned", false, "stamp.assigned"},
		{"stamp", "stamp.*", false, "stamp.assigned"},
		{"stamp", "transaction.*", false, "transaction.created"},
		{"stamp", "* transaction.created", false, "stamp.assigned"},
		{"stamp", "* transaction.*", false, "stamp.assigned"},
		{"stamp", "stamp.* transaction.created", false, "stamp.assigned"},
		{"stamp", "stamp.assigned transaction.*", false, "stamp.assigned"},
		{"stamp", "card.* transaction.created", false, "transaction.created"},
		{"redeem", "prize.* transaction.created", false, "prize.redeemed"},
		{"redeem", "stamp.* transaction.created", false, "transaction.created"},
		{"topup", "value.* transaction.created", false, "value.changed"},
		{"topup", "transaction.*", false, "transaction.created"},
		{"reversal", "transaction.created", false, "transaction.created"},
		{"reversal", "transaction.*", false, "transaction.reversed"},
		{"reversal", "transaction.* transaction.created", false, "transaction.reversed"},
		{"reversal", "*", false, "transaction.reversed"},
		{"unspend", "*", false, "transaction.reversed value.changed"},
		{"unspend", "* transaction.created", false, "transaction.reversed value.changed"},
		{"unspend", "transaction.created", false, "transaction.created"},
		{"unspend", "transaction.*", false, "transaction.reversed"},
		{"unspend", "value.* transaction.created", false, "value.changed"},
		{"unspend", "stamp.* transaction.created", false, "transaction.created"},
		{"access", "card.* transaction.created", false, "card.used"},
		{"access", "transaction.*", false, "transaction.created"},
		{"discount", "*", false, ""},
		{"discount", "* transaction.created", false, "transaction.created"},
		{"discount", "card.* transaction.*", false, "transaction.created"},
		// The event is not sent yet, so the firehose gets the row.
		{"expiry", "card.* transaction.created", false, "transaction.created"},
		{"expiry", "* transaction.created", false, "transaction.created"},
		{"expiry", "card.expired transaction.*", false, "transaction.created"},
		{"expiry", "card.* transaction.created", true, "card.expired"},
		{"expiry", "* transaction.created", true, "card.expired"},
		{"expiry", "card.expired transaction.*", true, "card.expired"},
		{"expiry", "transaction.created", true, "transaction.created"},
		{"expiry", "*", false, ""},
		{"wrongname", "* transaction.created", true, "transaction.created"},
	} {
		// A filter that matches the row does not change what is sent; with another, nothing is.
		for _, filter := range []string{"open", "fitting", "other"} {
			s := Subscription{Events: strings.Fields(c.patterns), IncludeShopWide: true}
			want := c.want
			switch filter {
			case "fitting":
				s.ProgramIDs, s.LocationIDs = []int64{ours}, []int64{here}
			case "other":
				s.LocationIDs, want = []int64{elsewhere}, ""
			}
			sent := sentOfRow(s, rows[c.row], Facts{ProgramID: ours, LocationID: here, Preview: c.preview})
			if got := strings.Join(sent, " "); got != want {
				t.Errorf("%s row, [%s], preview %v, %s filter: sent [%s], want [%s]", c.row, c.patterns, c.preview, filter, got, want)
			}
		}
	}
}

func TestMatchesAllocatesNothing(t *testing.T) {
	s := Subscription{
		Events:      []string{"card.added", "stamp.*", "transaction.*", "*"},
		ProgramIDs:  []int64{1, ours},
		LocationIDs: []int64{here},
	}
	n := testing.AllocsPerRun(100, func() {
		s.Matches(Facts{Name: TransactionCreated, ProgramID: ours, LocationID: here, Specific: StampAssigned})
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleSubscription_Matches() {
	s := Subscription{Events: []string{"transaction.created", "card.*"}}
	fmt.Println(s.Matches(Facts{Name: TransactionCreated, Specific: CardUsed}))
	fmt.Println(s.Matches(Facts{Name: TransactionCreated, Specific: StampAssigned}))
	// Output:
	// false
	// true
}
