package store

import (
	"bufio"
	"errors"
	"io"
	"net/netip"
	"path"
	"time"
)

// runClosing moves the shop and deletes it.
func runClosing(f *fixture) {
	shop := f.a.Shop
	f.writes(func(tx *Tx) {
		check(tx.BeginMove(shop, "https://new.example.com"))
		check(tx.AbortMove(shop))
		check(tx.FinishMove(shop, check(tx.BeginMove(shop, "https://new.example.com")).Began))
		check(tx.DeleteShop(shop, "My shop"))
	})
	f.reads(func(v *View) { check(v.EndedShops()) })
}

// runPushes has browsers subscribe to notices about cards, and sends some.
func runPushes(f *fixture) {
	card := f.card(f.program(stamps("Notices")))
	token := f.pageToken(f.key(KindCard, card), 0)
	f.subscribeTo(token, "https://push.invalid/1")
	f.subscribeTo(token, "https://push.invalid/2")
	f.reads(func(v *View) {
		for _, p := range check(v.Pushes(10)) {
			check(v.PassesToPush(p.Root, p.Copy))
		}
		check(v.CountPushes(10))
	})
	var due []Push
	f.reads(func(v *View) { due = check(v.Pushes(10)) })
	f.writes(func(tx *Tx) {
		o := PushOutcome{due[0], targets{1: {Told: Some("{}"), Says: "sent"}, 2: {Gone: true}}}
		failed := PushOutcome{due[0], targets{1: {Wait: time.Minute}}}
		succeed(tx.RecordPush(failed), tx.RecordPush(o), tx.Unsubscribe(token, PushEnd{Endpoint: set("https://push.invalid/3")}))
	})
	f.subscribeTo(token, "https://push.invalid/4")
}

// runAppleWallet sets up Apple Wallet, and leaves a request for the next certificate.
func runAppleWallet(f *fixture) {
	w := AppleWallet{PassType: "pass.com.example.card", Team: "TEAM000001", Certificate: []byte("1"), Key: []byte("key")}
	f.writes(func(tx *Tx) {
		check(tx.RequestAppleCertificate(f.a.Shop, AppleRequest{DER: []byte("request"), Key: []byte("key")}))
		check(tx.RemoveAppleWallet(f.a.Shop, RemoveFields{Yes: set(true)}))
		succeed(tx.CheckPasses(f.a.Shop, set("https://new.example.com"), true))
		check(tx.SetAppleCertificate(f.a.Shop, w))
		check(tx.RequestAppleCertificate(f.a.Shop, AppleRequest{DER: []byte("request"), Key: []byte("another key")}))
	})
	f.reads(func(v *View) {
		v.AppleWallet(f.a.Shop)
		check(v.AppleStatus(f.a.Shop))
		check(v.AppleEnds())
	})
}

// runGoogle has an object made of a card, brought up to date and ended.
func runGoogle(f *fixture) {
	const issuer = "3388000000012345678"
	card := f.card(f.program(stamps("Google")))
	token := f.pageToken(f.key(KindCard, card), 0)
	f.writes(func(tx *Tx) {
		check(tx.SetGoogleWallet(f.a.Shop, GoogleWallet{Issuer: issuer, Account: []byte("{}")}))
		check(tx.ClaimGoogleCall(issuer, time.Now(), time.Now()))
		succeed(tx.HoldGoogleCalls(issuer, time.Now()))
	})
	var a GoogleAddition
	var o PushPass
	var add func(*Tx) error
	f.reads(func(v *View) {
		a = check(v.GoogleAddition(token))
		add = check(v.MissingGoogleObject(token))
	})
	f.writes(func(tx *Tx) { succeed(add(tx)) })
	f.reads(func(v *View) {
		o = check(v.PassesToPush(a.Push.Root, CopyGoogle))[0]
		check(v.HasGoogleIssuer(issuer))
		check(v.GoogleSample(f.a.Shop))
		v.GoogleWallet(f.a.Shop)
	})
	f.writes(func(tx *Tx) {
		succeed(tx.RecordGoogleClass(o.Root, "hash"))
		succeed(tx.RecordPush(PushOutcome{a.Push, targets{o.Targets[0].Key: {Wait: time.Minute, Persist: true}}}))
		succeed(tx.RecordPush(PushOutcome{a.Push, targets{o.Targets[0].Key: {Told: Some("{}"), LookAt: Some(tx.Now), Says: "sent"}}}))
		succeed(tx.NoteGoogleEvent(GoogleEvent{Issuer: issuer, Name: o.Serial, Saved: true, Nonce: "1"}))
		succeed(tx.QueuePasses(10))
		check(tx.ReissueCard(f.a, card, ReissueFields{}))
		check(tx.RemoveGoogleWallet(f.a.Shop, RemoveFields{Yes: set(true)}))
	})
}

