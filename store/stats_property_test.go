package store

import (
	"encoding/json"
	"errors"
	"slices"
	"time"
)

var someZones = []string{"Europe/Rome", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "UTC"}

// advanceFar advances the clock by up to 3, 10 or 120 days.
func (s *simulation) advanceFar() {
	s.wait(time.Duration(s.draw("days", 1, pick(s, "season", 3, 10, 120))) * 24 * time.Hour)
}

func (s *simulation) setZone(tx *Tx, zone string) error {
	return errorOf(tx.UpdateShop(s.f.a.Shop, ShopFields{Timezone: set(zone)}, ""))
}

// move changes the time zone of the shop.
func (s *simulation) move() {
	s.zone = pick(s, "zone", someZones...)
	s.f.must(func(tx *Tx) error { return s.setZone(tx, s.zone) })
	s.tally["zone"]++
}

// lapse marks some cards that have expired, as housekeeping does.
func (s *simulation) lapse() {
	if must(s.f, func(tx *Tx) (bool, error) { return tx.MarkExpiredCards(s.draw("batch", 1, 5)) }) {
		s.tally["lapsed"]++
	}
}

// ladder adds, changes or deletes a prize.
func (s *simulation) ladder() {
	p := s.anyProgram()
	if !p.collectsStamps() {
		return
	}
	threshold, code := int64(s.draw("threshold", 0, int(p.total)+1)), Code("")
	i := s.draw("prize", 0, 2*len(p.prizes)) // an index beyond the last prize adds one
	changed := slices.Clone(p.prizes)
	remove := i < len(changed) && s.chance("delete", 2)
	var err error
	var z Prize
	switch {
	case remove:
		id := changed[i].id
		redeemed := slices.ContainsFunc(s.model.rows, func(r *simRow) bool { return r.kind == "redemption" && r.prize == id })
		if redeemed {
			code = Conflict
		}
		changed = slices.Delete(changed, i, i+1)
		err = s.f.do(func(tx *Tx) error { return tx.DeletePrize(s.f.a, p.id, id) })
	case i < len(changed):
		changed[i].threshold = threshold
		_, err = attempt(s.f, func(tx *Tx) (Prize, error) {
			return tx.UpdatePrize(s.f.a, p.id, changed[i].id, PrizeFields{Threshold: set(threshold)})
		})
	default:
		changed = append(changed, simPrize{threshold: threshold})
		z, err = attempt(s.f, func(tx *Tx) (Prize, error) {
			return tx.AddPrize(s.f.a, p.id, PrizeFields{Threshold: set(threshold), Name: set("Prize")})
		})
		changed[len(changed)-1].id = z.ID
	}
	if !remove {
		options := map[int64]int{}
		for _, z := range changed {
			options[z.threshold]++
		}
		if threshold > p.total || len(options) > 3 || options[threshold] > 3 || p.welcome > 0 && threshold <= p.welcome {
			code = Unprocessable
		}
	}
	if p.frozen {
		code = ProgramHasInstalledCards
		s.tally["frozen"]++
	}
	s.checkCode(code, err)
	if code == "" {
		p.prizes = changed
		s.tally["ladder"]++
	}
}

// total changes a program's total_stamps, and whether it repeats.
func (s *simulation) total() {
	p := s.anyProgram()
	if !p.collectsStamps() {
		return
	}
	total, repeat, code := int64(s.draw("total", 1, 6)), s.chance("repeat", 2), Code("")
	if top, _ := p.highestThreshold(); top > total || p.welcome > 0 && p.welcome >= total {
		code = Unprocessable
	}
	if p.frozen {
		code = ProgramHasInstalledCards
	}
	_, err := attempt(s.f, func(tx *Tx) (ProgramDetail, error) {
		return tx.UpdateProgram(s.f.a, p.id, ProgramFields{TotalStamps: set(total), RepeatAfterReset: set(repeat)})
	})
	s.checkCode(code, err)
	if code == "" {
		p.total, p.repeat = total, repeat
		s.tally["total"]++
	}
}

