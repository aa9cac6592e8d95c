package till_test

import (
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestSetHolder checks that a till gives a card that nobody has its holder, once, and changes no other card's.
func TestSetHolder(t *testing.T) {
	s := start(t)
	card, _ := newCard(s, "standard", fields{"total_stamps": 10, "icon_key": "star"})
	_, short := cardCodes(s, card)
	path := "/cards/" + short + "/holder"
	holder := fields{"holder_name": "Ada", "holder_email": "ada@example.com", "phone": "+39 06 1234 5678"}
	s.Unchanged(func() {
		s.Post(path, fields{"phone": "12"}).Invalid("phone invalid_format")
		s.Post(path, fields{"holder_name": " ", "holder_email": "ada"}).Invalid("holder_email invalid_format", "holder_name too_short")
		s.Post("/cards/none/holder", holder).Want(404, "not_found")
	})
	key := []string{"Idempotency-Key", "0b6f7c0e-5d0a-4d51-9d4b-3f0f5a2f7c11"}
	s.Post(path, holder, key...).Want(201).
		Shows(fields{"id": card, "holder_name": "Ada", "holder_email": "ada@example.com", "status": "invited"})
	s.REST().Get("/cards/" + card + "/contact").WantOK(fields{"phone": "+390612345678"})
	s.Unchanged(func() {
		s.Post(path, holder, key...).Want(201).Shows(fields{"holder_name": "Ada"}) // the same request again
		s.Post(path, holder).Want(409, "conflict")
		others := fields{"holder_name": "Eve", "holder_email": "eve@example.com", "phone": "+390612345679"}
		for name, value := range others {
			s.Post(path, servertest.Merge(holder, fields{name: value})).Want(409, "conflict")
		}
		s.Post(path, fields{"holder_name": "Ada"}).Want(409, "conflict")
	})

	// A card that is of somebody else is not changed.
	called, _ := newCard(s, "standard", fields{"total_stamps": 10, "icon_key": "star"})
	s.REST().Patch("/cards/"+called+"/contact", fields{"phone": "+390612345670"}).Want(200)
	installed, _ := newCard(s, "standard", fields{"total_stamps": 10, "icon_key": "star"})
	calledCode, installedCode := cardCode(s, called), cardCode(s, installed)
	s.REST().Install(installed)
	saved, _ := newCard(s, "standard", fields{"total_stamps": 10, "icon_key": "star"}) // in a wallet, which does not install it
	savedCode := cardCode(s, saved)
	s.SQL("INSERT INTO apple_passes (card_id, shop_id, program_id, generation, hash, modified_at, downloaded)"+
		" SELECT id, shop_id, program_id, 0, x'', 0, 0 FROM cards WHERE id=?", s.Row(store.KindCard, saved))
	s.SQL("UPDATE cards SET copies=2 WHERE id=?", s.Row(store.KindCard, saved))
	s.Unchanged(func() {
		s.Post("/cards/"+calledCode+"/holder", fields{"holder_name": "Eve"}).Want(409, "conflict")
		s.Post("/cards/"+installedCode+"/holder", fields{"holder_name": "Eve"}).Want(409, "conflict")
		s.Post("/cards/"+savedCode+"/holder", fields{"holder_name": "Eve"}).Want(409, "conflict")
	})
}