// runPasses has phones read, register for and forget the passes of a card, which ends.
func runPasses(f *fixture) {
	const passType = "pass.com.example.card"
	f.writes(func(tx *Tx) {
		check(tx.SetAppleCertificate(f.a.Shop, AppleWallet{PassType: passType, Certificate: []byte{1}, Key: []byte{1}, NotAfter: tx.Now}))
	})
	card := f.card(f.program(stamps("Passes")))
	root := f.key(KindCard, card)
	var p Pass
	f.reads(func(v *View) { p = check(v.PassOfPage(f.pageToken(root, 0))) })
	register := func(tx *Tx, device string) {
		check(tx.RegisterDevice(device, passType, p.Serial, p.Token, DeviceFields{PushToken: set("aa")}))
	}
	f.writes(func(tx *Tx) {
		check(tx.RefreshPass(p, []byte("what it shows")))
		for _, device := range []string{"one", "one", "two"} {
			register(tx, device)
		}
		check(tx.TestPush(f.a.Shop, card))
		succeed(tx.UnregisterDevice("two", passType, p.Serial, p.Token))
		check(tx.ReissueCard(f.a, card, ReissueFields{}))
	})
	var listed func(*Tx) error
	f.reads(func(v *View) {
		check(v.CopiesByProgram(f.a.Shop))
		check(v.SentPushes(f.a.Shop))
		listed = check(v.EndedPassesOfDevice("one"))
		check(v.PassesOfDevice("one", passType, ""))
		check(v.PassesToPush(root, CopyApple))
	})
	f.writes(func(tx *Tx) { succeed(listed(tx)) })
	f.reads(func(v *View) { p = check(v.PassBySerial(passType, p.Serial, p.Token)) })
	var due []Push
	f.reads(func(v *View) { due = check(v.Pushes(100)) })
	f.writes(func(tx *Tx) {
		check(tx.RefreshPass(p, []byte("that it has ended")))
		register(tx, "three")
		for _, d := range due {
			if d.Root == root && d.Copy == CopyApple {
				succeed(tx.RecordPush(PushOutcome{d, targets{3: {Wait: time.Minute, Says: "failed 503"}, 1: {Gone: true}}}))
			}
		}
		check(tx.PrunePasses(10))
		check(tx.UpdateShop(f.a.Shop, ShopFields{Language: set("it")}, ""))
		succeed(tx.QueuePasses(1))
	})
	f.reads(func(v *View) { check(v.PassesWait()) })
}

