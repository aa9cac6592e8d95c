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
	page("/dashboard/card/:id", showCard),
	page("/dashboard/card/:id/lock", confirmCard(operation.LockCard, "/lock", lockText)),
	post("/dashboard/card/:id/lock", action[store.CardDetail]{op: operation.LockCard, again: showCardAgain, next: toCard(cardLocked)}),
	post(
		"/dashboard/card/:id/unlock",
		action[store.CardDetail]{op: operation.UnlockCard, again: showCardAgain, next: toCard(cardUnlocked)},
	),
	page("/dashboard/card/:id/archive", confirmCard(operation.ArchiveCard, "/archive", archiveText)),
	post(
		"/dashboard/card/:id/archive",
		action[store.CardDetail]{op: operation.ArchiveCard, again: showCardAgain, next: toCard(cardArchived)},
	),
	page("/dashboard/transaction/:id/reverse", func(v *visit) error { return confirmReverse(v, v.newForm(nil)) }),
	post("/dashboard/transaction/:id/reverse", action[store.Stamped]{op: operation.ReverseByPerson, fields: only(), again: confirmReverse,
		next: func(_ *visit, s store.Stamped) (string, string) { return cardPath(s.Card.ID), rowReversed }}),
}

var (
	cardLocked   = says("card-locked", web.Text("The card is locked. It cannot be used until you unlock it."))
	cardUnlocked = says("card-unlocked", web.Text("The card is unlocked. It can be used again."))
	cardArchived = says("card-archived", web.Text("The card is archived."))
	rowReversed  = says("row-reversed", web.Text("The row was reversed."))
)

func cardPath(id string) string { return "/dashboard/card/" + id }

// toCard returns a function that returns the path of the card's page, and the word for what
// was done.
func toCard(done string) func(*visit, store.CardDetail) (string, string) {
	return func(_ *visit, c store.CardDetail) (string, string) { return cardPath(c.ID), done }
}

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
func findCard(v *visit) (store.CardOverview, error) {
	return read[store.CardOverview](v, operation.GetCardOverview, v.args(nil))
}

func showCard(v *visit) error { return showCardAgain(v, v.newForm(nil)) }

// showCardAgain shows the card, with what is wrong with what a person wanted to do.
func showCardAgain(v *visit, f *web.Form) error {
	o, err := findCard(v)
	if err != nil {
		return err
	}
	frame := v.frame(web.Text("Card"), cardsPath)
	frame.Title = v.cardName(o.Card.HolderName, o.Card.HolderEmail, o.Card.ExternalRef)
	frame.Problem = f.Problem
	p := cardPage{
		Frame:        frame,
		CardOverview: o,
		Path:         cardPath(o.Card.ID),
		State:        v.statusBadge(o.Card.Status),
		MayUndo:      v.allows(kernel.Manager),
	}
	p.Sub = v.print.T("{0}, issued on {1}", o.Card.ProgramName, v.print.Date(o.Chain[0].CreatedAt.Std()))
	p.Progress = v.cardProgress(o)
	if o.Card.CurrentValue.Valid {
		p.Balance = v.print.Money(o.Card.CurrentValue.V, v.shop().Currency)
	}
	p.Facts = v.cardFacts(o)
	v.addCardLinks(&p)
	v.addCardActions(&p, f.Key)
	if o.Code.Valid {
		svg, err := qr.SVG(o.Code.V)
		if err != nil {
			return err
		}
		p.QR, p.ShortCode = template.HTML(svg), groupCode(o.ShortCode.V)
	}
	if err := v.addLedger(&p); err != nil {
		return err
	}
	if v.allows(kernel.Manager) {
		if err := v.addCardActivity(&p); err != nil {
			return err
		}
	}
	return v.render(v.status(), "card", p)
}

// groupCode returns a short code as people read it out: in capitals and groups of four.
func groupCode(code string) string {
	code = strings.ToUpper(code)
	if len(code) != 8 {
		return code
	}
	return code[:4] + "-" + code[4:]
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
	add(v.print.T("Progress"), o.Card, o.Prizes)
	for _, c := range o.EarlierCards {
		add(v.print.T("Earlier card"), c.CardDetail, c.Prizes)
	}
	return list
}

