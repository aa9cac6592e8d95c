package e2e

import (
	"math/rand/v2"
	"slices"
)

// action is one request of a till.
type action struct {
	p      *cardHolder
	kind   string
	n      int64 // stamps, cents, or the index of a prize
	repeat int   // 1: repeated immediately after the answer; 2: repeated at the end of the shift
	badPIN bool  // a wrong PIN is sent first
}

// planActions plans the actions of each till, which depend on random only.
func (d *day) planActions(random *rand.Rand) {
	seen := map[[2]string]bool{}
	lost := 0
	for i, m := range readMembers(d.t)[:500] {
		p := &cardHolder{member: m, n: i, rest: random.IntN(3) == 0, stamps: map[string]int64{}}
		if other := map[int]string{5: "access", 6: "discount", 7: "private"}[i%8]; other != "" {
			p.program = other
		}
		if seen[[2]string{p.program, p.ref}] {
			p.ref = ""
		}
		seen[[2]string{p.program, p.ref}] = true
		if p.program == "prepaid" {
			p.value = 500
		}
		if p.program == "standard" && lost < 4 && i > 100 {
			p.lost = true
			lost++
		}
		d.cardHolders = append(d.cardHolders, p)
	}
	badPINs := 0
	for half := range 2 {
		queues := make([][][]action, len(d.tills))
		for _, p := range d.cardHolders {
			var visits []action
			if half == 0 {
				visits = append(visits, action{p: p, kind: "issue"})
				if p.ref != "" && random.IntN(10) == 0 {
					visits = append(visits, action{p: p, kind: "second card"})
				}
			}
			if half == 1 && p.lost {
				visits = append(visits, action{p: p, kind: "locked"}, action{p: p, kind: "reissue"})
			}
			for range 1 + random.IntN(3) {
				visits = append(visits, d.visitActions(p, random)...)
			}
			for i := range visits {
				if random.IntN(12) == 0 {
					visits[i].repeat = 1 + random.IntN(2)
				}
				visits[i].badPIN = random.IntN(40) == 0
			}
			n := random.IntN(len(d.tills))
			for i := range visits {
				if visits[i].badPIN && d.tills[n].location == 1 {
					badPINs++
					visits[i].badPIN = badPINs <= maxBadPINs
				}
			}
			queues[n] = append(queues[n], visits)
		}
		for n, c := range d.tills {
			// Actions of different members are interleaved.
			for q := queues[n]; len(q) > 0; {
				k := random.IntN(min(len(q), 40))
				c.scripts[half] = append(c.scripts[half], q[k][0])
				if q[k] = q[k][1:]; len(q[k]) == 0 {
					q = slices.Delete(q, k, k+1)
				}
			}
		}
	}
}

// visitActions returns the actions of one visit.
func (d *day) visitActions(p *cardHolder, random *rand.Rand) (actions []action) {
	reverse := func() {
		if random.IntN(6) == 0 {
			actions = append(actions, action{p: p, kind: "reverse"})
		}
	}
	add := func(kind string, n int64) { actions = append(actions, action{p: p, kind: kind, n: n}) }
	switch p.program {
	case "standard", "private":
		n := 1 + random.Int64N(4)
		switch random.IntN(12) {
		case 0, 1, 2:
			n = 6 + random.Int64N(9)
		case 3:
			n = 30
		}
		add("stamp", n)
		reverse()
		if random.IntN(2) == 0 {
			prize := 3
			if p.program == "standard" {
				prize = random.IntN(3)
			}
			add("redeem", int64(prize))
			reverse()
		}
	case "prepaid":
		if random.IntN(2) == 0 {
			add("topup", 100*(1+random.Int64N(50)))
			reverse()
		}
		add("spend", 1+random.Int64N(1500))
		reverse()
	default:
		add("use", 0)
		reverse()
	}
	return actions
}
