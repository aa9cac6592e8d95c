package till_test

import (
	"net/url"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestForeignCode checks what a till may do by the code of an earlier card.
func TestForeignCode(t *testing.T) {
	s := start(t, servertest.Frozen)
	card, program := newCard(s, "standard", fields{"total_stamps": 10, "icon_key": "star"})
	prize := s.NewPrize(program, 2)
	code := cardCode(s, card)
	connect := func(code, foreign string) *servertest.Reply {
		return s.Post("/cards/"+code+"/codes", fields{"code": foreign})
	}
	connect(code, "036000291452").Want(201).Shows(fields{"card.id": card, "codes": []string{"0036000291452"}})
	connect(code, "0036000291452").Want(201).Shows(fields{"codes": []string{"0036000291452"}})
	other := cardCode(s, s.Issue(program, nil))
	s.Unchanged(func() {
		connect(code, "é").Invalid("code invalid_format")
		connect(code, "").Invalid("code too_short")
		connect(other, "0036000291452").Want(409, "conflict")
	})
	for _, more := range []string{"1", "2", "3", "4"} {
		connect(code, more).Want(201)
	}
	connect(code, "5").Want(409, "conflict")

	for _, spelt := range []string{"036000291452", "0036000291452"} {
		s.Get("/cards/" + spelt).WantOK(fields{"card.id": card, "foreign_code": true})
		stamp(s, spelt, nil).Want(201).Shows(fields{"card.id": card})
	}
	if r := s.Get("/cards/" + code).Want(200); strings.Contains(string(r.Body), "foreign_code") {
		t.Errorf("the card's own code counts as one of an earlier card: %s", r.Body)
	}
	redeem := fields{"prize_id": prize}
	s.Unchanged(func() {
		s.Post("/cards/0036000291452/redemptions", redeem).Want(422, "unprocessable_entity")
	})
	pinned, _ := newTill(s, fields{"require_staff_pin": true, "staff_pin": "2468"})
	pinned.Post("/cards/0036000291452/redemptions", redeem, "X-Staff-Pin", "2468").Want(201)

	money, _ := newCard(s, "prepaid", fields{"initial_balance_cents": 1000})
	connect(cardCode(s, money), "gift 7").Want(201)
	s.Post("/cards/gift%207/topups", fields{"amount_cents": 500}).Want(201)
	s.Post("/cards/gift%207/spends", fields{"amount_cents": 500}).Want(422, "unprocessable_entity")
	pinned.Post("/cards/gift%207/spends", fields{"amount_cents": 500}, "X-Staff-Pin", "2468").Want(201)

	whose := fields{"holder_name": "Eve", "holder_email": "eve@example.com"}
	s.Unchanged(func() { s.Post("/cards/gift%207/holder", whose).Want(422, "unprocessable_entity") })
	pinned.Post("/cards/gift%207/holder", whose, "X-Staff-Pin", "2468").Want(201)

	s.REST().Post("/cards/"+card+"/reissue", nil).Want(200)
	s.Get("/cards/0036000291452").Want(404, "not_found")

	// A card that has expired keeps its codes, also if it does not count any more. An archived one leaves them to others.
	s.REST().Patch("/cards/"+money+"/contact", fields{"codes": []string{"gift 7", "gift 8"}}).Want(200)
	s.SQL("UPDATE cards SET expires_at=?1, live=0 WHERE id=?2", int64(s.App.Store.Now())-1, s.Row(store.KindCard, money))
	s.Get("/cards/gift%207").Want(200)
	connect(other, "gift 7").Want(409, "conflict")
	s.Control("POST", "/cards/"+money+"/archive", nil)
	s.Get("/cards/gift%207").Want(404, "not_found")
	connect(other, "gift 7").Want(201)
	s.Get("/cards/gift%207").Want(200)
	s.REST().Get("/cards/" + money + "/contact").WantOK(fields{"codes": []string{"gift 8"}})
}

// TestSignsInForeignCodes checks that each code that can be connected with a card is found, as the till page asks for it.
func TestSignsInForeignCodes(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.ProgramIDs["standard"]
	// encodeURIComponent of JavaScript leaves these as they are, and browsers take the segments . and .. out of an address.
	escape := func(code string) string {
		return strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "+", "%20").Replace(url.QueryEscape(code))
	}
	codes := []string{"a/b", "/", "//", "a//b", "a%2Fb", "%2F", "%", "%25", "100%", "?", "a?b=c#d", "#",
		"a.b", "...", "../a", "a/..", "a b", `\`, "*~'()"}
	for sign := ' ' + 1; sign <= '~'; sign++ {
		codes = append(codes, "A"+string(sign)+"7")
	}
	for _, code := range codes {
		card := s.Issue(program, nil)
		s.Post("/cards/"+cardCode(s, card)+"/codes", fields{"code": code}).Want(201)
		s.Get("/cards/" + escape(code)).WantOK(fields{"card.id": card, "foreign_code": true})
		stamp(s, escape(code), nil).Want(201).Shows(fields{"card.id": card})
	}
	code := cardCode(s, s.Issue(program, nil))
	for _, none := range []string{".", "..", "crd_7"} {
		s.Unchanged(func() { s.Post("/cards/"+code+"/codes", fields{"code": none}).Invalid("code invalid_format") })
	}
}

// TestSearchByPhone checks that a till finds a card by the last digits of a phone number.
func TestSearchByPhone(t *testing.T) {
	s, d, location, _ := guarded(t)
	token := signIn(d, newStaff(s, location, "Ada", "2468"), "2468")
	program := s.ProgramIDs["standard"]
	grace := d.Post("/programs/"+program+"/cards", fields{"holder_name": "Grace", "phone": "333 123 4567"}, sessionHeader, token).NewID()
	d.Post("/programs/"+program+"/cards", fields{"phone": "4567"}, sessionHeader, token).Invalid("phone invalid_format")
	giveStamps(s, grace, 12) // a chain of two
	for q, want := range map[string]string{
		"4567": "Grace", "3331234567": "Grace", "%2B39%20333%20123-4567": "Grace", "333%2F1234567": "Grace",
		"567": "", "1234": "", "3331234568": "",
	} {
		r := d.Get("/search?q="+q, sessionHeader, token).Want(200)
		name := ""
		if r.At("data.0") != nil {
			name = r.Str("data.0.name")
			r.Shows(fields{"data.0.phone": "***67", "data.1": nil})
		}
		if name != want {
			t.Errorf("%s finds %q, want %q", q, name, want)
		}
	}
}