// runOperations runs each operation of the store at least once, lists with all their filters, so
// that every statement is prepared.
func runOperations(f *fixture) {
	l := f.withLedger()
	restricted := f.restrictedTo(l.location)
	f.hook(l.program, hookFields{})
	f.row(l, "stamp")
	runKeys(f, l.location)
	runPrograms(f, l.program, l.location)
	remembered := NewIdempotencyKey(2, "key", "POST", "/", nil)
	expired := runCards(f, restricted, l, remembered)
	runForAssistants(f, restricted, l)
	runTillActions(f)
	runStatistics(f, restricted, l)
	runImports(f)
	runPushes(f)
	runPasses(f)
	runGoogle(f)
	runAppleWallet(f)
	fields := WebhookFields{URL: set("https://hooks.invalid/"), Events: set([]string{"*"}), ProgramIDs: set([]string{l.program})}
	hook := f.subscribe(l.program, func(w *WebhookFields) { *w = fields }).ID
	f.updateWebhook(l.program, hook, WebhookPatch{RotateSecret: set(true)})
	delivery := f.testWebhook(l.program, hook).ID
	runPeoplesReads(f, hook, delivery)
	runLists(f, restricted, l)
	runSearches(f, expired, l)
	f.reads(func(v *View) {
		for _, a := range []Access{f.a, restricted} {
			check(v.Card(a, expired))
			check(v.Program(a, l.program))
		}
		check(v.Webhook(f.a, l.program, hook))
		check(v.Deliveries(f.a, l.program, hook, DeliveriesQuery{}))
		check(v.AuditLog(f.a.Shop, PageQuery{}))
		check(v.KeyInfos(f.a.Shop))
		check(v.Money(f.a.Shop, MoneyQuery{}))
		for _, t := range exportTables() { // which an export reads on a connection of its own
			check(t.write(&v.queries, "csv", bufio.NewWriter(io.Discard), f.a.Shop, "EUR", nil))
		}
		check(v.Recall(remembered))
		first(v.OwnShop(f.a))
	})
	check(f.Identify(Hash("none")))
	for kind, id := range map[Kind]string{KindProgram: l.program, KindCard: l.card, KindLocation: l.location} {
		check(f.Owner(kind, id))
	}
	f.sql(
		"UPDATE deliveries SET outcome='failed' WHERE webhook_id=? AND event_id=?",
		f.key(KindWebhook, hook),
		f.eventOfDelivery(hook, delivery),
	)
	f.redeliver(l.program, hook, delivery)
	runDeliveries(f, f.key(KindWebhook, hook))
	runMailQueue(f)
	runManyCards(f, l)
	runEnrolment(f)
	runPeople(f)
	f.writes(func(tx *Tx) {
		succeed(tx.DeleteWebhook(f.a, l.program, hook))
		check(tx.SweepDeliveries(&DeliverySweep{}, 10))
		check(tx.CopyProgram(f.a.Shop, l.program, f.a.Shop))
		succeed(tx.EraseCard(f.a.Shop, expired), tx.DeleteProgram(f.a.Shop, l.program))
		check(tx.RevokeAllKeys(f.a.Shop))
	})
}

// writes makes a write of several operations, which panic if they fail.
func (f *fixture) writes(do func(tx *Tx)) {
	f.must(func(tx *Tx) error {
		do(tx)
		return tx.failed
	})
}

// reads makes several reads, which panic if they fail.
func (f *fixture) reads(do func(v *View)) {
	f.view(func(v *View) error {
		do(v)
		return nil
	})
}

// first returns the first result of a call with three, and panics if there is an error.
func first[T, U any](v T, _ U, err error) T { return check(v, err) }

// succeed panics if one of the errors is not nil.
func succeed(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
}

// runKeys runs the writes of keys and locations, and creates a device.
func runKeys(f *fixture, location string) {
	shop, other := f.a.Shop, f.location()
	f.writes(func(tx *Tx) {
		key := first(tx.CreateKey(shop, KeyFields{LocationIDs: set([]string{})}))
		first(tx.CreateDevice(shop, NewDevice{LocationID: location, Name: "Till"}))
		first(tx.CreateKey(shop, KeyFields{LocationIDs: set([]string{location})}))
		first(tx.RotateKey(shop, key.ID, Null[time.Duration]{}))
		check(tx.RevokeKey(shop, key.ID))
		check(tx.UpdateLocation(f.a, other, LocationPatch{Name: set("New")}))
		for _, demanded := range []bool{true, false} {
			check(tx.UpdateLocationSettings(f.a, other, LocationSettingsPatch{StaffDemand: StaffDemand{set(demanded)}}))
		}
		check(tx.SetLocationActive(f.a, other, false))
		check(tx.SetStaffPIN(shop, other, StaffPIN{Some("$argon2id")}))
	})
}

