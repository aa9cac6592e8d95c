package punchtest_test

import (
	"errors"
	"testing"
	"time"

	"punchcard/server/punchtest"
)

func TestTillActions(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	till := s.Till(s.Locations[0])
	if again := s.Till(s.Locations[0]); again.Token != till.Token {
		t.Error("a location has two tills")
	}
	if another := s.NewTill(s.Locations[0]); another.Token == till.Token {
		t.Error("a new till equals the old one")
	}

	card := till.Issue(s.Programs["standard"], punchtest.CardFields{ExternalRef: "member-17"})
	first := till.Stamp(card.ID, 4)
	if tx := first.Transaction; tx.Type != "stamp" || *tx.StampsDelta != 4 || tx.LocationID != s.Locations[0] || tx.ValueDelta != nil ||
		tx.CreatedAt.IsZero() {
		t.Errorf("the stamp is %+v", tx)
	}
	second := till.Stamp(card.ID, 8)
	if second.Card.StampsCount != 10 || second.OverflowCard == nil || second.OverflowCard.StampsCount != 2 ||
		*second.OverflowTransaction.StampsDelta != 2 {
		t.Errorf("the overflow is %+v", second)
	}
	seen := till.Lookup(card.ID)
	if seen.Card.ID != second.OverflowCard.ID || len(seen.Earlier) != 1 || seen.Earlier[0].ID != card.ID ||
		!seen.Earlier[0].Prizes[0].Available ||
		len(seen.Transactions) != 3 {
		t.Errorf("the lookup is %+v", seen)
	}
	croissant := s.Prizes(s.Programs["standard"])[0]
	redeemed := till.Redeem(card.ID, croissant.ID)
	if redeemed.Transaction.PrizeID != croissant.ID {
		t.Errorf("the redemption is %+v", redeemed.Transaction)
	}
	if back := till.Reverse(redeemed.Transaction.ID); back.Transaction.Type != "reversal" {
		t.Errorf("the reversal is %+v", back.Transaction)
	}
	all := s.Transactions(card.ID)
	if len(all) != 4 || all[0].ID != first.Transaction.ID || all[3].Type != "reversal" || all[2].ReversedAt.IsZero() {
		t.Errorf("the ledger is %+v", all)
	}

	purse := s.Issue(s.Programs["prepaid"], punchtest.CardFields{}).ID
	if up := till.TopUp(purse, 2000); *up.Card.CurrentValue != 2000 {
		t.Errorf("after the top-up: %+v", up.Card)
	}
	if down := till.Spend(purse, 350); *down.Card.CurrentValue != 1650 || *down.Transaction.ValueDelta != -350 {
		t.Errorf("after the spend: %+v", down)
	}
	if use := till.Use(s.Issue(s.Programs["access"], punchtest.CardFields{}).ID); use.Transaction.Type != "access" ||
		use.Card.Status != "active" {
		t.Errorf("the use is %+v", use)
	}

	// The same key repeats an action once; on another till it is another key.
	keyed := till.IdempotencyKey("sale-1")
	once, twice := keyed.TopUp(purse, 100), keyed.TopUp(purse, 100)
	if once.Transaction.ID != twice.Transaction.ID || *s.Card(purse).CurrentValue != 1750 {
		t.Errorf("the retry made %s beside %s", twice.Transaction.ID, once.Transaction.ID)
	}
	if last := s.Requests(); !last[len(last)-2].Replayed || last[len(last)-3].Replayed {
		t.Error("the journal does not show which was replayed")
	}
}

