package dashboard

import (
	"cmp"
	"html/template"
	"net/url"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

// cardPages are the page of a card and what is done with it at once. card_forms.go has the
// forms.
var cardPages = []binding{
	page(cardAt, showCard),
	confirm(cardAt+"/lock", findCard, asking("Lock the card of {0}?",
		"Tills refuse the card from now on, and its link shows no code. Stamps, balance and prizes stay. You can unlock "+
			"it at any time.",
		"Lock the card"), onCard(operation.LockCard, "The card is locked. It cannot be used until you unlock it.")),
	post(cardAt+"/close-request", onCard(operation.CloseDataRequest, "The request is closed.")),
	post(cardAt+"/unlock", onCard(operation.UnlockCard, "The card is unlocked. It can be used again.")),
	post(cardAt+"/test-push", action{
		op:    operation.SendTestPush,
		again: showCard,
		to:    pushesPath,
		done:  "The test is on its way. Reload this page to see what came of it.",
	}),
	confirm(cardAt+"/archive", findCard, askArchive, onCard(operation.ArchiveCard, "The card is archived.")),
	confirm("/dashboard/transaction/:id/reverse", findLedgerEntry, askReverse, action{
		op:        operation.ReverseByPerson,
		asksAgain: true,
		then: then(func(v *visit, s store.Stamped) error {
			return v.redirect(cardPath(s.Card.ID), rowReversed)
		}),
	}),
}

// onCard is an action whose outcome the page of the card shows, also if it is refused.
func onCard(op *kernel.Operation, done web.Text) action {
	return action{op: op, again: showCard, to: cardAt, done: done}
}

var rowReversed = says("row-reversed", "The row was reversed.")

// cardAt is the pattern of the page of a card.
const cardAt = "/dashboard/card/:id"

func cardPath(id string) string { return "/dashboard/card/" + id }

// cardPage is the page of a card.
type cardPage struct {
	web.Frame
	store.CardOverview
	Contact   store.HolderContact
	Path      string
	State     web.Badge
	Progress  []cardProgress
	Where     string // the locations where it works
	QR        template.HTML
	ShortCode string
	Mails     bool // the server sends mail
	Ledger    []ledgerRow
	Pager     web.Pager
	Activity  []web.Event
	Older     string // path of older activity
}

// findCard returns the card of the path, as far as people see it.
var findCard = reader[store.CardOverview](operation.GetCardOverview)

// showCard shows the card, with what is wrong with what a person wanted to do.
func showCard(v *visit) error {
	o, err := findCard(v)
	if err != nil {
		return err
	}
	p := cardPage{
		Frame:        v.named(v.holder(o.Card), cardsPath),
		CardOverview: o,
		Path:         cardPath(o.Card.ID),
		State:        v.statusBadge(o.Card.Status),
		Progress:     v.cardProgress(o),
		Where:        v.T("At every location"),
		Mails:        v.Mails,
	}
	p.Problem = v.shown.Problem
	if !o.Card.AllLocations {
		names := each(o.Card.Locations, func(l store.NamedLocation) string { return l.Name })
		p.Where = cmp.Or(strings.Join(names, ", "), "–")
	}
	if p.Contact, err = getContact(v); err != nil {
		return err
	}
	if o.Code.Valid {
		svg, err := qr.SVG(o.Code.V)
		if err != nil {
			return err
		}
		p.QR, p.ShortCode = template.HTML(svg), web.GroupCode(o.ShortCode.V)
	}
	if err := v.addLedger(&p); err != nil {
		return err
	}
	if v.allows(kernel.Manager) {
		if err := v.addCardActivity(&p); err != nil {
			return err
		}
	}
	return v.render("card", p)
}

// cardProgress is how far a card of the chain is, with its prizes.
type cardProgress struct {
	Title  string
	Stamps int64
	Total  int64
	Prizes []ladderRow
}

// ladderRow is a prize, and how many stamps are missing.
type ladderRow struct {
	store.LadderPrize
	Missing int64
}

// Percent returns the share of the stamps, in percent.
func (p cardProgress) Percent() int64 { return 100 * min(p.Stamps, p.Total) / max(p.Total, 1) }

// cardProgress returns how far the cards of the chain are, the one that takes the next
// stamp first.
func (v *visit) cardProgress(o store.CardOverview) (list []cardProgress) {
	if !store.CollectsStamps(o.Card.ProgramType) {
		return nil
	}
	total := o.Program.TotalStamps.V
	add := func(title string, c store.CardDetail, prizes []store.LadderPrize) {
		p := cardProgress{Title: title, Stamps: c.StampsCount, Total: total}
		for _, z := range prizes {
			p.Prizes = append(p.Prizes, ladderRow{z, max(0, z.Threshold-c.StampsCount)})
		}
		list = append(list, p)
	}
	add(v.T("Progress"), o.Card, o.Prizes)
	for _, c := range o.EarlierCards {
		add(v.T("Earlier card"), c.CardDetail, c.Prizes)
	}
	return list
}

// asking returns the page that asks before a change of a card, whose name is in the title.
func asking(title, text, button web.Text) func(*visit, store.CardOverview) web.ConfirmPage {
	return func(v *visit, o store.CardOverview) web.ConfirmPage {
		return v.ask(cardsPath, title, text, button, v.holder(o.Card))
	}
}

func askArchive(v *visit, o store.CardOverview) web.ConfirmPage {
	return v.danger(cardsPath, "Archive the card of {0}?",
		"The card ends: it cannot be used, changed or opened again, and prizes that were not redeemed are lost. Its "+
			"history stays. This cannot be undone.",
		"Archive the card", v.holder(o.Card))
}

// addCardActivity adds the newest audit rows about a card, or those after the cursor in
// the query.
func (v *visit) addCardActivity(p *cardPage) error {
	fields := url.Values{"limit": {"10"}, "cursor": {v.r.URL.Query().Get("activity")}}
	list, err := read[store.Page[store.AuditRow]](v, operation.ListCardAudit, v.query(nonEmpty(fields)))
	if err != nil {
		return err
	}
	for _, row := range list.Data {
		title := v.actionText(row.Action)
		if event, ok := cardEvents[row.Action]; ok {
			title = v.T(event)
		}
		p.Activity = append(p.Activity, web.Event{Time: row.At, Title: title, Who: v.actorName(row.Actor)})
	}
	if list.NextCursor.Valid {
		p.Older = p.Path + "?" + url.Values{"activity": {list.NextCursor.V}}.Encode() + "#activity"
	}
	return nil
}

// cardEvents say what the audit rows of cards are about.
var cardEvents = map[string]web.Text{
	"card.issue":            "Card issued",
	"card.update":           "Card edited",
	"card.contact":          "Contact changed",
	"card.ask_correction":   "The holder asked for a correction",
	"card.ask_erasure":      "The holder asked to be erased",
	"card.close_correction": "Request for a correction closed",
	"card.close_erasure":    "Request to be erased closed",
	"card.reissue":          "Card reissued",
	"card.install_link":     "New link made",
	"card.install":          "Added to a phone",
	"card.lock":             "Card locked",
	"card.unlock":           "Card unlocked",
	"card.archive":          "Card archived",
	"card.merge":            "Another card merged into it",
	"card.export":           "Data downloaded",
	"card.delete":           "Person erased",
	"card.mail_refused":     "Mail refused",
	"card.test_push":        "Test push sent",
}

// actorName returns who did something.
func (v *visit) actorName(a store.AuditActor) string {
	switch a.Type {
	case "user":
		return cmp.Or(a.Name.V, v.T("A person"))
	case "api_key":
		return v.T("An API key")
	case "device":
		return v.T("A till")
	case "holder":
		return v.T("The holder")
	}
	return v.T("The server")
}