// runPrograms runs the writes of programs, prizes and logos.
func runPrograms(f *fixture, program, location string) {
	logo := NewLogo([]byte("logo"))
	f.writes(func(tx *Tx) {
		check(tx.UpdateProgram(f.a, program, onlyAt(ProgramFields{}, location)))
		settings := ProgramSettings{MinSpendCents: setInt(100), MaxStampsPerDay: setInt(100)}
		check(tx.UpdateProgramSettings(f.a.Shop, program, settings))
		for _, action := range []string{Suspend, Unsuspend, Unpublish, Publish} {
			check(tx.ProgramAction(f.a, program, action))
		}
		prize := check(tx.AddPrize(f.a, program, PrizeFields{Threshold: setInt(5), Name: set("Cup")}))
		check(tx.UpdatePrize(f.a, program, prize.ID, PrizeFields{Name: set("Mug")}))
		succeed(tx.DeletePrize(f.a, program, prize.ID))
		for _, next := range []*Logo{&logo, nil} {
			draft := check(tx.CreateProgram(f.a, stamps("Logo"))).ID
			check(tx.SetProgramLogo(f.a.Shop, draft, &logo))
			check(tx.SetProgramLogo(f.a.Shop, draft, next))
		}
	})
	f.reads(func(v *View) { check(v.Logo(logo.Hash)) })
}

// runCards runs the writes of cards, one together with a response that is remembered. It returns a
// card that expired.
func runCards(f *fixture, restricted Access, l ledgerCase, remembered IdempotencyKey) (expired string) {
	f.updateShop(ShopFields{MaxCards: setInt(3), APIAddon: set(false)})
	soon := CardFields{ExpiresAt: set(f.clock.at().Add(time.Minute)), ExternalRef: set("ref"), HolderEmail: set("ada@example.com")}
	f.writes(func(tx *Tx) {
		expired = check(tx.IssueCard(restricted, l.program, soon, SourceAPI)).ID
		succeed(tx.Remember(remembered, Remembered{Status: 201, Body: []byte(`{}`)}))
	})
	f.clock.move(time.Hour)
	f.card(l.program)
	f.card(l.program) // there is room because one has expired
	f.updateShop(ShopFields{MaxCards: null[int64]()})
	f.writes(func(tx *Tx) {
		check(tx.ReissueCard(restricted, expired, ReissueFields{}))
		check(tx.UpdateCard(f.a, l.card, CardPatch{ExternalRef: set("other")}))
		check(tx.UpdateContact(f.a, l.card, ContactPatch{PhoneField: PhoneField{set("+390612345678")},
			Codes: set([]string{"4006381333931"})}))
		check(tx.NewInstallLink(f.a, l.card, LinkFields{}))
		check(tx.SetCardLocked(f.a.Shop, l.card, true))
		for _, n := range []int64{2, -1} {
			reason := AdjustFields{Stamps: set(n), LocationID: set(l.location), Reason: set("Goodwill")}
			check(tx.AdjustCard(f.a.Shop, l.card, reason))
		}
		check(tx.MergeCards(f.a.Shop, l.card, check(tx.IssueCard(f.a, l.program, CardFields{}, SourceAPI)).ID, MergeFields{Yes: set(true)}))
		check(tx.ArchiveCard(f.a.Shop, l.card))
		check(tx.PruneIdempotency(100))
		check(tx.IssueBlankCards(f.a.Shop, l.program, BlankFields{Count: setInt(1)}))
	})
	return expired
}

// runManyCards changes many cards, chosen and by each filter.
func runManyCards(f *fixture, l ledgerCase) {
	for _, fields := range []RunFields{
		{Action: set(RunUnlock), CardIDs: set([]string{l.card})},
		{Action: set(RunUnlock), All: set(true), ListFilter: ListFilter{PrizeDue: set(true), BirthdayMonth: setInt(1)}},
		{Action: set(RunExtend), All: set(true), ExpiresAt: set(f.clock.at().Add(time.Hour))},
		{Action: set(RunLock), All: set(true), ListFilter: ListFilter{ProgramID: set(l.program), NotSeenDays: setInt(3000)}},
	} {
		f.reads(func(v *View) { check(v.CountRun(f.a.Shop, fields.ListFilter)) })
		f.writes(func(tx *Tx) {
			run := check(tx.StartCardRun(f.a.Shop, fields, Total{}))
			for check(tx.StepCardRun()) {
			}
			check(tx.StopCardRun(f.a.Shop, run.ID))
		})
	}
	f.reads(func(v *View) {
		for _, run := range check(v.CardRuns(f.a.Shop)) {
			check(v.CardRun(f.a.Shop, run.ID))
		}
		check(v.ExportCards(f.a.Shop, ExportFilter{ListFilter: ListFilter{BirthdayMonth: setInt(2)}, CardIDs: set(l.card)}))
	})
	f.writes(func(tx *Tx) {
		card := check(tx.IssueCard(f.a, l.program, CardFields{}, SourceAPI)).ID
		succeed(tx.EraseCards(f.a.Shop, card, EraseFields{CardIDs: set([]string{card})}))
	})
}

