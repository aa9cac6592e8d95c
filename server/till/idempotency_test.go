package till_test

import (
	"bytes"
	"maps"
	"testing"

	"punchcard/store"
)

const idempotent = "Idempotency-Key"

// replays holds an answer to be the repetition of another.
func (r *reply) replays(first *reply) {
	r.t.Helper()
	if r.status != first.status || r.header.Get("Idempotent-Replayed") != "true" {
		r.t.Fatalf("%d, replayed %q: %s", r.status, r.header.Get("Idempotent-Replayed"), r.body)
	}
	if first.status < 300 && !bytes.Equal(r.body, first.body) {
		r.t.Errorf("%s, want\n%s", r.body, first.body)
	}
	if first.status >= 400 && (r.str("error.code") != first.str("error.code") || r.str("error.request_id") != r.header.Get("X-Request-Id") || r.header.Get("X-Request-Id") == first.header.Get("X-Request-Id")) {
		r.t.Errorf("%s, want\n%s", r.body, first.body)
	}
}

func TestReplay(t *testing.T) {
	s := start(t, frozen)
	card := s.issue(s.ProgramIDs["standard"], nil)
	path, other := "/cards/"+card+"/stamps", "/cards/"+s.code(card)+"/stamps"
	first := s.post(path, `{"count":2}`, idempotent, "k").want(201)
	if first.header.Get("Idempotent-Replayed") != "" {
		t.Error("the first one is no replay")
	}
	s.untouched(func() {
		s.post(path, `{"count":2}`, idempotent, "k").replays(first)
		for body, p := range map[string]string{`{"count":3}`: path, `{"count": 2}`: path, `{"count":2} `: other} {
			s.post(p, body, idempotent, "k").want(409, "idempotency_conflict")
		}
	})
	// The same key on another device, or on the REST API, is another key.
	second := s.device(s.LocationIDs[0]).post(path, `{"count":2}`, idempotent, "k").want(201)
	if second.header.Get("Idempotent-Replayed") != "" || second.str("transaction.id") == first.str("transaction.id") {
		t.Errorf("%s", second.body)
	}
	s.rest().post("/programs/"+s.ProgramIDs["standard"]+"/cards", `{"count":2}`, idempotent, "k").want(400)

	// An issued card's picture is drawn again.
	issue := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	made := s.post(issue, "{}", idempotent, "issue").want(201)
	s.post(issue, "{}", idempotent, "issue").replays(made)
	if made.str("install_qr_svg") == "" {
		t.Error("no picture")
	}

	// A day later it is a new request.
	s.advance("23h59m59s")
	s.post(path, `{"count":2}`, idempotent, "k").replays(first)
	s.advance("1s")
	if r := s.post(path, `{"count":2}`, idempotent, "k").want(201); r.header.Get("Idempotent-Replayed") != "" {
		t.Error("replayed after its window")
	}
}

// TestRefusalsRemembered: what the operation refused stays refused under the
// key though it would be granted now; what the gate refused does not.
func TestRefusalsRemembered(t *testing.T) {
	s := start(t)
	full, program := s.card("standard", fields{"repeat_after_reset": false})
	prize := s.prize(program, 5)
	reversed := s.stamp(full, 10).str("transaction.id")
	s.post("/transactions/"+reversed+"/reversal", nil).want(201)
	for name, c := range map[string]struct{ path, body, want string }{
		"404": {"/cards/nope/stamps", "{}", "not_found"},
		"409": {"/transactions/" + reversed + "/reversal", "{}", "conflict"},
		"422": {"/cards/" + full + "/redemptions", `{"prize_id":"` + prize + `"}`, "unprocessable_entity"},
	} {
		first := s.post(c.path, c.body, idempotent, name)
		if first.str("error.code") != c.want {
			t.Fatalf("%s: %s", name, first.body)
		}
		if name == "422" {
			s.stamp(full, 5)
		}
		s.untouched(func() { s.post(c.path, c.body, idempotent, name).replays(first) })
	}
	s.post("/cards/"+full+"/redemptions", fields{"prize_id": prize}, idempotent, "another").want(201)

	// Not remembered: 400, both of form and of the operation, and the gate's.
	s.untouched(func() {
		s.post("/cards/"+full+"/stamps", `{"count":0}`, idempotent, "form").want(400, "validation_failed")
		s.post("/cards/"+full+"/stamps", `{"spend_cents":100}`, idempotent, "spend").want(400, "spend_not_enabled")
	})
	s.post("/cards/"+full+"/stamps", `{"count":1}`, idempotent, "form").want(201)
	s.control("PATCH", "/programs/"+program, fields{"min_spend_cents": 100})
	s.post("/cards/"+full+"/stamps", `{"spend_cents":100}`, idempotent, "spend").want(201)
	s.control("PATCH", "/programs/"+program, fields{"min_spend_cents": nil})

	s.rest().post("/locations/"+s.LocationIDs[0]+"/disable", nil).want(200)
	s.untouched(func() { s.post("/cards/"+full+"/stamps", "{}", idempotent, "gate").want(422, "location_disabled") })
	s.rest().post("/locations/"+s.LocationIDs[0]+"/enable", nil).want(200)
	s.post("/cards/"+full+"/stamps", "{}", idempotent, "gate").want(201)
	for _, bad := range [][]string{{idempotent, ""}, {idempotent, "a", idempotent, "a"}} {
		s.post("/cards/"+full+"/stamps", "{}", bad...).invalid("Idempotency-Key " + map[bool]string{true: "too_short", false: "invalid_value"}[len(bad) == 2])
	}
}

