package store

import (
	"testing"
	"time"
)

// TestForgetCards checks that a shop's cards are erased once they were not seen for as long as it has set, that
// they are listed a month before, that nothing is erased in the first month, and that cards with money stay.
func TestForgetCards(t *testing.T) {
	f := start(t)
	l := f.withLedger()
	f.inZone("Europe/Rome")
	f.hook(l.program, hookFields{})
	prepaid := func(cents int64) (card string) {
		return f.card(f.program(ProgramFields{Type: set("prepaid"), Name: set("Purse"), InitialBalanceCents: set(cents)}))
	}
	purse, empty := prepaid(500), prepaid(0)
	old := f.cardOf(l.program, "Zebedee")
	child := f.child(old)
	archived := f.cardWith(l.program, CardFields{HolderName: set("Zebedee"), HolderEmail: set("z@example.com")})
	f.archive(archived)
	f.sql("UPDATE cards SET last_seen_day=0")
	begin := f.clock.at()
	seen := f.card(l.program)
	f.clock.move(days(220))
	f.sql("UPDATE cards SET last_seen_day=? WHERE id=?", Day(f.clock.at().Std()), f.key(KindCard, seen))
	f.clock.move(days(280))
	lists := func(due, kept int64) Forgetting {
		t.Helper()
		g := view(f, func(v *View) (Forgetting, error) { return v.Forgetting(f.a.Shop) })
		if g.Due.N != due || g.Kept.N != kept || len(g.Cards) != int(due) || len(g.KeptCards) != int(kept) {
			t.Errorf("%d cards are due and %d are kept, want %d and %d: %+v", g.Due.N, g.Kept.N, due, kept, g)
		}
		return g
	}
	forget := func() (n int) {
		t.Helper()
		before := f.number("SELECT count(*) FROM cards WHERE deleted_at IS NOT NULL AND root_id IS NULL")
		for must(f, func(tx *Tx) (bool, error) { return tx.ForgetCards(1) }) {
			if n++; n > 10 {
				t.Fatal("it never ends")
			}
		}
		if now := f.number("SELECT count(*) FROM cards WHERE deleted_at IS NOT NULL AND root_id IS NULL"); now-before != int64(n) {
			t.Errorf("%d slices of one chain erased %d", n, now-before)
		}
		return n
	}
	lists(0, 0) // it is off
	if n := forget(); n != 0 {
		t.Errorf("%d cards were erased by a shop that erases none", n)
	}
	all := f.number("SELECT count(*) FROM cards WHERE root_id IS NULL AND deleted_at IS NULL")
	on := f.updateShop(ShopFields{ForgetAfterMonths: setInt(12)})
	if on.ForgetSince.V != f.clock.at() {
		t.Errorf("it is on since %v", on.ForgetSince)
	}
	due := all - 2 // without the purse and the card that was seen
	g := lists(due, 1)
	want := f.clock.at().Std().In(Zone("Europe/Rome")).AddDate(0, 1, 1).Format(time.DateOnly)
	if first := g.Cards[0]; first.EraseOn != want || first.CreatedOn != Date(Day(begin.Std().In(Zone("Europe/Rome")))) ||
		first.SeenOn.Valid {
		t.Errorf("the first card is %+v, want it erased on %s", first, want)
	}
	if a := f.today(t).Attention; a[len(a)-1].Kind != AttentionForgetting || a[len(a)-1].Cards.N != due {
		t.Errorf("today says %+v", a)
	}
	f.clock.move(days(27))
	if n := forget(); n != 0 {
		t.Errorf("%d cards were erased in the first month", n)
	}
	f.updateShop(ShopFields{ForgetAfterMonths: setInt(120)})
	f.clock.move(days(10))
	if n := forget(); n != 0 {
		t.Errorf("%d cards were erased after 120 months were set", n)
	}
	f.updateShop(ShopFields{ForgetAfterMonths: setInt(12)})
	f.clock.move(days(10))
	if n := forget(); n != 0 {
		t.Errorf("%d cards were erased in the first month after fewer months were set", n)
	}
	f.clock.move(days(25))
	lists(due+1, 1) // with the card that was seen 352 days ago
	if n := forget(); int64(n) != due {
		t.Errorf("%d cards were erased, want %d", n, due)
	}
	for _, id := range []string{old, child, archived, empty} {
		if _, err := f.read(id); err == nil {
			t.Errorf("the card %s is still there", id)
		}
	}
	for _, id := range []string{purse, seen} {
		if _, err := f.read(id); err != nil {
			t.Errorf("the card %s is gone: %v", id, err)
		}
	}
	f.selects(due, `SELECT count(*) FROM audit WHERE action='card.delete' AND detail='{"forget_after_months":12}'`)
	f.selects(0, "SELECT count(*) FROM name_words WHERE word='zebedee'")
	f.selects(1, "SELECT count(*)>0 FROM events WHERE name='card.deleted'")
	lists(1, 1)
	f.sql("UPDATE shops SET closed='moving'")
	f.clock.move(days(60))
	if n := forget(); n != 0 {
		t.Errorf("%d cards were erased of a shop that moves", n)
	}
	f.sql("UPDATE shops SET closed=NULL")
	f.updateShop(ShopFields{ForgetAfterMonths: null[int64]()})
	if n := forget(); n != 0 {
		t.Errorf("%d cards were erased after it was switched off", n)
	}
	f.checkFile()
}