// runLists reads the lists of the APIs with all combinations of their filters.
func runLists(f *fixture, restricted Access, l ledgerCase) {
	f.reads(func(v *View) {
		for _, a := range []Access{f.a, restricted} {
			for n := range 64 {
				on := func(bit int, s string) Opt[string] { return Opt[string]{V: s, Set: n>>bit&1 == 1} }
				at := func(bit int) Opt[Time] { return Opt[Time]{V: f.clock.at(), Set: n>>bit&1 == 1} }
				check(v.Cards(a, CardFilter{
					ExternalRef: on(0, "ref"),
					HolderEmail: on(1, "a@example.com"),
					ProgramID:   on(2, l.program),
					Status:      on(3, StatusActive),
					Phone:       on(4, "+390612345678"),
					Code:        on(5, "4006381333931"),
				}))
				for _, kind := range []Opt[string]{{}, set("stamp")} {
					check(v.Transactions(a, TransactionFilter{
						LocationID: on(0, l.location),
						ProgramID:  on(1, l.program),
						CardID:     on(2, l.card),
						Type:       kind,
						From:       at(3),
						To:         at(3),
					}))
				}
			}
			check(v.Programs(a, ProgramFilter{Type: set("standard")}))
			check(v.Programs(a, ProgramFilter{}))
			check(v.Locations(a, PageQuery{}))
			check(v.Webhooks(a, l.program))
		}
	})
}

// runSearches searches cards and the activity with all combinations of their filters.
func runSearches(f *fixture, expired string, l ledgerCase) {
	f.reads(func(v *View) {
		for _, text := range []Opt[string]{{}, set("ada b"), set("a@b"), set("abcdefgh"), set("4567"), set(expired)} {
			for n := range 32 {
				check(v.SearchCards(f.a.Shop, CardSearch{Q: text, ListFilter: ListFilter{
					PrizeDue:    Opt[bool]{V: true, Set: n&1 == 1},
					Status:      Opt[string]{V: StatusActive, Set: n&2 == 2},
					ProgramID:   Opt[string]{V: l.program, Set: n&4 == 4},
					SeenFrom:    Opt[Time]{V: 1, Set: n&24 == 8},
					NotSeenDays: Opt[int64]{V: 1, Set: n&16 == 16},
				}}))
			}
			check(v.SearchCards(f.a.Shop, CardSearch{PageQuery: PageQuery{Limit: setInt(1)}, Q: text}))
		}
		for _, sort := range []string{SortLastVisit, SortStamps, SortBalance} {
			for _, program := range []Opt[string]{{}, set(l.program)} {
				check(v.SearchCards(f.a.Shop, CardSearch{
					PageQuery:  PageQuery{Limit: setInt(1)},
					Sort:       set(sort),
					ListFilter: ListFilter{ProgramID: program},
				}))
			}
		}
		for _, limit := range []int{maxListTotal, maxTotal} {
			for _, filter := range []ListFilter{{BirthdayMonth: setInt(2)}, {NotSeenDays: setInt(1)}, {PrizeDue: set(true)}} {
				s := CardSearch{ListFilter: filter}
				check(v.SearchCards(f.a.Shop, s))
				check(v.countCards(f.a.Shop, s, limit, 10*limit))
			}
		}
		for _, card := range []string{expired, l.card} {
			check(v.Customer(f.a.Shop, card))
		}
		for n := range 64 {
			on := func(bit int, s string) Opt[string] { return Opt[string]{V: s, Set: n>>bit&1 == 1} }
			at := func(bit int) Opt[Time] { return Opt[Time]{V: f.clock.at(), Set: n>>bit&1 == 1} }
			for _, target := range []string{l.card, l.program} {
				check(v.Activity(f.a.Shop, AuditFilter{
					ActorType: on(0, "user"),
					ActorID:   on(1, "usr_"),
					Action:    on(2, "card."),
					TargetID:  on(3, target),
					From:      at(4),
					To:        at(5),
				}))
			}
		}
	})
}

