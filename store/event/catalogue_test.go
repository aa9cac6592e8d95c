package event

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestCatalogueSets compares the sets of events with a second list of them, and their number with the
// documented one.
func TestCatalogueSets(t *testing.T) {
	if len(All()) != 26 || len(byName) != 26 || len(Subscribable()) != 25 {
		t.Errorf("%d events, %d names, %d subscribable; want 26, 26 and 25", len(All()), len(byName), len(Subscribable()))
	}
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
	if got, want := prefixes, strings.Fields("card stamp prize value transaction program location subscription"); !reflect.DeepEqual(
		got,
		want,
	) {
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