func TestTillRefusals(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	till := s.Till(s.Locations[0])
	guarded := s.NewLocation(punchtest.LocationFields{Name: "Guarded", StaffPIN: "4711", RequireStaffPIN: true})
	newCard := func() string { return till.Issue(s.Programs["standard"], punchtest.CardFields{}).ID }
	card := newCard()
	stamp := till.Stamp(card, 1).Transaction.ID
	till.Reverse(stamp)
	locked := newCard()
	s.Lock(locked)
	archived := newCard()
	s.Archive(archived)
	erased := newCard()
	s.Delete(erased)
	expired := s.Issue(s.Programs["standard"], punchtest.CardFields{ExpiresAt: s.Clock.Now().Add(time.Hour)}).ID
	s.Clock.Advance(time.Hour)
	access := s.Issue(s.Programs["access"], punchtest.CardFields{}).ID
	prize := s.Prizes(s.Programs["standard"])[0].ID

	for _, c := range []struct {
		name   string
		err    error
		status int
		code   string
	}{
		{"lookup of none", failure(till.Try().Lookup("none")), 404, "not_found"},
		{"issue in none", failure(till.Try().Issue("none", punchtest.CardFields{})), 404, "not_found"},
		{"too many stamps", failure(till.Try().Stamp(card, 101)), 400, "validation_failed"},
		{"stamp, locked", failure(till.Try().Stamp(locked, 1)), 422, "card_suspended"},
		{"stamp, archived", failure(till.Try().Stamp(archived, 1)), 409, "conflict"},
		{"stamp, erased", failure(till.Try().Stamp(erased, 1)), 404, "not_found"},
		{"stamp, expired", failure(till.Try().Stamp(expired, 1)), 422, "card_expired"},
		{"redeem too early", failure(till.Try().Redeem(card, prize)), 422, "unprocessable_entity"},
		{"top up another type", failure(till.Try().TopUp(card, 100)), 422, "unprocessable_entity"},
		{"spend nothing", failure(till.Try().Spend(access, 0)), 400, "validation_failed"},
		{"use another type", failure(till.Try().Use(card)), 422, "unprocessable_entity"},
		{"reverse twice", failure(till.Try().Reverse(stamp)), 409, "conflict"},
		{"no PIN", failure(s.Till(guarded.ID).Try().Stamp(card, 1)), 401, "invalid_credentials"},
		{"wrong PIN", failure(s.Till(guarded.ID).PIN("0000").Try().Stamp(card, 1)), 401, "invalid_credentials"},
	} {
		if err := refusal(t, c.err); err.Status != c.status || err.Code != c.code || err.Message == "" || err.RequestID == "" {
			t.Errorf("%s: %v, want %d %s", c.name, err, c.status, c.code)
		}
	}
	s.Till(guarded.ID).PIN("4711").Stamp(card, 1)
	s.Unlock(locked)
	till.Stamp(locked, 1)
	s.UpdateShop(s.Shop, punchtest.ShopFields{SubscriptionState: "suspended"})
	refuses(t, "for a suspended shop", "subscription_suspended", failure(till.Try().Stamp(card, 1)))
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	issue := func(key string) *punchtest.Response {
		return s.Do("POST", "/programs/"+s.Programs["standard"]+"/cards", s.APIKey, `{"external_ref": "`+key+`"}`, "Idempotency-Key", key)
	}
	cards := func() int {
		var page struct{ Data []punchtest.Card }
		s.Do("GET", "/cards", s.APIKey, nil).Decode(&page)
		return len(page.Data)
	}

	// A fault before the operation has no effect and leaves the key unused.
	id := s.Fault(punchtest.Fault{Method: "POST", Path: "/programs/*/cards", Status: 503, Headers: map[string]string{"Retry-After": "7"}})
	err := refusal(t, issue("one").Want(503).Err())
	if err.Code != "internal_error" || err.Header.Get("Retry-After") != "7" || cards() != 0 {
		t.Errorf("the fault is %+v; there are %d cards", err, cards())
	}
	if r := s.Requests()[0]; r.Fault != id || r.Response.Status != 503 || r.RequestID != err.RequestID ||
		r.Sent.Headers["Idempotency-Key"] != "one" {
		t.Errorf("the journal has %+v", r)
	}
	issue("one").Want(201)

	// After a fault that follows the operation the card exists, and a retry gets the lost answer.
	s.Fault(punchtest.Fault{Path: "/api/public/v1/**", Status: 502, Code: "bad_gateway", When: punchtest.After, Count: 2})
	for range 2 {
		if err := refusal(t, issue("two").Want(502).Err()); err.Code != "bad_gateway" {
			t.Errorf("the error is %v", err)
		}
	}
	if again := issue("two").Want(201); again.Header.Get("Idempotent-Replayed") != "true" || cards() != 2 {
		t.Errorf("the retry was not a replay; there are %d cards", cards())
	}

	// Connections are cut, also of the till API.
	s.Fault(punchtest.Fault{Status: punchtest.Cut, When: punchtest.After})
	var refused *punchtest.Error
	if cut := issue("three"); cut.Status != 0 || cut.Err() == nil || errors.As(cut.Err(), &refused) {
		t.Errorf("a connection that is cut: %d, %v", cut.Status, cut.Err())
	}
	if n := cards(); n != 3 {
		t.Errorf("there are %d cards, want 3", n)
	}
	s.Fault(punchtest.Fault{Path: "/cards/*/stamps", Status: punchtest.Cut})
	card := newCard(s)
	if _, err := s.Till(s.Locations[0]).Try().Stamp(card, 1); err == nil || s.Card(card).StampsCount != 0 {
		t.Errorf("the stamp gave %v; there are %d", err, s.Card(card).StampsCount)
	}

	// Delayed requests are served.
	s.Fault(punchtest.Fault{Method: "GET", Path: "/me", Delay: 30 * time.Millisecond})
	start := time.Now()
	getMe(s, s.APIKey, 200)
	if took := time.Since(start); took < 30*time.Millisecond {
		t.Errorf("the delay took %v", took)
	}
	// Any answer, until the fault is cleared.
	s.Fault(punchtest.Fault{Path: "/me", Status: 200, Body: []byte("{\"shop\":\x00"), ContentType: "application/json", UntilCleared: true})
	for range 3 {
		if r := getMe(s, s.APIKey, 200); string(r.Body) != "{\"shop\":\x00" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v %q", r.Header, r.Body)
		}
	}
	useless := &recorder{TB: t}
	useless.run(func(t testing.TB) { s.For(t).Fault(punchtest.Fault{Path: "/cards/*"}) })
	if !useless.failed {
		t.Error("a fault without an effect was accepted")
	}
	s.Fault(punchtest.Fault{Status: 500, Count: 100})
	s.ClearFaults()
	s.ClearRequests()
	getMe(s, s.APIKey, 200)
	if all := s.Requests(); len(all) != 1 {
		t.Errorf("%d requests, want 1", len(all))
	}
}

