package store

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestReissueFiresForEveryLiveCard checks that a reissue fires card.reissued once for each card of
// the chain that is not archived, whichever of them is named.
func TestReissueFiresForEveryLiveCard(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 10)
	k.hook(program, hookFields{})
	first := k.card(program)
	second := k.stamped(first, 15).OverflowCard.ID
	third := k.stamped(first, 9).OverflowCard.ID
	reissued := func(named string) []string {
		t.Helper()
		before := k.number("SELECT max(id) FROM events")
		k.reissue(named, ReissueFields{})
		return k.lines("SELECT name || ' ' || card_id || ' ' || (payload_v2->>'$.card.state') FROM events WHERE id>? ORDER BY id", before)
	}
	of := func(cards ...string) (list []string) {
		for _, id := range cards {
			list = append(list, fmt.Sprintf("card.reissued %d invited", k.key(KindCard, id)))
		}
		return list
	}
	for _, named := range []string{first, third} {
		if got, want := reissued(named), of(first, second, third); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	k.redeemed(first, prizes[0]) // archives the first card
	archived := k.lines("SELECT activated_at || ' ' || updated_at FROM cards WHERE id=?", k.key(KindCard, first))
	k.clock.move(time.Hour)
	if got, want := reissued(second), of(second, third); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	after := k.lines("SELECT activated_at || ' ' || updated_at FROM cards WHERE id=?", k.key(KindCard, first))
	if !slices.Equal(after, archived) {
		t.Errorf("the reissue changed the archived card from %q to %q", archived, after)
	}
}