func (s *simulation) recount() { s.f.must((*Tx).RecountStats) }

// deleteProgram deletes a program.
func (s *simulation) deleteProgram() {
	if len(s.programs) < 4 || !s.chance("drop", 3) {
		return
	}
	i := s.draw("program", 0, len(s.programs)-1)
	p := s.programs[i]
	s.f.deleteProgram(p.id)
	s.programs = append(append([]*simProgram(nil), s.programs[:i]...), s.programs[i+1:]...)
	for _, h := range s.model.chains {
		if h.program == p {
			for _, c := range h.cards {
				c.archived = true
			}
		}
	}
	s.tally["dropped"]++
}

// burst makes several stamps in one transaction, among writes that are rolled back.
func (s *simulation) burst() {
	type one struct {
		h    *simChain
		want result
		out  Stamped
	}
	var list []*one
	var writes []Write
	failing := func() {
		c := s.card((*simProgram).collectsStamps)
		if c == nil || !s.chance("fails", 2) {
			return
		}
		zone := pick(s, "zone", someZones...)
		writes = append(writes, Write{Actor: operator, Do: func(tx *Tx) error {
			tx.Stamp(s.tills[0].device, c.id, StampFields{Count: setInt(2)}) // it may be refused; a row of a refusal is rolled back too
			s.setZone(tx, zone)
			return errors.New("taken back")
		}})
		list = append(list, nil)
		s.tally["taken back"]++
	}
	zone := ""
	for range s.draw("writes", 2, 6) {
		failing()
		c := s.card((*simProgram).collectsStamps)
		if c == nil {
			return // there is no card yet
		}
		n, location, o := int64(s.draw("count", 1, 9)), s.location(), &one{h: c.chain}
		o.want = s.model.stamp(o.h, location, n, Null[int64]{})
		root := o.h.cards[0].id
		writes = append(writes, Write{Actor: operator, Do: func(tx *Tx) (err error) {
			o.out, err = tx.Stamp(s.tills[location].device, root, StampFields{Count: set(n)})
			return err
		}})
		list = append(list, o)
		if zone == "" && s.chance("moves", 6) {
			zone = pick(s, "zone", someZones...)
			s.zone = zone
			writes = append(writes, write(func(tx *Tx) error { return s.setZone(tx, zone) }))
			list = append(list, nil)
		}
	}
	var rows []*simRow
	for i, err := range s.f.group(writes...) {
		if o := list[i]; o != nil {
			s.checkCode(o.want.code, err)
			rows = append(rows, o.want.rows...)
		}
	}
	for _, o := range list {
		if o != nil {
			s.compareChain(o.h)
		}
	}
	s.compareLedger(rows)
	s.tally["burst"]++
}

// compare compares every program's statistics, those of the shop, and the sums of the ledger with
// the model's.
func (s *simulation) compare() {
	s.f.reads(func(v *View) {
		for _, p := range s.programs {
			st := check(v.ProgramStats(s.f.a, p.id))
			s.equal("statistics of a "+p.kind+" program", st, s.programStats(p))
		}
		for _, kind := range programTypes {
			s.equal("figures of "+kind, check(v.CardStats(s.f.a, kind)), s.cardStats(kind))
		}
		s.equal("heatmap", check(v.Heatmap(s.f.a, HeatmapQuery{})), s.heatmap(-1))
		for i, k := range s.tills {
			s.equal("heatmap of a location", check(v.Heatmap(s.f.restrictedTo(k.location), HeatmapQuery{})), s.heatmap(i))
		}
		s.equal("summary", check(v.Summary(s.f.a)), s.summary())
	})
	if found := s.f.broken(); len(found) > 0 {
		s.Fatalf("check: %q", found)
	}
}

func (s *simulation) equal(what string, got, want any) {
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		s.Fatalf("%s at %s in %s:\n%s\nwant\n%s", what, s.model.now, s.zone, a, b)
	}
}
