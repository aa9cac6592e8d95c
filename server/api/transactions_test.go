package api_test

import (
	"slices"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// ledgerRow is a row that a till writes.
type ledgerRow struct {
	card, location, kind string
	stamps, value        any
	prize                string
	reversed             bool
}

// addTransaction adds a row to the ledger at the present time and returns the transaction's id.
func addTransaction(s *servertest.Server, r ledgerRow) string {
	s.T.Helper()
	var prize, reversed any
	now := int64(s.App.Store.Now())
	if r.prize != "" {
		prize = s.Row(store.KindPrize, r.prize)
	}
	if r.reversed {
		reversed = now
	}
	card := s.Row(store.KindCard, r.card)
	location := s.Row(store.KindLocation, r.location)
	s.SQL(`INSERT INTO transactions (shop_id, card_id, program_id, location_id, type, stamps_delta, value_delta, prize_id, reversed_at,
		created_at) SELECT shop_id, id, program_id, ?, ?, ?, ?, ?, ?, ? FROM cards WHERE id=?`,
		location, r.kind, r.stamps, r.value, prize, reversed, now, card)
	return s.App.Store.ID(store.KindTransaction, number(s.Value("SELECT max(id) FROM transactions")))
}

// kinds are the types of transactions.
var kinds = []string{"stamp", "redemption", "reversal", "expiry", "topup", "spend", "discount", "access"}

func TestTransactionShape(t *testing.T) {
	s := start(t, servertest.Frozen)
	empty := s.Get("/transactions").Want(200)
	empty.Shaped("", "TransactionPage", "next_cursor")
	empty.Shows(fields{"data": []any{}, "limit": 50, "next_cursor": nil})
	card := s.Issue(s.ProgramIDs["standard"], nil)
	prize := s.Get("/programs/" + s.ProgramIDs["standard"] + "/prizes").IDs()[0]
	bare := addTransaction(s, ledgerRow{card: card, location: s.LocationIDs[1], kind: "expiry"})
	s.Advance("1s")
	full := addTransaction(s, ledgerRow{
		card:     card,
		location: s.LocationIDs[0],
		kind:     "redemption",
		stamps:   -10,
		value:    250,
		prize:    prize,
		reversed: true,
	})
	r := s.Get("/transactions").Want(200)
	at := "2026-03-01T09:00:01.000Z"
	r.Shows(fields{
		"data.0": fields{"id": full, "card_id": card, "program_id": s.ProgramIDs["standard"], "type": "redemption",
			"location_id": s.LocationIDs[0], "location_name": "Centrale",
			"stamps_delta": -10, "value_delta": 250, "prize_id": prize, "reversed_at": at, "created_at": at},
		"data.1": fields{"id": bare, "card_id": card, "program_id": s.ProgramIDs["standard"], "type": "expiry",
			"location_id": s.LocationIDs[1], "location_name": "Stazione",
			"stamps_delta": nil, "value_delta": nil, "prize_id": nil, "reversed_at": nil, "created_at": "2026-03-01T09:00:00.000Z"},
	})
	// Transactions remain when what they name is deleted.
	s.Control("POST", "/cards/"+card+"/delete", nil)
	s.Control("DELETE", "/programs/"+s.ProgramIDs["standard"], nil)
	s.Post("/locations/"+s.LocationIDs[0]+"/disable", nil).Want(200)
	s.Get("/transactions").Want(200).Same(r)
}

// ledger has forty rows, an hour apart, newest first, and the resources that they name.
type ledger struct {
	rows            []ledgerRow
	ids, times      []string
	programOf       map[string]string
	cards, programs []string
}

func newLedger(s *servertest.Server) *ledger {
	s.T.Helper()
	l := &ledger{programOf: map[string]string{}, programs: []string{s.ProgramIDs["standard"], s.ProgramIDs["prepaid"]}}
	for i := range 4 {
		card := s.Issue(l.programs[i%2], nil)
		l.cards = append(l.cards, card)
		l.programOf[card] = l.programs[i%2]
	}
	for i := range 40 {
		s.Advance("1h")
		r := ledgerRow{card: l.cards[i*7%4], location: s.LocationIDs[i/3%2], kind: kinds[i*5%8]}
		l.rows = append([]ledgerRow{r}, l.rows...)
		l.ids = append([]string{addTransaction(s, r)}, l.ids...)
		l.times = append([]string{s.App.Store.Now().String()}, l.times...)
	}
	return l
}

// TestTransactionFilters compares combinations of the filters with a model, for an unrestricted key, a
// restricted one, and another shop's.
func TestTransactionFilters(t *testing.T) {
	s := start(t, servertest.Frozen)
	l := newLedger(s)
	restricted := s.With(s.RestrictedAPIKey)
	other, _ := newOtherShop(s)
	calls := 0
	for _, location := range []string{"", s.LocationIDs[0], s.LocationIDs[1], "loc_x"} {
		for _, program := range []string{"", l.programs[0], s.ProgramIDs["access"]} {
			for _, card := range []string{"", l.cards[0], l.cards[1], s.LocationIDs[0]} {
				for _, kind := range append([]string{""}, kinds...) {
					for _, span := range [][2]int{{-1, -1}, {9, -1}, {-1, 9}, {30, 9}} { // indices of rows, from and to; -1 for none
						if calls++; !servertest.Sampled(calls) || calls%13 > 0 && (location != "" || program != "" || card != "") {
							continue // a thirteenth of the combinations with ids is enough
						}
						var query, want, inside []string
						add := func(name, v string) {
							if v != "" {
								query = append(query, name, v)
							}
						}
						add("location_id", location)
						add("program_id", program)
						add("card_id", card)
						add("type", kind)
						if span[0] >= 0 {
							add("from", l.times[span[0]])
						}
						if span[1] >= 0 {
							add("to", l.times[span[1]])
						}
						for i, r := range l.rows {
							if (location == "" || r.location == location) && (program == "" || l.programOf[r.card] == program) &&
								(card == "" || r.card == card) &&
								(kind == "" || r.kind == kind) && (span[0] < 0 || i <= span[0]) && i > span[1] {
								if want = append(want, l.ids[i]); r.location == s.LocationIDs[0] {
									inside = append(inside, l.ids[i])
								}
							}
						}
						if have, _ := s.All("/transactions", query...); !slices.Equal(have, want) {
							t.Errorf("%q: %d rows, want %d", query, len(have), len(want))
						}
						if have, _ := restricted.All("/transactions", append(query, "limit", "7")...); !slices.Equal(have, inside) {
							t.Errorf("restricted %q: %d rows, want %d", query, len(have), len(inside))
						}
						if calls%13 == 0 {
							if have, _ := other.All("/transactions", query...); len(have) > 0 {
								t.Errorf("another shop %q: %d rows", query, len(have))
							}
						}
					}
				}
			}
		}
	}
}
