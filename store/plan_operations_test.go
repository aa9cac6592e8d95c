package store

import (
	"net/netip"
	"path"
	"time"
)

// runOperations runs each operation of the store at least once, lists with all their filters, so
// that every statement is prepared.
func runOperations(f *fixture) {
	l := f.withLedger()
	restricted := Access{Shop: f.a.Shop, Restricted: true, Locations: []int64{f.key(KindLocation, l.location)}}
	f.hook(l.program, hookFields{})
	f.row(l, "stamp")
	runKeys(f, l.location)
	runLocations(f)
	runPrograms(f, l.program, l.location)
	remembered := NewIdempotencyKey(2, "key", "POST", "/", nil)
	expired := runCards(f, restricted, l, remembered)
	runForAssistants(f, restricted, l)
	runTillActions(f)
	runStatistics(f, restricted, l)
	hook, delivery := runWebhookOperations(f, l.program)
	runPeoplesReads(f, hook, delivery)
	runLists(f, restricted, l)
	runSearches(f, expired, l)
	f.view(func(v *View) error {
		for _, a := range []Access{f.a, restricted} {
			check(v.Card(a, expired))
			check(v.Program(a, l.program))
		}
		check(v.Webhook(f.a, l.program, hook))
		check(v.Deliveries(f.a, l.program, hook, DeliveriesQuery{}))
		check(v.AuditLog(f.a.Shop, PageQuery{}))
		check(v.Keys(f.a.Shop))
		check(v.Recall(remembered))
		_, _, err := v.OwnShop(f.a)
		return err
	})
	if _, _, err := f.Identify(Hash("none")); err != nil {
		f.t.Fatal(err)
	}
	for kind, id := range map[Kind]string{KindProgram: l.program, KindCard: l.card, KindLocation: l.location} {
		check(f.Owner(kind, id))
	}
	f.sql("UPDATE deliveries SET outcome='failed' WHERE webhook_id=? AND event_id=?", f.key(KindWebhook, hook), f.eventOfDelivery(hook, delivery))
	f.redeliver(l.program, hook, delivery)
	runDeliveries(f, f.key(KindWebhook, hook))
	runMailQueue(f)
	runEnrolment(f)
	runPeople(f)
	f.deleteWebhook(l.program, hook)
	f.must(func(tx *Tx) error { return errorOf(tx.SweepDeliveries(&DeliverySweep{}, 10)) })
	f.erase(expired)
	f.deleteProgram(l.program)
	f.must(func(tx *Tx) error { return errorOf(tx.RevokeAllKeys(f.a.Shop)) })
}

// runKeys runs the writes of keys, and creates a device.
func runKeys(f *fixture, location string) {
	key := must(f, func(tx *Tx) (Key, error) {
		k, _, err := tx.CreateKey(f.a.Shop, KeyFields{LocationIDs: set([]string{})})
		return k, err
	})
	f.must(func(tx *Tx) error {
		_, _, err := tx.CreateDevice(f.a.Shop, NewDevice{LocationID: location, Name: "Till"})
		return err
	})
	must(f, func(tx *Tx) (Key, error) {
		k, _, err := tx.CreateKey(f.a.Shop, KeyFields{LocationIDs: set([]string{location})})
		return k, err
	})
	must(f, func(tx *Tx) (Key, error) {
		k, _, err := tx.RotateKey(f.a.Shop, key.ID, Null[time.Duration]{})
		return k, err
	})
	must(f, func(tx *Tx) (Key, error) { return tx.RevokeKey(f.a.Shop, key.ID) })
}

// runLocations runs the writes of locations.
func runLocations(f *fixture) {
	location := f.location()
	f.updateLocation(location, LocationPatch{Name: set("New")})
	must(f, func(tx *Tx) (LocationSettings, error) {
		return tx.UpdateLocationSettings(f.a, location, LocationSettingsPatch{StaffDemand: StaffDemand{set(true)}})
	})
	must(f, func(tx *Tx) (LocationSettings, error) {
		return tx.UpdateLocationSettings(f.a, location, LocationSettingsPatch{StaffDemand: StaffDemand{set(false)}})
	})
	f.setActive(location, false)
	must(f, func(tx *Tx) (Location, error) { return tx.SetStaffPIN(f.a.Shop, location, StaffPIN{Some("$argon2id")}) })
}

