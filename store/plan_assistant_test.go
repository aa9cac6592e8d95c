package store

// runForAssistants runs the operations that only assistants use.
func runForAssistants(f *fixture, restricted Access, l ledgerCase) {
	given := func(on bool, s string) Opt[string] { return Opt[string]{V: s, Set: on} }
	f.view(func(v *View) error {
		for n := range 32 {
			on := func(bit int) bool { return n>>bit&1 == 1 }
			find := CardFind{ProgramID: given(on(0), l.program), ExternalRef: given(on(1), "ref"), Email: given(on(2), "ada@example.com"), Status: given(on(3), StatusActive), PrizeDue: Opt[bool]{V: true, Set: on(4)}}
			check(v.FindCards(f.a, find, PageQuery{}))
			find.NotSeenDays = set[int64](1)
			check(v.FindCards(f.a, find, PageQuery{}))
		}
		check(v.FindCards(restricted, CardFind{ProgramID: set(l.program)}, PageQuery{}))
		check(v.CardSeen(f.a, l.card))
		for _, a := range []Access{f.a, restricted} {
			check(v.ComparePeriods(a, CompareQuery{From: set("2026-01-01"), To: set("2026-01-02"), ProgramID: set(l.program), Weekday: set[int64](1)}))
			check(v.ComparePeriods(a, CompareQuery{From: set("2026-01-01"), To: set("2026-01-02"), LocationID: set(l.location)}))
		}
		check(v.WebhookReports(f.a, WebhookReportQuery{}, PageQuery{}))
		check(v.CallsOf(1, 1))
		check(v.KeyInfos(f.a.Shop))
		return nil
	})
	hook := f.ID(KindWebhook, f.hook(l.program, hookFields{}))
	for _, id := range []string{l.program, l.card, l.location, hook} {
		must(f, func(tx *Tx) (Time, error) { return tx.Version(f.a.Shop, id), tx.failed })
	}
	f.must(func(tx *Tx) error { return tx.NoteCalls(map[KeyDay]int64{{Key: 1, Day: 40}: 3}) })
	must(f, func(tx *Tx) (Delivery, error) { return tx.TestActiveWebhook(f.a, hook) })
	must(f, func(tx *Tx) (PausedWebhook, error) { return tx.PauseWebhook(f.a, hook) })
	url := "https://hooks.example.com/draft"
	draft := must(f, func(tx *Tx) (Webhook, error) {
		tx.CheckedTarget = url
		return tx.DraftWebhook(f.a, l.program, DraftFields{URL: set(url), Events: set([]string{"*"})})
	})
	must(f, func(tx *Tx) (UpdatedWebhook, error) {
		tx.Actor.Type = "user"
		return tx.UpdateWebhook(f.a, l.program, draft.ID, WebhookPatch{WebhookFields: WebhookFields{Active: set(true)}, RotateSecret: set(true)})
	})
}
