package till_test

import (
	"strings"
	"testing"

	"punchcard/store"
)

// The shapes of spec sections Card, Transaction, Program, Location and Prize.
const (
	cardFields = `id id
		program_id id
		program_name string
		program_type string
		external_ref string|null
		holder_name string|null
		holder_email string|null
		status string
		stamps_count integer
		current_value integer|null
		expires_at date-time|null
		installed_at date-time|null
		created_at date-time
		all_locations boolean
		locations list`
	rowFields = `id id
		card_id id
		program_id id
		type string
		location_id id
		location_name string
		stamps_delta integer|null
		value_delta integer|null
		prize_id id|null
		reversed_at date-time|null
		created_at date-time`
	programFields = `id id
		name string
		description string
		category string
		type string
		active boolean
		published_at date-time|null
		suspended_at date-time|null
		total_stamps integer|null
		repeat_after_reset boolean
		discount_percent number|null
		initial_balance_cents integer|null
		default_expire_after_days integer|null
		logo_url string|null
		access_image_url string|null
		brand_color_hex color
		bg_color_hex color
		text_color_hex color
		icon_key string|null
		location_scope string
		scoped_location_ids string[]
		created_at date-time
		updated_at date-time`
	prizeFields = `id id
		program_id id
		threshold integer
		name string
		description string
		ordinal integer
		created_at date-time
		updated_at date-time`
	locationFields = `id id
		name string
		address string
		city string
		postal_code string
		country_code string
		lat number
		lon number
		require_staff_pin boolean
		active boolean
		disabled_at date-time|null
		created_at date-time
		updated_at date-time`
	issuedFields = `id id
		program_id id
		external_ref string|null
		holder_name string|null
		holder_email string|null
		expires_at date-time|null
		install_url string
		install_url_expires_at date-time
		install_qr_svg string`
	answer = "transaction object\ncard object"
	prize2 = prizeFields + "\navailable boolean\nclaimed boolean"
)

const bare = "external_ref holder_name holder_email current_value expires_at installed_at" // what a new stamp card has not

func TestMe(t *testing.T) {
	s := start(t)
	r := s.get("/me").want(200)
	r.shaped("", "device object\nlocation object\nshop object\nprograms list", "")
	r.shaped("device", "id id\nname string", "")
	r.shaped("shop", "id id\nname string\ntimezone string", "")
	r.shaped("location", locationFields, "disabled_at")
	r.shaped("programs.0", programFields+"\nprizes list\nhas_installed_cards boolean", "suspended_at total_stamps discount_percent default_expire_after_days logo_url access_image_url icon_key")
	r.shows(fields{"device.name": "Demo till", "location.id": s.LocationIDs[0], "shop.id": s.ShopID, "shop.timezone": "Europe/Rome",
		"programs.0.type": "prepaid", "programs.4.id": s.ProgramIDs["standard"], "programs.4.prizes.0.threshold": 5})

	// Only programs whose cards work here; a deleted one is gone.
	there := s.newProgram("access", fields{"location_scope": "selected_locations", "scoped_location_ids": []string{s.LocationIDs[1]}})
	here := s.newProgram("access", fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs})
	s.control("DELETE", "/programs/"+s.ProgramIDs["discount"], nil)
	body := string(s.get("/me").want(200).body)
	for id, want := range map[string]bool{there: false, here: true, s.ProgramIDs["discount"]: false} {
		if strings.Contains(body, `{"id":"`+id) != want {
			t.Errorf("%s listed: %t", id, !want)
		}
	}
}

