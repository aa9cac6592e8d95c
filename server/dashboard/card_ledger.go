package dashboard

import (
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// ledgerRow is a row of the ledger as people read it.
type ledgerRow struct {
	store.LedgerEntry
	Title   string
	Change  string
	Who     string
	MayUndo bool
}

// addLedger adds a page of the card's ledger.
func (v *visit) addLedger(p *cardPage) error {
	fields := nonEmpty(v.r.URL.Query(), "cursor")
	fields.Set("limit", "10")
	rows, pager, err := list[store.LedgerEntry](v, operation.ListCardTransactions, fields, nil)
	if err != nil {
		return err
	}
	p.Pager = pager
	for _, e := range rows {
		row := v.ledgerRow(e, p.Prizes)
		row.MayUndo = v.allows(kernel.Manager) && p.Card.Status != store.StatusArchived && !e.ReversedAt.Valid &&
			slices.Contains(store.Reversible, e.Type)
		p.Ledger = append(p.Ledger, row)
	}
	return nil
}

// ledgerRow returns a row of the ledger as people read it. prizes are those whose names
// are known.
func (v *visit) ledgerRow(e store.LedgerEntry, prizes []store.LadderPrize) ledgerRow {
	row := ledgerRow{LedgerEntry: e, Title: v.T(ledgerTypes[e.Type].text), Who: e.DeviceName.V}
	if i := slices.IndexFunc(prizes, func(z store.LadderPrize) bool { return e.PrizeID.Valid && z.ID == e.PrizeID.V }); i >= 0 &&
		e.Type == store.TransactionRedemption {
		row.Title = v.T("Prize redeemed: {0}", prizes[i].Name)
	}
	if e.Staff != nil {
		row.Who += " · " + e.Staff.Name
	}
	if e.Actor != nil {
		row.Who = v.actorName(*e.Actor)
	}
	switch {
	case e.ValueDelta.Valid:
		row.Change = signed(e.ValueDelta.V, v.money)
	case e.StampsDelta.V != 0:
		row.Change = signed(e.StampsDelta.V, v.Number)
	}
	return row
}

// signed writes a number with its sign.
func signed(n int64, format func(int64) string) string {
	if n > 0 {
		return "+" + format(n)
	}
	return format(n)
}

// findLedgerEntry returns the row of the ledger of the path.
var findLedgerEntry = reader[store.LedgerEntry](operation.GetLedgerEntry)

// askReverse asks before a row of the ledger is reversed.
func askReverse(v *visit, e store.LedgerEntry) web.ConfirmPage {
	row := v.ledgerRow(e, nil)
	what := row.Title
	if row.Change != "" {
		what = v.T("{0} ({1})", row.Title, row.Change)
	}
	c := v.danger(cardsPath, "Reverse this row?", "{0}: {1} at {2} on {3}.", "Reverse the row",
		v.cardName(e.HolderName.V), what, e.LocationName, v.DateTime(e.CreatedAt.Std()))
	c.Consequences = []string{
		v.T("The row stays in the ledger, and a reversal is written beside it."),
		v.T("A reversal cannot be taken back."),
	}
	switch e.Type {
	case store.TransactionRedemption:
		c.Consequences = append(c.Consequences, v.T("The prize can be redeemed again."))
	case store.TransactionStamp:
		c.Consequences = append(c.Consequences, v.T("Stamps that went on to a further card with it are taken back too."))
	}
	c.Cancel = cardPath(e.CardID)
	return c
}
