package dashboard

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
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
	page(cardAt, func(v *visit) error { return showCard(v, v.newForm(nil)) }),
	confirm(cardAt+"/lock", findCard, askLock, onCard(operation.LockCard, "The card is locked. It cannot be used until you unlock it.")),
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
	Path      string
	State     web.Badge
	Sub       string
	Actions   []web.Action // at the top
	More      []cardAction // with their consequences
	Progress  []cardProgress
	Balance   string // of a prepaid card
	Facts     []web.Fact
	QR        template.HTML
	ShortCode string
	LinkText  string
	LinkForms []web.Action
	NoMail    bool // the link cannot be mailed, since the server sends no mail
	Ledger    []ledgerRow
	Pager     web.Pager
	MayUndo   bool // reverse rows
	Activity  []web.Event
	Older     string // path of older activity
}

// cardAction is something that can be done with a card, and what comes of it.
type cardAction struct {
	web.Action
	Text string
}

// findCard returns the card of the path, as far as people see it.
var findCard = reader[store.CardOverview](operation.GetCardOverview)

// showCard shows the card, with what is wrong with what a person wanted to do.
func showCard(v *visit, f *web.Form) error {
	o, err := findCard(v)
	if err != nil {
		return err
	}
	frame := v.named(v.holder(o.Card), cardsPath)
	frame.Problem = f.Problem
	p := cardPage{
		Frame:        frame,
		CardOverview: o,
		Path:         cardPath(o.Card.ID),
		State:        v.statusBadge(o.Card.Status),
		MayUndo:      v.allows(kernel.Manager),
	}
	p.Sub = v.T("{0}, issued on {1}", o.Card.ProgramName, v.Date(o.Chain[0].CreatedAt.Std()))
	p.Progress = v.cardProgress(o)
	if o.Card.CurrentValue.Valid {
		p.Balance = v.money(o.Card.CurrentValue.V)
	}
	p.Facts = v.cardFacts(o)
	if err := v.addContact(&p); err != nil {
		return err
	}
	v.addCardLinks(&p)
	v.addCardActions(&p)
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

// sourceNames say how cards were made.
var sourceNames = map[string]web.Text{
	store.SourceAPI:           "In the dashboard or by API",
	store.SourceCounter:       "At a till",
	store.SourceWebEnrollment: "By the holder",
	store.SourceImport:        "By an import",
}

func (v *visit) cardFacts(o store.CardOverview) []web.Fact {
	c := o.Card
	text := func(n store.Null[string]) string { return cmp.Or(n.V, "–") }
	installed := v.T("Not yet")
	if c.InstalledAt.Valid {
		installed = v.Date(c.InstalledAt.V.Std())
	}
	places := v.T("At every location")
	if !c.AllLocations {
		names := each(c.Locations, func(l store.NamedLocation) string { return l.Name })
		places = cmp.Or(strings.Join(names, ", "), "–")
	}
	facts := []web.Fact{
		v.fact("Name", text(c.HolderName)),
		v.fact("Email", breakable(text(c.HolderEmail))),
		v.fact("Reference", text(c.ExternalRef)),
		v.fact("Expires", v.dateTime(c.ExpiresAt)),
		v.fact("Works", places),
		v.fact("Issued", v.T(cmp.Or(sourceNames[o.Source], sourceNames[store.SourceAPI]))),
		v.fact("On a phone since", installed, platformNames[o.Platform.V]),
	}
	if o.Phones > 0 {
		facts = append(facts, v.fact("Apple Wallet", v.T("On {0} phone|On {0} phones", o.Phones)))
	}
	if o.GooglePhones > 0 {
		facts = append(facts, v.fact("Google Wallet", v.T("On {0} phone|On {0} phones", o.GooglePhones)))
	}
	if o.Browsers > 0 {
		facts = append(facts, v.fact("Notices", v.T("In {0} browser|In {0} browsers", o.Browsers)))
	}
	return append(facts, v.fact("Id", codeOf(c.ID)))
}

// codeOf returns an id in the type of code.
func codeOf(id string) template.HTML {
	return template.HTML("<code>" + template.HTMLEscapeString(id) + "</code>")
}

// breakable returns an email that is broken after its @ if it is long.
func breakable(email string) template.HTML {
	return template.HTML(strings.Replace(template.HTMLEscapeString(email), "@", "@<wbr>", 1))
}

// platformNames are the wallets.
var platformNames = map[string]string{"apple": "Apple Wallet", "google": "Google Wallet"}

// addCardLinks adds what is known of the link of a card, and what can be done with it.
func (v *visit) addCardLinks(p *cardPage) {
	c := p.Card
	switch {
	case p.MailDueAt.Valid:
		p.LinkText = v.T("A mail with the link is about to be sent.")
	case c.InstalledAt.Valid:
		p.LinkText = v.T("The card is on a phone. To move it to another one, reissue it.")
	case p.InstallLinkExpiresAt.Valid && len(p.MailedAt) > 0:
		p.LinkText = v.T(
			"A link was mailed on {0}. It can be opened until {1}.",
			v.DateTime(p.MailedAt[0].Std()),
			v.Date(p.InstallLinkExpiresAt.V.Std()),
		)
	case p.InstallLinkExpiresAt.Valid:
		p.LinkText = v.T(
			"The holder has a link, which can be opened until {0}. It was shown when it was made; a new one replaces it.",
			v.Date(p.InstallLinkExpiresAt.V.Std()),
		)
	default:
		p.LinkText = v.T("There is no link that the holder can open.")
	}
	open := slices.Contains([]string{store.StatusActive, store.StatusInvited}, c.Status)
	if !v.allows(kernel.Manager) || c.InstalledAt.Valid || !open {
		return
	}
	p.LinkForms = append(p.LinkForms, v.link("New link", p.Path+"/link", "qr", ""))
	p.NoMail = c.HolderEmail.Valid && !v.Mails
	if c.HolderEmail.Valid && v.Mails {
		p.LinkForms = append(p.LinkForms, v.link("Mail a link", p.Path+"/mail", "mail", ""))
	}
}

// addCardActions adds what the person can do with a card in its state.
func (v *visit) addCardActions(p *cardPage) {
	add := func(label web.Text, path, icon string, text web.Text) {
		p.More = append(p.More, cardAction{v.link(label, p.Path+path, icon, ""), v.T(text)})
	}
	add("Customer", "/customer", "people", "All cards with the same email or phone number.")
	if v.allows(kernel.Manager) && p.Card.Status != store.StatusArchived {
		p.Actions = []web.Action{v.link("Edit", p.Path+"/edit", "edit", ""), v.link("Contact", p.Path+"/contact", "user", "")}
		add("Reissue", "/reissue", "refresh",
			"For a lost phone or card: a new code and link. Codes of earlier cards end; stamps and balance stay.")
		switch p.Card.Status {
		case store.StatusLocked:
			p.Actions = append(p.Actions, v.button("Unlock", p.Path+"/unlock", "unlock", "primary"))
		case store.StatusActive, store.StatusInvited:
			add("Lock", "/lock", "lock", "The card cannot be used until you unlock it.")
		}
		if p.Card.CurrentValue.Valid || store.CollectsStamps(p.Card.ProgramType) {
			add("Adjust", "/adjust", "edit", "Give or take stamps or money, for a reason.")
		}
		if p.Phones+p.GooglePhones+p.Browsers > 0 {
			p.More = append(p.More, cardAction{v.button("Send a test push", p.Path+"/test-push", "send", ""),
				v.T("Browsers show a notice that says it is a test. Phones look for changes and show nothing.")})
		}
		add("Merge", "/merge", "copy", "If the person has another card of this program: what is on it moves here.")
		add("Archive", "/archive", "backup", "The card ends. Its history stays.")
	}
	if v.allows(kernel.Owner) {
		add("Download the data", "/export", "download", "All that is stored about the holder, as a file.")
	}
	if v.allows(kernel.Manager) {
		add("Erase the person", "/erase", "trash", "Deletes all data about the person for good.")
	}
}

func askLock(v *visit, o store.CardOverview) web.ConfirmPage {
	return v.ask(cardsPath, "Lock the card of {0}?",
		"Tills refuse the card from now on, and its link shows no code. Stamps, balance and prizes stay. You can unlock "+
			"it at any time.",
		"Lock the card", v.holder(o.Card))
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
	list, err := read[store.Page[store.AuditRow]](v, operation.ListCardAudit, queryInput{v, nonEmpty(fields)})
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
