package store

import (
	"fmt"
	"testing"
	"time"
)

// TestIssueAtTheCounter checks the card that a till issues and the reasons for a refusal.
func TestIssueAtTheCounter(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true)
	issue := func(ref string) (IssuedCard, error) {
		return attempt(k.fixture, func(tx *Tx) (IssuedCard, error) {
			return tx.IssueAtCounter(k.device, program, CounterFields{HolderName: set("Ada"), ExternalRef: optional(ref)})
		})
	}
	c, err := issue("ada")
	if err != nil {
		t.Fatal(err)
	}
	if d := k.get(c.ID); d.Status != StatusActive || d.HolderName.V != "Ada" || d.InstalledAt.Valid || c.InstallURL == "" {
		t.Errorf("the card is %+v", d.Card)
	}
	if got := k.lines("SELECT concat_ws(',', source, first_location_id) FROM cards"); got[0] != fmt.Sprint("counter,", k.device.Location) {
		t.Errorf("the source of the card is %q", got)
	}
	// A holder has one live card in a program, whoever issues it.
	_, err = issue("ada")
	refused(t, err, Conflict)
	_, err = attempt(k.fixture, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueCard(k.a, program, CardFields{ExternalRef: set("ada")}, SourceAPI)
	})
	refused(t, err, Conflict)
	k.ok(k.stamp(c.ID, 12)) // complete and archived, but its child is live
	_, err = issue("ada")
	refused(t, err, Conflict)
	k.archive(k.lookup(c.ID).Card.ID)
	if _, err = issue("ada"); err != nil {
		t.Error(err)
	}
	k.updateShop(ShopFields{MaxCards: set(int64(1))})
	_, err = issue("")
	refused(t, err, Unprocessable)
	k.updateShop(ShopFields{MaxCards: null[int64]()})
	k.action(program, Suspend)
	_, err = issue("")
	refused(t, err, Unprocessable)
	narrow := stamps("Elsewhere")
	narrow.LocationScope, narrow.ScopedLocationIDs = set("selected_locations"), set([]string{k.fixture.location()})
	program = k.program(narrow)
	_, err = issue("")
	refused(t, err, Unprocessable)
	program = k.draft(stamps("Draft"))
	_, err = issue("")
	refused(t, err, Unprocessable)
	program = "prg_"
	_, err = issue("")
	refused(t, err, NotFound)
	k.checkFile()
}

// TestMaxCardsWithManyExpired checks max_cards when more cards expire at once than one statement
// marks as expired.
func TestMaxCardsWithManyExpired(t *testing.T) {
	t.Parallel()
	f := start(t)
	program := f.program(stamps("Coffee"))
	soon := f.clock.at().Add(time.Minute)
	f.must(func(tx *Tx) error {
		for range 700 {
			if _, err := tx.IssueCard(f.a, program, CardFields{ExpiresAt: set(soon)}, SourceAPI); err != nil {
				return err
			}
		}
		_, err := tx.UpdateShop(f.a.Shop, ShopFields{MaxCards: set(int64(700))}, "")
		return err
	})
	issue := func() error {
		return f.do(func(tx *Tx) error { return errorOf(tx.IssueCard(f.a, program, CardFields{}, SourceAPI)) })
	}
	refused(t, issue(), Unprocessable)
	f.clock.move(time.Minute - time.Millisecond)
	refused(t, issue(), Unprocessable)
	f.clock.move(time.Millisecond)
	for i := range 700 {
		if err := issue(); err != nil {
			t.Fatalf("new card %d after the old ones expired: %v", i+1, err)
		}
	}
	refused(t, issue(), Unprocessable)
	if n := f.number("SELECT live_cards FROM shops"); n < 700 {
		t.Errorf("live_cards is %d with 700 live", n)
	}
	f.checkFile()
}