// runTillActions runs all operations of tills and holders.
func runTillActions(f *fixture) {
	k := f.till()
	program, prizes := k.ladderOf(expiring(1), 5, 10)
	f.hook(program, hookFields{v1: true})
	issued := must(f, func(tx *Tx) (CounterCard, error) {
		c, err := tx.IssueAtCounter(k.device, program, CounterFields{ExternalRef: set("till")})
		return tx.HandOver(k.device, c), err
	})
	card := issued.ID
	f.writes(func(tx *Tx) {
		check(tx.SetHolder(k.device, card, HolderFields{HolderName: set("Ada"), PhoneField: PhoneField{set("+390612345678")}}))
	})
	row := k.stamped(card, 12).Transaction.ID
	k.reversed(row)
	k.stamped(card, 13)
	mistake := k.stamped(f.card(program), 1).Transaction.ID
	f.writes(func(tx *Tx) { check(tx.ReverseByPerson(f.a.Shop, mistake, Metadata{})) })
	redeemed := k.redeemed(card, prizes[0]).Transaction.ID
	k.reversed(redeemed)
	k.redeemed(card, prizes[1])
	f.clock.move(days(2))
	k.stamped(card, 10)
	k.redeemed(card, prizes[1])
	check(k.install(issued.InstallURL))
	money := f.card(f.program(prepaid("Gift", 0)))
	check(k.topUp(money, 5))
	check(k.spend(money, 5))
	pass := f.cardWith(f.program(access("Club")), CardFields{ExpiresAt: set(f.clock.at().Add(time.Hour))})
	check(k.use(pass))
	f.clock.move(time.Hour)
	k.use(pass) // expired
	k.lookup(k.cardCode(f.key(KindCard, card), 0))
	runTillLists(k, program)
	f.reads(func(v *View) {
		check(v.TillMe(k.device))
		check(v.Devices(f.a.Shop))
		h := check(v.HolderCard(path.Base(issued.InstallURL)))
		check(v.CardPage(h.PageToken))
		check(v.WatchedCard(h.PageToken))
	})
	check(f.IdentifyTill(Hash("none")))
	f.writes(func(tx *Tx) { check(tx.RevokeDevice(f.a.Shop, f.ID(KindDevice, k.device.Device))) })
}

// runStatistics runs all operations of statistics.
func runStatistics(f *fixture, restricted Access, l ledgerCase) {
	shop := f.a.Shop
	f.cardWith(l.program, CardFields{ExpiresAt: set(f.clock.at().Add(time.Minute))})
	f.clock.move(time.Hour)
	f.markExpired()
	f.inZone("Europe/Rome")
	f.must((*Tx).RecountStats)
	token := f.pageToken(f.key(KindCard, l.card), f.number("SELECT code_generation FROM cards WHERE id=?", f.key(KindCard, l.card)))
	f.must(func(tx *Tx) error { return tx.AskAboutData(token, DataRequest{Kind: set(AskErasure)}) })
	f.must(func(tx *Tx) error {
		return tx.AskAboutData(token, DataRequest{Kind: set(AskCorrection), Correction: set("x")})
	})
	f.must(func(tx *Tx) error { return tx.CloseDataRequest(shop, l.card, ClosedRequest{set(AskErasure)}) })
	f.updateShop(ShopFields{ForgetAfterMonths: setInt(12)})
	f.writes(func(tx *Tx) { check(tx.ForgetCards(1)) })
	f.reads(func(v *View) {
		check(v.ProgramStats(f.a, l.program))
		check(v.Summary(f.a))
		check(v.Distribution(f.a))
		check(v.Today(shop))
		check(v.Forgetting(shop))
		check(v.CardTransactions(shop, l.card, PageQuery{}))
		check(v.ProgramImpact(f.a, l.program))
		check(v.DayReport(shop, DayReportQuery{}))
		check(v.Period(shop, PeriodQuery{}))
		check(v.Period(shop, PeriodQuery{ProgramID: set(l.program)}))
		check(v.DayReport(shop, DayReportQuery{LocationID: set(l.location)}))
		check(v.Health())
		check(v.ProgramForm(shop, l.program))
		check(v.CardAudit(shop, l.card, PageQuery{}))
		check(v.CardOverview(shop, l.card))
		check(v.ExportPerson(shop, PersonQuery{CardIDs: set([]string{l.card})}))
		errorOf(v.ExportPerson(shop, PersonQuery{Person: set("a@example.com")}))
		errorOf(v.ExportPerson(shop, PersonQuery{Person: set("+390612345678")}))
		for _, filter := range []ListFilter{
			{},
			{ProgramID: set(l.program), Status: set(StatusActive)},
			{PrizeDue: set(true), SeenFrom: set(Time(1))},
			{NotSeenDays: setInt(1)},
		} {
			check(v.ExportCards(shop, ExportFilter{ListFilter: filter}))
		}
		check(v.actorsOf(shop, []ledgerTime{{1, 1}}), v.failed)
		for _, a := range []Access{f.a, restricted} {
			check(v.Heatmap(a, HeatmapQuery{}))
			check(v.Heatmap(a, HeatmapQuery{ProgramID: set(l.program)}))
		}
		for _, kind := range programTypes {
			check(v.CardStats(f.a, kind))
		}
	})
}

