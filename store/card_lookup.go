package store

import (
	"cmp"
	"slices"
)

// LadderPrize is a prize with its state on one card.
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

// Lookup is a card as a till shows it: the card of the chain that takes the next
// stamp.
type Lookup struct {
	Card         CardDetail        `json:"card"`
	Program      Program           `json:"program"`
	Prizes       []LadderPrize     `json:"prizes"`
	EarlierCards []EarlierCard     `json:"earlier_cards" doc:"The other live cards of the chain, oldest first."`
	Transactions []TillTransaction `json:"transactions" doc:"The chain's last ten, newest first."`
	ForeignCode  bool              `json:"foreign_code,omitempty" doc:"True where the barcode of an earlier plastic card named it: these are numbered in sequence, so ask for the holder's name before a prize or money goes out."`
	HeldCode     string            `json:"held_code,omitempty" doc:"Present where a handle named the card: stands for it as code in writes, with or without a staff session, for eight days or until the card is reissued. It is for writes that the till has to send later."`
}

// singleCardSQL finds chains of one card, which most are. It is cheaper than
// chainOfCardSQL, which searches for the other cards of the chain.
const singleCardSQL = "SELECT " + chainCols + ` FROM cards c WHERE c.id=?1 AND c.shop_id=?2 AND c.root_id IS NULL
	AND c.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM cards o WHERE o.root_id=?1)`

// shownTransactions is the most transactions that a till shows.
const shownTransactions = 10

// Lookup returns the card that an id or code names.
func (v *View) Lookup(till Till, code string) (l Lookup, err error) {
	x := lookup{View: v, till: till, max: shownTransactions}
	for _, sql := range []string{singleCardSQL, chainOfCardSQL} {
		if x.all, x.epoch, x.foreign = v.chainByIDOrCode(till.Shop, code, x.readDetails, sql); len(x.all) > 0 {
			v.seeEpoch(x.epoch)
			return x.result(), nil
		}
	}
	return l, ErrUnknownCode
}

// lookupRoot is Lookup for the root of a chain, inside a snapshot, with up to most
// transactions. It also returns the root.
func (v *View) lookupRoot(till Till, key int64, max int) (l Lookup, root *card, err error) {
	x := lookup{View: v, till: till, max: max}
	if x.all, x.epoch = v.readChain(x.readDetails, chainOfRootSQL, key); len(x.all) == 0 {
		return l, nil, notFound("card")
	}
	return x.result(), x.all[0], nil
}

// lookup collects what a Lookup consists of.
type lookup struct {
	*View
	till      Till
	max       int // transactions
	epoch     int64
	foreign   bool // the code of an earlier card named it
	all       []*card
	claims    map[int64]map[int64]int64 // by card; see claimed
	rows      []lookupRow               // of every card its last ones
	locations shopLocations
	chain     *cardChain
}

// lookupRow is a row of the ledger that a lookup may show, without its location's id and name.
type lookupRow struct {
	key, location int64
	TillTransaction
}

// readDetails reads the claims of a card's cycle and its last rows of the ledger.
// It is called while the statement that found the card is still at its row: that
// statement holds the snapshot, so that a lookup is consistent without a transaction
// around it.
func (x *lookup) readDetails(c *card) {
	if claimed := x.claimedPrizes(c); claimed != nil {
		if x.claims == nil {
			x.claims = map[int64]map[int64]int64{}
		}
		x.claims[c.key] = claimed
	}
	r := x.query(`SELECT id, location_id, type, stamps_delta, value_delta, prize_id, reversed_at, created_at, ifnull(staff_id, 0),
			ifnull((SELECT name FROM staff WHERE id=staff_id), ''), occurred_at, client_reference FROM transactions WHERE card_id=?
			ORDER BY id DESC LIMIT ?`, c.key, x.max)
	for r.next() {
		t := lookupRow{key: r.int(), location: r.int()}
		t.ID, t.CardID, t.ProgramID = x.ID(KindTransaction, t.key), c.ID, c.ProgramID
		t.Type, t.StampsDelta, t.ValueDelta, t.PrizeID = r.str(), r.nullInt(), r.nullInt(), x.nullID(KindPrize, r.nullInt())
		t.ReversedAt, t.CreatedAt, t.Staff = r.nullTime(), r.time(), x.namedStaff(Staff{r.int(), r.str()})
		t.OccurredAt, t.ClientReference = r.nullTime(), r.nullStr()
		x.rows = append(x.rows, t)
	}
	x.fail(r.close())
}

// result makes the Lookup of what was read.
func (x *lookup) result() (l Lookup) {
	x.chain = x.chainOfCards(x.till, x.all, x.epoch)
	x.locations = x.cachedLocations(x.till.Shop, x.epoch)
	shown := x.chain.nextToStamp()
	l.Program = x.chain.program.Program
	l.Card, l.Prizes = x.chain.cardDetail(shown, x.locations), x.ladder(shown)
	for _, c := range x.chain.instances {
		if c != shown {
			l.EarlierCards = append(l.EarlierCards, EarlierCard{x.chain.cardDetail(c, x.locations), x.ladder(c)})
		}
	}
	l.Transactions, l.ForeignCode = x.transactions(), x.foreign
	return l
}

// cardDetail returns a card of the chain with the locations at which it works.
func (chain *cardChain) cardDetail(c *card, locations shopLocations) CardDetail {
	d := CardDetail{Card: c.Card, AllLocations: chain.program.LocationScope == allLocations, Locations: locations.named}
	if !d.AllLocations {
		d.Locations = slices.DeleteFunc(
			slices.Clone(locations.named),
			func(l NamedLocation) bool { return !slices.Contains(chain.program.ScopedLocationIDs, l.ID) },
		)
	}
	return d
}

// ladder returns the program's prizes with their state on a card.
func (x *lookup) ladder(c *card) (prizes []LadderPrize) {
	prizes = make([]LadderPrize, 0, len(x.chain.program.Prizes))
	for _, z := range x.chain.program.Prizes {
		l := LadderPrize{Prize: z, Available: c.StampsCount >= z.Threshold}
		if prize, claimed := x.claims[c.key][z.Threshold]; claimed {
			l.Available, l.Claimed = false, x.ID(KindPrize, prize) == z.ID
		}
		prizes = append(prizes, l)
	}
	return prizes
}

// transactions returns the newest transactions of the chain.
func (x *lookup) transactions() []TillTransaction {
	slices.SortFunc(x.rows, func(a, b lookupRow) int { return cmp.Compare(b.key, a.key) })
	shown := x.rows[:min(x.max, len(x.rows))]
	list := make([]TillTransaction, len(shown))
	for i, t := range shown {
		at := x.locations.all[t.location]
		t.LocationID, t.LocationName = at.ID, at.Name
		list[i] = t.TillTransaction
	}
	return list
}
