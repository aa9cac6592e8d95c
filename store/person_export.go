package store

import (
	"cmp"
	"slices"
	"strings"

	"punchcard/store/phone"
)

// maxPersonCards is how many cards the export of a person takes, overflowed ones not counted.
const maxPersonCards = 100

// PersonQuery says of whom all data is exported.
type PersonQuery struct {
	Person  Opt[string]   `json:"person" min:"1" max:"254" format:"line" doc:"The email or phone number that the cards have."`
	CardIDs Opt[[]string] `json:"card_ids" max:"100" doc:"The cards, each with those that overflowed from it."`
}

// Check validates that there is a person or a card.
func (q PersonQuery) Check(Time) []Detail {
	switch {
	case q.Person.Set && q.CardIDs.Set:
		return []Detail{{"card_ids", "mutually_exclusive", "must not be given beside person"}}
	case !q.Person.Set && len(q.CardIDs.V) == 0:
		return []Detail{{"person", "required", "is required, or card_ids"}}
	}
	return nil
}

// personChains returns the roots of the chains of a person, oldest first.
func (q *queries) personChains(shop int64, f PersonQuery) (roots []int64, err error) {
	for _, id := range f.CardIDs.V {
		root := q.rootOf(shop, id)
		if root == 0 {
			return nil, notFound("card")
		}
		roots = append(roots, root)
	}
	if who := strings.TrimSpace(f.Person.V); strings.Contains(who, "@") {
		roots = q.keys("SELECT ifnull(root_id, id) FROM cards WHERE shop_id=? AND email_key=? AND deleted_at IS NULL", shop, foldCase(who))
	} else if f.Person.Set {
		number, ok := phone.Parse(who, q.shop(shop).CountryCode.V)
		if !ok {
			return nil, InvalidField("person", "invalid_format", "must be an email or a phone number, such as +390612345678")
		}
		roots = q.keys("SELECT card_id FROM contacts WHERE shop_id=? AND phone_key=?", shop, phoneKey(number))
	}
	slices.Sort(roots)
	roots = slices.Compact(roots)
	switch {
	case q.failed != nil:
	case len(roots) == 0:
		return nil, refuse(NotFound, "No card has this email or phone number.")
	case len(roots) > maxPersonCards:
		return nil, refuse(Unprocessable, "More than %d cards have this email or phone number. Export all data of the shop.",
			maxPersonCards)
	}
	return roots, q.failed
}

// ExportPerson returns everything about the holder of several cards.
func (v *View) ExportPerson(shop int64, f PersonQuery) (x PersonExport, err error) {
	v.snapshot()
	roots, err := v.personChains(shop, f)
	if err != nil {
		return x, err
	}
	x = PersonExport{v.Now, v.namedShop(shop), []ChainExport{}}
	for _, root := range roots {
		keys := append([]int64{root}, v.keys("SELECT id FROM cards WHERE root_id=? ORDER BY id", root)...)
		x.Chains = append(x.Chains, v.exportChain(keys))
	}
	return x, v.failed
}

// AuditExport records that somebody exports the data of a person, at each card.
func (tx *Tx) AuditExport(shop int64, f PersonQuery) error {
	roots, err := tx.personChains(shop, f)
	for _, root := range roots {
		tx.insertAudit(shop, "card.export", KindCard, root)
	}
	return cmp.Or(err, tx.failed)
}
