package dashboard

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

// cardFormPages are the forms of cards.
var cardFormPages = []binding{
	page("/dashboard/new/card", func(v *visit) error {
		return showIssue(v, v.newForm(url.Values{"_program": {v.r.URL.Query().Get("program_id")}}))
	}),
	{method: http.MethodPost, pattern: "/dashboard/new/card", handle: issueCard},
	page("/dashboard/card/:id/edit", func(v *visit) error { return showEditCard(v, nil) }),
	post(
		"/dashboard/card/:id/edit",
		action[store.CardDetail]{op: operation.UpdateCard, fields: changedCard, again: showEditCard, next: toCard(cardSaved)},
	),
	page("/dashboard/card/:id/reissue", func(v *visit) error { return showReissue(v, nil) }),
	post(
		"/dashboard/card/:id/reissue",
		action[operation.IssuedCard]{
			op:     operation.ReissueCard,
			fields: cardTimes,
			again:  showReissue,
			show:   showLink(web.Text("The card was reissued")),
		},
	),
	page("/dashboard/card/:id/link", func(v *visit) error { return confirmLink(v, v.newForm(nil)) }),
	post(
		"/dashboard/card/:id/link",
		action[operation.IssuedCard]{
			op:     operation.CreateInstallLink,
			fields: only(),
			again:  confirmLink,
			show:   showLink(web.Text("New link")),
		},
	),
	page("/dashboard/card/:id/mail", func(v *visit) error { return confirmMail(v, v.newForm(nil)) }),
	post("/dashboard/card/:id/mail", action[operation.IssuedCard]{op: operation.CreateInstallLink,
		fields: func(*visit, url.Values) url.Values { return url.Values{"send_email": {"true"}} }, again: confirmMail,
		next: func(_ *visit, c operation.IssuedCard) (string, string) { return cardPath(c.ID), linkMailed }}),
	page("/dashboard/card/:id/erase", func(v *visit) error { return confirmErase(v, v.newForm(nil)) }),
	{method: http.MethodPost, pattern: "/dashboard/card/:id/erase", handle: eraseCard},
}

var (
	cardSaved  = says("card-saved", web.Text("The card was saved."))
	linkMailed = says("link-mailed", web.Text("A new link is on its way by mail. The earlier link has ended."))
	cardErased = says("card-erased", web.Text("The person was erased."))
)

// cardFormPage is a form about a card, or the link of one.
type cardFormPage struct {
	web.Frame
	Form        *web.Form
	Card        store.CardDetail
	Programs    []web.Option
	Locked      string // why the holder cannot be changed
	Issued      operation.IssuedCard
	QR          template.HTML
	Mails       bool // the link can be mailed
	Mailed      bool
	Another     string     // path of the form, to issue another card
	Unreachable *attention // nil: phones can open the links
	Freezes     bool       // the first installed card of the program freezes it
}

func (v *visit) cardForm(title string, f *web.Form) cardFormPage {
	p := cardFormPage{Frame: v.frame(title, cardsPath), Form: f, Mails: v.Mails}
	p.Width = "narrow"
	f.Order = []string{"_program", "holder_name", "holder_email", "external_ref", "expires_at", "send_email"}
	return p
}

func showIssue(v *visit, f *web.Form) error {
	if err := v.require(operation.IssueCard); err != nil {
		return err
	}
	p := v.cardForm(web.Text("Issue a card"), f)
	var err error
	if p.Programs, err = v.programOptions(); err != nil {
		return err
	}
	return v.render(v.status(), "card_issue", p)
}

// issueCard issues a card of the program that was chosen in the form.
func issueCard(v *visit) error {
	if err := v.chooseProgram(); err != nil {
		return showIssue(v, v.faultyForm(err, nil))
	}
	return action[operation.IssuedCard]{
		op:     operation.IssueCard,
		fields: cardTimes,
		again:  showIssue,
		show:   showLink(web.Text("The card was issued")),
	}.run(
		v,
	)
}

// cardTimes turns the day of expiry into the end of that day in the shop's time zone.
func cardTimes(v *visit, form url.Values) url.Values {
	if day := form.Get("expires_at"); day != "" {
		if at, err := time.ParseInLocation(time.DateOnly, day, v.zone()); err == nil {
			form.Set("expires_at", store.TimeOf(at.AddDate(0, 0, 1).Add(-time.Millisecond)).String())
		}
	}
	return form
}

// cardValues returns the fields of a card as its form shows them.
func (v *visit) cardValues(c store.CardDetail) url.Values {
	values := url.Values{
		"holder_name":  {c.HolderName.V},
		"holder_email": {c.HolderEmail.V},
		"external_ref": {c.ExternalRef.V},
		"expires_at":   {""},
	}
	if c.ExpiresAt.Valid {
		values.Set("expires_at", c.ExpiresAt.V.Std().In(v.zone()).Format(time.DateOnly))
	}
	return values
}

// changedCard leaves out the fields that are as they were, since some of them may not be
// in an update at all.
func changedCard(v *visit, form url.Values) url.Values {
	c, err := read[store.CardDetail](v, operation.GetCard, v.args(nil))
	if err != nil {
		return form // the operation refuses it too
	}
	for name, values := range v.cardValues(c) {
		if strings.TrimSpace(form.Get(name)) == values[0] {
			delete(form, name)
		}
	}
	return cardTimes(v, form)
}

func showEditCard(v *visit, f *web.Form) error {
	if err := v.require(operation.UpdateCard); err != nil {
		return err
	}
	c, err := read[store.CardDetail](v, operation.GetCard, v.args(nil))
	if err != nil {
		return err
	}
	if f == nil {
		f = v.newForm(v.cardValues(c))
	}
	p := v.cardForm(web.Text("Edit card"), f)
	p.Card = c
	if c.InstalledAt.Valid {
		p.Locked = v.print.T("The card is on a phone, so this cannot change. Reissue the card instead.")
	}
	return v.render(v.status(), "card_edit", p)
}

