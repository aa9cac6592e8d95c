package store

import (
	"testing"
	"time"
)

// TestMaxCardsWithManyExpired checks max_cards when more cards expire at once than one statement
// marks as expired.
func TestMaxCardsWithManyExpired(t *testing.T) {
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
