package store

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
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
	Card         CardDetail      `json:"card"`
	Program      *Fixed[Program] `json:"program"`
	Prizes       []LadderPrize   `json:"prizes"`
	EarlierCards []EarlierCard   `json:"earlier_cards" doc:"The other live cards of the chain, oldest first."`
	Transactions []Transaction   `json:"transactions" doc:"The chain's last ten, newest first."`
}

// A lookup reads all it shows of the cards with one statement, so that it needs
// no snapshot: of each instance also the claims of its cycle and its last ten
// rows of the ledger. Program and locations are kept as of the epoch that the
// same statement gives. The rows are put together by a call, which is quicker than an operator
// between each two of their columns.
var lookupCols = packed(append(slices.Clone(chainCols),
	"(SELECT group_concat(threshold||':'||prize_id, ';') FROM claims WHERE card_id=c.id AND cycle=c.cycle)",
	"(SELECT group_concat(row, ';') FROM (SELECT concat_ws(':', t.id, t.type, t.location_id, ifnull(t.stamps_delta, ''), ifnull(t.value_delta, ''), "+
		"ifnull(t.prize_id, ''), ifnull(t.reversed_at, ''), t.created_at) AS row FROM transactions t WHERE t.card_id=c.id ORDER BY t.id DESC LIMIT 10))")...)

var (
	// Most chains are of one card: this finds only those, and need not search for
	// the rest of the chain by two ways.
	lookupAloneSQL = "SELECT " + lookupCols + " FROM cards c WHERE c.id=?1 AND c.shop_id=?2 AND c.root_id IS NULL AND c.deleted_at IS NULL" +
		" AND NOT EXISTS (SELECT 1 FROM cards o WHERE o.root_id=?1)"
	lookupSQL       = "SELECT " + lookupCols + chainOfCard
	lookupByRootSQL = "SELECT " + lookupCols + chainOfRoot
)

const shownTransactions = 10

// Lookup shows what a card's id or code stands for. It never writes.
func (v *View) Lookup(at At, code string) (l Lookup, err error) {
	x := lookup{View: v, at: at}
	for _, sql := range []string{lookupAloneSQL, lookupSQL} {
		if x.all, x.epoch, err = v.s.namedChain(v.conn, at.Shop, code, v.Now, x.more, sql); err != nil {
			return l, err
		}
		if len(x.all) > 0 {
			v.seen(x.epoch)
			return x.show()
		}
	}
	return l, notFound("card")
}

// lookupRoot is Lookup of a chain by its root, inside a snapshot.
func (v *View) lookupRoot(at At, root int64) (l Lookup, generation int64, err error) {
	x := lookup{View: v, at: at}
	if x.all, x.epoch, err = v.s.readChain(v.conn, v.Now, x.more, lookupByRootSQL, root); err != nil {
		return l, 0, err
	}
	l, err = x.show()
	return l, x.all[0].generation, err
}

// lookup is a Lookup in the making.
type lookup struct {
	*View
	at     At
	epoch  int64
	all    []*card
	claims []claimed
	rows   []lookupRow
	where  sites
	p      *presentation
}

type claimed struct{ card, threshold, prize int64 }

type lookupRow struct {
	key, location int64
	Transaction
}

// more reads what lookupCols have besides those of the chain.
func (x *lookup) more(r *rows, c *card) {
	part := func(s, sep string) (first, rest string) { first, rest, _ = strings.Cut(s, sep); return }
	integer := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil && r.err == nil {
			r.err = err
		}
		return n
	}
	maybe := func(s string) Null[int64] {
		if s == "" {
			return Null[int64]{}
		}
		return Some(integer(s))
	}
	for claims, one := r.str(), ""; claims != ""; {
		one, claims = part(claims, ";")
		threshold, prize := part(one, ":")
		x.claims = append(x.claims, claimed{c.key, integer(threshold), integer(prize)})
	}
	list := r.str()
	if x.rows == nil && list != "" {
		x.rows = make([]lookupRow, 0, strings.Count(list, ";")+1)
	}
	for one := ""; list != ""; {
		one, list = part(list, ";")
		var f [8]string
		for i := range f {
			f[i], one = part(one, ":")
		}
		t := lookupRow{key: integer(f[0]), location: integer(f[2])}
		t.CardID, t.ProgramID, t.Type = c.ID, c.ProgramID, f[1]
		t.StampsDelta, t.ValueDelta = maybe(f[3]), maybe(f[4])
		if z := maybe(f[5]); z.Valid {
			t.PrizeID = Some(x.s.ID(KindPrize, z.V))
		}
		if at := maybe(f[6]); at.Valid {
			t.ReversedAt = Some(Time(at.V))
		}
		t.CreatedAt = Time(integer(f[7]))
		x.rows = append(x.rows, t)
	}
}

func (x *lookup) show() (l Lookup, err error) {
	x.p = inHand(x.at, x.all)
	program, err := x.keptProgram(x.at.Shop, x.p.newest.program, x.epoch)
	if err != nil {
		return l, err
	}
	x.p.of(program)
	if x.where, err = x.s.keptSites(x.conn, x.at.Shop, x.epoch); err != nil {
		return l, err
	}
	shown := x.p.next()
	l.Program = x.p.program.fixed
	l.Card, l.Prizes = x.p.detail(shown, x.where), x.ladder(shown)
	for _, c := range x.p.instances {
		if c != shown {
			l.EarlierCards = append(l.EarlierCards, EarlierCard{x.p.detail(c, x.where), x.ladder(c)})
		}
	}
	l.Transactions = x.transactions()
	return l, nil
}

// detail is a card of the chain with the locations it works at.
func (p *presentation) detail(c *card, at sites) CardDetail {
	d := CardDetail{Card: c.Card, AllLocations: p.program.LocationScope == "all_locations", Locations: at.named}
	if !d.AllLocations {
		d.Locations = slices.DeleteFunc(slices.Clone(at.named), func(l NamedLocation) bool { return !slices.Contains(p.program.ScopedLocationIDs, l.ID) })
	}
	return d
}

// ladder is the program's prizes as they stand on a card.
func (x *lookup) ladder(c *card) (prizes []LadderPrize) {
	prizes = make([]LadderPrize, 0, len(x.p.program.Prizes))
	for _, z := range x.p.program.Prizes {
		l := LadderPrize{Prize: z, Available: c.StampsCount >= z.Threshold}
		for _, taken := range x.claims {
			if taken.card == c.key && taken.threshold == z.Threshold {
				l.Available, l.Claimed = false, x.s.ID(KindPrize, taken.prize) == z.ID
			}
		}
		prizes = append(prizes, l)
	}
	return prizes
}

// transactions are the newest ten of the whole chain.
func (x *lookup) transactions() []Transaction {
	slices.SortFunc(x.rows, func(a, b lookupRow) int { return cmp.Compare(b.key, a.key) })
	shown := x.rows[:min(shownTransactions, len(x.rows))]
	list := make([]Transaction, len(shown))
	for i := range shown {
		t := &list[i]
		*t = shown[i].Transaction
		t.ID = x.s.ID(KindTransaction, shown[i].key)
		at := x.where.all[shown[i].location]
		t.LocationID, t.LocationName = at.ID, at.Name
	}
	return list
}