// TestRequestsTo checks the filters of the journal, and that a page is in it.
func TestRequestsTo(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	card := s.Issue(s.Programs["standard"], punchtest.CardFields{})
	s.Card(card.ID)
	s.Do("GET", card.InstallURL, "", nil, "Accept", "text/html").Want(200)
	if all := s.RequestsTo("", "/**"); len(all) != 3 || all[2].Kind != "page" {
		t.Errorf("%v", all)
	}
	if got := s.RequestsTo("GET", "/cards/*"); len(got) != 1 || got[0].Path != "/api/public/v1/cards/"+card.ID {
		t.Errorf("%v", got)
	}
	if got := s.RequestsTo("", "/i/*"); len(got) != 1 || got[0].Path != "/i/…" || got[0].Response.Status != 200 {
		t.Errorf("%v", got)
	}
	if got := s.RequestsTo("DELETE", ""); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 28, 22, 0, 0, 123456789, time.FixedZone("", 3600))
	s := punchtest.Start(t, punchtest.Clock(at))
	if now := s.Clock.Now(); !now.Equal(at.Truncate(time.Millisecond)) || now.Location() != time.UTC {
		t.Errorf("the clock shows %v", now)
	}
	key := s.NewKey(punchtest.KeyFields{ExpiresAt: at.Add(2 * time.Hour)})
	s.Clock.Advance(2*time.Hour - time.Millisecond)
	getMe(s, key, 200)
	s.Clock.Set(at.Add(2 * time.Hour))
	getMe(s, key, 401)

	sub := &recorder{TB: t} // as a subtest, whose failure is not that of its parent
	sub.run(func(t testing.TB) { s.For(t).Clock.Set(at) })
	if !sub.failed || t.Failed() {
		t.Errorf("an earlier time fails the subtest: %t, its parent: %t", sub.failed, t.Failed())
	}

	running := punchtest.Start(t)
	before := running.Clock.Now()
	running.Clock.Advance(time.Hour)
	if now := running.Clock.Now(); now.Sub(before) < time.Hour || now.Sub(before) > 2*time.Hour {
		t.Errorf("the clock changed from %v to %v", before, now)
	}
}
