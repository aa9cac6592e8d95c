package till_test

import (
	"strings"
	"testing"
	"time"

	"punchcard/store"
)

// TestCounterDefaults: a card issued at a counter gets what its program gives
// every card, and is active from that instant.
func TestCounterDefaults(t *testing.T) {
	s := start(t, frozen)
	program := s.newProgram("prepaid", fields{"initial_balance_cents": 725, "default_expire_after_days": 30})
	r := s.post("/programs/"+program+"/cards", nil).want(201)
	r.shows(fields{"expires_at": "2026-03-31T09:00:00.000Z", "install_url_expires_at": "2026-03-31T09:00:00.000Z"})
	card := r.str("id")
	s.get("/cards/" + card).want(200).shows(fields{"card.status": "active", "card.current_value": 725, "card.installed_at": nil, "transactions": []any{}})
	s.post("/cards/"+card+"/spends", fields{"amount_cents": 726}).want(422, "prepaid_insufficient_balance")
	s.post("/cards/"+card+"/spends", fields{"amount_cents": 725}).want(201).shows(fields{"card.current_value": 0})
	// To its instant it may be presented, from then on no more.
	s.advance("719h59m59.999s")
	s.post("/cards/"+card+"/topups", fields{"amount_cents": 1}).want(201)
	s.advance("1ms")
	s.post("/cards/"+card+"/topups", fields{"amount_cents": 1}).want(422, "card_expired")
	// Nor may its link be used, which ended at the same instant.
	if r := s.fetch("GET", r.str("install_url"), nil, nil); r.status != 410 {
		t.Errorf("the link answers %d %s", r.status, r.body)
	}
}

// TestPINTriesOfAllActions: a device's wrong tries count together, whatever
// they were for; those of another device at the location do not.
func TestPINTriesOfAllActions(t *testing.T) {
	s, d, location, card := guarded(t)
	twin := s.device(location)
	try := func(d *server, path, pin string) *reply { return d.post(path, nil, pinHeader, pin) }
	for _, path := range []string{"/cards/" + card + "/stamps", "/cards/" + card + "/uses", "/cards/crd_none/topups", "/transactions/txn_none/reversal"} {
		try(d, path, "1111").want(401, "invalid_credentials")
		try(twin, path, "1111").want(401, "invalid_credentials")
	}
	try(d, "/programs/"+s.ProgramIDs["standard"]+"/cards", "1111").want(401, "invalid_credentials")
	for _, path := range []string{"/cards/" + card + "/stamps", "/programs/" + s.ProgramIDs["standard"] + "/cards"} {
		if r := try(d, path, "2468").want(429, "rate_limited"); r.header.Get("Retry-After") != "60" {
			t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
		}
	}
	// A right PIN of a request that is refused for another reason is right all
	// the same: it begins the count again.
	try(twin, "/cards/crd_none/stamps", "2468").want(404, "not_found")
	for range 4 {
		try(twin, "/cards/"+card+"/stamps", "1111").want(401, "invalid_credentials")
	}
	try(twin, "/cards/"+card+"/stamps", "2468").want(201)
}

// TestGateBeforeEveryWrite: a counter issue and a reversal are refused by the
// shop's and the location's state as a presentation is; past_due refuses none.
func TestGateBeforeEveryWrite(t *testing.T) {
	s := start(t, frozen)
	till, location := s.location(fields{})
	card, program := s.card("standard", nil)
	row := till.stamp(card, 3).str("transaction.id")
	writes := map[string]string{"/programs/" + program + "/cards": "{}", "/transactions/" + row + "/reversal": "{}", "/cards/" + card + "/stamps": "{}",
		"/cards/" + card + "/redemptions": `{"prize_id":"x"}`, "/cards/" + card + "/topups": `{"amount_cents":1}`, "/cards/" + card + "/spends": `{"amount_cents":1}`, "/cards/" + card + "/uses": "{}"}
	refused := func(status int, code string) {
		t.Helper()
		s.untouched(func() {
			for path, body := range writes {
				till.post(path, body).want(status, code)
			}
			till.get("/me").want(200)
			till.get("/cards/" + card).want(200)
		})
	}
	s.rest().post("/locations/"+location+"/disable", nil).want(200)
	refused(422, "location_disabled")
	for _, state := range []string{"suspended", "cancelled"} {
		s.control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": state})
		refused(422, "subscription_suspended") // before the location
	}
	s.control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "past_due"})
	s.rest().post("/locations/"+location+"/enable", nil).want(200)
	till.post("/programs/"+program+"/cards", nil).want(201)
	till.post("/transactions/"+row+"/reversal", nil).want(201)
}

