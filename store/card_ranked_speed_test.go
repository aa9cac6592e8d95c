package store

import "testing"

// BenchmarkCardList reads the first page of a list of 200,000 cards of two programs in each order, and counts the
// cards of a filter as the dashboard does.
func BenchmarkCardList(b *testing.B) {
	f := start(b)
	coffee, gift := f.key(KindProgram, f.program(stamps("Coffee"))), f.key(KindProgram, f.program(prepaid("Gift", 0)))
	f.sql(`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<200000)
		INSERT INTO cards (id, shop_id, program_id, source, live, created_at, updated_at, activated_at, stamps_count, last_seen_day,
		current_value) SELECT i, ?1, iif(i%4=0, ?2, ?3), 'api', 1, ?4, ?4, ?4, iif(i%4=0, 0, i%10), 19000+i*7919%800,
		iif(i%4=0, i*31%10000, NULL) FROM c`, f.a.Shop, gift, coffee, f.clock.at())
	f.sql("INSERT INTO contacts (card_id, shop_id, birthday) SELECT id, shop_id, printf('%02d-%02d', 1+id%12, 1+id%28) FROM cards")
	for name, s := range map[string]CardSearch{
		SortNewest:    {},
		SortLastVisit: {Sort: set(SortLastVisit)},
		SortStamps:    {Sort: set(SortStamps)},
		SortBalance:   {Sort: set(SortBalance)},
		"birthday":    {ListFilter: ListFilter{BirthdayMonth: setInt(2)}},
		"not seen":    {ListFilter: ListFilter{NotSeenDays: setInt(90)}},
		"program":     {ListFilter: ListFilter{ProgramID: set(f.ID(KindProgram, coffee))}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f.view(func(v *View) error { return errorOf(v.SearchCards(f.a.Shop, s)) })
				f.view(func(v *View) error { return errorOf(v.CountCards(f.a.Shop, s)) })
			}
		})
	}
}
