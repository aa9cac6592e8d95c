package dashboard

import (
	"net/url"
	"strings"

	"punchcard/server/operation"
	"punchcard/store"
)

// contactPages are the form of what a shop knows about a holder beside the card.
var contactPages = []binding{
	edit(cardAt+"/contact", getContact, showContact, action{
		op:     operation.UpdateHolderContact,
		fields: codeLines,
		to:     cardAt,
		done:   "The contact was saved.",
	}),
}

// getContact returns the contact of the card of the path.
var getContact = reader[store.HolderContact](operation.GetHolderContact)

// codeLines makes a list of the codes of earlier cards, of which the form has one on each line.
func codeLines(_ *visit, form url.Values) url.Values {
	form["codes"] = strings.FieldsFunc(form.Get("codes"), func(r rune) bool { return r == '\n' || r == '\r' })
	return form
}

func showContact(v *visit, c store.HolderContact) error {
	values := formValues(&c)
	values["codes"] = []string{strings.Join(c.Codes, "\n")}
	v.fill(values)
	card, err := getCard(v)
	if err != nil {
		return err
	}
	p := v.cardForm("Phone, birthday and note")
	p.Card = card
	return v.render("card_contact", p)
}
