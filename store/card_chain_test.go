package store

import (
	"slices"
	"testing"
	"time"
)

// chainCase is a chain of three cards: a card, its child and its grandchild. startChain inserts the
// children directly.
type chainCase struct {
	*fixture
	program string
	cards   []string // root first
}

func startChain(t *testing.T, fields CardFields, limits ShopFields) chainCase {
	f := start(t)
	f.updateShop(limits)
	repeat := stamps("Coffee")
	repeat.RepeatAfterReset = set(true)
	c := chainCase{fixture: f, program: f.program(repeat)}
	root := f.cardWith(c.program, fields)
	f.sql("UPDATE cards SET activated_at=?", f.clock.at())
	c.cards = []string{root, f.child(root)}
	c.cards = append(c.cards, f.child(c.cards[1]))
	return c
}

// finish archives the first card alone, as its completion would.
func (c chainCase) finish() {
	c.sql("UPDATE cards SET archived_at=? WHERE id=?", c.clock.at(), c.key(KindCard, c.cards[0]))
}

func (c chainCase) statuses() (out []string) {
	for _, id := range c.cards {
		d := check(c.read(id))
		out = append(out, d.Status)
	}
	return out
}

func (c chainCase) expectStatuses(when string, want ...string) {
	c.t.Helper()
	if got := c.statuses(); !slices.Equal(got, want) {
		c.t.Errorf("%s: the chain is %v, want %v", when, got, want)
	}
	c.checkFile()
}

// live returns the number of the shop's live cards, as the store counts it.
func (c chainCase) live() int64 {
	return c.number("SELECT live_cards FROM shops WHERE id=?", c.a.Shop)
}

// TestChainCountsAsOne checks that a chain is one card to max_cards, and that its external_ref
// conflicts with other chains but not with itself.
func TestChainCountsAsOne(t *testing.T) {
	c := startChain(t, CardFields{ExternalRef: set("ada")}, ShopFields{MaxCards: setInt(2)})
	issue := func(ref string) error {
		return c.do(c.issuing(c.program, CardFields{ExternalRef: optional(ref)}))
	}
	refused(t, issue("ada"), Conflict)
	if err := issue(""); err != nil {
		t.Errorf("a chain of three under max_cards 2 leaves no room for another card: %v", err)
	}
	refused(t, issue(""), Unprocessable)

	// A chain does not conflict with its own reference. All its cards are changed.
	for _, named := range c.cards {
		for _, name := range []string{"grace", "ada"} {
			c.update(named, CardPatch{ExternalRef: set(name), HolderName: set(name)})
			for _, id := range c.cards {
				if d, err := c.read(id); err != nil || d.HolderName.V != name || d.ExternalRef.V != name {
					t.Errorf("after a patch, %+v, %v", d, err)
				}
			}
		}
	}
	// A live child counts for the whole chain.
	c.finish()
	c.checkFile()
	refused(t, issue(""), Unprocessable)
	c.updateShop(ShopFields{MaxCards: setInt(3)})
	refused(t, issue("ada"), Conflict)
}

// TestChainWithoutItsFirstCard checks that a reissue of a chain whose first card was completed ends the
// chain's code and link, and that the chain does not count for max_cards after its expiry.
func TestChainWithoutItsFirstCard(t *testing.T) {
	c := startChain(t, CardFields{}, ShopFields{MaxCards: setInt(1)})
	c.finish()
	before := c.lines("SELECT hex(install_hash) FROM cards WHERE root_id IS NULL")
	c.reissue(c.cards[1], ReissueFields{ExpiresAt: set(c.clock.at().Add(time.Hour))})
	c.expectStatuses("reissued", StatusArchived, StatusInvited, StatusInvited)
	c.selects(1, "SELECT code_generation FROM cards WHERE root_id IS NULL")
	if after := c.lines("SELECT hex(install_hash) FROM cards WHERE root_id IS NULL"); slices.Equal(after, before) {
		t.Error("the old install link is still valid")
	}
	c.clock.move(time.Hour)
	c.expectStatuses("expired", StatusArchived, StatusExpired, StatusExpired)
	c.card(c.program)
}

// TestExpiredChainBecomesLiveOnce checks that a chain that becomes live again counts as one card,
// whichever operation does it.
func TestExpiredChainBecomesLiveOnce(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(*Tx, chainCase, string) error{
		"patch": func(tx *Tx, c chainCase, id string) error {
			return errorOf(tx.UpdateCard(c.a, id, CardPatch{ExpiresAt: null[Time]()}))
		},
		"reissue": func(tx *Tx, c chainCase, id string) error {
			return errorOf(tx.ReissueCard(c.a, id, ReissueFields{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 3 {
				c := startChain(
					t,
					CardFields{ExternalRef: set("ada"), ExpiresAt: set(newClock().at().Add(time.Hour))},
					ShopFields{MaxCards: setInt(1)},
				)
				c.clock.move(time.Hour)
				other := c.cardWith(c.program, CardFields{ExternalRef: set("ada")})
				refused(t, c.do(func(tx *Tx) error { return back(tx, c, c.cards[i]) }), Conflict)
				c.update(other, CardPatch{ExternalRef: null[string]()})
				refused(t, c.do(func(tx *Tx) error { return back(tx, c, c.cards[i]) }), Unprocessable)
				c.archive(other)
				c.must(func(tx *Tx) error { return back(tx, c, c.cards[i]) })
				if n := c.live(); n != 1 {
					t.Errorf("live_cards is %d", n)
				}
				c.checkFile()
			}
		})
	}
}