// runPrograms runs the writes of programs, prizes and logos.
func runPrograms(f *fixture, program, location string) {
	scope := ProgramFields{LocationScope: set("selected_locations"), ScopedLocationIDs: set([]string{location})}
	f.updateProgram(program, scope)
	f.settings(program, ProgramSettings{MinSpendCents: set(int64(100)), MaxStampsPerDay: set(int64(100))})
	for _, action := range []string{Suspend, Unsuspend, Unpublish, Publish} {
		f.action(program, action)
	}
	prize := f.addPrize(program, PrizeFields{Threshold: set(int64(5)), Name: set("Cup")})
	must(f, func(tx *Tx) (Prize, error) {
		return tx.UpdatePrize(f.a, program, prize.ID, PrizeFields{Name: set("Mug")})
	})
	f.must(func(tx *Tx) error { return tx.DeletePrize(f.a, program, prize.ID) })
	logo := NewLogo([]byte("logo"))
	for _, next := range []*Logo{&logo, nil} {
		draft := f.draft(stamps("Logo"))
		must(f, func(tx *Tx) (ProgramDetail, error) { return tx.SetProgramLogo(f.a.Shop, draft, &logo) })
		must(f, func(tx *Tx) (ProgramDetail, error) { return tx.SetProgramLogo(f.a.Shop, draft, next) })
	}
	f.view(func(v *View) error { check(v.Logo(logo.Hash)); return nil })
}

// runCards runs the writes of cards, one together with a response that is remembered. It returns a
// card that expired.
func runCards(f *fixture, restricted Access, l ledgerCase, remembered IdempotencyKey) (expired string) {
	f.updateShop(ShopFields{MaxCards: set(int64(3)), APIAddon: set(false)})
	soon := CardFields{ExpiresAt: set(f.clock.at().Add(time.Minute)), ExternalRef: set("ref"), HolderEmail: set("ada@example.com")}
	expired = must(f, func(tx *Tx) (IssuedCard, error) {
		c, err := tx.IssueCard(restricted, l.program, soon, SourceAPI)
		if err == nil {
			err = tx.Remember(remembered, Remembered{Status: 201, Body: []byte(`{}`)})
		}
		return c, err
	}).ID
	f.clock.move(time.Hour)
	f.card(l.program)
	f.card(l.program) // there is room because one has expired
	f.updateShop(ShopFields{MaxCards: null[int64]()})
	must(f, func(tx *Tx) (IssuedCard, error) { return tx.ReissueCard(restricted, expired, ReissueFields{}) })
	f.update(l.card, CardPatch{ExternalRef: set("other")})
	f.newLink(l.card)
	f.lock(l.card, true)
	f.archive(l.card)
	f.must(func(tx *Tx) error { return errorOf(tx.PruneIdempotency(100)) })
	must(f, func(tx *Tx) (BlankCards, error) {
		return tx.IssueBlankCards(f.a.Shop, l.program, BlankFields{Count: set[int64](1)})
	})
	return expired
}

// runLists reads the lists of the APIs with all combinations of their filters.
func runLists(f *fixture, restricted Access, l ledgerCase) {
	f.view(func(v *View) error {
		for _, a := range []Access{f.a, restricted} {
			for n := range 16 {
				on := func(bit int, s string) Opt[string] { return Opt[string]{V: s, Set: n>>bit&1 == 1} }
				at := func(bit int) Opt[Time] { return Opt[Time]{V: f.clock.at(), Set: n>>bit&1 == 1} }
				check(v.Cards(a, CardFilter{ExternalRef: on(0, "ref"), HolderEmail: on(1, "a@example.com"), ProgramID: on(2, l.program), Status: on(3, StatusActive)}, PageQuery{}))
				for _, kind := range []Opt[string]{{}, set("stamp")} {
					check(v.Transactions(a, TransactionFilter{LocationID: on(0, l.location), ProgramID: on(1, l.program), CardID: on(2, l.card), Type: kind, From: at(3), To: at(3)}, PageQuery{}))
				}
			}
			check(v.Programs(a, set("standard"), PageQuery{}))
			check(v.Programs(a, Opt[string]{}, PageQuery{}))
			check(v.Locations(a, PageQuery{}))
			check(v.Webhooks(a, l.program))
		}
		return nil
	})
}

