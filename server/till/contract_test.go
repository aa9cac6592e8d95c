package till_test

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestCounterDefaults checks that a card issued at a counter has the program's
// defaults and is active.
func TestCounterDefaults(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.NewProgram("prepaid", true, fields{"initial_balance_cents": 725, "default_expire_after_days": 30})
	r := s.Post("/programs/"+program+"/cards", nil).Want(201)
	r.Shows(fields{"expires_at": "2026-03-31T09:00:00.000Z", "install_url_expires_at": "2026-03-31T09:00:00.000Z"})
	card := r.Str("id")
	s.Get("/cards/" + card).WantOK(fields{
		"card.status": "active", "card.current_value": 725, "card.installed_at": nil, "transactions": []any{},
	})
	s.Post("/cards/"+card+"/spends", fields{"amount_cents": 726}).Want(422, "prepaid_insufficient_balance")
	s.Post("/cards/"+card+"/spends", fields{"amount_cents": 725}).Want(201).Shows(fields{"card.current_value": 0})
	// The card is accepted up to the instant of its expiry and not after it.
	s.Advance("719h59m59.999s")
	s.Post("/cards/"+card+"/topups", fields{"amount_cents": 1}).Want(201)
	s.Advance("1ms")
	s.Post("/cards/"+card+"/topups", fields{"amount_cents": 1}).Want(422, "card_expired")
	// Its link ended at the same instant.
	if r := s.Fetch("GET", r.Str("install_url"), nil, nil); r.Status != 410 {
		t.Errorf("the link answers %d %s", r.Status, r.Body)
	}
}

// TestPINTriesOfAllActions checks that wrong PINs of a device count together for
// all actions, and separately from other devices.
func TestPINTriesOfAllActions(t *testing.T) {
	s, d, location, card := guarded(t)
	twin := s.NewDevice(location)
	try := func(d *servertest.Server, path, pin string) *servertest.Reply {
		return d.Post(path, nil, pinHeader, pin)
	}
	for _, path := range []string{
		"/cards/" + card + "/stamps", "/cards/" + card + "/uses", "/cards/crd_none/topups", "/transactions/txn_none/reversal",
	} {
		try(d, path, "1111").Want(401, "invalid_credentials")
		try(twin, path, "1111").Want(401, "invalid_credentials")
	}
	try(d, "/programs/"+s.ProgramIDs["standard"]+"/cards", "1111").Want(401, "invalid_credentials")
	for _, path := range []string{"/cards/" + card + "/stamps", "/programs/" + s.ProgramIDs["standard"] + "/cards"} {
		retryAfter(try(d, path, "2468").Want(429, "rate_limited"), "60")
	}
	// A right PIN resets the device's count even if the request is refused for another
	// reason. The location's count is not reset, so it is left to expire.
	s.Advance("15m")
	try(twin, "/cards/crd_none/stamps", "2468").Want(404, "not_found")
	for range 4 {
		try(twin, "/cards/"+card+"/stamps", "1111").Want(401, "invalid_credentials")
	}
	try(twin, "/cards/"+card+"/stamps", "2468").Want(201)
}

// TestMetadataIsComplete checks that every action accepts and stores 4096 bytes of metadata without
// whitespace, and refuses one more.
func TestMetadataIsComplete(t *testing.T) {
	s := start(t, servertest.Frozen)
	stamped, program := newCard(s, "standard", nil)
	prize := s.NewPrize(program, 1)
	money, pass := s.Issue(s.ProgramIDs["prepaid"], nil), s.Issue(s.ProgramIDs["access"], nil)
	whole := func(bytes int) string {
		const frame = `{"ü":"","n":[1,2]}`
		three := (bytes - len(frame)) / 3
		return strings.Replace(frame, `""`, `"`+strings.Repeat("€", three)+strings.Repeat("x", bytes-len(frame)-3*three)+`"`, 1)
	}
	row := ""
	for _, c := range []struct{ path, more string }{
		{"/cards/" + stamped + "/stamps", ""}, {"/cards/" + stamped + "/redemptions", `"prize_id":"` + prize + `",`},
		{"/cards/" + money + "/topups", `"amount_cents":5,`},
		{"/cards/" + money + "/spends", `"amount_cents":5,`}, {"/cards/" + pass + "/uses", ""}, {"reversal", ""},
	} {
		if c.path == "reversal" {
			c.path = "/transactions/" + row + "/reversal"
		}
		s.Unchanged(func() {
			s.Post(c.path, `{`+c.more+`"metadata":`+whole(4097)+"}").Invalid("metadata too_large")
		})
		row = s.Post(c.path, `{`+c.more+`"metadata":`+strings.Replace(whole(4096), ",", " ,\n ", 1)+" }").Want(201).Str("transaction.id")
		if got := s.Value("SELECT metadata FROM transactions WHERE id=?", s.Row(store.KindTransaction, row)); got != whole(4096) {
			t.Errorf("%s: stored as %d bytes, %.60q", c.path, len(got), got)
		}
	}
}

// TestMaxStampsPerDay checks the bounds of the limit of stamps per card and day that operators set, and
// its refusal. The tests of the store have more.
func TestMaxStampsPerDay(t *testing.T) {
	s := start(t, servertest.Frozen)
	card, program := newCard(s, "standard", nil)
	for value, code := range map[any]string{0: "too_small", 1001: "too_large", "3": "invalid_type"} {
		s.Unchanged(func() {
			s.ControlAPI().Call("PATCH", "/programs/"+program, fields{"max_stamps_per_day": value}).Invalid("max_stamps_per_day " + code)
		})
	}
	s.Control("PATCH", "/programs/"+program, fields{"max_stamps_per_day": 3})
	s.Unchanged(func() {
		says(stamp(s, card, fields{"count": 4}).Want(422, "unprocessable_entity"), "at most 3 stamps a day")
	})
}