func TestLookup(t *testing.T) {
	s := start(t)
	card := s.issue(s.ProgramIDs["standard"], nil)
	r := s.get("/cards/" + card).want(200)
	const whole = "card object\nprogram object\nprizes list\nearlier_cards list\ntransactions list"
	r.shaped("", whole, "")
	r.shaped("card", cardFields, bare)
	r.shaped("program", programFields, "suspended_at discount_percent initial_balance_cents default_expire_after_days logo_url access_image_url")
	r.shaped("prizes.2", prize2, "")
	r.shows(fields{"card.id": card, "card.status": "invited", "card.locations.0.id": s.LocationIDs[0], "prizes.0.available": false, "earlier_cards": []any{}, "transactions": []any{}})

	s.stamp(card, 8)
	prize := s.get("/cards/" + card).str("prizes.0.id")
	s.post("/cards/"+card+"/redemptions", fields{"prize_id": prize}).want(201)
	s.stamp(card, 5)
	r = s.get("/cards/" + card).want(200)
	r.shaped("", whole, "")
	r.shaped("earlier_cards.0", cardFields+"\nprizes list", bare)
	r.shaped("earlier_cards.0.prizes.0", prize2, "")
	r.shaped("transactions.2", rowFields, "value_delta reversed_at")
	r.shows(fields{"card.stamps_count": 3, "earlier_cards.0.id": card, "earlier_cards.0.stamps_count": 10, "prizes.0.available": false, "prizes.0.claimed": false,
		"earlier_cards.0.prizes.0.claimed": true, "earlier_cards.0.prizes.0.available": false, "earlier_cards.0.prizes.1.available": true, "earlier_cards.0.prizes.1.claimed": false,
		"transactions.0.stamps_delta": 3, "transactions.1.stamps_delta": 2, "transactions.2.type": "redemption", "transactions.3.stamps_delta": 8, "transactions.4": nil})

	// The last ten and no more.
	for range 8 {
		s.stamp(card, 1)
	}
	if n := len(s.get("/cards/" + card).at("transactions").([]any)); n != 10 {
		t.Errorf("%d transactions", n)
	}
	s.untouched(func() { s.get("/cards/" + card).want(200) })
}

func TestIssueAtCounter(t *testing.T) {
	s := start(t)
	path := "/programs/" + s.ProgramIDs["prepaid"] + "/cards"
	r := s.post(path, fields{"holder_name": "Ada", "holder_email": "ada@example.com", "external_ref": "m-1"}).want(201)
	r.shaped("", issuedFields, "expires_at")
	r.shows(fields{"holder_name": "Ada", "holder_email": "ada@example.com", "external_ref": "m-1", "program_id": s.ProgramIDs["prepaid"]})
	if !strings.HasPrefix(r.str("install_url"), s.Origin+"/i/") || !strings.HasPrefix(r.str("install_qr_svg"), "<svg") {
		t.Errorf("%s", r.body)
	}
	s.rest().get("/cards/" + r.str("id")).shows(fields{"status": "active", "holder_name": "Ada", "current_value": 0, "installed_at": nil})
	if got := s.value("SELECT source FROM cards WHERE id=?", s.row(store.KindCard, r.str("id"))); got != "counter" {
		t.Error(got)
	}
	s.post(path, nil).want(201).shaped("", issuedFields, "external_ref holder_name holder_email expires_at")
	s.post(path, fields{"external_ref": "m-1"}).want(409, "conflict")
	s.post("/programs/"+s.ProgramIDs["access"]+"/cards", fields{"external_ref": "m-1"}).want(201)
	s.post("/programs/nope/cards", nil).want(404, "not_found")
	for _, do := range []string{"unpublish", "publish", "suspend"} {
		s.rest().post("/programs/"+s.ProgramIDs["prepaid"]+"/"+do, nil).want(200)
		want := map[string]string{"unpublish": "422 unprocessable_entity", "publish": "201", "suspend": "422 unprocessable_entity"}[do]
		s.post(path, nil).refused(want)
	}
	there := s.newProgram("access", fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[1:]})
	s.post("/programs/"+there+"/cards", nil).want(422, "unprocessable_entity")
	s.sql("UPDATE shops SET max_cards=live_cards")
	s.post("/programs/"+s.ProgramIDs["access"]+"/cards", nil).want(422, "unprocessable_entity")
}

