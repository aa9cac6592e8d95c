package till_test

import (
	"strings"
	"testing"

	"punchcard/store"
)

const bare = "external_ref holder_name holder_email current_value expires_at installed_at" // fields that are null in a new stamp card

// TestMe checks the answer about a device, and which programs it lists.
func TestMe(t *testing.T) {
	s := start(t)
	r := s.Get("/me").Want(200)
	if limit := r.Header.Get("RateLimit-Limit"); limit != "2147483647" { // a fixture has none
		t.Errorf("RateLimit-Limit %s", limit)
	}
	r.Shaped("", "TillMe", "")
	r.Shaped("device", "NamedDevice", "")
	r.Shaped("shop", "TillShop", "")
	r.Shaped("location", "LocationSettings", "disabled_at")
	r.Shaped("programs.0", "ProgramDetail",
		"suspended_at total_stamps discount_percent default_expire_after_days logo_url access_image_url icon_key")
	r.Shows(fields{
		"device.name": "Demo till", "accepts_card_ids": true, "location.id": s.LocationIDs[0], "shop.id": s.ShopID,
		"shop.timezone": "Europe/Rome", "shop.currency": "EUR", "programs.0.type": "prepaid", "programs.4.id": s.ProgramIDs["standard"],
		"programs.4.prizes.0.threshold": 5,
	})

	// Only programs whose cards are accepted here are listed, without deleted ones.
	there := s.NewProgram("access", true, fields{"location_scope": "selected_locations", "scoped_location_ids": []string{s.LocationIDs[1]}})
	here := s.NewProgram("access", true, fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs})
	s.Control("DELETE", "/programs/"+s.ProgramIDs["discount"], nil)
	body := string(s.Get("/me").Want(200).Body)
	for id, want := range map[string]bool{there: false, here: true, s.ProgramIDs["discount"]: false} {
		if strings.Contains(body, `{"id":"`+id) != want {
			t.Errorf("%s listed: %t", id, !want)
		}
	}
}

// TestLookup checks the answer about a new card and about a chain of two cards.
func TestLookup(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	r := s.Get("/cards/" + card).Want(200)
	r.Shaped("card", "CardDetail", bare)
	r.Shaped("program", "Program",
		"suspended_at discount_percent initial_balance_cents default_expire_after_days logo_url access_image_url")
	r.Shaped("prizes.2", "LadderPrize", "")
	r.Shows(fields{
		"card.id": card, "card.status": "invited", "card.locations.0.id": s.LocationIDs[0], "prizes.0.available": false,
		"earlier_cards": []any{}, "transactions": []any{},
	})

	giveStamps(s, card, 8)
	prize := s.Get("/cards/" + card).Str("prizes.0.id")
	s.Post("/cards/"+card+"/redemptions", fields{"prize_id": prize}).Want(201)
	giveStamps(s, card, 5)
	r = s.Get("/cards/" + card).Want(200)
	r.Shaped("earlier_cards.0", "EarlierCard", bare)
	r.Shaped("earlier_cards.0.prizes.0", "LadderPrize", "")
	r.Shaped("transactions.2", "TillTransaction", "value_delta reversed_at staff occurred_at client_reference")
	r.Shows(fields{
		"card.stamps_count": 3, "earlier_cards.0.id": card, "earlier_cards.0.stamps_count": 10, "prizes.0.available": false,
		"prizes.0.claimed": false, "earlier_cards.0.prizes.0.claimed": true, "earlier_cards.0.prizes.0.available": false,
		"earlier_cards.0.prizes.1.available": true, "earlier_cards.0.prizes.1.claimed": false, "transactions.0.stamps_delta": 3,
		"transactions.1.stamps_delta": 2, "transactions.2.type": "redemption", "transactions.3.stamps_delta": 8, "transactions.4": nil,
	})

	// The last ten transactions are listed.
	for range 8 {
		giveStamps(s, card, 1)
	}
	if n := len(s.Get("/cards/" + card).At("transactions").([]any)); n != 10 {
		t.Errorf("%d transactions", n)
	}
	s.Unchanged(func() { s.Get("/cards/" + card).Want(200) })
}

