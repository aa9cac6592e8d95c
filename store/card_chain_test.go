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
	f := start(t, Options{})
	f.must(func(tx *Tx) error { _, err := tx.UpdateShop(f.a.Shop, limits, ""); return err })
	repeat := stamps("Coffee")
	repeat.RepeatAfterReset = set(true)
	c := chainCase{fixture: f, program: f.program(f.a, repeat)}
	root := f.card(f.a, c.program, fields)
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
	c.t.Helper()
	for _, id := range c.cards {
		d, err := c.read(id)
		if err != nil {
			c.t.Fatal(err)
		}
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

// TestOperatorsActOnTheWholeChain checks that an operation on any card of a chain changes all of
// its cards.
func TestOperatorsActOnTheWholeChain(t *testing.T) {
	t.Parallel()
	for i := range 3 { // the index of the card that the operation names
		c := startChain(t, CardFields{ExternalRef: set("ada"), HolderName: set("Ada")}, ShopFields{})
		named := c.cards[i]
		c.expectStatuses("at first", StatusActive, StatusActive, StatusActive)
		for _, lock := range []bool{true, true, false} {
			c.must(func(tx *Tx) error { _, err := tx.SetCardLocked(c.a.Shop, named, lock); return err })
			want := map[bool]string{true: StatusLocked, false: StatusActive}[lock]
			c.expectStatuses("after a lock or unlock", want, want, want)
		}
		c.must(func(tx *Tx) error {
			_, err := tx.UpdateCard(c.a, named, CardPatch{HolderName: set("Grace"), ExternalRef: set("grace"), ExpiresAt: set(tx.Now.Add(time.Hour))})
			return err
		})
		for _, id := range c.cards {
			if d, err := c.read(id); err != nil || d.HolderName.V != "Grace" || d.ExternalRef.V != "grace" || !d.ExpiresAt.Valid {
				t.Errorf("after a patch, %+v, %v", d, err)
			}
		}
		c.clock.move(2 * time.Hour)
		c.expectStatuses("after its expiry", StatusExpired, StatusExpired, StatusExpired)
		c.must(func(tx *Tx) error {
			_, err := tx.ReissueCard(c.a, named, ReissueFields{HolderName: set("Joan")})
			return err
		})
		c.expectStatuses("reissued", StatusInvited, StatusInvited, StatusInvited)
		if n := c.number("SELECT code_generation FROM cards WHERE id=?", c.key(KindCard, c.cards[0])); n != 1 {
			t.Errorf("after a reissue the generation of the chain's code is %d, want 1", n)
		}
		if n := c.live(); n != 1 {
			t.Errorf("the chain counts as %d live cards", n)
		}
		c.must(func(tx *Tx) error { _, err := tx.ArchiveCard(c.a.Shop, named); return err })
		c.expectStatuses("archived", StatusArchived, StatusArchived, StatusArchived)
		if n := c.live(); n != 0 {
			t.Errorf("an archived chain counts as %d live cards", n)
		}
		c.must(func(tx *Tx) error { return tx.EraseCard(c.a.Shop, named) })
		for _, id := range c.cards {
			_, err := c.read(id)
			refused(t, err, NotFound)
		}
		c.checkFile()
	}
}

// TestChainCountsAsOne checks that a chain is one card to max_cards, and that its external_ref
// conflicts with other chains but not with itself.
func TestChainCountsAsOne(t *testing.T) {
	t.Parallel()
	c := startChain(t, CardFields{ExternalRef: set("ada")}, ShopFields{MaxCards: set(int64(2))})
	issue := func(ref string) error {
		return c.do(func(tx *Tx) error {
			_, err := tx.IssueCard(c.a, c.program, CardFields{ExternalRef: optional(ref)}, SourceAPI)
			return err
		})
	}
	refused(t, issue("ada"), Conflict)
	if err := issue(""); err != nil {
		t.Errorf("a chain of three under max_cards 2 leaves no room for another card: %v", err)
	}
	refused(t, issue(""), Unprocessable)

	// A chain does not conflict with its own reference.
	for _, id := range c.cards {
		for _, ref := range []string{"grace", "ada"} {
			if err := c.do(func(tx *Tx) error { _, err := tx.UpdateCard(c.a, id, CardPatch{ExternalRef: set(ref)}); return err }); err != nil {
				t.Errorf("renaming a chain: %v", err)
			}
		}
	}
	// A live child counts for the whole chain.
	c.finish()
	c.checkFile()
	refused(t, issue(""), Unprocessable)
	c.must(func(tx *Tx) error {
		_, err := tx.UpdateShop(c.a.Shop, ShopFields{MaxCards: set(int64(3))}, "")
		return err
	})
	refused(t, issue("ada"), Conflict)
}

// TestChainWithoutItsFirstCard checks operations on a chain whose first card was completed and
// archived.
func TestChainWithoutItsFirstCard(t *testing.T) {
	t.Parallel()
	t.Run("archive", func(t *testing.T) {
		c := startChain(t, CardFields{}, ShopFields{})
		c.finish()
		c.must(func(tx *Tx) error { _, err := tx.ArchiveCard(c.a.Shop, c.cards[2]); return err })
		c.expectStatuses("archived", StatusArchived, StatusArchived, StatusArchived)
		if n := c.live(); n != 0 {
			t.Errorf("live_cards is %d", n)
		}
	})
	t.Run("lock", func(t *testing.T) {
		c := startChain(t, CardFields{}, ShopFields{})
		c.finish()
		c.must(func(tx *Tx) error { _, err := tx.SetCardLocked(c.a.Shop, c.cards[1], true); return err })
		c.expectStatuses("locked", StatusArchived, StatusLocked, StatusLocked)
	})
	t.Run("reissue", func(t *testing.T) {
		c := startChain(t, CardFields{}, ShopFields{})
		c.finish()
		before := c.lines("SELECT hex(install_hash) FROM cards WHERE root_id IS NULL")
		c.must(func(tx *Tx) error { _, err := tx.ReissueCard(c.a, c.cards[1], ReissueFields{}); return err })
		c.expectStatuses("reissued", StatusArchived, StatusInvited, StatusInvited)
		if n := c.number("SELECT code_generation FROM cards WHERE root_id IS NULL"); n != 1 {
			t.Errorf("the old QR code is still valid: generation %d, want 1", n)
		}
		if after := c.lines("SELECT hex(install_hash) FROM cards WHERE root_id IS NULL"); slices.Equal(after, before) {
			t.Error("the old install link is still valid")
		}
	})
	t.Run("reissue with an expiry", func(t *testing.T) {
		c := startChain(t, CardFields{}, ShopFields{MaxCards: set(int64(1))})
		c.finish()
		c.must(func(tx *Tx) error {
			_, err := tx.ReissueCard(c.a, c.cards[1], ReissueFields{ExpiresAt: set(tx.Now.Add(time.Hour))})
			return err
		})
		c.clock.move(time.Hour)
		c.expectStatuses("expired", StatusArchived, StatusExpired, StatusExpired)
		if err := c.do(func(tx *Tx) error { _, err := tx.IssueCard(c.a, c.program, CardFields{}, SourceAPI); return err }); err != nil {
			t.Errorf("an expired chain still counts for max_cards: %v", err)
		}
	})
	t.Run("delete the program", func(t *testing.T) {
		c := startChain(t, CardFields{}, ShopFields{})
		c.finish()
		c.must(func(tx *Tx) error { return tx.DeleteProgram(c.a.Shop, c.program) })
		c.expectStatuses("deleted", StatusArchived, StatusArchived, StatusArchived)
		if n := c.live(); n != 0 {
			t.Errorf("live_cards is %d", n)
		}
	})
	t.Run("erase", func(t *testing.T) {
		c := startChain(t, CardFields{HolderName: set("Ada")}, ShopFields{})
		c.finish()
		c.must(func(tx *Tx) error { return tx.EraseCard(c.a.Shop, c.cards[1]) })
		for _, id := range c.cards {
			_, err := c.read(id)
			refused(t, err, NotFound)
		}
		if n := c.live(); n != 0 {
			t.Errorf("live_cards is %d", n)
		}
		c.checkFile()
	})
}

// TestExpiredChainBecomesLiveOnce checks that a chain that becomes live again counts as one card,
// whichever operation does it.
func TestExpiredChainBecomesLiveOnce(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(*Tx, chainCase, string) error{
		"patch": func(tx *Tx, c chainCase, id string) error {
			_, err := tx.UpdateCard(c.a, id, CardPatch{ExpiresAt: null[Time]()})
			return err
		},
		"reissue": func(tx *Tx, c chainCase, id string) error {
			_, err := tx.ReissueCard(c.a, id, ReissueFields{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 3 {
				c := startChain(t, CardFields{ExternalRef: set("ada"), ExpiresAt: set(newClock().at().Add(time.Hour))}, ShopFields{MaxCards: set(int64(1))})
				c.clock.move(time.Hour)
				other := c.card(c.a, c.program, CardFields{ExternalRef: set("ada")})
				refused(t, c.do(func(tx *Tx) error { return back(tx, c, c.cards[i]) }), Conflict)
				c.must(func(tx *Tx) error {
					_, err := tx.UpdateCard(c.a, other, CardPatch{ExternalRef: null[string]()})
					return err
				})
				refused(t, c.do(func(tx *Tx) error { return back(tx, c, c.cards[i]) }), Unprocessable)
				c.must(func(tx *Tx) error { _, err := tx.ArchiveCard(c.a.Shop, other); return err })
				c.must(func(tx *Tx) error { return back(tx, c, c.cards[i]) })
				if n := c.live(); n != 1 {
					t.Errorf("live_cards is %d", n)
				}
				c.checkFile()
			}
		})
	}
}
