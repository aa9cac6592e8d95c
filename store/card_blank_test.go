package store

import "testing"

// TestIssueBlankCards checks that blank cards work at a till by both codes, and that
// all or none are issued.
func TestIssueBlankCards(t *testing.T) {
	k := startTill(t)
	f := k.fixture
	program := f.program(stamps("Coffee"))
	issue := func(program string, n int64) (BlankCards, error) {
		return attempt(f, func(tx *Tx) (BlankCards, error) {
			b, err := tx.IssueBlankCards(f.a.Shop, program, BlankFields{Count: set(n)})
			if err == nil {
				err = tx.Remember(NewIdempotencyKey(4, "blank", "POST", "/", nil), Remembered{Status: 201, Body: []byte("{}")})
			}
			return b, err
		})
	}
	b, err := issue(program, 200)
	if err != nil || len(b.Cards) != 200 || b.ProgramName != "Coffee" || b.ProgramID != program {
		t.Fatal(len(b.Cards), err)
	}
	till := k
	till.device.AcceptsCardIDs = false
	for _, code := range []string{b.Cards[0].Code, b.Cards[0].ShortCode} {
		if s := till.stamped(code, 1); s.Card.ID != b.Cards[0].ID || s.Card.HolderName.Valid {
			t.Errorf("%+v", s.Card)
		}
	}
	refused(t, errorOf(issue(f.draft(stamps("Draft")), 1)), Unprocessable)
	refused(t, errorOf(issue("prg_", 1)), NotFound)
	f.updateShop(ShopFields{MaxCards: setInt(205)})
	refused(t, errorOf(issue(program, 6)), Unprocessable)
	f.selects(200, "SELECT count(*) FROM cards")
	if b, err = issue(program, 5); err != nil || len(b.Cards) != 5 {
		t.Error(b, err)
	}
	f.checkFile()
}
