package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// run starts a run.
func (k till) run(f RunFields) (CardRun, error) {
	if details := f.Check(k.clock.at()); details != nil { // as the kernel does
		return CardRun{}, Invalid(details...)
	}
	return attempt(k.fixture, func(tx *Tx) (CardRun, error) { return tx.StartCardRun(k.a.Shop, f, Total{N: 7, More: true}) })
}

// step does one slice of the oldest run.
func (k till) step() bool {
	return must(k.fixture, (*Tx).StepCardRun)
}

func (k till) finish() {
	for k.step() {
	}
}

func (k till) report(id string) CardRunReport {
	return view(k.fixture, func(v *View) (CardRunReport, error) { return v.CardRun(k.a.Shop, id) })
}

func (k till) goodwill(n int64) RunFields {
	return RunFields{Action: set(RunGoodwill), Stamps: set(n), LocationID: set(k.location), Reason: set("Closed on Monday")}
}

// TestRunGivesOnce checks that goodwill reaches each chain that passes the filter once, also where it makes another card of
// the chain, a prize due or a server that starts again between two slices, and what the report says of the others.
func TestRunGivesOnce(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	single, _ := k.ladder(false, 10)
	gift := k.card(k.program(prepaid("Gift", 500)))
	var cards []string
	for i := range 45 {
		cards = append(cards, k.card(program))
		if i%10 == 1 {
			k.stamped(cards[i], 9) // the run overflows it
		}
		if i%15 == 0 {
			k.stamped(cards[i], 12) // has two cards already
		}
	}
	full, archived, foreign := k.card(single), k.card(program), k.in(k.shop(ShopFields{}))
	k.stamped(full, 9)
	k.archive(archived)
	before := k.number("SELECT sum(stamps_count) FROM cards")
	other := foreign.card(foreign.program(stamps("Other")))
	f := k.goodwill(3)
	f.All = set(true)
	r := check(k.run(f))
	if r.State != RunRunning || r.Total != 7 || !r.More {
		t.Errorf("%+v", r)
	}
	refused(t, errorOf(k.run(f)), Conflict)
	for k.step() {
		again := k.second() // as another server that starts
		k.Store, again.Store = again.Store, k.Store
		k.card(program) // is newer than the run
	}
	k.selects(before+45*3, "SELECT sum(stamps_count) FROM cards")
	k.selects(45, `SELECT count(DISTINCT ifnull(c.root_id, c.id)) FROM transactions t JOIN cards c ON c.id=t.card_id
		WHERE t.type='adjustment'`)
	got := k.report(r.ID)
	if got.State != RunDone || got.Done != 45 || got.Refused != 3 || len(got.Refusals) != 3 || !got.FinishedAt.Valid {
		t.Errorf("%+v", got)
	}
	for i, want := range []string{archived, full, gift} {
		if got.Refusals[i].CardID != want || got.Refusals[i].Message == "" {
			t.Errorf("refusal %d is of %+v, want %s", i, got.Refusals[i], want)
		}
	}
	k.selects(3, "SELECT stamps_count+3 FROM cards WHERE id=?", foreign.key(KindCard, other))
	k.selects(1, "SELECT count(*) FROM audit WHERE action='cards.run'")
	k.selects(0, "SELECT count(*) FROM audit WHERE action='transaction.adjustment' AND detail NOT LIKE ?", `%"run":"`+r.ID+`"%`)
	k.checkFile()
}