// sourceNames say how cards were made.
var sourceNames = map[string]string{
	store.SourceAPI:           web.Text("In the dashboard or by API"),
	store.SourceCounter:       web.Text("At a till"),
	store.SourceWebEnrollment: web.Text("By the holder"),
}

func (v *visit) cardFacts(o store.CardOverview) []web.Fact {
	c := o.Card
	text := func(n store.Null[string]) string { return cmp.Or(n.V, "–") }
	expires := v.print.T("Never")
	if c.ExpiresAt.Valid {
		expires = v.print.DateTime(c.ExpiresAt.V.Std())
	}
	installed := v.print.T("Not yet")
	if c.InstalledAt.Valid {
		installed = v.print.Date(c.InstalledAt.V.Std())
	}
	places := v.print.T("At every location")
	if !c.AllLocations {
		names := make([]string, len(c.Locations))
		for i, l := range c.Locations {
			names[i] = l.Name
		}
		places = cmp.Or(strings.Join(names, ", "), "–")
	}
	return []web.Fact{
		{Label: v.print.T("Name"), Value: text(c.HolderName)},
		{Label: v.print.T("Email"), Value: breakable(text(c.HolderEmail))},
		{Label: v.print.T("Reference"), Value: text(c.ExternalRef)},
		{Label: v.print.T("Expires"), Value: expires},
		{Label: v.print.T("Works"), Value: places},
		{Label: v.print.T("Issued"), Value: v.print.T(cmp.Or(sourceNames[o.Source], sourceNames[store.SourceAPI]))},
		{Label: v.print.T("On a phone since"), Value: installed, Hint: platformNames[o.Platform.V]},
		{Label: v.print.T("Id"), Value: codeOf(c.ID)},
	}
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
		p.LinkText = v.print.T("A mail with the link is about to be sent.")
	case c.InstalledAt.Valid:
		p.LinkText = v.print.T("The card is on a phone. To move it to another one, reissue it.")
	case p.InstallLinkExpiresAt.Valid && len(p.MailedAt) > 0:
		p.LinkText = v.print.T(
			"A link was mailed on {0}. It can be opened until {1}.",
			v.print.DateTime(p.MailedAt[0].Std()),
			v.print.Date(p.InstallLinkExpiresAt.V.Std()),
		)
	case p.InstallLinkExpiresAt.Valid:
		p.LinkText = v.print.T(
			"The holder has a link, which can be opened until {0}. It was shown when it was made; a new one replaces it.",
			v.print.Date(p.InstallLinkExpiresAt.V.Std()),
		)
	default:
		p.LinkText = v.print.T("There is no link that the holder can open.")
	}
	open := slices.Contains([]string{store.StatusActive, store.StatusInvited}, c.Status)
	if !v.allows(kernel.Manager) || c.InstalledAt.Valid || !open {
		return
	}
	p.LinkForms = append(p.LinkForms, web.Action{Label: v.print.T("New link"), Path: p.Path + "/link", Icon: "qr"})
	p.NoMail = c.HolderEmail.Valid && !v.Mails
	if c.HolderEmail.Valid && v.Mails {
		p.LinkForms = append(p.LinkForms, web.Action{Label: v.print.T("Mail a link"), Path: p.Path + "/mail", Icon: "mail"})
	}
}

// addCardActions adds what the person can do with a card in its state.
func (v *visit) addCardActions(p *cardPage, key string) {
	add := func(label, path, icon, text string) {
		p.More = append(p.More, cardAction{web.Action{Label: v.print.T(label), Path: p.Path + path, Icon: icon}, v.print.T(text)})
	}
	if v.allows(kernel.Manager) && p.Card.Status != store.StatusArchived {
		p.Actions = []web.Action{{Label: v.print.T("Edit"), Path: p.Path + "/edit", Icon: "edit"}}
		add(web.Text("Reissue"), "/reissue", "refresh", web.Text("For a lost phone or card: a new code and link. Stamps and balance stay."))
		switch p.Card.Status {
		case store.StatusLocked:
			p.Actions = append(
				p.Actions,
				web.Action{Label: v.print.T("Unlock"), Path: p.Path + "/unlock", Icon: "unlock", Kind: "primary", Post: true, Key: key},
			)
		case store.StatusActive, store.StatusInvited:
			add(web.Text("Lock"), "/lock", "lock", web.Text("The card cannot be used until you unlock it."))
		}
		add(web.Text("Archive"), "/archive", "backup", web.Text("The card ends. Its history stays."))
	}
	if v.allows(kernel.Owner) {
		add(web.Text("Download the data"), "/export", "download", web.Text("All that is stored about the holder, as a file."))
	}
	if v.allows(kernel.Manager) {
		add(web.Text("Erase the person"), "/erase", "trash", web.Text("Deletes the name, email and reference for good."))
	}
}