func TestEveryAction(t *testing.T) {
	s := start(t)
	standard := s.issue(s.ProgramIDs["standard"], nil)
	r := s.post("/cards/"+standard+"/stamps", nil).want(201)
	r.shaped("", answer, "")
	r.shaped("transaction", rowFields, "value_delta prize_id reversed_at")
	r.shaped("card", cardFields, bare)
	r.shows(fields{"transaction.type": "stamp", "transaction.stamps_delta": 1, "transaction.card_id": standard, "transaction.location_id": s.LocationIDs[0],
		"transaction.location_name": "Centrale", "card.stamps_count": 1, "card.status": "active"})

	over := s.stamp(standard, 12)
	over.shaped("", answer+"\noverflow_transaction object\noverflow_card object", "")
	over.shaped("overflow_transaction", rowFields, "value_delta prize_id reversed_at")
	over.shaped("overflow_card", cardFields, bare)
	over.shows(fields{"transaction.stamps_delta": 9, "overflow_transaction.stamps_delta": 3, "card.id": standard, "card.stamps_count": 10, "overflow_card.stamps_count": 3,
		"overflow_transaction.card_id": over.str("overflow_card.id")})

	top := s.get("/cards/" + standard).str("prizes.1.id")
	r = s.post("/cards/"+standard+"/redemptions", fields{"prize_id": top}).want(201)
	r.shaped("", answer, "")
	r.shaped("transaction", rowFields, "value_delta reversed_at")
	r.shows(fields{"transaction.type": "redemption", "transaction.stamps_delta": 0, "transaction.prize_id": top, "card.id": standard, "card.status": "archived"})

	prepaid := s.issue(s.ProgramIDs["prepaid"], nil)
	r = s.post("/cards/"+prepaid+"/topups", fields{"amount_cents": 500}).want(201)
	r.shaped("", answer, "")
	r.shaped("transaction", rowFields, "stamps_delta prize_id reversed_at")
	r.shows(fields{"transaction.type": "topup", "transaction.value_delta": 500, "card.current_value": 500})
	r = s.post("/cards/"+prepaid+"/spends", fields{"amount_cents": 120}).want(201)
	r.shaped("transaction", rowFields, "stamps_delta prize_id reversed_at")
	r.shows(fields{"transaction.type": "spend", "transaction.value_delta": -120, "card.current_value": 380})
	s.post("/cards/"+prepaid+"/spends", fields{"amount_cents": 381}).want(422, "prepaid_insufficient_balance")

	back := s.post("/transactions/"+r.str("transaction.id")+"/reversal", nil).want(201)
	back.shaped("", answer, "")
	back.shaped("transaction", rowFields, "stamps_delta prize_id reversed_at")
	back.shows(fields{"transaction.type": "reversal", "transaction.value_delta": 120, "card.current_value": 500})
	s.post("/transactions/"+r.str("transaction.id")+"/reversal", nil).want(409, "conflict")
	s.post("/transactions/"+back.str("transaction.id")+"/reversal", nil).want(422, "unprocessable_entity")
	s.post("/transactions/nope/reversal", nil).want(404, "not_found")
	s.device(s.LocationIDs[1]).post("/transactions/"+r.str("transaction.id")+"/reversal", nil).want(404, "not_found")

	for _, kind := range []string{"access", "discount"} {
		card := s.issue(s.ProgramIDs[kind], nil)
		r = s.post("/cards/"+card+"/uses", fields{"metadata": fields{"table": 4}}).want(201)
		r.shaped("", answer, "")
		r.shaped("transaction", rowFields, "stamps_delta value_delta prize_id reversed_at")
		r.shows(fields{"transaction.type": kind, "card.status": "active"})
		s.post("/transactions/"+r.str("transaction.id")+"/reversal", nil).want(201).shows(fields{"transaction.type": "reversal", "transaction.stamps_delta": nil})
	}

	// A pair goes back together, the named row first.
	pair := s.issue(s.ProgramIDs["standard"], nil)
	s.stamp(pair, 8)
	over = s.stamp(pair, 5)
	r = s.post("/transactions/"+over.str("overflow_transaction.id")+"/reversal", nil).want(201)
	r.shaped("", answer+"\noverflow_transaction object\noverflow_card object", "")
	r.shows(fields{"transaction.stamps_delta": -3, "overflow_transaction.stamps_delta": -2, "card.status": "archived", "overflow_card.stamps_count": 8, "overflow_card.id": pair})

	// A full card without prizes is complete once a younger one is there.
	pair = s.issue(s.ProgramIDs["private"], nil)
	over = s.stamp(pair, 11)
	over.shows(fields{"card.status": "archived", "overflow_card.stamps_count": 1})
	s.post("/transactions/"+over.str("transaction.id")+"/reversal", nil).want(422, "cannot_reverse_completed_cycle")
}

// TestPurchase: programs may demand one.
func TestPurchase(t *testing.T) {
	s := start(t)
	card, program := s.card("standard", nil)
	give := func(body fields) *reply { return s.post("/cards/"+card+"/stamps", body) }
	give(fields{"spend_cents": 500}).want(400, "spend_not_enabled")
	s.control("PATCH", "/programs/"+program, fields{"min_spend_cents": 500})
	give(fields{}).want(422, "spend_required")
	give(fields{"spend_cents": 499}).want(400, "amount_below_min_stamp")
	give(fields{"spend_cents": 500}).want(201)
	s.control("PATCH", "/programs/"+program, fields{"min_spend_cents": nil})
	give(fields{}).want(201)
}
