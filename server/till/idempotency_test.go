package till_test

import (
	"fmt"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

const idempotent = "Idempotency-Key"

// TestReplay checks that a request with the idempotency key of an equal one gets its answer again, on the same device
// alone. The tests of the REST API have more of what is remembered, and how long.
func TestReplay(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	path := "/cards/" + card + "/stamps"
	first := s.Post(path, `{"count":2}`, idempotent, "k").Want(201).First()
	s.Unchanged(func() {
		s.Post(path, `{"count":2}`, idempotent, "k").Replays(first)
		s.Post(path, `{"count":3}`, idempotent, "k").Want(409, "idempotency_conflict")
	})
	second := s.NewDevice(s.LocationIDs[0]).Post(path, `{"count":2}`, idempotent, "k").Want(201).First()
	if second.Str("transaction.id") == first.Str("transaction.id") {
		t.Errorf("%s", second.Body)
	}
	s.REST().Post("/programs/"+s.ProgramIDs["standard"]+"/cards", `{"count":2}`, idempotent, "k").Want(400)
}

// TestUnknownCodeNotRemembered checks that a code which names no card is not
// remembered, so that a till may send the right one under the same key.
func TestUnknownCodeNotRemembered(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	code, short := cardCodes(s, card)
	s.REST().Post("/cards/"+card+"/reissue", nil).Want(200)
	_, valid := cardCodes(s, card)
	for _, unknown := range []string{code, short, "nope", "crd_none"} {
		s.Unchanged(func() { stamp(s, unknown, "{}", idempotent, unknown).Want(404, "not_found") })
		r := stamp(s, valid, "{}", idempotent, unknown).Want(201)
		stamp(s, valid, "{}", idempotent, unknown).Replays(r)
	}
}

// TestReplayOnLockedDevice checks that a device which is locked after unknown codes gets remembered answers, and that
// a replay counts as no attempt, also of a code that names no card any more.
func TestReplayOnLockedDevice(t *testing.T) {
	s := start(t, servertest.Frozen)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	_, short := cardCodes(s, card)
	first := stamp(s, short, "{}", idempotent, "k").Want(201)
	s.REST().Post("/cards/"+card+"/reissue", nil).Want(200)
	for range 10 {
		stamp(s, short, "{}", idempotent, "k").Replays(first)
	}
	for i := range 10 {
		stamp(s, short, "{}", idempotent, fmt.Sprint(i)).Want(404, "not_found")
	}
	stamp(s, short, "{}", idempotent, "another").Want(429, "rate_limited")
	s.Unchanged(func() {
		stamp(s, short, "{}", idempotent, "k").Replays(first)
		stamp(s, short, `{"count":2}`, idempotent, "k").Want(409, "idempotency_conflict")
	})
}

// TestPINFailureNotRemembered checks that a refusal of the PIN is not remembered for an
// idempotency key, and that a replay requires the PIN.
func TestPINFailureNotRemembered(t *testing.T) {
	s, d, _, card := guarded(t)
	path := "/cards/" + card + "/stamps"
	s.Unchanged(func() {
		d.Post(path, "{}", idempotent, "k").Want(401)
		d.Post(path, "{}", idempotent, "k", pinHeader, "1111").Want(401)
	})
	first := d.Post(path, "{}", idempotent, "k", pinHeader, "2468").Want(201)
	d.Post(path, "{}", idempotent, "k", pinHeader, "1111").Want(401)
	d.Post(path, "{}", idempotent, "k", pinHeader, "2468").Replays(first)
}

// TestExpiryOnce checks that the row of an expiry is written although the action
// is refused, and only once.
func TestExpiryOnce(t *testing.T) {
	s := start(t, servertest.Frozen)
	card, program := newCard(s, "standard", fields{"stamps_expire_after_days": 30})
	prize := s.NewPrize(program, 5)
	redeem := func(headers ...string) *servertest.Reply {
		return s.Post("/cards/"+card+"/redemptions", `{"prize_id":"`+prize+`"}`, headers...).Want(422, "unprocessable_entity")
	}
	giveStamps(s, card, 7)
	s.Advance("720h")
	s.Get("/cards/" + card).Shows(fields{"card.stamps_count": 7}) // a lookup does not write
	first := redeem(idempotent, "k")
	s.REST().Get("/transactions?card_id=" + card).Shows(fields{"data.0.type": "expiry", "data.0.stamps_delta": -7, "data.2": nil})
	s.Unchanged(func() {
		redeem(idempotent, "k").Replays(first)
		redeem()
		redeem()
	})
	s.Get("/cards/" + card).Shows(fields{"card.stamps_count": 0})

	// The row also stays after a refusal that is not remembered.
	giveStamps(s, card, 2)
	s.Advance("720h")
	for range 2 {
		stamp(s, card, `{"spend_cents":5}`, idempotent, "s").Want(400, "spend_not_enabled")
	}
	s.REST().Get("/transactions?type=expiry&card_id=" + card).Shows(fields{
		"data.0.stamps_delta": -2, "data.1.stamps_delta": -7, "data.2": nil,
	})

	// The same holds for the row of a card that expired itself.
	s.REST().Patch("/cards/"+card, fields{"expires_at": timeIn(s, 1e9)}).Want(200)
	s.Advance("1s")
	first = stamp(s, card, "{}", idempotent, "late").Want(422, "card_expired")
	s.Unchanged(func() {
		stamp(s, card, "{}", idempotent, "late").Replays(first)
		stamp(s, card, "{}").Want(422, "card_expired")
	})
}

// TestErasedReplay checks that a remembered answer with personal data is erased
// with the card.
func TestErasedReplay(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], fields{"holder_name": "Ada Lovelace"})
	stamp(s, card, "{}", idempotent, "k").Want(201)
	giveStamps(s, card, 8)
	over := stamp(s, card, `{"count":5}`, idempotent, "over").Want(201)
	reverse(s, over.Str("transaction.id"), "{}", idempotent, "back").Want(201)
	servertest.Write(t, s.Beside(), func(tx *store.Tx) error { return tx.EraseCard(s.Shop(), card) })
	if n := s.Value("SELECT count(*) FROM idempotency WHERE instr(body, 'Lovelace')>0"); n != "0" {
		t.Errorf("%s answers still contain the name", n)
	}
	s.Unchanged(func() { stamp(s, card, "{}", idempotent, "k").Want(404, "not_found") })
}