func TestPINFailureNotRemembered(t *testing.T) {
	s, d, _, card := guarded(t)
	path := "/cards/" + card + "/stamps"
	s.untouched(func() {
		d.post(path, "{}", idempotent, "k").want(401)
		d.post(path, "{}", idempotent, "k", pinHeader, "1111").want(401)
	})
	first := d.post(path, "{}", idempotent, "k", pinHeader, "2468").want(201)
	// Whoever wants the answer again must know the PIN as well.
	d.post(path, "{}", idempotent, "k", pinHeader, "1111").want(401)
	d.post(path, "{}", idempotent, "k", pinHeader, "2468").replays(first)
}

// TestAtOnceOnce: a hundred equal requests make one row.
func TestAtOnceOnce(t *testing.T) {
	s := start(t)
	card := s.issue(s.ProgramIDs["standard"], nil)
	all := each(100, func(int) *reply { return s.post("/cards/"+card+"/stamps", "{}", idempotent, "k") })
	fresh := 0
	for _, r := range all {
		if r.header.Get("Idempotent-Replayed") == "" {
			fresh++
		}
		if !bytes.Equal(r.body, all[0].body) {
			t.Fatalf("%s\n%s", r.body, all[0].body)
		}
	}
	if got := tally(all); fresh != 1 || !maps.Equal(got, map[string]int{"201": 100}) || s.rows() != "1" {
		t.Errorf("%d fresh, %v, %s rows", fresh, got, s.rows())
	}
}

// TestExpiryOnce: an expiry row stays though the action is refused, and
// retries write no second one, with a key or without.
func TestExpiryOnce(t *testing.T) {
	s := start(t, frozen)
	card, program := s.card("standard", fields{"stamps_expire_after_days": 30})
	prize := s.prize(program, 5)
	redeem := func(headers ...string) *reply {
		return s.post("/cards/"+card+"/redemptions", `{"prize_id":"`+prize+`"}`, headers...).want(422, "unprocessable_entity")
	}
	s.stamp(card, 7)
	s.advance("720h")
	s.get("/cards/" + card).shows(fields{"card.stamps_count": 7}) // a lookup does not write
	first := redeem(idempotent, "k")
	s.rest().get("/transactions?card_id=" + card).shows(fields{"data.0.type": "expiry", "data.0.stamps_delta": -7, "data.2": nil})
	s.untouched(func() {
		redeem(idempotent, "k").replays(first)
		redeem()
		redeem()
	})
	s.get("/cards/" + card).shows(fields{"card.stamps_count": 0})

	// A refusal that is not remembered keeps it as well.
	s.stamp(card, 2)
	s.advance("720h")
	for range 2 {
		s.post("/cards/"+card+"/stamps", `{"spend_cents":5}`, idempotent, "s").want(400, "spend_not_enabled")
	}
	s.rest().get("/transactions?type=expiry&card_id=" + card).shows(fields{"data.0.stamps_delta": -2, "data.1.stamps_delta": -7, "data.2": nil})

	// So does the row of a card that expired itself.
	s.rest().patch("/cards/"+card, fields{"expires_at": s.in(1e9)}).want(200)
	s.advance("1s")
	first = s.post("/cards/"+card+"/stamps", "{}", idempotent, "late").want(422, "card_expired")
	s.untouched(func() {
		s.post("/cards/"+card+"/stamps", "{}", idempotent, "late").replays(first)
		s.post("/cards/"+card+"/stamps", "{}").want(422, "card_expired")
		tally(each(20, func(int) *reply { return s.post("/cards/"+card+"/stamps", "{}") }))
	})
	// Once for each date of expiry.
	s.rest().patch("/cards/"+card, fields{"expires_at": s.in(1e9)}).want(200)
	s.advance("1s")
	each(20, func(int) *reply { return s.post("/cards/"+card+"/stamps", "{}") })
	if n := len(s.rest().get("/transactions?type=expiry&card_id=" + card).ids()); n != 4 {
		t.Errorf("%d expiry rows, want 4", n)
	}
}

// TestErasedReplay: an answer that holds a person's data goes with the person.
func TestErasedReplay(t *testing.T) {
	s := start(t)
	card := s.issue(s.ProgramIDs["standard"], fields{"holder_name": "Ada Lovelace"})
	s.post("/cards/"+card+"/stamps", "{}", idempotent, "k").want(201)
	s.stamp(card, 8)
	over := s.post("/cards/"+card+"/stamps", `{"count":5}`, idempotent, "over").want(201)
	s.post("/transactions/"+over.str("transaction.id")+"/reversal", "{}", idempotent, "back").want(201)
	s.beside2(t, func(tx *store.Tx) error { return tx.EraseCard(s.Shop(), card) })
	if n := s.value("SELECT count(*) FROM idempotency WHERE instr(body, 'Lovelace')>0"); n != "0" {
		t.Errorf("%s answers still tell the name", n)
	}
	s.untouched(func() { s.post("/cards/"+card+"/stamps", "{}", idempotent, "k").want(404, "not_found") })
}
