package till_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	codeText = regexp.MustCompile(`<code class="code">(.*?)</code>`)
	markup   = regexp.MustCompile(`<[^>]*>`)
)

// code is what a card's QR code holds, as the holder's page shows it.
func (s *server) code(card string) string {
	s.t.Helper()
	link := s.rest().post("/cards/"+card+"/install-link", nil).want(200).str("install_url")
	r := s.fetch("GET", link, nil, http.Header{"Accept": {"text/html"}}).want(200)
	m := codeText.FindSubmatch(r.body)
	if m == nil {
		s.t.Fatalf("no code: %s", r.body)
	}
	return html.UnescapeString(markup.ReplaceAllString(string(m[1]), ""))
}

// TestCodes: a card's id and its code name the same chain, and nothing else
// does.
func TestCodes(t *testing.T) {
	s := start(t)
	card := s.issue(s.ProgramIDs["standard"], nil)
	code := s.code(card)
	s.get("/cards/" + code).want(200).shows(fields{"card.id": card})
	s.post("/cards/"+code+"/stamps", fields{"count": 8}).want(201).shows(fields{"transaction.card_id": card})
	child := s.post("/cards/"+code+"/stamps", fields{"count": 5}).want(201).str("overflow_card.id")
	for _, any := range []string{code, card, child} {
		s.get("/cards/" + any).want(200).shows(fields{"card.id": child, "earlier_cards.0.id": card})
	}
	if got := s.code(card); got != code {
		t.Errorf("a new link has changed the code: %s, %s", got, code)
	}

	// The old code dies with a reissue, the id does not.
	s.rest().post("/cards/"+card+"/reissue", nil).want(200)
	s.untouched(func() {
		s.get("/cards/"+code).want(404, "not_found")
		s.post("/cards/"+code+"/stamps", nil).want(404, "not_found")
	})
	again := s.code(card)
	if again == code {
		t.Error("the code is the same after a reissue")
	}
	s.get("/cards/" + again).want(200).shows(fields{"card.status": "invited"})
	s.stamp(card, 1).shows(fields{"card.id": child, "card.status": "active"})

	// As people type it, from the groups that the page shows.
	typed := regexp.MustCompile("....").ReplaceAllString(strings.NewReplacer("0", "O", "1", "l").Replace(strings.ToUpper(again)), "$0 ")
	for _, spelt := range []string{strings.ToUpper(again), typed, strings.ReplaceAll(typed, " ", "-")} {
		s.get("/cards/" + url.PathEscape(spelt)).want(200).shows(fields{"card.id": child})
		s.post("/cards/"+url.PathEscape(spelt)+"/stamps", nil).want(201)
	}

	for _, none := range []string{"x", again + "0", again[1:], "crd_" + again, card[4:], s.ShopID, "%00", "a%2Fb", "%F0%9F%99%82", strings.Repeat("a", 5000)} {
		s.untouched(func() {
			s.get("/cards/"+none).want(404, "not_found")
			s.post("/cards/"+none+"/stamps", nil).want(404, "not_found")
		})
	}
	// Erased: as if it had never been.
	s.control("POST", "/cards/"+card+"/delete", fields{})
	for _, none := range []string{card, child, again} {
		s.get("/cards/"+none).want(404, "not_found")
	}
}

// TestOtherShop sees and touches nothing of this one.
func TestOtherShop(t *testing.T) {
	s := start(t)
	card := s.issue(s.ProgramIDs["standard"], fields{"external_ref": "m-1"})
	code, row := s.code(card), s.stamp(card, 6).str("transaction.id")
	made := s.control("POST", "/shops", fields{"name": "Elsewhere"})
	other := s.with(made.str("till_token"))
	other.get("/me").want(200).shows(fields{"shop.name": "Elsewhere", "programs": []any{}, "location.id": made.str("location_id")})
	s.untouched(func() {
		for _, any := range []string{card, code} {
			other.get("/cards/"+any).want(404, "not_found")
			for action, body := range map[string]fields{"stamps": {}, "redemptions": {"prize_id": "p"}, "topups": {"amount_cents": 1}, "spends": {"amount_cents": 1}, "uses": {}} {
				other.post("/cards/"+any+"/"+action, body).want(404, "not_found")
			}
		}
		other.post("/programs/"+s.ProgramIDs["standard"]+"/cards", nil).want(404, "not_found")
		other.post("/transactions/"+row+"/reversal", nil).want(404, "not_found")
	})
	api := s.rest().with(made.str("api_key"))
	api.get("/transactions").want(200).shows(fields{"data": []any{}})
	api.get("/transactions?card_id=" + card).want(200).shows(fields{"data": []any{}})
}

// TestTransactions reads over the REST API what tills wrote.
func TestTransactions(t *testing.T) {
	s := start(t, frozen)
	there := s.device(s.LocationIDs[1])
	a, b := s.issue(s.ProgramIDs["standard"], nil), s.issue(s.ProgramIDs["prepaid"], nil)
	var ids []string
	row := func(r *reply) {
		t.Helper()
		ids = append(ids, r.want(201).str("transaction.id"))
		s.advance("1h")
	}
	begin := s.in(0)
	row(s.post("/cards/"+a+"/stamps", fields{"count": 6}))
	row(there.post("/cards/"+a+"/redemptions", fields{"prize_id": s.get("/cards/" + a).str("prizes.0.id")}))
	row(there.post("/cards/"+b+"/topups", fields{"amount_cents": 900}))
	row(s.post("/cards/"+b+"/spends", fields{"amount_cents": 300}))
	row(s.post("/transactions/"+ids[3]+"/reversal", nil))
	at := func(hours int) string {
		t0, _ := time.Parse(time.RFC3339Nano, begin)
		return t0.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
	}
	restricted := s.rest().with(s.RestrictedAPIKey)
	for query, want := range map[string][]int{
		"": {4, 3, 2, 1, 0}, "card_id=" + a: {1, 0}, "card_id=" + b: {4, 3, 2}, "program_id=" + s.ProgramIDs["prepaid"]: {4, 3, 2},
		"location_id=" + s.LocationIDs[1]: {2, 1}, "type=stamp": {0}, "type=redemption": {1}, "type=topup": {2}, "type=spend": {3}, "type=reversal": {4}, "type=expiry": {},
		"from=" + at(1): {4, 3, 2, 1}, "to=" + at(1): {0}, "from=" + at(1) + "&to=" + at(3): {2, 1}, "card_id=" + b + "&location_id=" + s.LocationIDs[0] + "&type=spend": {3},
	} {
		var all, own []string
		for _, i := range want {
			all = append(all, ids[i])
			if i != 1 && i != 2 {
				own = append(own, ids[i])
			}
		}
		if got := s.rest().get("/transactions?" + query).want(200).ids(); !slices.Equal(got, all) {
			t.Errorf("%s: %v, want %v", query, got, all)
		}
		if got := restricted.get("/transactions?" + query).want(200).ids(); !slices.Equal(got, own) {
			t.Errorf("restricted: %s: %v, want %v", query, got, own)
		}
	}
	first := s.rest().get("/transactions?limit=2").want(200)
	next := s.rest().get("/transactions?limit=3&cursor=" + first.str("next_cursor")).want(200)
	if got := append(first.ids(), next.ids()...); !slices.Equal(got, []string{ids[4], ids[3], ids[2], ids[1], ids[0]}) || next.at("next_cursor") != nil {
		t.Error(got, next.at("next_cursor"))
	}
	s.rest().get("/transactions?type=spend").shows(fields{"data.0.value_delta": -300, "data.0.reversed_at": at(4)[:19] + ".000Z"})
}
