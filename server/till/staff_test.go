package till_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

const sessionHeader = "X-Staff-Session"

// invoke runs an operation as the operator, beside the server.
func invoke[O any](s *servertest.Server, op *kernel.Operation, id string, in any) O {
	s.T.Helper()
	shop := require.Must(s.App.Store.ResolveShop(s.ShopID))
	k := kernel.New(s.App.Store, kernel.Config{Fields: app.DefaultLimits().Fields()})
	out := require.Must(kernel.Do[O](s.T.Context(), k, kernel.OperatorCaller("test", shop), op, kernel.Args{
		Params: map[string]string{"id": id}, Fields: in,
	}))
	return out
}

// newStaff adds a member of staff to a location.
func newStaff(s *servertest.Server, location, name, pin string) string {
	s.T.Helper()
	return invoke[store.StaffMember](s, operation.CreateStaff, "", operation.StaffFields{
		LocationIDs: store.Given([]string{location}), Name: store.Given(name), PIN: store.Given(pin),
	}).ID
}

// signIn begins a session at a till and returns its token.
func signIn(d *servertest.Server, member, pin string) string {
	d.T.Helper()
	return d.Post("/session", fields{"staff_id": member, "pin": pin}).Want(201).Str("token")
}

// TestStaffSession checks a session from sign-in to sign-out: its writes need no PIN, and
// their rows and audit rows name the person.
func TestStaffSession(t *testing.T) {
	s, d, location, card := guarded(t)
	ada, bob := newStaff(s, location, "Ada", "2468"), newStaff(s, location, "Bob", "1357")
	newStaff(s, s.LocationIDs[0], "Elsewhere", "9999")
	d.Get("/me").WantOK(fields{
		"staff": []fields{{"id": ada, "name": "Ada"}, {"id": bob, "name": "Bob"}}, "location.require_staff_pin": true,
	})
	r := d.Post("/session", fields{"staff_id": ada, "pin": "2468"}, "Idempotency-Key", "sign-in").Want(201)
	r.Shows(fields{"staff": fields{"id": ada, "name": "Ada"}, "expires_at": s.App.Store.Now().Add(12 * time.Hour).String()})
	token := r.Str("token")
	if len(token) != 43 {
		t.Errorf("the token is %q", token)
	}
	d.Post("/session", fields{"staff_id": ada, "pin": "2468"}, "Idempotency-Key", "sign-in").Want(201).Shows(fields{"token": ""})

	stamped := stamp(d, card, nil, sessionHeader, token).Want(201)
	stamped.Shows(fields{"transaction.staff": fields{"id": ada, "name": "Ada"}})
	d.Get("/cards/" + card).WantOK(fields{"transactions.0.staff.name": "Ada"})
	back := reverse(d, stamped.Str("transaction.id"), nil, sessionHeader, signIn(d, bob, "1357")).Want(201)
	back.Shows(fields{"transaction.staff": fields{"id": bob, "name": "Bob"}})
	d.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", nil, sessionHeader, token).Want(201)
	stamp(d, card, nil, pinHeader, "2468").Want(201).Shows(fields{"transaction.staff": nil})
	var named []string
	for _, row := range s.Control("GET", "/audit?limit=20", nil).At("data").([]any) {
		row := row.(map[string]any)
		if detail := row["detail"].(map[string]any); row["actor"].(map[string]any)["type"] == "device" {
			named = append(named, strings.NewReplacer(ada, "Ada", bob, "Bob").Replace(fmt.Sprint(row["action"], " ", detail["staff_id"])))
		}
	}
	want := "transaction.stamp <nil>, card.issue Ada, transaction.reversal Bob, staff.sign_in <nil>, " +
		"transaction.stamp Ada, staff.sign_in <nil>"
	if got := strings.Join(named, ", "); got != want {
		t.Errorf("audited %s\nwant %s", got, want)
	}
	report := invoke[store.DayReport](s, operation.GetDayReport, "", store.DayReportQuery{})
	if len(report.ByStaff) != 3 || report.ByStaff[0].StaffName.V != "Ada" || report.ByStaff[0].ReversedRows != 1 ||
		report.ByStaff[1].Reversals != 1 || report.ByStaff[2].StaffID.Valid || report.ByStaff[2].Stamps != 1 {
		t.Errorf("the report has %+v", report.ByStaff)
	}

	d.Call("DELETE", "/session", nil, sessionHeader, token).Want(204)
	s.Unchanged(func() {
		stamp(d, card, nil, sessionHeader, token).Want(401, "invalid_credentials")
		d.Call("DELETE", "/session", nil, sessionHeader, token).Want(204)
		d.Call("DELETE", "/session", nil).Want(204)
	})
}