// runSearches searches cards and the activity with all combinations of their filters.
func runSearches(f *fixture, expired string, l ledgerCase) {
	f.view(func(v *View) error {
		for _, text := range []Opt[string]{{}, set("ada b"), set("a@b"), set("abcdefgh"), set(expired)} {
			for n := range 32 {
				s := CardSearch{Q: text, PrizeDue: Opt[bool]{V: true, Set: n&1 == 1}, Status: Opt[string]{V: StatusActive, Set: n&2 == 2}, ProgramID: Opt[string]{V: l.program, Set: n&4 == 4}}
				s.SeenFrom, s.NotSeenDays = Opt[Time]{V: 1, Set: n&24 == 8}, Opt[int64]{V: 1, Set: n&16 == 16}
				check(v.SearchCards(f.a.Shop, s, PageQuery{}))
			}
			check(v.SearchCards(f.a.Shop, CardSearch{Q: text}, PageQuery{Limit: set[int64](1)}))
		}
		for n := range 64 {
			on := func(bit int, s string) Opt[string] { return Opt[string]{V: s, Set: n>>bit&1 == 1} }
			at := Opt[Time]{V: f.clock.at(), Set: n>>4&1 == 1}
			for _, target := range []string{l.card, l.program} {
				check(v.Activity(f.a.Shop, AuditFilter{ActorType: on(0, "user"), ActorID: on(1, "usr_"), Action: on(2, "card."), TargetID: on(3, target), From: at, To: Opt[Time]{V: at.V, Set: n>>5 == 1}}, PageQuery{}))
			}
		}
		return nil
	})
}

// runTillActions runs all operations of tills and holders.
func runTillActions(f *fixture) {
	k := f.till()
	fields := stamps("Till")
	fields.RepeatAfterReset, fields.StampsExpireAfterDays = set(true), set(int64(1))
	program, prizes := k.ladderOf(fields, 5, 10)
	f.hook(program, hookFields{v1: true})
	issued := must(f, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueAtCounter(k.device, program, CounterFields{ExternalRef: set("till")})
	})
	card := issued.ID
	row := k.ok(k.stamp(card, 12)).Transaction.ID
	k.ok(k.reverse(row))
	k.ok(k.stamp(card, 13))
	mistake := k.ok(k.stamp(f.card(program), 1)).Transaction.ID
	must(f, func(tx *Tx) (Stamped, error) { return tx.ReverseByPerson(f.a.Shop, mistake, Metadata{}) })
	redeemed := k.ok(k.redeem(card, prizes[0])).Transaction.ID
	k.ok(k.reverse(redeemed))
	k.ok(k.redeem(card, prizes[1]))
	f.clock.move(days(2))
	k.ok(k.stamp(card, 10))
	k.ok(k.redeem(card, prizes[1]))
	check(k.install(issued.InstallURL))
	prepaid := f.card(f.program(prepaid("Gift", 0)))
	k.ok(k.topUp(prepaid, 5))
	k.ok(k.spend(prepaid, 5))
	k.ok(k.use(f.cardWith(f.program(access("Club")), CardFields{ExpiresAt: set(f.clock.at().Add(time.Hour))})))
	f.clock.move(time.Hour)
	k.use(f.ID(KindCard, f.number("SELECT max(id) FROM cards"))) // expired
	k.lookup(k.cardCode(f.key(KindCard, card), 0))
	runTillLists(k, program)
	f.view(func(v *View) error {
		check(v.TillMe(k.device))
		check(v.Devices(f.a.Shop))
		h := check(v.HolderCard(path.Base(issued.InstallURL)))
		check(v.CardPage(h.PageToken))
		check(v.WatchedCard(h.PageToken))
		return nil
	})
	check(f.IdentifyTill(Hash("none")))
	must(f, func(tx *Tx) (Device, error) { return tx.RevokeDevice(f.a.Shop, f.ID(KindDevice, k.device.Device)) })
}

