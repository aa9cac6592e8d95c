package store

// runForAssistants runs the operations that only assistants use.
func runForAssistants(f *fixture, restricted Access, l ledgerCase) {
	f.reads(func(v *View) {
		for n := range 32 {
			on := func(bit int, s string) Opt[string] { return Opt[string]{V: s, Set: n>>bit&1 == 1} }
			find := CardFind{
				ProgramID:   on(0, l.program),
				ExternalRef: on(1, "ref"),
				Email:       on(2, "ada@example.com"),
				Status:      on(3, StatusActive),
				PrizeDue:    Opt[bool]{V: true, Set: n>>4 == 1},
			}
			check(v.FindCards(f.a, find))
			find.NotSeenDays = setInt(1)
			check(v.FindCards(f.a, find))
		}
		check(v.FindCards(restricted, CardFind{ProgramID: set(l.program)}))
		check(v.CardSeen(f.a, l.card))
		for _, a := range []Access{f.a, restricted} {
			q := CompareQuery{From: set("2026-01-01"), To: set("2026-01-02")}
			q.LocationID = set(l.location)
			check(v.ComparePeriods(a, q))
			q.LocationID, q.ProgramID, q.Weekday = Opt[string]{}, set(l.program), setInt(1)
			check(v.ComparePeriods(a, q))
		}
		check(v.WebhookReports(f.a, WebhookReportQuery{}))
		check(v.CallsOf(1, 1))
		check(v.KeyInfos(f.a.Shop))
	})
	hook := f.ID(KindWebhook, f.hook(l.program, hookFields{}))
	url := "https://hooks.example.com/draft"
	f.writes(func(tx *Tx) {
		for _, id := range []string{l.program, l.card, l.location, hook} {
			tx.Version(f.a.Shop, id)
		}
		succeed(tx.NoteCalls(map[KeyDay]int64{{Key: 1, Day: 40}: 3}))
		check(tx.TestActiveWebhook(f.a, hook))
		check(tx.PauseWebhook(f.a, hook))
		tx.CheckedTarget, tx.Actor.Type = url, "user"
		draft := check(tx.DraftWebhook(f.a, l.program, DraftFields{URL: set(url), Events: set([]string{"*"})}))
		patch := WebhookPatch{WebhookFields: WebhookFields{Active: set(true)}, RotateSecret: set(true)}
		check(tx.UpdateWebhook(f.a, l.program, draft.ID, patch))
	})
}
