package holder

import (
	"slices"

	"punchcard/store"
)

// row is a row of the ledger in plain words. It names neither the person nor the device
// that wrote it.
type row struct {
	Title    string
	Amount   string // of money, with its sign
	Location string
	At       store.Time
	Undone   bool // by a later row
}

// rows returns the last rows of the ledger, newest first.
func (v *visit) rows(h *store.HolderCard) (list []row) {
	for _, t := range h.Transactions {
		r := row{Title: v.rowTitle(h, t.Transaction), Location: t.LocationName, At: t.CreatedAt, Undone: t.ReversedAt.Valid}
		if t.OccurredAt.Valid {
			r.At = t.OccurredAt.V
		}
		if t.ValueDelta.Valid {
			r.Amount = v.Money(t.ValueDelta.V, h.Shop.Currency)
			if t.ValueDelta.V > 0 {
				r.Amount = "+" + r.Amount
			}
		}
		list = append(list, r)
	}
	return list
}

// rowTitle says what a row of the ledger was.
func (v *visit) rowTitle(h *store.HolderCard, t store.Transaction) string {
	prize := ""
	if i := slices.IndexFunc(h.Prizes, func(z store.LadderPrize) bool { return t.PrizeID.Valid && z.ID == t.PrizeID.V }); i >= 0 {
		prize = v.card(h).PrizeName(h.Prizes[i].Prize)
	}
	stamps := t.StampsDelta.V
	switch t.Type {
	case store.TransactionStamp:
		return v.T("{0} stamp|{0} stamps", stamps)
	case store.TransactionRedemption:
		return v.T("Prize redeemed: {0}", prize)
	case store.TransactionReversal:
		switch {
		case prize != "":
			return v.T("Corrected: prize not redeemed: {0}", prize)
		case stamps != 0:
			return v.T("Corrected: {0} stamp taken back|Corrected: {0} stamps taken back", -stamps)
		}
		return v.T("Corrected: taken back")
	case store.TransactionExpiry:
		if stamps == 0 {
			return v.T("Shown after the card had expired")
		}
		return v.T("{0} stamp expired|{0} stamps expired", -stamps)
	case store.TransactionAdjustment:
		switch {
		case stamps > 0:
			return v.T("Corrected: {0} stamp given|Corrected: {0} stamps given", stamps)
		case stamps < 0:
			return v.T("Corrected: {0} stamp taken back|Corrected: {0} stamps taken back", -stamps)
		}
		return v.T("Corrected")
	case store.TransactionTopUp:
		return v.T("Top-up")
	case store.TransactionSpend:
		return v.T("Payment")
	case store.TransactionDiscount:
		return v.T("Discount")
	}
	return v.T("Visit")
}