// runStatistics runs all operations of statistics.
func runStatistics(f *fixture, restricted Access, l ledgerCase) {
	f.cardWith(l.program, CardFields{ExpiresAt: set(f.clock.at().Add(time.Minute))})
	f.clock.move(time.Hour)
	for more := true; more; {
		more = must(f, func(tx *Tx) (bool, error) { return tx.MarkExpiredCards(1) })
	}
	f.updateShop(ShopFields{Timezone: set("Europe/Rome")})
	f.must((*Tx).RecountStats)
	f.view(func(v *View) error {
		check(v.ProgramStats(f.a, l.program))
		check(v.Summary(f.a))
		check(v.Distribution(f.a))
		check(v.Today(f.a.Shop))
		check(v.CardTransactions(f.a.Shop, l.card, PageQuery{}))
		check(v.ProgramImpact(f.a, l.program))
		check(v.DayReport(f.a.Shop, DayReportQuery{}))
		check(v.Period(f.a.Shop, PeriodQuery{}))
		check(v.Period(f.a.Shop, PeriodQuery{ProgramID: set(l.program)}))
		check(v.DayReport(f.a.Shop, DayReportQuery{LocationID: set(l.location)}))
		check(v.Health())
		check(v.ProgramForm(f.a.Shop, l.program))
		check(v.CardAudit(f.a.Shop, l.card, PageQuery{}))
		check(v.CardOverview(f.a.Shop, l.card))
		check(v.ExportCard(f.a.Shop, l.card))
		check(v.ExportCards(f.a.Shop, ExportFilter{}, PageQuery{}))
		check(v.ExportCards(f.a.Shop, ExportFilter{ProgramID: set(l.program), Status: set(StatusActive)}, PageQuery{}))
		check(v.ExportCards(f.a.Shop, ExportFilter{PrizeDue: set(true), SeenFrom: set(Time(1))}, PageQuery{}))
		check(v.ExportCards(f.a.Shop, ExportFilter{NotSeenDays: set[int64](1)}, PageQuery{}))
		check(v.actorsOf(f.a.Shop, []ledgerTime{{1, 1}}))
		for _, a := range []Access{f.a, restricted} {
			check(v.Heatmap(a, HeatmapQuery{}))
			check(v.Heatmap(a, HeatmapQuery{ProgramID: set(l.program)}))
		}
		for _, kind := range programTypes {
			check(v.CardStats(f.a, kind))
		}
		return nil
	})
}

// runWebhookOperations creates a webhook and a test delivery for it.
func runWebhookOperations(f *fixture, program string) (hook, delivery string) {
	fields := WebhookFields{URL: set("https://hooks.invalid/"), Events: set([]string{"*"}), ProgramIDs: set([]string{program})}
	hook = must(f, func(tx *Tx) (CreatedWebhook, error) { return tx.CreateWebhook(f.a, program, unchecked(tx, fields)) }).ID
	f.updateWebhook(program, hook, WebhookPatch{RotateSecret: set(true)})
	return hook, f.testWebhook(program, hook).ID
}

// runPeoplesReads runs the reads of keys, webhooks and the audit log that only pages for people
// use.
func runPeoplesReads(f *fixture, hook, delivery string) {
	f.view(func(v *View) error {
		check(v.KeyInfos(f.a.Shop))
		check(v.ShopWebhooks(f.a.Shop, WebhooksFilter{}))
		check(v.ShopWebhook(f.a.Shop, hook))
		check(v.WebhookLog(f.a.Shop, hook, LogFilter{State: set("failed")}, PageQuery{}))
		check(v.LoggedDelivery(f.a.Shop, hook, delivery))
		check(v.ActivityActors(f.a.Shop))
		check(v.NamedActivity(f.a.Shop, AuditFilter{}, PageQuery{}))
		return nil
	})
}

