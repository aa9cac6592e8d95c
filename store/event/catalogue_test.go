package event

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestCatalogueCounts compares the numbers of events with the documented ones.
func TestCatalogueCounts(t *testing.T) {
	all := All()
	count := func(f func(Info) bool) (n int) {
		for _, in := range all {
			if f(in) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"events", len(all), 26},
		{"subscribable", len(Subscribable()), 25},
		{"sending and subscribable", count(func(in Info) bool { return in.Sends && in.Name != TestPing }), 14},
		{"not yet", count(func(in Info) bool { return !in.Sends }), 11},
		{"shop-wide", count(func(in Info) bool { return in.ShopWide }), 17},
		{"without program", count(func(in Info) bool { return in.Programless }), 6},
		{"distinct names", len(byName), 26},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
}

// TestCatalogueSets compares the sets of events with a second list of them.
func TestCatalogueSets(t *testing.T) {
	shopWideSet := "card.registered card.activated card.reissued card.archived card.deleted " +
		"program.created program.updated program.published program.unpublished program.suspended program.unsuspended program.deleted " +
		"location.created location.updated location.disabled location.enabled subscription.state_changed"
	notYetSet := "card.expired " +
		"program.created program.updated program.published program.unpublished program.suspended program.unsuspended program.deleted " +
		"location.updated location.disabled location.enabled"
	programlessSet := "location.created location.updated location.disabled location.enabled subscription.state_changed test.ping"
	for _, c := range []struct {
		what, want string
		in         func(Info) bool
	}{
		{"shop-wide", shopWideSet, func(in Info) bool { return in.ShopWide }},
		{"not yet", notYetSet, func(in Info) bool { return !in.Sends }},
		{"programless", programlessSet, func(in Info) bool { return in.Programless }},
	} {
		var got []string
		for _, in := range All() {
			if c.in(in) {
				got = append(got, string(in.Name))
			}
		}
		if g := strings.Join(got, " "); sorted(g) != sorted(c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.what, g, c.want)
		}
	}
	if got, want := prefixes, strings.Fields("card stamp prize value transaction program location subscription"); !reflect.DeepEqual(got, want) {
		t.Errorf("prefixes: %v, want %v", got, want)
	}
}

func TestLookup(t *testing.T) {
	for _, in := range All() {
		got, ok := Lookup(in.Name)
		if !ok || !reflect.DeepEqual(got, in) {
			t.Errorf("Lookup(%s) = %v, %v", in.Name, got, ok)
		}
		if in.Doc == "" || len(in.Fields) == 0 {
			t.Errorf("%s: no doc or no fields", in.Name)
		}
	}
	for _, n := range []Name{"", "*", "card", "card.*", "card.lost", "Card.added", "card.added "} {
		if _, ok := Lookup(n); ok {
			t.Errorf("Lookup(%q) found something", n)
		}
	}
}

func sorted(words string) string {
	f := strings.Fields(words)
	slices.Sort(f)
	return strings.Join(f, " ")
}
