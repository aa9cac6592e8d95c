package store

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// year applies the operations of simulation through months and time zones, and compares the
// statistics with those computed from the model's rows.
type year struct {
	*simulation
	zone    string
	deleted []*simProgram
}

var yearZones = []string{"Europe/Rome", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "UTC"}

// TestCountsFollowTheLedger compares all statistics with the model's after random operations.
func TestCountsFollowTheLedger(t *testing.T) {
	t.Parallel()
	setFlag(t, "rapid.steps", "120")
	setFlag(t, "rapid.checks", "20")
	setFlag(t, "rapid.shrinktime", "5s")
	setFlag(t, "rapid.nofailfile", "true")
	if racing {
		setFlag(t, "rapid.checks", "3")
	}
	ops, tally := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		f := start(t)
		defer f.Close()
		y := &year{simulation: &simulation{T: rt, f: f, tills: []till{f.till(), f.till()}, tally: tally}, zone: "UTC"}
		y.start()
		var actions []func()
		for _, a := range []struct {
			weight int
			do     func()
		}{{4, y.issue}, {2, y.counter}, {14, y.stamp}, {10, y.redeem}, {4, y.changeBalance}, {2, y.use}, {14, y.reverse}, {6, y.advanceFar}, {12, y.burst},
			{2, y.lock}, {1, y.archive}, {2, y.reissue}, {3, y.patch}, {3, y.install}, {2, y.suspend}, {4, y.ladder}, {3, y.total}, {3, y.move}, {3, y.lapse}, {1, y.deleteProgram}, {1, y.recount}, {6, y.compare}} {
			for range a.weight {
				actions = append(actions, a.do)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){"operation": func(rt *rapid.T) {
			y.T = rt
			ops++
			y.wait(time.Duration(y.draw("minutes", 0, 5*60)) * time.Minute)
			actions[y.draw("action", 0, len(actions)-1)]()
		}})
		y.compare()
		y.finish()
	})
	t.Logf("%d operations: %v", ops, tally)
	// Others are too rare for so few operations; each has a test of its own. With -short
	// rapid runs a fifth of the checks, in which any of these can be missing.
	for _, what := range []string{"stamp", "reversal", "expiry", "zone", "burst", "taken back", "sent later"} {
		if tally[what] == 0 && !racing && !testing.Short() && !t.Failed() {
			t.Errorf("of %d operations none came to %q: %v", ops, what, tally)
		}
	}
}

// advanceFar advances the clock by up to 3, 10 or 120 days.
func (y *year) advanceFar() {
	y.wait(time.Duration(y.draw("days", 1, pick(y.simulation, "season", 3, 10, 120))) * 24 * time.Hour)
}

func (y *year) setZone(tx *Tx, zone string) error {
	return errorOf(tx.UpdateShop(y.f.a.Shop, ShopFields{Timezone: set(zone)}, ""))
}

// move changes the time zone of the shop.
func (y *year) move() {
	y.zone = pick(y.simulation, "zone", yearZones...)
	y.f.must(func(tx *Tx) error { return y.setZone(tx, y.zone) })
	y.tally["zone"]++
}

// lapse marks some cards that have expired, as housekeeping does.
func (y *year) lapse() {
	if must(y.f, func(tx *Tx) (bool, error) { return tx.MarkExpiredCards(y.draw("batch", 1, 5)) }) {
		y.tally["lapsed"]++
	}
}

// ladder adds, changes or deletes a prize.
func (y *year) ladder() {
	p := y.anyProgram()
	if !p.collectsStamps() {
		return
	}
	threshold, code := int64(y.draw("threshold", 0, int(p.total)+1)), Code("")
	i := y.draw("prize", 0, 2*len(p.prizes)) // an index beyond the last prize adds one
	changed := slices.Clone(p.prizes)
	remove := i < len(changed) && y.chance("delete", 2)
	var err error
	var z Prize
	switch {
	case remove:
		id := changed[i].id
		redeemed := slices.ContainsFunc(y.model.rows, func(r *simRow) bool { return r.kind == "redemption" && r.prize == id })
		if redeemed {
			code = Conflict
		}
		changed = slices.Delete(changed, i, i+1)
		err = y.f.do(func(tx *Tx) error { return tx.DeletePrize(y.f.a, p.id, id) })
	case i < len(changed):
		changed[i].threshold = threshold
		_, err = attempt(y.f, func(tx *Tx) (Prize, error) {
			return tx.UpdatePrize(y.f.a, p.id, changed[i].id, PrizeFields{Threshold: set(threshold)})
		})
	default:
		changed = append(changed, simPrize{threshold: threshold})
		z, err = attempt(y.f, func(tx *Tx) (Prize, error) {
			return tx.AddPrize(y.f.a, p.id, PrizeFields{Threshold: set(threshold), Name: set("Prize")})
		})
		changed[len(changed)-1].id = z.ID
	}
	if !remove {
		options := map[int64]int{}
		for _, z := range changed {
			options[z.threshold]++
		}
		if threshold > p.total || len(options) > 3 || options[threshold] > 3 {
			code = Unprocessable
		}
	}
	if p.frozen {
		code = ProgramHasInstalledCards
		y.tally["frozen"]++
	}
	y.checkCode(code, err)
	if code == "" {
		p.prizes = changed
		y.tally["ladder"]++
	}
}