// TestStaffRequired checks that a location which demands a member of staff refuses each write
// without a session, also one with the right staff PIN, in the place of the staff PIN in the order
// of refusals, and that the demand is no field of the REST API.
func TestStaffRequired(t *testing.T) {
	s := start(t, servertest.Frozen)
	d, location := newTill(s, fields{"require_staff": true, "staff_pin": "2468"})
	card := s.Issue(s.ProgramIDs["standard"], nil)
	d.Get("/me").WantOK(fields{"location.require_staff": true, "location.require_staff_pin": true})
	d.Get("/cards/" + card).Want(200)
	refused := func(message string, headers ...string) {
		t.Helper()
		s.Unchanged(func() {
			for _, path := range []string{
				"/cards/" + card + "/stamps", "/cards/none/stamps", "/programs/" + s.ProgramIDs["standard"] + "/cards",
			} {
				says(d.Post(path, "[", headers...).Want(401, "invalid_credentials"), message)
			}
		})
	}
	refused("nobody can sign in there")
	ada := newStaff(s, location, "Ada", "1357")
	for range 2 {
		refused("sign in with POST /session")
		refused("sign in with POST /session", pinHeader, "2468")
		refused("sign in with POST /session", pinHeader, "0000") // no attempt: nothing is ever locked
	}
	refused("The staff session has ended", sessionHeader, strings.Repeat("A", 43))
	stamp(d, card, nil, sessionHeader, signIn(d, ada, "1357")).Want(201).Shows(fields{"transaction.staff.name": "Ada"})

	s.REST().Patch("/locations/"+location, fields{"require_staff": false}).Invalid("require_staff unknown_field")
	update := func(require bool) store.LocationSettings {
		return invoke[store.LocationSettings](s, operation.UpdateLocationSettings, location, store.LocationSettingsPatch{
			StaffDemand: store.StaffDemand{RequireStaff: store.Given(require)},
		})
	}
	if l := update(false); l.RequireStaff || !l.RequireStaffPIN {
		t.Errorf("%+v", l)
	}
	stampWithPIN(d, card, "2468").Want(201) // as before
	s.Unchanged(func() { update(false) })
	if !update(true).RequireStaff {
		t.Error("the demand is not set")
	}
	s.Unchanged(func() { stampWithPIN(d, card, "2468").Want(401, "invalid_credentials") })
	setLocation(s, location, "disable")
	stampWithPIN(d, card, "2468").Want(422, "location_disabled")
}

