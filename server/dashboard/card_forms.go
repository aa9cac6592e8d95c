package dashboard

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
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
	form("/dashboard/new/card", showIssue, action{
		op:     operation.IssueToCustomer,
		check:  chooseProgram,
		fields: cardTimes,
		then:   showLink("The card was issued"),
	}),
	edit(cardAt+"/edit", getCard, showEditCard, action{
		op:     operation.UpdateCard,
		fields: changedCard,
		to:     cardAt,
		done:   "The card was saved.",
	}),
	edit(cardAt+"/adjust", getCard, showAdjust, action{
		op:     operation.AdjustCard,
		fields: amountFields,
		to:     cardAt,
		done:   "The card was adjusted.",
	}),
	edit(cardAt+"/reissue", getCard, showReissue, action{
		op:     operation.ReissueCard,
		fields: cardTimes,
		then:   showLink("The card was reissued"),
	}),
	confirm(cardAt+"/link", findCard, asking("Make a new link for {0}?",
		"You get a link and a QR code to show to the holder. The earlier link ends at once, also if it was mailed.",
		"Make the link"), action{
		op:        operation.CreateInstallLink,
		asksAgain: true,
		to:        cardAt,
		then:      showLink("New link"),
	}),
	confirm(cardAt+"/mail", findCard, asking("Mail a link to {0}?",
		"A new link is made and mailed to the email of the card. The earlier link ends at once.",
		"Mail the link"), action{
		op:        operation.CreateInstallLink,
		fields:    always("send_email", "true"),
		asksAgain: true,
		to:        cardAt,
		done:      "A new link is on its way by mail. The earlier link has ended.",
	}),
	confirm(cardAt+"/erase", findCard, askErase, action{
		op:        operation.EraseCard,
		check:     checkErase,
		asksAgain: true,
		to:        cardsPath,
		done:      "The card was erased.",
	}),
}

// cardFormPage is a form about a card, or the link of one.
type cardFormPage struct {
	web.Frame
	Card        store.CardDetail
	Programs    []web.Option
	Locked      string // why the holder cannot be changed
	Codes       string // of earlier cards, which a reissue ends
	Issued      operation.IssuedCard
	QR          template.HTML
	Mails       bool // the link can be mailed
	Mailed      bool
	Another     string     // path of the form, to issue another card
	Unreachable *attention // nil: phones can open the links
	Freezes     bool       // the first installed card of the program freezes it
	Locations   []web.Option
}

func (v *visit) cardForm(title web.Text) cardFormPage {
	return cardFormPage{Frame: v.narrow(title, cardsPath), Mails: v.Mails}
}

func showIssue(v *visit) (err error) {
	v.fill(url.Values{"_program": {v.r.URL.Query().Get("program_id")}})
	p := v.cardForm("Issue a card")
	if p.Programs, err = v.programOptions(); err != nil {
		return err
	}
	return v.render("card_issue", p)
}

// getCard returns the card of the path, as its forms have it.
var getCard = reader[store.CardDetail](operation.GetCard)

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
	values := formValues(&c)
	if c.ExpiresAt.Valid {
		values.Set("expires_at", c.ExpiresAt.V.Std().In(v.zone()).Format(time.DateOnly))
	}
	return values
}

// changedCard leaves out the fields that are as they were, since some of them may not be
// in an update at all.
func changedCard(v *visit, form url.Values) url.Values {
	c, err := getCard(v)
	if err != nil {
		return form // the operation refuses it too
	}
	for name, values := range v.cardValues(c) {
		if form.Has(name) && strings.TrimSpace(form.Get(name)) == values[0] {
			delete(form, name)
		}
	}
	return cardTimes(v, form)
}

func showEditCard(v *visit, c store.CardDetail) error {
	v.fill(v.cardValues(c))
	p := v.cardForm("Edit card")
	p.Card = c
	if c.InstalledAt.Valid {
		p.Locked = v.T("The card is on a phone, so this cannot change. Reissue the card instead.")
	}
	return v.render("card_edit", p)
}

func showAdjust(v *visit, c store.CardDetail) error {
	p := v.cardForm("Adjust card")
	p.Card = c
	locations, err := v.locations()
	if err != nil {
		return err
	}
	for _, l := range slices.Backward(locations) {
		if c.AllLocations || slices.ContainsFunc(c.Locations, func(at store.NamedLocation) bool { return at.ID == l.ID }) {
			p.Locations = append(p.Locations, v.locationOption(l))
		}
	}
	return v.render("card_adjust", p)
}

func showReissue(v *visit, c store.CardDetail) error {
	values := v.cardValues(c)
	values.Del("expires_at")
	v.fill(values)
	contact, err := getContact(v)
	if err != nil {
		return err
	}
	p := v.cardForm("Reissue card")
	p.Card, p.Codes = c, strings.Join(contact.Codes, ", ")
	return v.render("card_reissue", p)
}

// showLink returns what shows a new link with its QR code, which is not shown again.
func showLink(title web.Text) answered {
	return then(func(v *visit, c operation.IssuedCard) error {
		p := v.cardForm(title)
		p.Issued, p.QR = c, template.HTML(c.InstallQRSVG)
		p.Unreachable = v.unreachable()
		program, err := v.programForm(c.ProgramID)
		if err != nil {
			return err
		}
		p.Freezes = !program.HasInstalledCards
		p.Mailed = v.form.Get("send_email") == "true"
		if v.r.URL.Path == "/dashboard/new/card" {
			p.Another = "/dashboard/new/card?program_id=" + url.QueryEscape(c.ProgramID)
		}
		return v.render("card_link", p)
	})
}

// longestTyped is the most characters that a person has to type as a confirmation.
const longestTyped = 40

// eraseWord returns what a person types to erase the holder of a card: the holder's name,
// or a word if there is none, or it is long.
func (v *visit) eraseWord(name store.Null[string]) string {
	if n := len([]rune(name.V)); n > 0 && n <= longestTyped {
		return name.V
	}
	return v.T("erase")
}

func askErase(v *visit, o store.CardOverview) web.ConfirmPage {
	c := v.danger(cardsPath, "Erase the card of {0}?",
		"Use this if the holder asks you to delete their data. It cannot be undone.",
		"Erase this card", v.holder(o.Card))
	c.Consequences = []string{
		v.T("All that is stored about the person with this card is deleted, also from messages to other software that wait to be sent."),
		v.T("The card, its code and its links end at once. Stamps, balance and prizes are lost."),
		v.T("The rows of the ledger stay, without the person, so that your figures remain right."),
		v.T("Other cards of the same person stay. The page of the customer erases several at once."),
	}
	c.Type = v.eraseWord(o.Card.HolderName)
	c.Cancel = cardPath(v.id())
	return c
}

// checkErase returns an error unless what was typed is right. A form that is sent twice has its
// answer, though the card is gone.
func checkErase(v *visit) error {
	o, err := findCard(v)
	if err != nil {
		if kernel.AsError(err, kernel.StatusOf).Status == http.StatusNotFound {
			return nil
		}
		return err
	}
	return v.checkTyped(v.eraseWord(o.Card.HolderName))
}

// checkTyped returns an error unless the person typed a text as a confirmation. The number of blanks
// and capitals do not matter.
func (v *visit) checkTyped(text string) error {
	plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if strings.EqualFold(plain(v.form.Get("_confirmation")), plain(text)) {
		return nil
	}
	return store.InvalidField("_confirmation", wire.CodeInvalidValue, "Type what is asked for, exactly as it is written.")
}
