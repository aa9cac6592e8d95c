package operation_test

import (
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestExportsAreAudited checks that the export of a card and the first page of an export of
// all cards are in the audit log, and that further pages, and the refused export of an
// unknown card, are not.
func TestExportsAreAudited(t *testing.T) {
	t.Parallel()
	s := open(t)
	owner := s.person(kernel.Owner)
	var cards []string
	for range 2 {
		card, err := kernel.Do[operation.IssuedCard](t.Context(), s.Kernel, owner, operation.IssueCard, kernel.Args{Params: map[string]string{"id": s.ProgramIDs["standard"]}})
		if err != nil {
			t.Fatal(err)
		}
		cards = append(cards, card.ID)
	}
	newest := func() store.AuditRow {
		page, err := kernel.Do[store.Page[store.AuditRow]](t.Context(), s.Kernel, owner, operation.ListAudit, kernel.Args{})
		if err != nil {
			t.Fatal(err)
		}
		return page.Data[0]
	}
	if _, err := kernel.Do[store.CardExport](t.Context(), s.Kernel, owner, operation.ExportCard, kernel.Args{Params: map[string]string{"id": cards[0]}}); err != nil {
		t.Fatal(err)
	}
	if row := newest(); row.Action != "card.export" || row.TargetID != cards[0] || row.Actor.Name.V != "ada" {
		t.Errorf("%+v", row)
	}
	q := operation.ExportQuery{PageQuery: store.PageQuery{Limit: store.Given[int64](1)}}
	page, err := kernel.Do[store.Page[store.ExportedCard]](t.Context(), s.Kernel, owner, operation.ExportCards, kernel.Args{Fields: q})
	if err != nil || !page.NextCursor.Valid {
		t.Fatal(page, err)
	}
	first := newest()
	if first.Action != "cards.export" {
		t.Errorf("%+v", first)
	}
	q.Cursor = store.Given(page.NextCursor.V)
	if _, err := kernel.Do[store.Page[store.ExportedCard]](t.Context(), s.Kernel, owner, operation.ExportCards, kernel.Args{Fields: q}); err != nil {
		t.Fatal(err)
	}
	_, err = kernel.Do[store.CardExport](t.Context(), s.Kernel, owner, operation.ExportCard, kernel.Args{Params: map[string]string{"id": "crd_x"}})
	if e, ok := store.AsError(err); !ok || e.Code != store.NotFound {
		t.Errorf("an unknown card: %v", err)
	}
	if row := newest(); row.ID != first.ID {
		t.Errorf("a second page or a refused export is audited: %+v", row)
	}
}
