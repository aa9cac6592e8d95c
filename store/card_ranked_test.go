package store

import (
	"fmt"
	"slices"
	"testing"
)

// pages returns the ids of all pages of a search.
func (f *fixture) pages(s CardSearch, limit int64) (ids []string) {
	f.t.Helper()
	q := PageQuery{Limit: set(limit)}
	for range 100 {
		p := view(f, func(v *View) (Page[FoundCard], error) { return v.SearchCards(f.a.Shop, s, q) })
		for _, c := range p.Data {
			ids = append(ids, c.ID)
		}
		if !p.NextCursor.Valid {
			return ids
		}
		q.Cursor = set(p.NextCursor.V)
	}
	f.t.Fatal("the list does not end")
	return nil
}

// TestRankedCards checks the orders of the list of cards over programs and pages, also where a page may
// visit few rows.
func TestRankedCards(t *testing.T) {
	t.Parallel()
	for _, visits := range []int{0, 3} {
		f := start(t, Options{PageVisits: visits})
		k := f.till()
		coffee, _ := k.ladder(true, 10)
		tea, _ := k.ladder(true, 10)
		gift, voucher := k.program(prepaid("Gift", 100)), k.program(prepaid("Voucher", 150))
		var byDay, byBalance []string
		for i := range 9 {
			card := k.card([]string{coffee, tea}[i%2])
			k.stamped(card, int64(1+i*7%9))
			byDay = append(byDay, card)
			if i%2 == 1 {
				k.clock.move(days(1))
			}
			money := k.card([]string{gift, voucher}[i%2])
			check(k.topUp(money, int64(1000*(9-i))))
			byBalance = append(byBalance, money)
		}
		k.archive(byBalance[4])
		byBalance = slices.Delete(byBalance, 4, 5)
		k.lock(byDay[2], true)
		slices.Reverse(byDay)
		for limit := range int64(5) {
			got := k.pages(CardSearch{Sort: set(SortBalance)}, limit+1)
			if !slices.Equal(got, byBalance) {
				t.Errorf("visits %d, limit %d: by balance %v, want %v", visits, limit+1, got, byBalance)
			}
			got = k.pages(CardSearch{Sort: set(SortLastVisit)}, limit+1)
			got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(byDay, id) })
			if !slices.Equal(got, byDay) {
				t.Errorf("visits %d, limit %d: by last visit %v, want %v", visits, limit+1, got, byDay)
			}
			got = k.pages(CardSearch{Sort: set(SortLastVisit), ListFilter: ListFilter{ProgramID: set(tea), NotSeenDays: set(int64(2))}},
				limit+1)
			if want := []string{byDay[3], byDay[5], byDay[7]}; !slices.Equal(got, want) {
				t.Errorf("visits %d, limit %d: not seen %v, want %v", visits, limit+1, got, want)
			}
			var counts []int64
			for _, id := range k.pages(CardSearch{Sort: set(SortStamps), ListFilter: ListFilter{ProgramID: set(coffee)}}, limit+1) {
				counts = append(counts, k.get(id).StampsCount)
			}
			if want := []int64{7, 6, 3, 2, 1}; !slices.Equal(counts, want) {
				t.Errorf("visits %d, limit %d: by stamps %v, want %v", visits, limit+1, counts, want)
			}
		}
		// Few cards pass, so that a page ends before it has found all of it.
		var locked []string
		for _, i := range []int{3, 6, 7, 8} {
			k.lock(byDay[i], true)
			locked = append(locked, byDay[i])
		}
		for limit := range int64(4) {
			byVisit := CardSearch{Sort: set(SortLastVisit), ListFilter: ListFilter{Status: set(StatusLocked)}}
			if got := k.pages(byVisit, limit+1); !slices.Equal(got, locked) {
				t.Errorf("visits %d, limit %d: locked %v, want %v", visits, limit+1, got, locked)
			}
		}
	}
}

// TestBirthdays checks the cards of a month's birthdays, with other filters and in an order.
func TestBirthdays(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	var want []string
	for i, day := range []string{"03-31", "02-29", "02-01", "02-29", "12-02"} {
		card := k.cardWith(program, CardFields{HolderName: set(fmt.Sprint("Ada ", i))})
		k.contact(card, HolderContactPatch{ContactPatch: ContactPatch{Birthday: set(day)}})
		if i > 0 && i < 4 {
			want = append(want, card)
		}
	}
	k.card(program)
	k.lock(want[0], true)
	sorted := []string{want[1], want[0], want[2]}
	february := CardSearch{ListFilter: ListFilter{BirthdayMonth: set(int64(2))}}
	for limit := range int64(4) {
		if got := k.pages(february, limit+1); !slices.Equal(got, sorted) {
			t.Errorf("limit %d: %v, want %v", limit+1, got, sorted)
		}
	}
	february.Sort = set(SortLastVisit)
	if got := k.pages(february, 2); len(got) != 3 {
		t.Errorf("by last visit: %v", got)
	}
	february.Sort, february.Status = Opt[string]{}, set(StatusLocked)
	if got := k.pages(february, 2); !slices.Equal(got, want[:1]) {
		t.Errorf("locked: %v", got)
	}
	february.Status, february.Q = Opt[string]{}, set("ada 3")
	if got := k.pages(february, 2); !slices.Equal(got, want[2:]) {
		t.Errorf("by name: %v", got)
	}
	for _, quick := range []bool{true, false} {
		for _, f := range []CardSearch{
			{ListFilter: ListFilter{BirthdayMonth: set(int64(2))}},
			{Q: set("ada")},
			{},
			{ListFilter: ListFilter{NotSeenDays: set(int64(1))}},
		} {
			got := view(k.fixture, func(v *View) (Total, error) { return v.CountCards(k.a.Shop, f, quick) })
			if int(got.N) != len(k.pages(f, 50)) || got.More {
				t.Errorf("%+v: %+v", f, got)
			}
		}
	}
}

func TestSearchRefusesOrders(t *testing.T) {
	f := start(t)
	f.view(func(v *View) error {
		for _, s := range []CardSearch{{Q: set("a")}, {ListFilter: ListFilter{Status: set(StatusArchived)}}} {
			s.Sort = set(SortStamps)
			refused(t, errorOf(v.CountCards(f.a.Shop, s, true)), ValidationFailed)
		}
		_, err := v.SearchCards(f.a.Shop, CardSearch{Sort: set(SortBalance)}, PageQuery{Cursor: set(v.cursor(listCards, f.a.Shop, 0, 1))})
		refused(t, err, ValidationFailed)
		return nil
	})
}
