package dashboard

import (
	"net/url"
	"slices"
	"strings"

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
	Path  string // of the card itself, which is the first one
	Cards []customerCard
	More  bool
}

// customerCard is a card of a customer as people read it.
type customerCard struct {
	store.CustomerCard
	Row cardRow
}

func showCustomer(v *visit, problem string) error {
	c, err := read[store.Customer](v, operation.GetCustomer)
	if err != nil {
		return err
	}
	own := c.Cards[0]
	p := customerCardsPage{
		Frame: v.named(v.cardName(own.HolderName.V, own.HolderEmail.V, own.Contact.Phone.V, own.ExternalRef.V), cardsPath),
		Path:  cardPath(v.id()),
		Cards: each(c.Cards, func(card store.CustomerCard) customerCard { return customerCard{card, v.cardRow(card.FoundCard)} }),
		More:  c.More,
	}
	p.Problem = problem
	return v.render("customer", p)
}

// chosenCards returns the cards that are ticked.
func (v *visit) chosenCards() []string {
	ids := strings.Fields(strings.Join(v.sent()["card_ids"], " "))
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
	x, err := v.exportHolders(ids...)
	if err != nil {
		return err
	}
	return v.downloadJSON("customer-"+v.today(), &x)
}

// showEraseCustomer asks before the cards of the customer that are ticked are erased.
func showEraseCustomer(v *visit) error {
	c, err := read[store.Customer](v, operation.GetCustomer)
	if err != nil {
		return err
	}
	chosen, ids, names := v.chosenCards(), []string{}, []string{}
	for _, card := range c.Cards {
		if slices.Contains(chosen, card.ID) {
			row := v.cardRow(card.FoundCard)
			ids, names = append(ids, card.ID), append(names, strings.TrimSuffix(row.Name+": "+row.ProgramName+", "+row.Progress, ", "))
		}
	}
	if len(ids) == 0 {
		return showCustomer(v, v.T(chooseCards))
	}
	ask := v.danger(cardsPath, "Erase {0} card?|Erase {0} cards?",
		"Use this if the holder asks you to delete their data. It cannot be undone.", "Erase the cards", len(ids))
	ask.Consequences = append(names, v.T("Stamps, balance and prizes of these cards are lost."))
	ask.Fields = map[string]string{"card_ids": strings.Join(ids, " ")}
	ask.Type = v.eraseWord(c.Cards[0].HolderName)
	ask.Cancel = cardPath(v.id()) + "/customer"
	return v.confirm(ask)
}