// runPeoplesReads runs the reads of keys, webhooks and the audit log that only pages for people
// use.
func runPeoplesReads(f *fixture, hook, delivery string) {
	shop := f.a.Shop
	f.reads(func(v *View) {
		check(v.KeyInfos(shop))
		check(v.ShopWebhooks(shop, WebhooksFilter{}))
		check(v.ShopWebhook(shop, hook))
		check(v.WebhookLog(shop, hook, LogFilter{State: set("failed")}))
		check(v.LoggedDelivery(shop, hook, delivery))
		check(v.ActivityActors(shop))
		check(v.NamedActivity(shop, AuditFilter{}))
	})
}

// runDeliveries runs all operations of the sender.
func runDeliveries(f *fixture, hook int64) {
	look := func() {
		f.reads(func(v *View) {
			check(v.OutboxVersion())
			check(v.WebhooksWithScheduledDeliveries())
			check(v.CountPendingDeliveries(5))
			check(v.WebhooksWithNewDeliveries())
			check(v.DueDeliveries(hook, -1, nil, 5, 5))
			check(v.DueDeliveries(hook, 0, []int64{1, 2}, 5, 5))
			first(v.Attempt(hook, 1))
		})
	}
	look()
	f.updateShop(ShopFields{SubscriptionState: set("suspended")})
	look()
	f.updateShop(ShopFields{SubscriptionState: set("active")})
	last := f.number("SELECT max(event_id) FROM deliveries WHERE webhook_id=?", hook)
	for _, o := range []Outcome{{Success: true}, {RetryAfter: time.Second}, {Gone: true}} {
		f.sql("UPDATE deliveries SET outcome=NULL WHERE webhook_id=? AND event_id=?", hook, last)
		o.Webhook, o.Event, o.Headers = hook, last, "{}"
		f.recordOutcome(o)
	}
	look() // inactive
	f.writes(func(tx *Tx) { check(tx.SweepDeliveries(&DeliverySweep{}, 10)) })
}

// runMailQueue runs all operations of mail.
func runMailQueue(f *fixture) {
	program := f.program(stamps("Mailed"))
	mailed := CardFields{HolderEmail: set("ada@example.com"), SendEmail: set(true)}
	for range 2 {
		f.cardWith(program, mailed)
	}
	f.reads(func(v *View) { check(v.CountMails(5)) })
	m := f.nextMail()
	f.writes(func(tx *Tx) {
		succeed(tx.DelayMail(&m, time.Minute), tx.DelayUnsureMail(&m, time.Minute), tx.HoldMail(&m, f.clock.at()), tx.RejectMail(&m, 550))
		check(tx.PruneMails(5))
		m.over, m.slot = quotaShop, f.clock.at()
		succeed(tx.WaitForQuota(&m), tx.ReplanMail())
	})
	f.opts.Limits.MailPerHour = 1
	f.cardWith(program, mailed)
	m = f.nextMail()
	f.writes(func(tx *Tx) {
		succeed(tx.SentMail(&m))
		check(tx.PruneSentMails(5))
	})
}

