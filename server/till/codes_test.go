package till_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// cardCodes returns the text of a card's QR code, and its short code.
func cardCodes(s *servertest.Server, card string) (code, short string) {
	s.T.Helper()
	return s.Codes(s.REST().Post("/cards/"+card+"/install-link", nil).Want(200).Str("install_url"))
}

// cardCode returns the text of a card's QR code.
func cardCode(s *servertest.Server, card string) string {
	s.T.Helper()
	code, _ := cardCodes(s, card)
	return code
}

// TestCodes checks that a chain of cards is found by the ids of its cards and by its code, and
// by nothing else.
func TestCodes(t *testing.T) {
	s := start(t, servertest.Frozen)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	code := cardCode(s, card)
	s.Get("/cards/" + code).WantOK(fields{"card.id": card})
	stamp(s, code, fields{"count": 8}).Want(201).Shows(fields{"transaction.card_id": card})
	child := stamp(s, code, fields{"count": 5}).Want(201).Str("overflow_card.id")
	for _, any := range []string{code, card, child} {
		s.Get("/cards/" + any).WantOK(fields{"card.id": child, "earlier_cards.0.id": card})
	}
	if got := cardCode(s, card); got != code {
		t.Errorf("a new link has changed the code: %s, %s", got, code)
	}

	// A reissue ends the old code but not the id.
	s.REST().Post("/cards/"+card+"/reissue", nil).Want(200)
	s.Unchanged(func() {
		s.Get("/cards/"+code).Want(404, "not_found")
		stamp(s, code, nil).Want(404, "not_found")
	})
	again := cardCode(s, card)
	if again == code {
		t.Error("the code is the same after a reissue")
	}
	s.Get("/cards/" + again).WantOK(fields{"card.status": "invited"})
	giveStamps(s, card, 1).Shows(fields{"card.id": child, "card.status": "active"})

	// The code is also accepted as typed in groups.
	typed := regexp.MustCompile("....").ReplaceAllString(strings.NewReplacer("0", "O", "1", "l").Replace(strings.ToUpper(again)), "$0 ")
	for _, spelt := range []string{strings.ToUpper(again), typed, strings.ReplaceAll(typed, " ", "-")} {
		s.Get("/cards/" + url.PathEscape(spelt)).WantOK(fields{"card.id": child})
		s.Post("/cards/"+url.PathEscape(spelt)+"/stamps", nil).Want(201)
	}

	for _, none := range []string{
		"x", again + "0", again[1:], strings.ToUpper(card), "crd_" + again, card[4:], s.ShopID, "%00", "a%2Fb",
		"%F0%9F%99%82", strings.Repeat("a", 5000),
	} {
		s.Unchanged(func() {
			s.Get("/cards/"+none).Want(404, "not_found")
			stamp(s, none, nil).Want(404, "not_found")
		})
		s.Advance("60s") // codes that could be of earlier cards count as guesses
	}
	// After an erasure, the chain is not found.
	s.Control("POST", "/cards/"+card+"/delete", nil)
	for _, none := range []string{card, child, again} {
		s.Get("/cards/"+none).Want(404, "not_found")
	}
}

// TestUnknownShortCodes checks that ten unknown short codes within a minute lock the
// typed entry of the device for a minute, and nothing else.
func TestUnknownShortCodes(t *testing.T) {
	s := start(t, servertest.Frozen)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	code, short := cardCodes(s, card)
	other := s.NewDevice(s.LocationIDs[0])
	unknown := func(n int) {
		t.Helper()
		for i := range n {
			text := fmt.Sprintf("zzzz-%04d", i)
			if i%2 == 0 {
				s.Get("/cards/"+text).Want(404, "not_found")
			} else {
				stamp(s, text, nil).Want(404, "not_found")
			}
		}
	}
	unknown(9)
	s.Get("/cards/" + short).Want(200)
	s.Advance("60s") // the nine do not count any more
	unknown(7)
	for _, foreign := range []string{"x", code + "0"} { // could be codes of earlier cards
		s.Get("/cards/"+foreign).Want(404, "not_found")
	}
	for _, none := range []string{"crd_none", code[1:] + "a"} { // cannot be guessed
		s.Get("/cards/"+none).Want(404, "not_found")
	}
	prize := fields{"prize_id": "prz_none"}
	s.Post("/cards/"+short+"/redemptions", prize).Want(404, "not_found") // for the prize, not for the code
	s.Get("/cards/" + short).Want(200)
	unknown(1)
	s.Unchanged(func() {
		for _, text := range []string{short, strings.ToUpper(short), "zzzz0000"} {
			for _, r := range []*servertest.Reply{
				s.Get("/cards/" + text), stamp(s, text, nil),
				stamp(s, text, nil, "Idempotency-Key", "k"),
			} {
				if r.Want(429, "rate_limited"); r.Header.Get("Retry-After") != "60" {
					t.Errorf("%s", r.Header)
				}
			}
		}
	})
	for _, text := range []string{card, code} {
		s.Get("/cards/" + text).Want(200)
		stamp(s, text, nil).Want(201)
	}
	stamp(other, short, nil).Want(201)
	s.Advance("59.5s")
	s.Get("/cards/"+short).Want(429, "rate_limited")
	s.Advance("500ms")
	s.Get("/cards/" + short).Want(200)
	stamp(s, short, nil, "Idempotency-Key", "k").Want(201)

	// Of concurrent unknown codes, too, ten are answered and the others are refused.
	for _, do := range []func(string) *servertest.Reply{
		func(text string) *servertest.Reply { return s.Get("/cards/" + text) },
		func(text string) *servertest.Reply { return stamp(s, text, nil) },
	} {
		got := servertest.Outcomes(servertest.Simultaneously(40, func(i int) *servertest.Reply { return do(fmt.Sprintf("zzzz%04d", i)) }))
		if want := map[string]int{"404 not_found": 10, "429 rate_limited": 30}; !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		s.Advance("1m")
	}
}

