package store

import (
	"testing"
	"time"
)

// TestExpiredChainBecomesLiveOnce checks that an expired chain becomes live again, by a patch or a reissue of any of its cards, only
// if its reference and max_cards allow it, and that it counts as one card then.
func TestExpiredChainBecomesLiveOnce(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(tx *Tx, a Access, card string) error{
		"patch": func(tx *Tx, a Access, card string) error {
			return errorOf(tx.UpdateCard(a, card, CardPatch{ExpiresAt: null[Time]()}))
		},
		"reissue": func(tx *Tx, a Access, card string) error { return errorOf(tx.ReissueCard(a, card, ReissueFields{})) },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.updateShop(ShopFields{MaxCards: setInt(1)})
			program := f.program(stamps("Coffee"))
			child := f.child(f.cardWith(program, CardFields{ExternalRef: set("ada"), ExpiresAt: set(f.clock.at().Add(time.Hour))}))
			f.clock.move(time.Hour)
			other := f.cardWith(program, CardFields{ExternalRef: set("ada")})
			again := func(tx *Tx) error { return back(tx, f.a, child) }
			refused(t, f.do(again), Conflict)
			f.update(other, CardPatch{ExternalRef: null[string]()})
			refused(t, f.do(again), Unprocessable)
			f.archive(other)
			f.must(again)
			f.selects(1, "SELECT live_cards FROM shops")
			f.checkFile()
		})
	}
}