// runDeliveries runs all operations of the sender.
func runDeliveries(f *fixture, hook int64) {
	shop := func(state string) {
		f.updateShop(ShopFields{SubscriptionState: set(state)})
	}
	look := func() {
		f.view(func(v *View) error {
			check(v.OutboxVersion())
			check(v.WebhooksWithScheduledDeliveries())
			check(v.CountPendingDeliveries(5))
			check(v.WebhooksWithNewDeliveries())
			check(v.DueDeliveries(hook, -1, nil, 5, 5))
			check(v.DueDeliveries(hook, 0, []int64{1, 2}, 5, 5))
			_, _, err := v.Attempt(hook, 1)
			return err
		})
	}
	look()
	shop("suspended")
	look()
	shop("active")
	last := f.number("SELECT max(event_id) FROM deliveries WHERE webhook_id=?", hook)
	for _, o := range []Outcome{{Success: true}, {RetryAfter: time.Second}, {Gone: true}} {
		f.sql("UPDATE deliveries SET outcome=NULL WHERE webhook_id=? AND event_id=?", hook, last)
		o.Webhook, o.Event, o.Headers = hook, last, "{}"
		f.recordOutcome(o)
	}
	look() // inactive
	f.must(func(tx *Tx) error { return errorOf(tx.SweepDeliveries(&DeliverySweep{}, 10)) })
}

// runMailQueue runs all operations of mail.
func runMailQueue(f *fixture) {
	program := f.program(stamps("Mailed"))
	for range 2 {
		f.cardWith(program, CardFields{HolderEmail: set("ada@example.com"), SendEmail: set(true)})
	}
	f.view(func(v *View) error { check(v.CountMails(5)); return nil })
	m := f.nextMail()
	f.must(func(tx *Tx) error { return tx.DelayMail(&m, time.Minute) })
	f.must(func(tx *Tx) error { return tx.DelayUnsureMail(&m, time.Minute) })
	f.must(func(tx *Tx) error { return tx.HoldMail(&m, f.clock.at()) })
	f.must(func(tx *Tx) error { return tx.RejectMail(&m, 550) })
	must(f, func(tx *Tx) ([]string, error) { return tx.PruneMails(5) })
	m.over, m.slot = quotaShop, f.clock.at()
	f.must(func(tx *Tx) error { return tx.WaitForQuota(&m) })
	f.must((*Tx).ReplanMail)
	f.opts.Limits.MailPerHour = 1
	f.cardWith(program, CardFields{HolderEmail: set("ada@example.com"), SendEmail: set(true)})
	m = f.nextMail()
	f.must(func(tx *Tx) error { return tx.SentMail(&m) })
	must(f, func(tx *Tx) (bool, error) { return tx.PruneSentMails(5) })
}

// runEnrolment runs the operations that customers use themselves: joining and asking for lost
// cards.
func runEnrolment(f *fixture) {
	program := f.program(stamps("Open"))
	must(f, func(tx *Tx) (Enrolment, error) {
		return tx.UpdateEnrolment(f.a.Shop, program, EnrolmentFields{Enabled: set(true), Slug: set("open"), MaxCards: set[int64](9), Consent: set("Yes")})
	})
	at := netip.MustParseAddr("192.0.2.1")
	fields := JoinFields{Email: set("lost@example.com"), Consent: set(true), ConsentVersion: set[int64](1), Form: set("0123456789abcdef")}
	joined := must(f, func(tx *Tx) (JoinedCard, error) { return tx.Join("open", fields, at) })
	f.must(func(tx *Tx) error { return tx.RequestCardLinks(LostFields{Email: fields.Email}, at) })
	var id string
	f.view(func(v *View) error {
		check(v.Enrolment(f.a.Shop, program))
		check(v.JoinPage("open"))
		check(v.Poster(f.a.Shop, program))
		check(v.LostPage("", joined.PageToken))
		id = check(v.CardPage(joined.PageToken)).Card.ID
		check(v.ExportCard(f.a.Shop, id))
		return nil
	})
	for {
		m := f.nextMail()
		f.must(func(tx *Tx) error { return tx.DelayMail(&m, time.Second) })
		if m.Lost != nil {
			f.must(func(tx *Tx) error { return tx.HoldMail(&m, m.Due) })
			f.must(func(tx *Tx) error { return tx.DelayUnsureMail(&m, time.Second) })
			f.must(func(tx *Tx) error { return tx.SentMail(&m) })
			break
		}
	}
	f.erase(id)
}
