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
	f.writes(func(tx *Tx) {
		for range 510 {
			succeed(f.issuing(program, CardFields{ExpiresAt: set(soon)})(tx))
		}
	})
	f.updateShop(ShopFields{MaxCards: setInt(510)})
	issue := func() error { return f.do(f.issuing(program, CardFields{})) }
	refused(t, issue(), Unprocessable)
	f.clock.move(time.Minute - time.Millisecond)
	refused(t, issue(), Unprocessable)
	f.clock.move(time.Millisecond)
	for i := range 510 {
		if err := issue(); err != nil {
			t.Fatalf("new card %d after the old ones expired: %v", i+1, err)
		}
	}
	refused(t, issue(), Unprocessable)
	if n := f.number("SELECT live_cards FROM shops"); n < 510 {
		t.Errorf("live_cards is %d with 510 live", n)
	}
	f.checkFile()
}