// TestRestrictedSeesItsRowsOfACard: of a card that was presented at two
// locations a restricted key sees its own, and the card's counts as they are.
func TestRestrictedSeesItsRowsOfACard(t *testing.T) {
	s := start(t, frozen)
	there := s.device(s.LocationIDs[1])
	card := s.issue(s.ProgramIDs["standard"], nil)
	here := s.stamp(card, 2).str("transaction.id")
	over := there.stamp(card, 9)
	own := s.rest().with(s.RestrictedAPIKey)
	for query, want := range map[string]string{
		"card_id=" + card:                                      here,
		"card_id=" + over.str("overflow_card.id"):              "",
		"card_id=" + card + "&type=stamp":                      here,
		"program_id=" + s.ProgramIDs["standard"]:               here,
		"location_id=" + s.LocationIDs[1]:                      "",
		"card_id=" + card + "&location_id=" + s.LocationIDs[1]: "",
	} {
		if got := strings.Join(own.get("/transactions?"+query).want(200).ids(), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	own.get("/cards/" + card).want(200).shows(fields{"stamps_count": 10})
	own.get("/cards/" + over.str("overflow_card.id")).want(200).shows(fields{"stamps_count": 1, "locations": []fields{{"id": s.LocationIDs[0], "name": "Centrale"}}})
}

// TestMetadataIsKeptWhole: 4096 bytes are taken and kept by every action, and
// one more by none. Bytes count, not characters, and no blanks between them.
func TestMetadataIsKeptWhole(t *testing.T) {
	s := start(t, frozen)
	stamped, program := s.card("standard", nil)
	prize := s.prize(program, 1)
	money, pass := s.issue(s.ProgramIDs["prepaid"], nil), s.issue(s.ProgramIDs["access"], nil)
	whole := func(bytes int) string {
		const frame = `{"ü":"","n":[1,2]}`
		three := (bytes - len(frame)) / 3
		return strings.Replace(frame, `""`, `"`+strings.Repeat("€", three)+strings.Repeat("x", bytes-len(frame)-3*three)+`"`, 1)
	}
	row := ""
	for _, c := range []struct{ path, more string }{
		{"/cards/" + stamped + "/stamps", ""}, {"/cards/" + stamped + "/redemptions", `"prize_id":"` + prize + `",`}, {"/cards/" + money + "/topups", `"amount_cents":5,`},
		{"/cards/" + money + "/spends", `"amount_cents":5,`}, {"/cards/" + pass + "/uses", ""}, {"reversal", ""},
	} {
		if c.path == "reversal" {
			c.path = "/transactions/" + row + "/reversal"
		}
		s.untouched(func() {
			if r := s.post(c.path, `{`+c.more+`"metadata":`+whole(4097)+"}").want(400, "validation_failed"); strings.Join(r.details(), " ") != "metadata too_large" {
				t.Errorf("%s: %q", c.path, r.details())
			}
		})
		row = s.post(c.path, `{`+c.more+`"metadata":`+strings.Replace(whole(4096), ",", " ,\n ", 1)+" }").want(201).str("transaction.id")
		if got := s.value("SELECT metadata FROM transactions WHERE id=?", s.row(store.KindTransaction, row)); got != whole(4096) {
			t.Errorf("%s: kept as %d bytes, %.60q", c.path, len(got), got)
		}
	}
}

// TestExpiredCardRevived: the row of an expiry is written once for each date, by
// the first presentation after it; time and lookups write none.
func TestExpiredCardRevived(t *testing.T) {
	s := start(t, frozen)
	card, _ := s.card("access", nil)
	rows := func(want int) {
		t.Helper()
		if got := len(s.rest().get("/transactions?type=expiry&card_id=" + card).ids()); got != want {
			t.Errorf("%d rows, want %d", got, want)
		}
	}
	for i := range 3 {
		s.rest().patch("/cards/"+card, fields{"expires_at": s.in(time.Hour)}).want(200)
		s.advance("2h")
		s.get("/cards/" + card).want(200).shows(fields{"card.status": "expired"})
		rows(i)
		for range 2 {
			s.post("/cards/"+card+"/uses", nil).want(422, "card_expired")
			rows(i + 1)
		}
	}
	// A refused presentation has activated nothing.
	s.rest().patch("/cards/"+card, fields{"expires_at": nil}).want(200).shows(fields{"status": "invited"})
	s.post("/cards/"+card+"/uses", nil).want(201).shows(fields{"card.status": "active"})
	rows(3)
}