// TestStaffSessionEnds checks what ends a session, at a location that demands no PIN, and that
// a session is valid on one device only.
func TestStaffSessionEnds(t *testing.T) {
	s := start(t, servertest.Frozen)
	d, location := newTill(s, fields{})
	twin := s.NewDevice(location)
	card := s.Issue(s.ProgramIDs["access"], nil)
	member := newStaff(s, location, "Ada", "2468")
	use := func(d *servertest.Server, token string) *servertest.Reply {
		return d.Post("/cards/"+card+"/uses", nil, sessionHeader, token)
	}
	refused := func(what string, d *servertest.Server, token string) {
		t.Helper()
		s.Unchanged(func() { use(d, token).Want(401, "invalid_credentials") })
		if r := d.Get("/cards/"+card, sessionHeader, token); r.Status != 200 {
			t.Errorf("%s: a lookup answers %d", what, r.Status)
		}
	}
	token := signIn(d, member, "2468")
	refused("no token", d, "")
	refused("an unknown token", d, strings.Repeat("A", 43))
	refused("at another device", twin, token)
	s.Unchanged(func() {
		d.Post("/cards/"+card+"/uses", nil, sessionHeader, token, sessionHeader, token).Want(401, "invalid_credentials")
	})
	s.Advance("14m59s")
	use(d, token).Want(201)
	s.Advance("14m59s")
	d.Get("/cards/"+card, sessionHeader, token).Want(200) // a lookup does not extend the session
	s.Advance("1s")
	refused("after 15 minutes", d, token)

	token = signIn(d, member, "2468")
	for range 51 {
		s.Advance("14m")
		use(d, token).Want(201)
	}
	s.Advance("6m")
	refused("after 12 hours", d, token)

	token = signIn(d, member, "2468")
	invoke[store.StaffMember](s, operation.SetStaffMemberPIN, member, operation.MemberPINFields{PIN: store.Given("1357")})
	refused("after a new PIN", d, token)
	d.Post("/session", fields{"staff_id": member, "pin": "2468"}).Want(401, "invalid_credentials")
	token = signIn(d, member, "1357")
	invoke[store.StaffMember](s, operation.DisableStaff, member, nil)
	refused("of a person who is disabled", d, token)
	d.Post("/session", fields{"staff_id": member, "pin": "1357"}).Want(404, "not_found")
	d.Get("/me").WantOK(fields{"staff": []any{}})
	invoke[store.StaffMember](s, operation.EnableStaff, member, nil)
	refused("of a person who was disabled", d, token)
	token = signIn(d, member, "1357")
	use(d, token).Want(201)
	s.SQL("UPDATE devices SET revoked_at=1 WHERE id=(SELECT max(id)-1 FROM devices)")
	s.SQL("UPDATE meta SET auth_epoch=auth_epoch+1")
	use(d, token).Want(401, "unauthenticated")
}

// TestStaffPINLocks checks that wrong PINs of staff count with those of the location, and
// that a session outlives a lock.
func TestStaffPINLocks(t *testing.T) {
	s, d, location, card := guarded(t)
	member := newStaff(s, location, "Ada", "1357")
	token := signIn(d, member, "1357")
	body := func(pin string) fields { return fields{"staff_id": member, "pin": pin} }
	for range 3 {
		d.Post("/session", body("0000")).Want(401, "invalid_credentials")
	}
	stampWithPIN(d, card, "0000").Want(401)
	d.Post("/session", body("2468")).Want(401) // the PIN of the location
	s.Unchanged(func() {
		retryAfter(d.Post("/session", body("1357")).Want(429, "rate_limited"), "60")
		stampWithPIN(d, card, "2468").Want(429)
	})
	stamp(d, card, nil, sessionHeader, token).Want(201)
	twin := s.NewDevice(location)
	for range 4 {
		twin.Post("/session", body("0000")).Want(401)
	}
	twin.Post("/session", body("1357")).Want(201)
	twin.Post("/session", body("0000")).Want(401) // the tenth of the location
	s.NewDevice(location).Post("/session", body("1357")).Want(429, "rate_limited")
	if locks := pinLocks(s); len(locks) != 2 || !strings.HasPrefix(locks[0], "location.pin_locked") ||
		!strings.HasPrefix(locks[1], "device.pin_locked") {
		t.Errorf("audited %q", locks)
	}
	elsewhere := newStaff(s, s.LocationIDs[0], "Elsewhere", "1357")
	s.Advance("5m")
	s.Unchanged(func() {
		d.Post("/session", nil).Invalid("staff_id required", "pin required")
		d.Post("/session", body("12")).Invalid("pin too_short")
		d.Post("/session", fields{"staff_id": elsewhere, "pin": "1357"}).Want(404, "not_found")
	})
}

