package operation_test

import (
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestExportsAreAudited checks that the exports of a card, a person and a shop and the first page of
// an export of all cards are in the audit log, and that further pages, and the refused export of an
// unknown card, are not.
func TestExportsAreAudited(t *testing.T) {
	h := openHarness(t)
	owner := h.withRole(kernel.Owner)
	var cards []string
	for range 2 {
		cards = append(cards, must[operation.IssuedCard](h, owner, operation.IssueCard, h.ProgramIDs["standard"], nil).ID)
	}
	newest := func() store.AuditRow { return h.audit(h.Shop(), 1)[0] }
	h.ok(owner, operation.ExportPerson, "", store.PersonQuery{CardIDs: store.Given(cards[:1])})
	if row := newest(); row.Action != "card.export" || row.TargetID != cards[0] || row.Actor.Name.V != "ada" {
		t.Errorf("%+v", row)
	}
	q := store.ExportFilter{PageQuery: store.PageQuery{Limit: store.Given[int64](1)}}
	page := must[store.Page[store.ExportedCard]](h, owner, operation.ExportCards, "", q)
	if !page.NextCursor.Valid {
		t.Fatal(page)
	}
	first := newest()
	if first.Action != "cards.export" {
		t.Errorf("%+v", first)
	}
	q.Cursor = store.Given(page.NextCursor.V)
	h.ok(owner, operation.ExportCards, "", q)
	h.ok(owner, operation.ExportShop, "", store.ExportFormat{})
	if first = newest(); first.Action != "shop.export" {
		t.Errorf("%+v", first)
	}
	h.ok(owner, operation.ExportPerson, "", store.PersonQuery{CardIDs: store.Given(cards)})
	if first = newest(); first.Action != "card.export" || first.TargetID != cards[1] {
		t.Errorf("%+v", first)
	}
	h.want(store.NotFound, "an unknown card", owner, operation.ExportPerson, "", store.PersonQuery{CardIDs: store.Given([]string{"crd_x"})})
	if row := newest(); row.ID != first.ID {
		t.Errorf("a second page or a refused export is audited: %+v", row)
	}
}
