package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// The operations some of whose fields only the store can judge: ids, cursors, and
// fields beside those of an existing resource. See kernel.LookUp.
var _ = []*kernel.Operation{
	kernel.LookUp(ListLocations, func(v *store.View, c *kernel.Call, q PageQuery, _ func(string) bool) error {
		_, err := v.Locations(c.Access, oneAfter(q.Cursor))
		return err
	}),
	kernel.LookUp(ListPrograms, func(v *store.View, c *kernel.Call, q ProgramsQuery, _ func(string) bool) error {
		_, err := v.Programs(c.Access, store.Opt[string]{}, oneAfter(q.Cursor))
		return err
	}),
	kernel.LookUp(ListCards, func(v *store.View, c *kernel.Call, q CardsQuery, _ func(string) bool) error {
		_, err := v.Cards(c.Access, store.CardFilter{}, oneAfter(q.Cursor))
		return err
	}),
	kernel.LookUp(SearchCards, func(v *store.View, c *kernel.Call, q SearchQuery, faulty func(string) bool) error {
		if faulty("q") {
			return nil
		}
		_, err := v.SearchCards(c.Access.Shop, store.CardSearch{Q: q.Q}, oneAfter(q.Cursor))
		return err
	}),
	kernel.LookUp(ListTransactions, func(v *store.View, c *kernel.Call, q TransactionsQuery, _ func(string) bool) error {
		_, err := v.Transactions(c.Access, store.TransactionFilter{}, oneAfter(q.Cursor))
		return err
	}),
	kernel.LookUp(ListAudit, func(v *store.View, c *kernel.Call, q PageQuery, _ func(string) bool) error {
		_, err := v.AuditLog(c.Access.Shop, oneAfter(q.Cursor))
		return err
	}),
	kernel.LookUp(ListActivity, func(v *store.View, c *kernel.Call, q ActivityQuery, _ func(string) bool) error {
		_, err := v.AuditLog(c.Access.Shop, oneAfter(q.Cursor))
		return err
	}),
	kernel.LookUp(GetHeatmap, func(v *store.View, c *kernel.Call, q store.HeatmapQuery, faulty func(string) bool) error {
		if faulty("from") || faulty("to") {
			return nil
		}
		_, err := v.Heatmap(c.Access, store.HeatmapQuery{From: q.From, To: q.To})
		return err
	}),
	kernel.LookUp(CreateProgram, func(v *store.View, c *kernel.Call, f store.ProgramFields, faulty func(string) bool) error {
		return v.CheckProgramFields(c.Access, "", f, faulty)
	}),
	kernel.LookUp(CreateProgramWithPrizes, func(v *store.View, c *kernel.Call, f NewProgram, faulty func(string) bool) error {
		return v.CheckProgramFields(c.Access, "", f.ProgramFields, faulty)
	}),
	kernel.LookUp(UpdateProgram, func(v *store.View, c *kernel.Call, f store.ProgramFields, faulty func(string) bool) error {
		return v.CheckProgramFields(c.Access, c.Param("id"), f, faulty)
	}),
	kernel.LookUp(ReissueCard, func(v *store.View, c *kernel.Call, f store.ReissueFields, _ func(string) bool) error {
		return v.CheckSendEmail(c.Access, c.Param("id"), f.SendEmail, f.HolderEmail)
	}),
	kernel.LookUp(CreateInstallLink, func(v *store.View, c *kernel.Call, f store.LinkFields, _ func(string) bool) error {
		return v.CheckSendEmail(c.Access, c.Param("id"), f.SendEmail, store.Opt[string]{})
	}),
	kernel.LookUp(CreateWebhook, func(v *store.View, c *kernel.Call, f WebhookFields, faulty func(string) bool) error {
		return v.CheckWebhookFields(c.Access, "", "", f.WebhookFields, faulty)
	}),
	kernel.LookUp(UpdateWebhook, func(v *store.View, c *kernel.Call, f WebhookPatch, faulty func(string) bool) error {
		return v.CheckWebhookFields(c.Access, c.Param("id"), c.Param("webhookId"), f.WebhookFields, faulty)
	}),
	kernel.LookUp(CreateKey, func(v *store.View, c *kernel.Call, f store.KeyFields, faulty func(string) bool) error {
		return v.CheckKeyFields(c.Access.Shop, f, faulty)
	}),
	kernel.LookUp(RedeemPrize, func(v *store.View, c *kernel.Call, f store.RedeemFields, faulty func(string) bool) error {
		if !f.PrizeID.Set || faulty("prize_id") {
			return nil
		}
		return v.CheckPrize(c.Till(), c.Param("code"), f.PrizeID.V)
	}),
}

// oneAfter asks for the one row after a cursor, which shows whether the cursor is one
// of the list.
func oneAfter(cursor store.Opt[string]) store.PageQuery {
	return store.PageQuery{Limit: store.Given[int64](1), Cursor: cursor}
}