// TestDeviceTransactions checks that the list of a device's transactions has its newest 50 and
// none of other devices.
func TestDeviceTransactions(t *testing.T) {
	s := start(t)
	d, location := newTill(s, fields{})
	twin := s.NewDevice(location)
	card := s.Issue(s.ProgramIDs["standard"], fields{"holder_name": "Ada"})
	var want []string
	for i := range 53 {
		r := giveStamps(d, card, 1)
		if i >= 3 {
			want = append([]string{r.Str("transaction.id")}, want...)
		}
		if i%10 == 0 {
			giveStamps(twin, card, 1)
		}
	}
	r := d.Get("/transactions").Want(200)
	if got := r.IDs(); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%q\nwant %q", got, want)
	}
	r.Shaped("data.0", "TillRow",
		"value_delta prize_id reversed_at staff occurred_at client_reference prize_name reverses_id")
	r.Shows(fields{"data.0.holder_name": "Ada", "data.0.program_name": s.REST().Get("/programs/" + s.ProgramIDs["standard"]).Str("name")})
	back := reverse(d, want[0], nil).Want(201).Str("transaction.id")
	d.Get("/transactions?limit=2").WantOK(fields{
		"data.0.id": back, "data.0.reverses_id": want[0], "data.1.id": want[0], "data.2": nil,
	})
	d.Get("/transactions?limit=51").Invalid("limit too_large")
	s.NewDevice(s.LocationIDs[0]).Get("/transactions").WantOK(fields{"data": []any{}})
}

// TestTillSearch checks who may search, what is found, and what a handle stands for.
func TestTillSearch(t *testing.T) {
	s := start(t, servertest.Frozen)
	d, location := newTill(s, fields{})
	s.SQL("UPDATE devices SET accepts_card_ids=0")
	s.SQL("UPDATE meta SET auth_epoch=auth_epoch+1")
	member := newStaff(s, location, "Ada", "2468")
	card := s.Issue(s.ProgramIDs["standard"], fields{"holder_name": "Grace Hopper", "holder_email": "amazing@example.com"})
	s.SQL("UPDATE cards SET short_code='abcd2345' WHERE id=?", s.Row(store.KindCard, card))
	giveStamps(d, "abcd2345", 12) // a chain of two
	gone := s.Issue(s.ProgramIDs["standard"], fields{"holder_name": "Grace Gone"})
	s.Control("POST", "/cards/"+gone+"/archive", nil)
	s.Unchanged(func() {
		d.Get("/search?q=grace").Want(401, "invalid_credentials")
		d.Get("/search?q=grace", sessionHeader, "x").Want(401, "invalid_credentials")
	})
	token := signIn(d, member, "2468")
	search := func(q string) *servertest.Reply { return d.Get("/search?q="+q, sessionHeader, token) }
	s.Unchanged(func() {
		search("gr").Invalid("q too_short")
		search("gr%20").Invalid("q too_short")
		d.Get("/search", sessionHeader, token).Invalid("q required")
	})
	r := search("grace").Want(200)
	r.Shaped("data.0", "TillFound", "phone")
	r.Shows(fields{"data.0.name": "Grace Hopper", "data.0.email": "a***@e***.com", "data.1": nil})
	if strings.Contains(string(r.Body), "amazing@example.com") ||
		strings.Contains(s.Value("SELECT group_concat(ifnull(detail, '')) FROM audit"), "grace") {
		t.Error("the search shows an address or is audited with its text")
	}
	if got := s.Value("SELECT count(*) FROM audit WHERE action='card.search'"); got != "1" {
		t.Errorf("%s searches are audited", got)
	}
	for _, q := range []string{"amazing@exa", "AMA", "amazing@example.com"} { // the beginning of an address is enough; it stays masked
		search(q).WantOK(fields{"data.0.name": "Grace Hopper"})
	}
	search("example.com").WantOK(fields{"data": []any{}})
	search("none").WantOK(fields{"data": []any{}})

	handle := r.Str("data.0.handle")
	stamp(d, handle, nil, sessionHeader, token).Want(201).Shows(fields{"card.stamps_count": 3})
	held := d.Get("/cards/"+handle, sessionHeader, token).Want(200).Str("held_code")
	if shown := d.Get("/cards/" + card).Want(200).At("held_code"); shown != nil || held == "" {
		t.Errorf("held codes %q with a handle and %v without", held, shown)
	}
	other, twin := signIn(d, member, "2468"), s.NewDevice(location)
	s.Unchanged(func() {
		d.Get("/cards/" + handle).Want(404)
		d.Get("/cards/"+handle, sessionHeader, other).Want(404)
		twin.Get("/cards/"+handle, sessionHeader, token).Want(404)
	})
	s.Advance("5m")
	s.Unchanged(func() {
		d.Get("/cards/"+handle, sessionHeader, token).Want(404)
		stamp(d, handle, nil, sessionHeader, token).Want(404, "not_found")
		d.Get("/cards/" + held).Want(404)
	})
	stamp(d, held, nil).Want(201).Shows(fields{"card.stamps_count": 4})
	for range 20 {
		search("none").Want(200)
	}
	retryAfter(search("none").Want(429, "rate_limited"), "60")
}

