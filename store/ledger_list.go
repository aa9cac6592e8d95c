package store

// The types of ledger rows. A use of a discount or access card has the type of
// its program.
const (
	TransactionStamp      = "stamp"
	TransactionRedemption = "redemption"
	TransactionReversal   = "reversal"
	TransactionExpiry     = "expiry"
	TransactionTopUp      = "topup"
	TransactionSpend      = "spend"
	TransactionDiscount   = "discount"
	TransactionAccess     = "access"
	TransactionAdjustment = "adjustment"
)

// unpresented are the types of rows that do not stand for a card that was presented and accepted.
const unpresented = "('reversal', 'expiry', 'adjustment')"

// Transaction is a row of the ledger: it proves that a card was presented at a
// location, unless it is an adjustment.
type Transaction struct {
	ID           string       `json:"id" min:"1" doc:"Opaque."`
	CardID       string       `json:"card_id"`
	ProgramID    string       `json:"program_id"`
	Type         string       `json:"type" enum:"stamp,redemption,reversal,expiry,topup,spend,discount,access,adjustment"`
	LocationID   string       `json:"location_id" doc:"The location where it happened."`
	LocationName string       `json:"location_name"`
	StampsDelta  Null[int64]  `json:"stamps_delta"`
	ValueDelta   Null[int64]  `json:"value_delta" doc:"In cents."`
	PrizeID      Null[string] `json:"prize_id"`
	ReversedAt   Null[Time]   `json:"reversed_at"`
	CreatedAt    Time         `json:"created_at"`
}

// TillTransaction is a row of the ledger as tills see it.
type TillTransaction struct {
	Transaction
	Staff           *NamedStaff  `json:"staff" doc:"Who was signed in at the till; null: nobody."`
	OccurredAt      Null[Time]   `json:"occurred_at" doc:"When a stamp was given that the till sent later; else null."`
	ClientReference Null[string] `json:"client_reference" doc:"The UUID that the till gave the write; of two rows of one write, the first has it."`
}

// TransactionFilter selects a page of rows of the ledger.
type TransactionFilter struct {
	PageQuery
	LocationID Opt[string] `json:"location_id" doc:"For a restricted key, a location outside its restriction gives an empty page."`
	ProgramID  Opt[string] `json:"program_id"`
	CardID     Opt[string] `json:"card_id"`
	Type       Opt[string] `json:"type" enum:"stamp,redemption,reversal,expiry,topup,spend,discount,access,adjustment"`
	From       Opt[Time]   `json:"from" doc:"Inclusive, on created_at."`
	To         Opt[Time]   `json:"to" doc:"Exclusive, on created_at."`
}

// Check validates from and to against each other.
func (f TransactionFilter) Check(Time) []Detail {
	if f.From.Set && f.To.Set && f.From.V > f.To.V {
		return []Detail{{"from", "invalid_value", "must not be after to"}}
	}
	return nil
}

var transactionCols = epochColumn + `, t.id, t.card_id, t.program_id, t.type, t.location_id, l.name, t.stamps_delta, t.value_delta,
	t.prize_id, t.reversed_at, t.created_at`

// Transactions returns a page of the ledger, newest first.
func (v *View) Transactions(a Access, f TransactionFilter) (Page[Transaction], error) {
	p, err := v.transactions(a, f, false)
	return p.Page, err
}

// CountedTransactions returns a page of the ledger, newest first, and the number of rows that f selects.
func (v *View) CountedTransactions(a Access, f TransactionFilter) (Counted[Transaction], error) {
	return v.transactions(a, f, true)
}

func (v *View) transactions(a Access, f TransactionFilter, count bool) (p Counted[Transaction], err error) {
	if details := f.Check(v.Now); details != nil {
		return p, Invalid(details...)
	}
	v.snapshot()
	w := listQuery{
		list:  listTransactions,
		shop:  a.Shop,
		table: "transactions t",
		alias: "t",
		join:  " JOIN locations l ON l.id=t.location_id",
	}
	v.filterTransactions(&w, a, f)
	v.boundByTime(&w, a.Shop, f)
	if p.Page, err = page(v, w, f.PageQuery, transactionCols, v.scanTransaction); err == nil && count {
		p.Total = v.count(w)
	}
	return p, err
}

// filterTransactions applies the filters other than from and to. It uses the index
// of the card, the location, the program or the shop: the first of these that is
// given, since it selects the fewest rows. A location outside the restriction of a key is
// like one that does not exist: the page has no cursor, which would tell of its rows.
func (v *View) filterTransactions(w *listQuery, a Access, f TransactionFilter) {
	if f.LocationID.Set && !a.allows(v.keyOrNone(KindLocation, f.LocationID.V)) {
		f.CardID, f.LocationID.V = Opt[string]{}, "" // the index of the location has no row
	}
	type column struct {
		name string
		opt  Opt[string]
		kind Kind
	}
	indexed := false
	for _, c := range []column{
		{"t.card_id", f.CardID, KindCard}, {"t.location_id", f.LocationID, KindLocation}, {"t.program_id", f.ProgramID, KindProgram}} {
		switch {
		case !c.opt.Set:
		case !indexed:
			w.useIndex(c.name+"=? AND t.shop_id=?", v.keyOrNone(c.kind, c.opt.V), a.Shop)
			indexed = true
		default:
			w.filter("+"+c.name+"=?", v.keyOrNone(c.kind, c.opt.V))
		}
	}
	if !indexed {
		w.useIndex("t.shop_id=?", a.Shop)
	}
	if f.Type.Set {
		w.filter("t.type=?", f.Type.V)
	}
	if a.Restricted {
		w.filter("t.location_id IN (SELECT value FROM json_each(?))", jsonKeys(a.Locations))
	}
}

// boundByTime turns from and to into bounds on the key. Keys grow with created_at,
// so two searches in an index replace a filter on every row.
func (v *View) boundByTime(w *listQuery, shop int64, f TransactionFilter) {
	const first = "SELECT id FROM transactions WHERE shop_id=? AND created_at>=? ORDER BY created_at, id LIMIT 1"
	if f.From.Set {
		key := v.number(first, shop, f.From.V)
		if w.above = key - 1; key == 0 {
			w.above = 1<<62 - 1 // no row is so late
		}
	}
	if f.To.Set {
		key := v.number(first, shop, f.To.V)
		w.below = key // 0 if all rows are earlier
	}
}

func (g IDs) scanTransaction(r *rows, key int64) Transaction {
	return Transaction{
		ID:           g.ID(KindTransaction, key),
		CardID:       g.ID(KindCard, r.int()),
		ProgramID:    g.ID(KindProgram, r.int()),
		Type:         r.str(),
		LocationID:   g.ID(KindLocation, r.int()),
		LocationName: r.str(),
		StampsDelta:  r.nullInt(),
		ValueDelta:   r.nullInt(),
		PrizeID:      g.nullID(KindPrize, r.nullInt()),
		ReversedAt:   r.nullTime(),
		CreatedAt:    r.time(),
	}
}