// TestRunActions checks the other actions, on chosen cards and on those of filters, and their stop.
func TestRunActions(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	soon, late := k.clock.at().Add(days(5)), k.clock.at().Add(days(50))
	var cards []string
	for i := range 30 {
		cards = append(cards, k.cardWith(program, CardFields{ExpiresAt: set([]Time{soon, late}[i%2]),
			HolderName: set(fmt.Sprint("Ada ", i))}))
	}
	installed := k.issue(program, CardFields{ExpiresAt: set(soon)})
	check(k.install(installed.InstallURL))
	k.contact(cards[3], HolderContactPatch{ContactPatch: ContactPatch{Birthday: set("02-29")}})
	statuses := func(status string) (n int) {
		for _, id := range cards {
			if d, err := k.read(id); err == nil && d.Status == status {
				n++
			}
		}
		return n
	}
	do := func(f RunFields) CardRunReport {
		t.Helper()
		r := check(k.run(f))
		k.finish()
		return k.report(r.ID)
	}
	chosen := append(slices.Clone(cards[:25]), cards[0])
	if r := do(RunFields{Action: set(RunLock), CardIDs: set(chosen)}); r.Done != 25 || r.Total != 25 || statuses(StatusLocked) != 25 {
		t.Errorf("%+v", r)
	}
	if r := do(RunFields{Action: set(RunUnlock), All: set(true), ListFilter: ListFilter{Status: set(StatusLocked)}}); r.Done != 25 ||
		statuses(StatusLocked) != 0 {
		t.Errorf("%+v", r)
	}
	until := k.clock.at().Add(days(20))
	r := do(RunFields{Action: set(RunExtend), All: set(true), ExpiresAt: set(until)})
	k.selects(15, "SELECT count(*) FROM cards WHERE expires_at=?", until)
	k.selects(15, "SELECT count(*) FROM cards WHERE expires_at=?", late)
	if r.Done != 30 || r.Refused != 1 || r.Refusals[0].CardID != installed.ID {
		t.Errorf("%+v", r)
	}
	if r := do(RunFields{Action: set(RunArchive), All: set(true), ListFilter: ListFilter{BirthdayMonth: setInt(2)}}); r.Done != 1 ||
		statuses(StatusArchived) != 1 {
		t.Errorf("%+v", r)
	}
	// A run that is stopped leaves the rest, and a card that is erased meanwhile ends in the counts alone.
	run := check(k.run(RunFields{Action: set(RunLock), CardIDs: set(cards[:30])}))
	k.step()
	k.erase(cards[0])
	stopped := must(k.fixture, func(tx *Tx) (CardRun, error) { return tx.StopCardRun(k.a.Shop, run.ID) })
	if k.step(); stopped.State != RunStopped || stopped.Done != 20 || statuses(StatusLocked) != 20 {
		t.Errorf("%+v", stopped)
	}
}

func TestRunRefusals(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	card := k.card(program)
	foreign := k.in(k.shop(ShopFields{})).till()
	other := foreign.card(foreign.program(stamps("Other")))
	refusedBy := func(field string, f RunFields) {
		t.Helper()
		_, err := k.run(f)
		refused(t, err, ValidationFailed)
		if e, ok := AsError(err); ok && !strings.HasPrefix(e.Details[0].Field, field) {
			t.Errorf("the refusal is of %+v, want %s", e.Details, field)
		}
	}
	chosen := set([]string{card})
	good := k.goodwill(1)
	good.CardIDs = chosen
	refusedBy("card_ids", RunFields{Action: set(RunLock)})
	refusedBy("card_ids", RunFields{Action: set(RunLock), CardIDs: chosen, All: set(true)})
	refusedBy("card_ids", RunFields{Action: set(RunLock), CardIDs: set([]string{card, other})})
	refusedBy("stamps", RunFields{Action: set(RunGoodwill), CardIDs: chosen})
	refusedBy("expires_at", RunFields{Action: set(RunExtend), CardIDs: chosen})
	refusedBy("expires_at", RunFields{Action: set(RunExtend), CardIDs: chosen, ExpiresAt: set(k.clock.at())})
	refusedBy("expires_at", RunFields{Action: set(RunLock), CardIDs: chosen, ExpiresAt: set(k.clock.at().Add(time.Hour))})
	f := good
	f.LocationID = set(foreign.location)
	refusedBy("location_id", f)
	f = good
	f.CardIDs, f.All = Opt[[]string]{}, set(true)
	f.SeenFrom, f.NotSeenDays = set(k.clock.at()), setInt(1)
	refusedBy("seen_from", f)
	k.selects(0, "SELECT count(*) FROM card_runs")
	r := check(k.run(good))
	k.reads(func(v *View) {
		refused(t, errorOf(v.CardRun(foreign.a.Shop, r.ID)), NotFound)
	})
	refused(t, errorOf(attempt(k.fixture, func(tx *Tx) (CardRun, error) { return tx.StopCardRun(foreign.a.Shop, r.ID) })), NotFound)
	k.finish()
	k.clock.move(days(31))
	k.finish()
	k.selects(0, "SELECT count(*) FROM card_runs")
}
