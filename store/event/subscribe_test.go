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

// TestNoFilter checks that a subscription without filters gets events of every location and program, and
// those of none, whatever include_shop_wide_events is.
func TestNoFilter(t *testing.T) {
	for _, include := range []bool{false, true} {
		s := Subscription{Events: []string{"*"}, IncludeShopWide: include}
		for _, n := range []Name{CardAdded, CardRegistered, SubscriptionStateChanged, LocationCreated} {
			for _, f := range []Facts{{}, {LocationID: here}, {LocationID: elsewhere}, {ProgramID: ours}, {ProgramID: theirs}} {
				f.Name = n
				if !s.Matches(f) {
					t.Errorf("include %t: no match with %+v", include, f)
				}
			}
		}
	}
}

// TestLocationFilter checks the rules of location filters.
func TestLocationFilter(t *testing.T) {
	// card.added has a location unless the card was issued over REST; card.registered is shop-wide.
	located, shopwide := CardAdded, CardRegistered
	for _, c := range []struct {
		include bool
		name    Name
		at      int64
		want    bool
	}{
		// With true: the listed locations and the shop-wide events.
		{true, located, here, true}, {true, located, elsewhere, false}, {true, located, nowhere, false},
		{true, shopwide, nowhere, true}, {true, shopwide, here, true}, {true, shopwide, elsewhere, true},
		{true, LocationCreated, elsewhere, true},
		// With false: the listed locations only.
		{false, located, here, true}, {false, located, elsewhere, false}, {false, located, nowhere, false},
		{false, shopwide, nowhere, false}, {false, shopwide, here, false}, {false, shopwide, elsewhere, false},
		{false, LocationCreated, here, false},
	} {
		s := Subscription{Events: []string{"*"}, LocationIDs: []int64{99, here}, IncludeShopWide: c.include}
		if got := s.Matches(Facts{Name: c.name, LocationID: c.at}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestProgramFilter(t *testing.T) {
	for _, c := range []struct {
		name    Name
		program int64
		want    bool
	}{
		{CardAdded, ours, true}, {CardAdded, theirs, false}, {CardAdded, none, false}, {ProgramCreated, ours, true},
		{ProgramCreated, theirs, false}, {SubscriptionStateChanged, none, false}, {LocationCreated, none, false},
		{LocationUpdated, none, false}, {LocationDisabled, none, false}, {LocationEnabled, none, false},
		// These events have no program, so no filter matches them, even if their facts name one.
		{LocationCreated, ours, false},
		{SubscriptionStateChanged, ours, false},
	} {
		s := Subscription{Events: []string{"*"}, ProgramIDs: []int64{99, ours}, IncludeShopWide: true}
		if got := s.Matches(Facts{Name: c.name, ProgramID: c.program, Preview: true}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestBothFilters checks that an event must match both filters.
func TestBothFilters(t *testing.T) {
	s := Subscription{Events: []string{"*"}, ProgramIDs: []int64{ours}, LocationIDs: []int64{here}, IncludeShopWide: true}
	for _, c := range []struct {
		program, location int64
		want              bool
	}{
		{ours, here, true}, {ours, elsewhere, false}, {ours, nowhere, false},
		{theirs, here, false}, {theirs, elsewhere, false}, {none, here, false},
	} {
		if got := s.Matches(Facts{Name: StampAssigned, ProgramID: c.program, LocationID: c.location}); got != c.want {
			t.Errorf("%+v: %v", c, got)
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