// TestOrdinaryDevice checks a device that does not accept card ids: it reads by
// them, and writes by codes alone. After a reissue nothing old leads to the card.
func TestOrdinaryDevice(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], fields{"holder_name": "Ada"})
	d := s.Till(s.Control("POST", "/devices", fields{"location_id": s.LocationIDs[0], "accept_card_ids": false}).Str("token"))
	d.Get("/me").WantOK(fields{"accepts_card_ids": false})
	d.Get("/cards/" + card).Want(200)
	s.Unchanged(func() {
		for action, body := range actionBodies {
			for _, id := range []string{card, "crd_none"} {
				says(d.Post("/cards/"+id+"/"+action, body).Want(422, "unprocessable_entity"), "card's id")
			}
		}
	})
	link := s.REST().Post("/cards/"+card+"/install-link", nil).Want(200).Str("install_url")
	code, short := s.Codes(link)
	for _, text := range []string{code, short} {
		stamp(d, text, nil).Want(201).Shows(fields{"card.id": card})
	}
	s.REST().Post("/cards/"+card+"/reissue", nil).Want(200)
	s.Unchanged(func() {
		s.Fetch("GET", link, nil, nil).Want(410, "gone")
		for _, text := range []string{code, short} {
			d.Get("/cards/"+text).Want(404, "not_found")
			stamp(d, text, nil).Want(404, "not_found")
		}
		stamp(d, card, nil).Want(422, "unprocessable_entity")
	})
	_, again := cardCodes(s, card)
	stamp(d, again, nil).Want(201)
}

// TestOtherShop checks that a till serves its own shop, and that codes of another shop's cards name no
// card there. For ids see TestEveryOperationRefuses.
func TestOtherShop(t *testing.T) {
	s := start(t)
	code, short := cardCodes(s, s.Issue(s.ProgramIDs["standard"], nil))
	made := s.Control("POST", "/shops", fields{"name": "Elsewhere"})
	other := s.With(made.Str("till_token"))
	other.Get("/me").WantOK(fields{"shop.name": "Elsewhere", "programs": []any{}, "location.id": made.Str("location_id")})
	s.Unchanged(func() {
		for _, text := range []string{code, short} {
			other.Get("/cards/"+text).Want(404, "not_found")
			stamp(other, text, nil).Want(404, "not_found")
		}
	})
}

// TestIssuedCardIsHeld checks that the held code and the short code of the answer name a new card in writes of a device that takes no
// card ids there, until the card is reissued.
func TestIssuedCardIsHeld(t *testing.T) {
	s := start(t)
	token := s.Control("POST", "/devices", fields{"location_id": s.LocationIDs[0], "accept_card_ids": false}).Str("token")
	till := s.Till(token)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	reference := "6f1d5a52-7d5c-4b0f-9b3e-0a1b2c3d4e5f"
	issued := till.Post(path, fields{"client_reference": reference}).Want(201)
	card, held, short := issued.Str("id"), issued.Str("held_code"), issued.Str("short_code")
	if _, shown := cardCodes(s, card); short != shown {
		t.Errorf("the short code is %q, that of the page %q", short, shown)
	}
	till.Get("/cards/" + card).WantOK(fields{"card.stamps_count": 0})
	stamp(till, card, nil).Want(422)
	stamp(till, held, nil).Want(201).Shows(fields{"card.id": card, "card.stamps_count": 1})
	stamp(till, short, nil).Want(201).Shows(fields{"card.id": card, "card.stamps_count": 2})
	till.Post(path, fields{"client_reference": reference}).Want(201).Shows(fields{"held_code": held, "short_code": short})
	s.REST().Post("/cards/"+card+"/reissue", nil).Want(200)
	cardCodes(s, card) // the new ones
	again := till.Post(path, fields{"client_reference": reference}).Want(201)
	again.Shows(fields{"short_code": ""})
	stamp(till, again.Str("held_code"), nil).Want(404)
}