// confirmText has what a confirmation of a change of a card says.
type confirmText struct {
	title, text, button string
	danger              bool
}

var (
	lockText = confirmText{web.Text("Lock the card of {0}?"),
		web.Text(
			"Tills refuse the card from now on, and its link shows no code. Stamps, balance and prizes stay. You can unlock it at any time.",
		), web.Text("Lock the card"), false}
	archiveText = confirmText{web.Text("Archive the card of {0}?"),
		web.Text(
			"The card ends: it cannot be used, changed or opened again, and prizes that were not redeemed are lost. Its history stays. This cannot be undone.",
		), web.Text("Archive the card"), true}
)

// confirmCard returns the page that asks before a change of a card.
func confirmCard(op *kernel.Operation, path string, c confirmText) func(*visit) error {
	return func(v *visit) error {
		if err := v.require(op); err != nil {
			return err
		}
		o, err := findCard(v)
		if err != nil {
			return err
		}
		return v.confirm(cardsPath, web.ConfirmPage{
			Frame:  web.Frame{Title: v.print.T(c.title, v.cardName(o.Card.HolderName, o.Card.HolderEmail, o.Card.ExternalRef))},
			Path:   cardPath(v.id()) + path,
			Text:   v.print.T(c.text),
			Button: v.print.T(c.button),
			Cancel: cardPath(v.id()),
			Danger: c.danger,
		})
	}
}

// addCardActivity adds the newest audit rows about a card, or those after the cursor in
// the query.
func (v *visit) addCardActivity(p *cardPage) error {
	q := v.r.URL.Query()
	fields := url.Values{"limit": {"10"}}
	if cursor := q.Get("activity"); cursor != "" {
		fields.Set("cursor", cursor)
	}
	list, err := read[store.Page[store.AuditRow]](v, operation.ListCardAudit, filterInput{v, fields})
	if err != nil {
		return err
	}
	for _, row := range list.Data {
		title := v.actionText(row.Action)
		if event, ok := cardEvents[row.Action]; ok {
			title = v.print.T(event)
		}
		p.Activity = append(p.Activity, web.Event{Time: row.At, Title: title, Who: v.actorName(row.Actor), Icon: "activity"})
	}
	if list.NextCursor.Valid {
		p.Older = p.Path + "?" + url.Values{"activity": {list.NextCursor.V}}.Encode() + "#activity"
	}
	return nil
}

// cardEvents say what the audit rows of cards are about.
var cardEvents = map[string]string{
	"card.issue":        web.Text("Card issued"),
	"card.update":       web.Text("Card edited"),
	"card.reissue":      web.Text("Card reissued"),
	"card.install_link": web.Text("New link made"),
	"card.install":      web.Text("Added to a phone"),
	"card.lock":         web.Text("Card locked"),
	"card.unlock":       web.Text("Card unlocked"),
	"card.archive":      web.Text("Card archived"),
	"card.export":       web.Text("Data downloaded"),
	"card.delete":       web.Text("Person erased"),
	"card.mail_refused": web.Text("Mail refused"),
}

// actorName returns who did something.
func (v *visit) actorName(a store.AuditActor) string {
	switch a.Type {
	case "user":
		return cmp.Or(a.Name.V, v.print.T("A person"))
	case "api_key":
		return v.print.T("An API key")
	case "device":
		return v.print.T("A till")
	case "holder":
		return v.print.T("The holder")
	}
	return v.print.T("The server")
}
