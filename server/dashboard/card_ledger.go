package dashboard

import (
	"cmp"
	"net/url"
	"slices"

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

// ledgerTitles say what the rows of the ledger are.
var ledgerTitles = map[string]string{
	store.TransactionStamp:      web.Text("Stamps"),
	store.TransactionRedemption: web.Text("Prize redeemed"),
	store.TransactionReversal:   web.Text("Reversal"),
	store.TransactionExpiry:     web.Text("Stamps expired"),
	store.TransactionTopUp:      web.Text("Top-up"),
	store.TransactionSpend:      web.Text("Payment"),
	store.TransactionDiscount:   web.Text("Discount"),
	store.TransactionAccess:     web.Text("Visit"),
}

// reversible are the types of rows that can be reversed.
var reversible = []string{
	store.TransactionStamp, store.TransactionRedemption, store.TransactionTopUp, store.TransactionSpend,
	store.TransactionDiscount, store.TransactionAccess,
}

// addLedger adds a page of the card's ledger.
func (v *visit) addLedger(p *cardPage) error {
	q := v.r.URL.Query()
	fields := url.Values{"limit": {"10"}}
	if cursor := q.Get("cursor"); cursor != "" {
		fields.Set("cursor", cursor)
	}
	list, err := read[store.Page[store.LedgerEntry]](v, operation.ListCardTransactions, filterInput{v, fields})
	if err != nil {
		return err
	}
	for _, e := range list.Data {
		row := v.ledgerRow(e, p.Prizes)
		row.MayUndo = p.MayUndo && p.Card.Status != store.StatusArchived && !e.ReversedAt.Valid && slices.Contains(reversible, e.Type)
		p.Ledger = append(p.Ledger, row)
	}
	p.Pager = v.pager(len(list.Data), list.NextCursor)
	return nil
}

// ledgerRow returns a row of the ledger as people read it. prizes are those whose names
// are known.
func (v *visit) ledgerRow(e store.LedgerEntry, prizes []store.LadderPrize) ledgerRow {
	row := ledgerRow{LedgerEntry: e, Title: v.print.T(cmp.Or(ledgerTitles[e.Type], e.Type)), Who: e.DeviceName.V}
	if i := slices.IndexFunc(prizes, func(z store.LadderPrize) bool { return e.PrizeID.Valid && z.ID == e.PrizeID.V }); i >= 0 &&
		e.Type == store.TransactionRedemption {
		row.Title = v.print.T("Prize redeemed: {0}", prizes[i].Name)
	}
	if e.Staff != nil {
		row.Who += " · " + e.Staff.Name
	}
	if e.Actor != nil {
		row.Who = v.actorName(*e.Actor)
	}
	switch {
	case e.ValueDelta.Valid:
		row.Change = v.print.Money(e.ValueDelta.V, v.shop().Currency)
		if e.ValueDelta.V > 0 {
			row.Change = "+" + row.Change
		}
	case e.StampsDelta.Valid && e.StampsDelta.V != 0:
		row.Change = v.print.Number(e.StampsDelta.V)
		if e.StampsDelta.V > 0 {
			row.Change = "+" + row.Change
		}
	}
	return row
}

// confirmReverse asks before a row of the ledger is reversed.
func confirmReverse(v *visit, f *web.Form) error {
	if err := v.require(operation.ReverseByPerson); err != nil {
		return err
	}
	e, err := read[store.LedgerEntry](v, operation.GetLedgerEntry, v.args(nil))
	if err != nil {
		return err
	}
	row := v.ledgerRow(e, nil)
	what := row.Title
	if row.Change != "" {
		what = v.print.T("{0} ({1})", row.Title, row.Change)
	}
	text := v.print.T(
		"{0}: {1} at {2} on {3}.",
		v.cardName(e.HolderName, store.Null[string]{}, store.Null[string]{}),
		what,
		e.LocationName,
		v.print.DateTime(e.CreatedAt.Std()),
	)
	consequences := []string{
		v.print.T("The row stays in the ledger, and a reversal is written beside it."),
		v.print.T("A reversal cannot be taken back."),
	}
	switch e.Type {
	case store.TransactionRedemption:
		consequences = append(consequences, v.print.T("The prize can be redeemed again."))
	case store.TransactionStamp:
		consequences = append(consequences, v.print.T("Stamps that went on to a further card with it are taken back too."))
	}
	return v.confirm(cardsPath, web.ConfirmPage{
		Frame:        web.Frame{Title: v.print.T("Reverse this row?")},
		Form:         f,
		Path:         "/dashboard/transaction/" + v.id() + "/reverse",
		Text:         text,
		Consequences: consequences,
		Button:       v.print.T("Reverse the row"),
		Cancel:       cardPath(e.CardID),
		Danger:       true,
	})
}