// total changes a program's total_stamps, and whether it repeats.
func (y *year) total() {
	p := y.anyProgram()
	if !p.collectsStamps() {
		return
	}
	total, repeat, code := int64(y.draw("total", 1, 6)), y.chance("repeat", 2), Code("")
	if top, _ := p.highestThreshold(); top > total {
		code = Unprocessable
	}
	if p.frozen {
		code = ProgramHasInstalledCards
	}
	_, err := attempt(y.f, func(tx *Tx) (ProgramDetail, error) {
		return tx.UpdateProgram(y.f.a, p.id, ProgramFields{TotalStamps: set(total), RepeatAfterReset: set(repeat)})
	})
	y.checkCode(code, err)
	if code == "" {
		p.total, p.repeat = total, repeat
		y.tally["total"]++
	}
}

func (y *year) recount() { y.f.must((*Tx).RecountStats) }

// deleteProgram deletes a program.
func (y *year) deleteProgram() {
	if len(y.programs) < 4 || !y.chance("drop", 3) {
		return
	}
	i := y.draw("program", 0, len(y.programs)-1)
	p := y.programs[i]
	y.f.must(func(tx *Tx) error { return tx.DeleteProgram(y.f.a.Shop, p.id) })
	y.programs = append(append([]*simProgram(nil), y.programs[:i]...), y.programs[i+1:]...)
	y.deleted = append(y.deleted, p)
	for _, h := range y.model.chains {
		if h.program == p {
			for _, c := range h.cards {
				c.archived = true
			}
		}
	}
	y.tally["dropped"]++
}

// burst makes several stamps in one transaction, among writes that are rolled back.
func (y *year) burst() {
	type one struct {
		h    *simChain
		want result
		out  Stamped
	}
	var list []*one
	var writes []Write
	failing := func() {
		c := y.card((*simProgram).collectsStamps)
		if c == nil || !y.chance("fails", 2) {
			return
		}
		zone := pick(y.simulation, "zone", yearZones...)
		writes = append(writes, Write{Actor: operator, Do: func(tx *Tx) error {
			tx.Stamp(y.tills[0].device, c.id, StampFields{Count: set(int64(2))}) // it may be refused; a row of a refusal is rolled back too
			y.setZone(tx, zone)
			return errors.New("taken back")
		}})
		list = append(list, nil)
		y.tally["taken back"]++
	}
	zone := ""
	for range y.draw("writes", 2, 6) {
		failing()
		c := y.card((*simProgram).collectsStamps)
		if c == nil {
			return // there is no card yet
		}
		n, location, o := int64(y.draw("count", 1, 9)), y.location(), &one{h: c.chain}
		o.want = y.model.stamp(o.h, location, n, Null[int64]{})
		root := o.h.cards[0].id
		writes = append(writes, Write{Actor: operator, Do: func(tx *Tx) (err error) {
			o.out, err = tx.Stamp(y.tills[location].device, root, StampFields{Count: set(n)})
			return err
		}})
		list = append(list, o)
		if zone == "" && y.chance("moves", 6) {
			zone = pick(y.simulation, "zone", yearZones...)
			y.zone = zone
			writes = append(writes, Write{Actor: operator, Do: func(tx *Tx) error { return y.setZone(tx, zone) }})
			list = append(list, nil)
		}
	}
	var rows []*simRow
	for i, err := range y.f.group(writes...) {
		if o := list[i]; o != nil {
			y.checkCode(o.want.code, err)
			rows = append(rows, o.want.rows...)
		}
	}
	for _, o := range list {
		if o != nil {
			y.compareChain(o.h)
		}
	}
	y.compareLedger(rows)
	y.tally["burst"]++
}

// compare compares every program's statistics, those of the shop, and the sums of the ledger with
// the model's.
func (y *year) compare() {
	y.f.view(func(v *View) error {
		for _, p := range y.programs {
			st := check(v.ProgramStats(y.f.a, p.id))
			y.equal("statistics of a "+p.kind+" program", st, y.program(p))
		}
		for _, kind := range programTypes {
			y.equal("figures of "+kind, check(v.CardStats(y.f.a, kind)), y.kind(kind))
		}
		y.equal("heatmap", check(v.Heatmap(y.f.a, HeatmapQuery{})), y.heatmap(-1))
		for i, k := range y.tills {
			restricted := Access{Shop: y.f.a.Shop, Restricted: true, Locations: []int64{k.device.Location}}
			y.equal("heatmap of a location", check(v.Heatmap(restricted, HeatmapQuery{})), y.heatmap(i))
		}
		s := check(v.Summary(y.f.a))
		y.equal("summary", s, y.summary())
		return nil
	})
	found, err := y.f.Check()
	if err != nil || len(found) > 0 {
		y.Fatalf("check: %q, %v", found, err)
	}
}

func (y *year) equal(what string, got, want any) {
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		y.Fatalf("%s at %s in %s:\n%s\nwant\n%s", what, y.model.now, y.zone, a, b)
	}
}