// TestPairing checks that a pairing makes one device, by its token or by its code, and that
// wrong codes lock their address.
func TestPairing(t *testing.T) {
	s := start(t, servertest.Frozen)
	k := kernel.New(s.App.Store, kernel.Config{Fields: app.DefaultLimits().Fields()})
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	pair := func() store.CreatedPairing {
		return invoke[store.CreatedPairing](s, operation.CreatePairing, "", operation.DeviceFields{
			LocationID: store.Given(s.LocationIDs[1]), Name: store.Given("Phone"),
		})
	}
	accept := func(from netip.Addr, f operation.PairingCodeFields) (operation.CreatedDevice, store.Code) {
		in := kernel.Args{Fields: f}
		d, err := kernel.Do[operation.CreatedDevice](t.Context(), k, kernel.VisitorCaller(from), operation.AcceptPairing, in)
		if err == nil {
			return d, ""
		}
		return d, kernel.AsError(err, kernel.StatusOf).Code
	}
	byCode := func(code string) operation.PairingCodeFields {
		return operation.PairingCodeFields{Code: store.Given(code)}
	}
	byToken := func(token string) operation.PairingCodeFields {
		return operation.PairingCodeFields{Token: store.Given(token)}
	}
	p := pair()
	if !strings.HasSuffix(p.URL, "/till/pair/"+p.Token) || len(p.Code) != 8 ||
		strings.Contains(s.Value("SELECT group_concat(hex(hash)||hex(code_hash)) FROM pairings"), p.Code) {
		t.Errorf("%+v", p)
	}
	d, code := accept(here, byToken(p.Token))
	if code != "" || d.Name != "Phone" || d.AcceptsCardIDs {
		t.Fatalf("%+v, %s", d, code)
	}
	s.Till(d.Token).Get("/me").WantOK(fields{"device.name": "Phone", "location.id": s.LocationIDs[1]})
	s.Unchanged(func() {
		for _, f := range []operation.PairingCodeFields{byToken(p.Token), byToken("x")} {
			if _, code := accept(here, f); code != store.LinkExpired {
				t.Errorf("a used token: %s", code)
			}
		}
		for _, f := range []operation.PairingCodeFields{{}, {Token: store.Given("x"), Code: store.Given("x")}} {
			if _, code := accept(here, f); code != store.ValidationFailed {
				t.Errorf("none or both: %s", code)
			}
		}
	})
	if _, code := accept(here, byCode(p.Code)); code != store.LinkExpired {
		t.Errorf("the code of a used pairing: %s", code)
	}
	p = pair()
	if d, code = accept(here, byCode(" "+strings.ToUpper(p.Code[:4])+"-"+p.Code[4:])); code != "" || d.Token == "" {
		t.Errorf("by code: %s", code)
	}
	p = pair()
	s.Advance("10m")
	if _, code := accept(here, byToken(p.Token)); code != store.LinkExpired {
		t.Errorf("after ten minutes: %s", code)
	}
	p = pair()
	for i := range 8 { // the code of the used pairing was the first wrong one
		if _, code := accept(here, byCode(fmt.Sprintf("zzzzzzz%d", i))); code != store.LinkExpired {
			t.Fatalf("a wrong code: %s", code)
		}
	}
	accept(here, byCode("zzzzzzz9")) // the tenth
	for from, want := range map[netip.Addr]store.Code{here: store.RateLimited, there: ""} {
		if _, code := accept(from, byCode(p.Code)); code != want {
			t.Errorf("from %s: %q, want %q", from, code, want)
		}
	}
	if n := s.Value("SELECT count(*) FROM audit WHERE action='device.pairing_lock'"); n != "1" {
		t.Errorf("%s locks are audited", n)
	}
	p = pair()
	s.Advance("1m")
	if _, code := accept(here, byCode(p.Code)); code != "" {
		t.Errorf("after the lock: %s", code)
	}
}