// TestIssueAtCounter checks the answer with a card that a till issues, and when it may not issue one.
func TestIssueAtCounter(t *testing.T) {
	s := start(t)
	path := "/programs/" + s.ProgramIDs["prepaid"] + "/cards"
	r := s.Post(path, fields{"holder_name": "Ada", "holder_email": "ada@example.com", "external_ref": "m-1"}).Want(201)
	r.Shaped("", "CounterCard", "expires_at")
	r.Shows(fields{"holder_name": "Ada", "holder_email": "ada@example.com", "external_ref": "m-1", "program_id": s.ProgramIDs["prepaid"]})
	if !strings.HasPrefix(r.Str("install_url"), s.Origin+"/i/") || !strings.HasPrefix(r.Str("install_qr_svg"), "<svg") {
		t.Errorf("%s", r.Body)
	}
	s.REST().Get("/cards/" + r.Str("id")).Shows(fields{"status": "active", "holder_name": "Ada", "current_value": 0, "installed_at": nil})
	gift := s.NewProgram("prepaid", true, fields{"initial_balance_cents": 725, "default_expire_after_days": 7})
	r = s.Post("/programs/"+gift+"/cards", nil).Want(201)
	r.Shaped("", "CounterCard", "external_ref holder_name holder_email")
	s.Get("/cards/" + r.Str("id")).WantOK(fields{
		"card.current_value": 725, "card.expires_at": r.Str("expires_at"), "transactions": []any{},
	})
	if got := s.Value("SELECT source FROM cards WHERE id=?", s.Row(store.KindCard, r.Str("id"))); got != "counter" {
		t.Errorf("the card's source is %q", got)
	}
	s.Post(path, nil).Want(201).Shaped("", "CounterCard", "external_ref holder_name holder_email expires_at")
	s.Post(path, fields{"external_ref": "m-1"}).Want(409, "conflict")
	s.Post("/programs/"+s.ProgramIDs["access"]+"/cards", fields{"external_ref": "m-1"}).Want(201)
	s.REST().Post("/programs/"+s.ProgramIDs["prepaid"]+"/unpublish", nil).Want(200)
	s.Post(path, nil).Want(422, "unprocessable_entity")
	there := s.NewProgram("access", true, fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[1:]})
	s.Post("/programs/"+there+"/cards", nil).Want(422, "unprocessable_entity")
	s.SQL("UPDATE shops SET max_cards=live_cards")
	s.Post("/programs/"+s.ProgramIDs["access"]+"/cards", nil).Want(422, "unprocessable_entity")
}

// TestEveryAction checks the answer of every action on a card and of a reversal. For what they do and refuse see
// TestLedgerFollowsItsModel in the store.
func TestEveryAction(t *testing.T) {
	s := start(t)
	standard := s.Issue(s.ProgramIDs["standard"], nil)
	r := stamp(s, standard, nil).Want(201)
	r.Shaped("transaction", "TillTransaction", "value_delta prize_id reversed_at staff occurred_at client_reference")
	r.Shaped("card", "CardDetail", bare)
	r.Shows(fields{
		"transaction.type": "stamp", "transaction.stamps_delta": 1, "transaction.card_id": standard,
		"transaction.location_id": s.LocationIDs[0], "transaction.location_name": "Centrale", "card.stamps_count": 1,
		"card.status": "active",
	})

	over := giveStamps(s, standard, 12)
	over.Shows(fields{
		"transaction.stamps_delta": 9, "overflow_transaction.stamps_delta": 3, "card.id": standard, "card.stamps_count": 10,
		"overflow_card.stamps_count": 3, "overflow_transaction.card_id": over.Str("overflow_card.id"),
	})

	top := s.Get("/cards/" + standard).Str("prizes.1.id")
	r = s.Post("/cards/"+standard+"/redemptions", fields{"prize_id": top}).Want(201)
	r.Shows(fields{
		"transaction.type": "redemption", "transaction.stamps_delta": 0, "transaction.prize_id": top, "card.id": standard,
		"card.status": "archived",
	})

	prepaid := s.Issue(s.ProgramIDs["prepaid"], nil)
	r = s.Post("/cards/"+prepaid+"/topups", fields{"amount_cents": 500}).Want(201)
	r.Shows(fields{"transaction.type": "topup", "transaction.value_delta": 500, "card.current_value": 500})
	r = s.Post("/cards/"+prepaid+"/spends", fields{"amount_cents": 120}).Want(201)
	r.Shows(fields{"transaction.type": "spend", "transaction.value_delta": -120, "card.current_value": 380})

	reverse(s, r.Str("transaction.id"), nil).Want(201).Shows(fields{
		"transaction.type": "reversal", "transaction.value_delta": 120, "card.current_value": 500,
	})

	for _, kind := range []string{"access", "discount"} {
		card := s.Issue(s.ProgramIDs[kind], nil)
		s.Post("/cards/"+card+"/uses", fields{"metadata": fields{"table": 4}}).Want(201).
			Shows(fields{"transaction.type": kind, "card.status": "active"})
	}
}