func showReissue(v *visit, f *web.Form) error {
	if err := v.require(operation.ReissueCard); err != nil {
		return err
	}
	c, err := read[store.CardDetail](v, operation.GetCard, v.args(nil))
	if err != nil {
		return err
	}
	if f == nil {
		values := v.cardValues(c)
		values.Del("expires_at")
		f = v.newForm(values)
	}
	p := v.cardForm(web.Text("Reissue card"), f)
	p.Card = c
	return v.render(v.status(), "card_reissue", p)
}

// showLink returns what shows a new link with its QR code, which is not shown again.
func showLink(title string) func(*visit, operation.IssuedCard) error {
	return func(v *visit, c operation.IssuedCard) error {
		p := v.cardForm(title, v.newForm(nil))
		p.Issued, p.QR = c, template.HTML(c.InstallQRSVG)
		p.Unreachable = v.unreachable()
		program, err := read[store.ProgramForm](v, operation.GetProgramForm, kernel.Args{Params: map[string]string{"id": c.ProgramID}})
		if err != nil {
			return err
		}
		p.Freezes = !program.HasInstalledCards
		p.Mailed = v.form.Get("send_email") == "true"
		if v.r.URL.Path == "/dashboard/new/card" {
			p.Another = "/dashboard/new/card?program_id=" + url.QueryEscape(c.ProgramID)
		}
		return v.render(http.StatusOK, "card_link", p)
	}
}

func confirmLink(v *visit, f *web.Form) error {
	return v.confirmNewLink(f, web.ConfirmPage{
		Frame:  web.Frame{Title: web.Text("Make a new link for {0}?")},
		Path:   cardPath(v.id()) + "/link",
		Text:   v.print.T("You get a link and a QR code to show to the holder. The earlier link ends at once, also if it was mailed."),
		Button: v.print.T("Make the link"),
	})
}

func confirmMail(v *visit, f *web.Form) error {
	return v.confirmNewLink(f, web.ConfirmPage{
		Frame:  web.Frame{Title: web.Text("Mail a link to {0}?")},
		Path:   cardPath(v.id()) + "/mail",
		Text:   v.print.T("A new link is made and mailed to the email of the card. The earlier link ends at once."),
		Button: v.print.T("Mail the link"),
	})
}

// confirmNewLink asks before a link is made. The title of c has a place for the holder.
func (v *visit) confirmNewLink(f *web.Form, c web.ConfirmPage) error {
	if err := v.require(operation.CreateInstallLink); err != nil {
		return err
	}
	o, err := findCard(v)
	if err != nil {
		return err
	}
	c.Title = v.print.T(c.Title, v.cardName(o.Card.HolderName, o.Card.HolderEmail, o.Card.ExternalRef))
	c.Form, c.Cancel = f, cardPath(v.id())
	return v.confirm(cardsPath, c)
}

// longestTyped is the most characters that a person has to type as a confirmation.
const longestTyped = 40

// eraseWord returns what a person types to erase the holder of a card: the holder's name,
// or a word if there is none, or it is long.
func (v *visit) eraseWord(c store.CardDetail) string {
	if n := len([]rune(c.HolderName.V)); n > 0 && n <= longestTyped {
		return c.HolderName.V
	}
	return v.print.T("erase")
}

func confirmErase(v *visit, f *web.Form) error {
	if err := v.require(operation.EraseCard); err != nil {
		return err
	}
	o, err := findCard(v)
	if err != nil {
		return err
	}
	return v.confirm(cardsPath, web.ConfirmPage{
		Frame: web.Frame{Title: v.print.T("Erase {0}?", v.cardName(o.Card.HolderName, o.Card.HolderEmail, o.Card.ExternalRef))},
		Form:  f,
		Path:  cardPath(v.id()) + "/erase",
		Text:  v.print.T("Use this if the holder asks you to delete their data. It cannot be undone."),
		Consequences: []string{
			v.print.T("The name, email and reference are deleted, also from messages to other software that wait to be sent."),
			v.print.T("The card, its code and its links end at once. Stamps, balance and prizes are lost."),
			v.print.T("The rows of the ledger stay, without the person, so that your figures remain right."),
		},
		Type:   v.eraseWord(o.Card),
		Button: v.print.T("Erase the person"),
		Cancel: cardPath(v.id()),
		Danger: true,
	})
}

// eraseCard erases the holder of a card if what was typed is right.
func eraseCard(v *visit) error {
	if err := v.require(operation.EraseCard); err != nil {
		return err
	}
	o, err := findCard(v)
	gone := kernel.AsError(err, kernel.StatusOf).Status == http.StatusNotFound // a form that is sent twice has its answer
	if err != nil && !gone {
		return err
	}
	if err == nil && !v.typed(v.eraseWord(o.Card)) {
		return confirmErase(
			v,
			v.faultyForm(
				store.Invalid(
					store.Detail{
						Field:   "confirmation",
						Code:    wire.CodeInvalidValue,
						Message: "Type what is asked for, exactly as it is written.",
					},
				),
				nil,
			),
		)
	}
	return action[kernel.None]{op: operation.EraseCard, fields: only(), again: confirmErase,
		next: func(*visit, kernel.None) (string, string) { return cardsPath, cardErased }}.run(v)
}

// typed reports whether the person typed a text as a confirmation. The number of blanks
// and capitals do not matter.
func (v *visit) typed(text string) bool {
	given := strings.Join(strings.Fields(v.form.Get("confirmation")), " ")
	return strings.EqualFold(given, strings.Join(strings.Fields(text), " "))
}
