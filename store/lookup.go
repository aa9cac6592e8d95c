package store

import (
	"cmp"
	"slices"
)

// LadderPrize is a prize as it stands on one card.
type LadderPrize struct {
	Prize
	Available bool `json:"available" doc:"The card has reached the threshold and none of its options was taken in this cycle."`
	Claimed   bool `json:"claimed" doc:"This option was taken in this cycle."`
}

// EarlierCard is another live card of the same chain, with its own prizes.
type EarlierCard struct {
	CardDetail
	Prizes []LadderPrize `json:"prizes"`
}

// Lookup is a card as a till shows it: the instance that takes the next stamp.
type Lookup struct {
	Card         CardDetail    `json:"card"`
	Program      Program       `json:"program"`
	Prizes       []LadderPrize `json:"prizes"`
	EarlierCards []EarlierCard `json:"earlier_cards" doc:"The other live cards of the chain, oldest first."`
	Transactions []Transaction `json:"transactions" doc:"The chain's last ten, newest first."`
}

// Lookup shows what a card's id or code stands for. It never writes.
func (v *View) Lookup(at At, code string) (l Lookup, err error) {
	err = v.snapshot(func() error {
		root, err := v.rootOf(v.s, at.Shop, code)
		if err != nil {
			return err
		}
		if root == 0 {
			return notFound("card")
		}
		l, err = v.lookup(at, root)
		return err
	})
	return l, err
}

func (v *View) lookup(at At, root int64) (l Lookup, err error) {
	p, all, err := v.s.inHand(v.conn, at, root, v.Now)
	if err != nil {
		return l, err
	}
	if p.program, err = v.s.programByKey(v.conn, at.Shop, p.newest.program); err != nil {
		return l, err
	}
	where, err := v.sitesOf(at.Shop)
	if err != nil {
		return l, err
	}
	shown := p.next()
	l.Program = p.program.Program
	if l.Card, l.Prizes, err = v.onCard(p, shown, where); err != nil {
		return l, err
	}
	for _, c := range p.instances {
		if c == shown {
			continue
		}
		var e EarlierCard
		if e.CardDetail, e.Prizes, err = v.onCard(p, c, where); err != nil {
			return l, err
		}
		l.EarlierCards = append(l.EarlierCards, e)
	}
	l.Transactions, err = v.lastTransactions(all)
	return l, err
}

// onCard is a card's detail and ladder, from what the lookup has read already.
func (v *View) onCard(p *presentation, c *card, at sites) (d CardDetail, prizes []LadderPrize, err error) {
	d = CardDetail{Card: c.Card, AllLocations: p.program.LocationScope == "all_locations", Locations: at.named}
	if !d.AllLocations {
		d.Locations = slices.DeleteFunc(slices.Clone(at.named), func(l NamedLocation) bool { return !slices.Contains(p.program.ScopedLocationIDs, l.ID) })
	}
	if len(p.program.Prizes) == 0 {
		return d, nil, nil
	}
	claimed, err := v.claimed(c)
	for _, z := range p.program.Prizes {
		taken := claimed[z.Threshold]
		key, _ := v.s.Key(KindPrize, z.ID)
		prizes = append(prizes, LadderPrize{z, c.StampsCount >= z.Threshold && taken == 0, taken == key})
	}
	return d, prizes, err
}

// sitesOf are the shop's enabled locations, kept where the caller's identity
// says as of which epoch.
func (v *View) sitesOf(shop int64) (sites, error) {
	if v.epoch == 0 {
		return v.s.readSites(v.conn, shop, 0)
	}
	return v.s.keptSites(v.conn, shop, v.epoch)
}

// lastTransactions are the newest ten of each instance, and of these the
// newest ten: no card's history is read whole.
func (v *View) lastTransactions(chain []*card) (list []Transaction, err error) {
	const most = 10
	type row struct {
		key int64
		Transaction
	}
	var rows []row
	for _, c := range chain {
		r := v.query("SELECT "+transactionCols+" FROM transactions t JOIN locations l ON l.id=t.location_id WHERE t.card_id=? ORDER BY t.id DESC LIMIT ?", c.key, most)
		for r.next() {
			r.int()
			key := r.int()
			rows = append(rows, row{key, v.s.scanTransaction(r, key)})
		}
		if err := r.close(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.key, a.key) })
	for _, r := range rows[:min(most, len(rows))] {
		list = append(list, r.Transaction)
	}
	return list, nil
}

// programByKey finds a program that may have been deleted since.
func (s *Store) programByKey(c *conn, shop, key int64) (p program, err error) {
	_, err = c.one(func(r *rows) { s.scanWholeProgram(r, &p) }, programByKeySQL, key, shop)
	if err != nil {
		return p, err
	}
	p.Prizes, err = s.ladder(c, key)
	return p, err
}
