package api_test

import (
	"strings"
	"testing"

	"punchcard/store"
)

// states are what a card can be brought into, and how. Those that name expiry
// have an expires_at that passes before the operation.
var states = []struct{ name, steps string }{
	{"invited", ""},
	{"active", "activate"},
	{"installed", "install"},
	{"locked", "lock"},
	{"active locked", "activate lock"},
	{"installed locked", "install lock"},
	{"expired", "expiry"},
	{"active expired", "expiry activate"},
	{"installed expired", "expiry install"},
	{"locked expired", "expiry lock"},
	{"installed locked expired", "expiry install lock"},
	{"archived", "archive"},
	{"locked archived", "lock archive"},
	{"installed archived", "install archive"},
	{"archived expired", "expiry archive"},
	{"deleted", "delete"},
	{"archived deleted", "archive delete"},
}

const (
	soon   = "2026-03-01T12:00:00Z"
	future = "2027-01-01T00:00:00Z"
)

// operations are contract section 4's. The want of each state is the status
// shown afterwards, "=" before it where nothing may change, or a refusal,
// after which nothing may have changed.
var operations = []struct {
	name string
	body fields // of a PATCH; else the operation's
	want map[string]string
}{
	{"GET", nil, map[string]string{
		"invited": "=invited", "active": "=active", "installed": "=active", "locked": "=locked", "active locked": "=locked", "installed locked": "=locked",
		"expired": "=expired", "active expired": "=expired", "installed expired": "=expired", "locked expired": "=expired", "installed locked expired": "=expired",
		"archived": "=archived", "locked archived": "=archived", "installed archived": "=archived", "archived expired": "=archived"}},
	{"PATCH nothing", fields{}, map[string]string{
		"invited": "=invited", "active": "=active", "installed": "=active", "locked": "=locked", "active locked": "=locked", "installed locked": "=locked",
		"expired": "=expired", "active expired": "=expired", "installed expired": "=expired", "locked expired": "=expired", "installed locked expired": "=expired",
		"archived": "=archived", "locked archived": "=archived", "installed archived": "=archived", "archived expired": "=archived"}},
	{"PATCH external_ref", fields{"external_ref": "new"}, map[string]string{
		"invited": "invited", "active": "active", "installed": "active", "locked": "locked", "active locked": "locked", "installed locked": "locked",
		"expired": "expired", "active expired": "expired", "installed expired": "expired", "locked expired": "expired", "installed locked expired": "expired",
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"PATCH holder_name", fields{"holder_name": "new"}, map[string]string{
		"invited": "invited", "active": "active", "installed": locked, "locked": "locked", "active locked": "locked", "installed locked": locked,
		"expired": expired, "active expired": expired, "installed expired": locked, "locked expired": expired, "installed locked expired": locked,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"PATCH holder_email", fields{"holder_email": "new@example.com", "external_ref": "new"}, map[string]string{
		"invited": "invited", "active": "active", "installed": locked, "locked": "locked", "active locked": "locked", "installed locked": locked,
		"expired": expired, "active expired": expired, "installed expired": locked, "locked expired": expired, "installed locked expired": locked,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"PATCH holder_name unchanged", fields{"holder_name": "Ada"}, map[string]string{
		"invited": "invited", "active": "active", "installed": locked, "locked": "locked", "active locked": "locked", "installed locked": locked,
		"expired": expired, "active expired": expired, "installed expired": locked, "locked expired": expired, "installed locked expired": locked,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"PATCH expires_at", fields{"expires_at": future}, map[string]string{
		"invited": "invited", "active": "active", "installed": locked, "locked": "locked", "active locked": "locked", "installed locked": locked,
		"expired": "invited", "active expired": "active", "installed expired": locked, "locked expired": "locked", "installed locked expired": locked,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"PATCH expires_at null", fields{"expires_at": nil}, map[string]string{
		"invited": "invited", "active": "active", "installed": locked, "locked": "locked", "active locked": "locked", "installed locked": locked,
		"expired": "invited", "active expired": "active", "installed expired": locked, "locked expired": "locked", "installed locked expired": locked,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"PATCH all", fields{"expires_at": future, "holder_name": "new", "holder_email": nil, "external_ref": "new"}, map[string]string{
		"invited": "invited", "active": "active", "installed": locked, "locked": "locked", "active locked": "locked", "installed locked": locked,
		"expired": "invited", "active expired": "active", "installed expired": locked, "locked expired": "locked", "installed locked expired": locked,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"reissue", nil, reissued},
	{"operator reissue", nil, reissued},
	{"install-link", nil, map[string]string{
		"invited": "invited", "active": "active", "installed": locked, "locked": "locked", "active locked": "locked", "installed locked": locked,
		"expired": expired, "active expired": expired, "installed expired": locked, "locked expired": expired, "installed locked expired": locked,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"operator lock", nil, map[string]string{
		"invited": "locked", "active": "locked", "installed": "locked", "locked": "=locked", "active locked": "=locked", "installed locked": "=locked",
		"expired": conflict, "active expired": conflict, "installed expired": conflict, "locked expired": conflict, "installed locked expired": conflict,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"operator unlock", nil, map[string]string{
		"invited": "=invited", "active": "=active", "installed": "=active", "locked": "invited", "active locked": "active", "installed locked": "active",
		"expired": conflict, "active expired": conflict, "installed expired": conflict, "locked expired": conflict, "installed locked expired": conflict,
		"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}},
	{"operator archive", nil, map[string]string{
		"invited": "archived", "active": "archived", "installed": "archived", "locked": "archived", "active locked": "archived", "installed locked": "archived",
		"expired": "archived", "active expired": "archived", "installed expired": "archived", "locked expired": "archived", "installed locked expired": "archived",
		"archived": "=archived", "locked archived": "=archived", "installed archived": "=archived", "archived expired": "=archived"}},
	{"operator delete", nil, map[string]string{
		"invited": gone, "active": gone, "installed": gone, "locked": gone, "active locked": gone, "installed locked": gone,
		"expired": gone, "active expired": gone, "installed expired": gone, "locked expired": gone, "installed locked expired": gone,
		"archived": gone, "locked archived": gone, "installed archived": gone, "archived expired": gone}},
}

var reissued = map[string]string{
	"invited": "invited", "active": "invited", "installed": "invited", "locked": "invited", "active locked": "invited", "installed locked": "invited",
	"expired": "invited", "active expired": "invited", "installed expired": "invited", "locked expired": "invited", "installed locked expired": "invited",
	"archived": conflict, "locked archived": conflict, "installed archived": conflict, "archived expired": conflict}

const (
	conflict = "409 conflict"
	locked   = "409 card_locked"
	expired  = "409 card_expired"
	missing  = "404 not_found"
	gone     = "gone" // reads are 404 from now on
)

// operate does one of the operations.
func (s *server) operate(card, name string, body fields) *reply {
	s.t.Helper()
	method, _, _ := strings.Cut(name, " ")
	switch method {
	case "GET":
		return s.get("/cards/" + card)
	case "PATCH":
		return s.patch("/cards/"+card, body)
	case "operator":
		return s.dev("POST", "/cards/"+card+"/"+strings.TrimPrefix(name, "operator "), fields{})
	}
	return s.post("/cards/"+card+"/"+name, nil)
}

// TestCardStates: every state × every operation.
func TestCardStates(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	program := s.ProgramIDs["discount"]
	cards := map[string]string{}
	for _, state := range states {
		for _, op := range operations {
			body := fields{"holder_name": "Ada", "holder_email": "ada@example.com"}
			if strings.HasPrefix(state.steps, "expiry") {
				body["expires_at"] = soon
			}
			card := s.issue(program, body)
			for _, step := range strings.Fields(state.steps) {
				switch step {
				case "expiry":
				case "activate":
					s.activate(card)
				case "install":
					s.install(card)
				default:
					s.control("POST", "/cards/"+card+"/"+step, fields{})
				}
			}
			cards[state.name+op.name] = card
		}
	}
	// An instant before they expire nothing has; at it, all have.
	s.advance("2h59m59.999s")
	s.get("/cards/" + cards["expiredGET"]).shows(fields{"status": "invited"})
	s.advance("1ms")
	for _, state := range states {
		for _, op := range operations {
			t.Run(state.name+"/"+op.name, func(t *testing.T) {
				s, card := s.on(t), cards[state.name+op.name]
				want, body := op.want[state.name], plus(op.body, nil)
				if body["external_ref"] != nil {
					body["external_ref"] = card // no other card's
				}
				if strings.Contains(state.name, "deleted") {
					want = missing
				}
				was, audits := s.get("/cards/"+card), s.audits()
				r := s.operate(card, op.name, body)
				after := s.get("/cards/" + card)
				still, refused := strings.CutPrefix(want, "=")
				if want == gone {
					r.want(204)
					after.refused(missing)
					return
				}
				if strings.HasPrefix(want, "4") {
					r.refused(want)
					refused = true
				} else {
					r.want(200)
					after.shows(fields{"status": still})
					if strings.HasPrefix(op.name, "PATCH") && string(r.body) != string(after.body) {
						t.Errorf("answered %s, reads %s", r.body, after.body)
					}
				}
				if refused && s.audits() != audits {
					t.Errorf("a change was written")
				}
				if refused && after.status == 200 && string(after.body) != string(was.body) {
					t.Errorf("changed %s to %s", was.body, after.body)
				}
				if !refused && s.audits() == audits {
					t.Errorf("no change was written")
				}
				if !refused {
					s.effect(after, op.name, body)
				}
			})
		}
	}
}

// effect holds a card to what an operation leaves.
func (s *server) effect(after *reply, op string, body fields) {
	s.t.Helper()
	if len(body) > 0 {
		want := plus(body, nil)
		if v := want["expires_at"]; v != nil {
			want["expires_at"] = strings.Replace(v.(string), "Z", ".000Z", 1)
		}
		after.shows(want)
	}
	if strings.HasSuffix(op, "reissue") {
		after.shows(fields{"installed_at": nil, "holder_name": "Ada", "holder_email": "ada@example.com", "expires_at": nil})
	}
}

// TestCardRepeats: what an operator does twice is no event the second time.
func TestCardRepeats(t *testing.T) {
	t.Parallel()
	s := start(t)
	card := s.issue(s.ProgramIDs["access"], nil)
	for _, op := range []string{"lock", "unlock", "lock", "archive"} {
		first := s.control("POST", "/cards/"+card+"/"+op, fields{})
		first.shaped("", cardDetailTable, "external_ref holder_name holder_email current_value expires_at installed_at")
		audits := s.audits()
		second := s.control("POST", "/cards/"+card+"/"+op, fields{})
		if string(first.body) != string(second.body) || s.audits() != audits {
			t.Errorf("%s again: %s", op, second.body)
		}
	}
	if r := s.control("POST", "/cards/"+card+"/delete", fields{}); r.status != 204 {
		t.Errorf("delete: %d", r.status)
	}
	s.dev("POST", "/cards/"+card+"/delete", fields{}).refused(missing)
}

// TestCardReissueExpiry: an expired card gets what is given, else a fresh
// default, else none.
func TestCardReissueExpiry(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	for _, c := range []struct{ days, given, want any }{
		{nil, nil, nil},
		{nil, "2026-06-01T00:00:00Z", "2026-06-01T00:00:00.000Z"},
		{10, nil, "10 days"},
		{10, "2026-06-01T00:00:00Z", "2026-06-01T00:00:00.000Z"},
	} {
		program := s.newProgram("access", true, fields{"default_expire_after_days": c.days})
		at := s.app.Store.Now().Add(3600_000_000_000)
		card := s.issue(program, fields{"expires_at": at.String()})
		s.advance("1h")
		s.get("/cards/" + card).shows(fields{"status": "expired"})
		want := c.want
		if want == "10 days" {
			want = s.app.Store.Now().Add(10 * 24 * 3600_000_000_000).String()
		}
		s.post("/cards/"+card+"/reissue", fields{"expires_at": c.given, "holder_name": "N"}).want(200).shows(fields{"expires_at": want, "holder_name": "N"})
		s.get("/cards/" + card).shows(fields{"expires_at": want, "status": "invited", "holder_name": "N"})
	}
}

// TestCardKeepsOnReissue: id, ledger, stamps and balance stay.
func TestCardKeepsOnReissue(t *testing.T) {
	t.Parallel()
	s := start(t)
	card := s.issue(s.newProgram("prepaid", true, nil), fields{"external_ref": "r", "holder_name": "A"})
	s.sql("UPDATE cards SET stamps_count=7, current_value=321 WHERE id=?", s.row(store.KindCard, card))
	s.install(card)
	was := s.get("/cards/" + card)
	s.post("/cards/"+card+"/reissue", nil).want(200).shows(fields{"id": card, "external_ref": "r"})
	now := s.get("/cards/" + card)
	for _, name := range names(was.body) {
		if a, b := string(was.part(name)), string(now.part(name)); a != b && name != "installed_at" && name != "status" {
			t.Errorf("%s was %s, is %s", name, a, b)
		}
	}
	now.shows(fields{"status": "invited", "installed_at": nil, "stamps_count": 7, "current_value": 321})
}

// TestCardChain: the instances of an overflow chain are one card to whatever
// changes it.
func TestCardChain(t *testing.T) {
	t.Parallel()
	s := start(t)
	program := s.newProgram("standard", true, nil)
	chain := func(ref string) (parent, child string) {
		parent = s.issue(program, fields{"external_ref": ref, "holder_name": "Ada"})
		key := s.row(store.KindCard, parent)
		s.sql(`INSERT INTO cards (shop_id, program_id, root_id, parent_id, source, external_ref, holder_name, live, created_at, updated_at)
			SELECT shop_id, program_id, id, id, 'overflow', external_ref, holder_name, 0, created_at, updated_at FROM cards WHERE id=?`, key)
		return parent, s.app.Store.ID(store.KindCard, number(s.value("SELECT max(id) FROM cards")))
	}
	both := func(a, b string, want fields) {
		t.Helper()
		s.get("/cards/" + a).want(200).shows(want)
		s.get("/cards/" + b).want(200).shows(want)
	}
	a, b := chain("one")
	s.patch("/cards/"+b, fields{"external_ref": "one", "holder_name": "Grace"}).want(200) // no conflict with itself
	both(a, b, fields{"holder_name": "Grace", "external_ref": "one"})
	s.post("/programs/"+program+"/cards", fields{"external_ref": "one"}).want(409, "conflict")
	s.control("PATCH", "/shops/"+s.ShopID, fields{"max_cards": 2})
	s.issue(program, nil) // the chain counts as one
	s.post("/programs/"+program+"/cards", nil).want(422, "unprocessable_entity")
	for _, c := range []struct{ on, op, status string }{{b, "lock", "locked"}, {a, "unlock", "invited"}, {a, "lock", "locked"}, {b, "reissue", "invited"}, {b, "archive", "archived"}} {
		s.control("POST", "/cards/"+c.on+"/"+c.op, fields{})
		both(a, b, fields{"status": c.status})
	}
	s.issue(program, fields{"external_ref": "one"}) // archived as a whole, it gave its place and its name free
	s.control("PATCH", "/shops/"+s.ShopID, fields{"max_cards": nil})
	a, b = chain("two")
	s.control("POST", "/cards/"+b+"/delete", fields{})
	s.get("/cards/"+a).want(404, "not_found")
	s.get("/cards/"+b).want(404, "not_found")
	if v := s.value("SELECT count(*) FROM cards WHERE deleted_at IS NOT NULL AND external_ref IS NULL AND holder_name IS NULL"); v != "2" {
		t.Errorf("%s instances are erased, want 2", v)
	}
}
