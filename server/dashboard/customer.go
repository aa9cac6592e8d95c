package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// customerPages show the cards of a customer together. card_merge.go merges two of them.
var customerPages = []binding{
	page(customerAt, func(v *visit) error { return showCustomer(v, "") }),
	page(customerAt+"/export", exportCustomer),
	form(customerAt+"/erase", showEraseCustomer, action{
		op:     operation.EraseCards,
		check:  checkErase,
		fields: spacedCards,
		to:     cardsPath,
		done:   "The cards were erased.",
	}),
}

// customerAt is the pattern of the page of the customer of a card.
const customerAt = cardAt + "/customer"

// customerCardsPage is the page of a customer.
type customerCardsPage struct {
	web.Frame
	Path   string
	Back   string
	Cards  []customerCard
	More   bool
	Export bool // the person may download the data
	Erase  bool
}

// customerCard is a card of a customer as people read it.
type customerCard struct {
	store.CustomerCard
	Row     cardRow
	Reasons []web.Badge
	Facts   []web.Fact
	Merge   string // path of the page that merges it into the card itself; empty: it cannot be
}

func showCustomer(v *visit, problem string) error {
	c, err := read[store.Customer](v, operation.GetCustomer)
	if err != nil {
		return err
	}
	own := c.Cards[0]
	p := customerCardsPage{
		Frame:  v.named(v.cardName(own.HolderName.V, own.HolderEmail.V, own.Contact.Phone.V, own.ExternalRef.V), cardsPath),
		Path:   cardPath(v.id()) + "/customer",
		Back:   cardPath(v.id()),
		More:   c.More,
		Export: v.allows(kernel.Owner),
		Erase:  v.allows(kernel.Manager),
	}
	p.Problem = problem
	for _, card := range c.Cards {
		shown := customerCard{CustomerCard: card, Row: v.cardRow(card.FoundCard), Reasons: each(card.Shares, v.shared),
			Facts: v.customerFacts(card)}
		if card.ID != own.ID && card.ProgramID == own.ProgramID && v.allows(kernel.Manager) && card.Status != store.StatusArchived &&
			own.Status != store.StatusArchived {
			shown.Merge = p.Back + "/merge/" + card.ID
		}
		p.Cards = append(p.Cards, shown)
	}
	return v.render("customer", p)
}

// shared says what a card has in common with the one whose page shows it.
func (v *visit) shared(what string) web.Badge {
	if what == store.SharesPhone {
		return v.badge("Same phone number", "info")
	}
	return v.badge("Same email", "info")
}

// customerFacts returns what is known about the holder of a card and its use. Viewers see addresses and phone
// numbers masked, and no notes.
func (v *visit) customerFacts(c store.CustomerCard) (facts []web.Fact) {
	add := func(label web.Text, text string) {
		if text != "" {
			facts = append(facts, v.fact(label, text))
		}
	}
	day := func(t store.Null[store.Time]) string {
		if !t.Valid {
			return ""
		}
		return v.Date(t.V.Std())
	}
	add("Name", c.HolderName.V)
	if c.HolderEmail.Valid {
		facts = append(facts, v.fact("Email", breakable(c.HolderEmail.V)))
	}
	add("Phone number", c.Contact.Phone.V)
	add("Birthday", c.Contact.Birthday.V)
	add("Reference", c.ExternalRef.V)
	add("Codes of earlier cards", strings.Join(c.Contact.Codes, ", "))
	add("Prizes waiting", strings.Join(each(c.PrizesDue, func(z store.DuePrize) string { return z.Name }), ", "))
	add("Days with a visit", v.Number(c.Visits))
	add("First visit", day(c.FirstVisitAt))
	add("Last visit", cmp.Or(day(c.LastVisitAt), v.T("Never")))
	add("Customer since", c.Contact.MemberSince.V)
	add("Note", c.Contact.Note.V)
	if c.Consent != nil {
		add("Agreed to", v.T("Version {0}, on {1}", c.Consent.Version, v.Date(c.Consent.At.Std())))
	}
	return facts
}

// chosenCards returns the cards that are ticked.
func (v *visit) chosenCards() []string {
	ids := strings.Fields(strings.Join(v.r.URL.Query()["card_ids"], " "))
	if v.form != nil {
		ids = strings.Fields(v.form.Get("card_ids"))
	}
	return ids[:min(len(ids), maxChosen)]
}

// maxChosen is the most cards that a page lets a person choose.
const maxChosen = 100

// spacedCards makes a list of cards of a field that has them separated by blanks.
func spacedCards(v *visit, form url.Values) url.Values {
	form["card_ids"] = v.chosenCards()
	return form
}

// chooseCards is what a page says if no card is ticked.
const chooseCards = web.Text("Choose at least one card.")

// exportCustomer downloads what is stored about the holders of the cards that are ticked.
func exportCustomer(v *visit) error {
	if err := v.require(operation.ExportPerson); err != nil {
		return err
	}
	ids := v.chosenCards()
	if len(ids) == 0 {
		return showCustomer(v, v.T(chooseCards))
	}
	x, err := read[store.PersonExport](v, operation.ExportPerson, v.with(store.PersonQuery{CardIDs: store.Given(ids)}))
	if err != nil {
		return err
	}
	return v.downloadJSON("customer-"+v.today(), &x)
}

// showEraseCustomer asks before the cards that are ticked are erased.
func showEraseCustomer(v *visit, f *web.Form) error {
	ids := v.chosenCards()
	if len(ids) == 0 {
		return showCustomer(v, v.T(chooseCards))
	}
	c, err := read[store.Customer](v, operation.GetCustomer)
	if err != nil {
		return err
	}
	ask := v.danger(cardsPath, "Erase {0} card?|Erase {0} cards?",
		"Use this if the holder asks you to delete their data. It cannot be undone.", "Erase the cards", len(ids))
	for _, card := range c.Cards {
		if slices.Contains(ids, card.ID) {
			row := v.cardRow(card.FoundCard)
			ask.Consequences = append(ask.Consequences, strings.TrimSuffix(row.Name+": "+row.ProgramName+", "+row.Progress, ", "))
		}
	}
	ask.Consequences = append(ask.Consequences, v.T("Stamps, balance and prizes of these cards are lost."))
	ask.Fields = map[string]string{"card_ids": strings.Join(ids, " ")}
	ask.Type, ask.Form = v.eraseWord(c.Cards[0].HolderName), f
	ask.Cancel = cardPath(v.id()) + "/customer"
	return v.confirm(ask)
}