// runEnrolment runs the operations that customers use themselves: joining and asking for lost
// cards.
func runEnrolment(f *fixture) {
	program := f.program(stamps("Open"))
	at := netip.MustParseAddr("192.0.2.1")
	fields := JoinFields{
		Email:          set("lost@example.com"),
		Consent:        set(true),
		ConsentVersion: setInt(1),
		Form:           set("0123456789abcdef"),
	}
	var joined JoinedCard
	f.writes(func(tx *Tx) {
		check(tx.UpdateEnrolment(f.a.Shop, program, EnrolmentFields{
			Enabled:  set(true),
			Slug:     set("open"),
			MaxCards: setInt(9),
			Consent:  set("Yes"),
		}))
		joined = check(tx.Join("open", fields, at))
		succeed(tx.RequestCardLinks(LostFields{Email: fields.Email}, at))
	})
	var id string
	f.reads(func(v *View) {
		check(v.Enrolment(f.a.Shop, program))
		check(v.JoinPage("open"))
		check(v.Poster(f.a.Shop, program))
		check(v.LostPage("", joined.PageToken))
		id = check(v.CardPage(joined.PageToken)).Card.ID
		check(v.ExportPerson(f.a.Shop, PersonQuery{CardIDs: set([]string{id})}))
	})
	m := f.nextMail()
	for m.Kind != MailLost {
		f.must(func(tx *Tx) error { return tx.DelayMail(&m, time.Second) })
		m = f.nextMail()
	}
	f.writes(func(tx *Tx) {
		succeed(tx.DelayMail(&m, time.Second), tx.HoldMail(&m, m.Due), tx.DelayUnsureMail(&m, time.Second), tx.SentMail(&m))
	})
	f.erase(id)
}

// runImports imports cards, updates them and undoes the import, so that each table of imports has rows.
func runImports(f *fixture) {
	program := f.program(stamps("Imported"))
	row := func(ref string, n int64) ImportRow {
		r := ImportRow{Line: 2}
		r.Stamps, r.ExternalRef, r.HolderEmail, r.Codes = Given(n), Given(ref), Given(ref+"@example.org"), Given([]string{"OLD " + ref})
		return r
	}
	start := func(name string, o ImportOptions, rows ...ImportRow) string {
		var parts ImportParts
		for _, r := range rows {
			parts.Add(r)
		}
		o.ProgramID = Given(program)
		file := ImportFile{Name: Some(name)}
		file.Hash[0] = name[0]
		run := must(f, func(tx *Tx) (ImportRun, error) {
			return tx.StartImport(f.a.Shop, file, o, &parts, ImportReport{})
		})
		return run.ID
	}
	next := func() { f.must(func(tx *Tx) error { return errorOf(tx.ContinueImports()) }) }
	first := start("a", ImportOptions{}, row("a", 1), row("b", 5))
	next()
	next()
	start("b", ImportOptions{Update: Given(true)}, row("a", 2), row("c", 99))
	next()
	next()
	f.writes(func(tx *Tx) { check(tx.UndoImport(f.a.Shop, first)) })
	next()
	next()
	f.writes(func(tx *Tx) { check(tx.PruneImports()) })
	f.writes(func(tx *Tx) { check(tx.InviteImported(1)) })
	f.reads(func(v *View) {
		c := check(v.NewImportCheck(f.a.Shop, ImportOptions{ProgramID: Given(program)}))
		c.Row(row("c", 1))
		check(v.ImportRuns(f.a.Shop))
		check(v.ImportsWait())
		check(v.CardRunsWait())
		check(v.ImportRunReport(f.a.Shop, first))
		if known := check(v.KnownImport(f.a.Shop, ImportFile{}, ImportOptions{})); known.Valid {
			panic("an import is known that was not begun")
		}
	})
	start("c", ImportOptions{}, row("d", 1)) // its rows stay
	var raw ImportParts
	raw.Add(RawRow{Line: 2, Cells: []string{"x"}})
	upload := must(f, func(tx *Tx) (ImportRun, error) { return tx.UploadImport(f.a.Shop, ImportFile{}, &raw) })
	f.reads(func(v *View) {
		for range check(v.Upload(f.a.Shop, upload.ID)).Rows {
		}
	})
}
