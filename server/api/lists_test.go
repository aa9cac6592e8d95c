package api_test

import (
	"slices"
	"strconv"
	"testing"

	"punchcard/server/servertest"
)

// addRow adds a row to a list of the shop, and to the ids of that list in have, newest first.
func addRow(s *servertest.Server, have map[string][]string, list string) {
	s.T.Helper()
	n := len(have[list])
	var id string
	switch list {
	case "/locations":
		id = s.Control("POST", "/locations", fields{"name": "L"}).Str("id")
	case "/programs":
		id = s.NewProgram("access", false, nil)
	case "/cards":
		id = s.Issue(s.ProgramIDs[servertest.Types[n%5]], nil)
	case "/transactions":
		id = addTransaction(s, ledgerRow{card: have["/cards"][0], location: s.LocationIDs[n%2], kind: "access"})
	}
	have[list] = append([]string{id}, have[list]...)
}

// fillLists fills every list of the shop up to twenty rows, and returns their ids, newest first. If
// the clock is frozen, all rows have the same time.
func fillLists(s *servertest.Server) map[string][]string {
	s.T.Helper()
	have := map[string][]string{"/locations": {s.LocationIDs[1], s.LocationIDs[0]}, "/cards": nil, "/transactions": nil}
	for _, kind := range servertest.Types {
		have["/programs"] = append([]string{s.ProgramIDs[kind]}, have["/programs"]...)
	}
	for _, list := range []string{"/locations", "/programs", "/cards", "/transactions"} {
		for len(have[list]) < 20 {
			addRow(s, have, list)
		}
	}
	return have
}

// TestPaging reads every list to its end with several limits. It adds rows between pages, which must
// neither appear nor shift the others, and reads on from a row that is deleted. The tests of the
// store have more.
func TestPaging(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	have := fillLists(s)
	newOtherShop(s)
	for list, want := range have {
		for _, limit := range []int{3, 19, 20, 100} {
			ids, pages := s.All(list, "limit", strconv.Itoa(limit))
			if !slices.Equal(ids, want) {
				t.Errorf("%s, limit %d: %q, want %q", list, limit, ids, want)
			}
			if max := (20 + limit - 1) / limit; pages != max {
				t.Errorf("%s, limit %d: %d pages, want %d", list, limit, pages, max)
			}
		}
		first := s.Get(list + "?limit=5").Want(200)
		first.Shows(fields{"limit": 5})
		next := list + "?limit=2&cursor=" + first.Str("next_cursor")
		addRow(s, have, list)
		if list == "/cards" {
			s.Control("POST", "/cards/"+want[4]+"/delete", fields{}) // the last of the first page
		}
		if ids := s.Get(next).Want(200).IDs(); !slices.Equal(ids, want[5:7]) {
			t.Errorf("%s continues with %q, want %q", list, ids, want[5:7])
		}
	}
}
