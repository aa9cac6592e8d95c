package api_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// fillLists fills every list of the shop up to twenty rows, and returns their ids, newest first. If
// the clock is frozen, all rows have the same time.
func fillLists(s *servertest.Server) map[string][]string {
	s.T.Helper()
	have := map[string][]string{}
	add := func(list, id string) { have[list] = append([]string{id}, have[list]...) }
	for _, id := range s.LocationIDs {
		add("/locations", id)
	}
	for len(have["/locations"]) < 20 {
		add("/locations", s.Control("POST", "/locations", fields{"name": "L"}).Str("id"))
	}
	for _, kind := range servertest.Types {
		add("/programs", s.ProgramIDs[kind])
	}
	for len(have["/programs"]) < 20 {
		add("/programs", s.NewProgram("access", false, nil))
	}
	for i := range 20 {
		add("/cards", s.Issue(s.ProgramIDs[servertest.Types[i%5]], nil))
		add("/transactions", addTransaction(s, ledgerRow{card: have["/cards"][0], location: s.LocationIDs[i%2], kind: "access"}))
	}
	return have
}

// TestPaging reads every list to its end with several limits.
func TestPaging(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	have := fillLists(s)
	newOtherShop(s)
	for list, want := range have {
		for _, limit := range servertest.Sample([]int{1, 2, 3, 4, 5, 6, 7, 19, 20, 21, 100}) {
			ids, pages := s.All(list, "limit", strconv.Itoa(limit))
			if !slices.Equal(ids, want) {
				t.Errorf("%s, limit %d: %q, want %q", list, limit, ids, want)
			}
			if most := (20 + limit - 1) / limit; pages != most {
				t.Errorf("%s, limit %d: %d pages, want %d", list, limit, pages, most)
			}
			s.Get(list + "?limit=" + strconv.Itoa(limit)).Shows(fields{"limit": limit})
		}
	}
}

// TestPageLimit checks the limit of a page, its default and its maximum, and a smaller maximum that
// the configuration sets.
func TestPageLimit(t *testing.T) {
	t.Parallel()
	s := start(t)
	small := start(t, func(c *app.Config) { c.Limits.PublicAPIMaxPageSize = 3 })
	fillLists(small)
	for _, list := range []string{"/locations", "/programs", "/cards", "/transactions"} {
		for _, c := range []struct {
			query string
			want  int
		}{{"", 50}, {"?limit=1", 1}, {"?limit=99", 99}, {"?limit=100", 100}, {"?limit=101", 100}, {"?limit=1000000000", 100}, {"?limit=99999999999999999999999999", 100}} {
			s.Get(list + c.query).Want(200).Shows(fields{"limit": c.want})
		}
		for query, code := range map[string]string{"0": "too_small", "-1": "too_small", "-99999999999999999999": "too_small", "x": "invalid_type", "1.5": "invalid_type", "1e9": "invalid_type", "%2B5": "invalid_type",
			"": "invalid_value", "5&limit=5": "invalid_value", "%2010": "invalid_type", "0x10": "invalid_type"} {
			s.Get(list + "?limit=" + query).Invalid("limit " + code)
		}
		for query, want := range map[string]int{"": 3, "?limit=2": 2, "?limit=50": 3} {
			r := small.Get(list + query).Want(200)
			if r.Shows(fields{"limit": want}); len(r.IDs()) != want {
				t.Errorf("%s%s: %d rows", list, query, len(r.IDs()))
			}
		}
	}
}

// TestCursors checks that only cursors of the same list and shop are accepted.
func TestCursors(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	have := fillLists(s)
	other, _ := newOtherShop(s)
	other.Control("POST", "/locations", fields{"shop_id": shopOf(other)})
	foreign := other.Get("/locations?limit=1").Want(200).Str("next_cursor")
	cursors := map[string]string{}
	for list := range have {
		cursors[list] = s.Get(list + "?limit=3").Want(200).Str("next_cursor")
	}
	for list, own := range cursors {
		forged := []string{"x", "0", "null", own + "0", own[1:], own[:len(own)-1], strings.ToUpper(own), " " + own, foreign, have[list][3], strings.Repeat("0", len(own)), strings.Repeat("a", 300), "é"}
		for i := range own {
			c := byte('0')
			if own[i] == '0' {
				c = '1'
			}
			forged = append(forged, own[:i]+string(c)+own[i+1:])
		}
		for name, c := range cursors {
			if name != list {
				forged = append(forged, c)
			}
		}
		for _, c := range servertest.Sample(forged) {
			if r := s.Get(list + "?cursor=" + escape(c)); r.Status != 400 || !slices.Equal(r.Details(), []string{"cursor invalid_format"}) {
				t.Errorf("%s accepts %q: %d %.300s", list, c, r.Status, r.Body)
			}
		}
		s.Get(list + "?cursor=").Invalid("cursor invalid_value")
		s.Get(list + "?cursor=" + own + "&cursor=" + own).Invalid("cursor invalid_value")
		// A cursor gives the same page every time, with any limit.
		if ids := s.Get(list + "?limit=2&cursor=" + own).Want(200).IDs(); !slices.Equal(ids, have[list][3:5]) {
			t.Errorf("%s continues with %q", list, ids)
		}
	}
	other.Get("/locations?cursor=" + foreign).Want(200)
	other.Get("/locations?cursor=" + cursors["/locations"]).Invalid("cursor invalid_format")
}

// shopOf returns the id of the client's shop.
func shopOf(s *servertest.Server) string { return s.Get("/me").Want(200).Str("shop.id") }

// TestPagingWhileWriting checks that rows which are added between pages neither appear nor shift the
// others, and that a cursor stays valid if its row is deleted.
func TestPagingWhileWriting(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	have := fillLists(s)
	for _, list := range []string{"/cards", "/programs", "/locations", "/transactions"} {
		var ids []string
		cursor := ""
		for i := 0; ; i++ {
			r := s.Get(fmt.Sprintf("%s?limit=3%s", list, cursor)).Want(200)
			ids = append(ids, r.IDs()...)
			if r.At("next_cursor") == nil {
				break
			}
			cursor = "&cursor=" + r.Str("next_cursor")
			switch list {
			case "/cards":
				s.Issue(s.ProgramIDs["access"], nil)
			case "/programs":
				s.NewProgram("access", false, nil)
			case "/locations":
				s.Control("POST", "/locations", fields{"name": "L"})
			case "/transactions":
				addTransaction(s, ledgerRow{card: have["/cards"][0], location: s.LocationIDs[0], kind: "access"})
			}
		}
		if !slices.Equal(ids, have[list]) {
			t.Errorf("%s: %q, want %q", list, ids, have[list])
		}
	}
	deleted := have["/cards"][4]
	first := s.Get("/cards?limit=100").Want(200).IDs()
	at := slices.Index(first, deleted)
	page := s.Get(fmt.Sprintf("/cards?limit=%d", at+1)).Want(200)
	s.Control("POST", "/cards/"+deleted+"/delete", fields{})
	if ids := s.Get("/cards?limit=2&cursor=" + page.Str("next_cursor")).Want(200).IDs(); !slices.Equal(ids, first[at+1:at+3]) {
		t.Errorf("after a deleted row: %q, want %q", ids, first[at+1:at+3])
	}
}
