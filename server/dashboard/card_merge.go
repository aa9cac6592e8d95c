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

// mergePages merge two cards: the first page chooses the other card, the second shows both before.
var mergePages = []binding{
	page(cardAt+"/merge", showMergeChoice),
	form(cardAt+"/merge/:gone", showMerge, action{
		op:   operation.MergeCards,
		to:   cardAt,
		done: "The cards were merged.",
	}),
}

// mergeChoice is the page that chooses the card to merge into another one.
type mergeChoice struct {
	web.Frame
	Path   string
	Back   string
	Filter *web.Form
	Cards  []cardRow
	Asked  bool // for other cards than those of the customer
}

func showMergeChoice(v *visit) error {
	if err := v.require(operation.MergeCards); err != nil {
		return err
	}
	c, err := read[store.Customer](v, operation.GetCustomer)
	if err != nil {
		return err
	}
	own, q := c.Cards[0], v.r.URL.Query()
	p := mergeChoice{Frame: v.frame("Merge a card into this one", cardsPath), Back: cardPath(v.id()), Filter: v.filter(q)}
	p.Path, p.Asked = p.Back+"/merge", q.Get("q") != ""
	found := each(c.Cards, func(card store.CustomerCard) store.FoundCard { return card.FoundCard })
	if p.Asked {
		fields := url.Values{"q": q["q"], "program_id": {own.ProgramID}}
		if found, _, err = list[store.FoundCard](v, operation.SearchCards, fields, p.Filter); err != nil {
			return err
		}
	}
	for _, card := range found {
		if card.ID != own.ID && card.ProgramID == own.ProgramID && card.Status != store.StatusArchived {
			p.Cards = append(p.Cards, v.cardRow(card))
		}
	}
	return v.render("card_merge_choice", p)
}

// mergePage shows two cards side by side before they are merged.
type mergePage struct {
	web.Frame
	Rows      []mergeRow
	Moves     []string
	Refused   string // why it cannot be done; empty: it can
	Uncertain bool   // the cards may be of different people
	Back      string
	Swap      string // path of the same page the other way around
}

// mergeRow is one thing that is known of both cards.
type mergeRow struct {
	Label      string
	Keep, Gone string
}

func showMerge(v *visit) error {
	goneID := v.params["gone"]
	kept, err := read[store.Customer](v, operation.GetCustomer)
	if err != nil {
		return err
	}
	other, err := read[store.Customer](v, operation.GetCustomer, withID(goneID))
	if err != nil {
		return err
	}
	keep, gone := kept.Cards[0], other.Cards[0]
	p := mergePage{Frame: v.frame("Merge two cards", cardsPath), Back: cardPath(v.id())}
	p.Problem = "" // the summary of the form says it
	p.Swap = cardPath(goneID) + "/merge/" + v.id()
	var filled []string
	lost := v.mergeFacts(gone)
	for n, fact := range v.mergeFacts(keep) {
		row := mergeRow{fact.label, fact.text, lost[n].text}
		if n < holderFacts && row.Keep == "" && row.Gone != "" {
			filled = append(filled, row.Label)
		}
		if n >= holderFacts || row.Keep+row.Gone != "" {
			p.Rows = append(p.Rows, mergeRow{row.Label, cmp.Or(row.Keep, "–"), cmp.Or(row.Gone, "–")})
		}
	}
	if err := v.previewMerge(&p, gone, filled); err != nil {
		return err
	}
	return v.render("card_merge", p)
}

// mergeFact is something that is known of a card.
type mergeFact struct{ label, text string }

// holderFacts is how many facts, the first ones, go over to the kept card where it has none.
const holderFacts = 7

// mergeFacts returns what is known of a card.
func (v *visit) mergeFacts(c store.CustomerCard) (facts []mergeFact) {
	add := func(label web.Text, text string) { facts = append(facts, mergeFact{v.T(label), text}) }
	add("Name", c.HolderName.V)
	add("Email", c.HolderEmail.V)
	add("Reference", c.ExternalRef.V)
	add("Phone number", c.Contact.Phone.V)
	add("Birthday", c.Contact.Birthday.V)
	add("Note", c.Contact.Note.V)
	add("Codes of earlier cards", strings.Join(c.Contact.Codes, ", "))
	add("Program", c.ProgramName)
	add("Status", v.statusBadge(c.Status).Label)
	add("Progress", v.progress(c.ProgramType, c.StampsCount, c.TotalStamps, c.CurrentValue))
	add("Days with a visit", v.Number(c.Visits))
	add("Last visit", v.dateTime(c.LastVisitAt))
	add("Issued", v.Date(c.CreatedAt.Std()))
	return facts
}

// previewMerge adds what the merge would do, or why it would be refused.
func (v *visit) previewMerge(p *mergePage, gone store.CustomerCard, filled []string) error {
	merged := store.Merged{}
	for _, yes := range []bool{false, true} {
		all, _, err := v.Kernel.Preview(v.r.Context(), v.caller, operation.MergeCards, "",
			v.with(store.MergeFields{Yes: store.Given(yes)}))
		if err != nil {
			return err
		}
		if merged, err = kernel.AnswerOf[store.Merged](all[0]); err == nil {
			break
		}
		e := kernel.AsError(err, kernel.StatusOf)
		if p.Uncertain = len(e.Details) > 0; !p.Uncertain {
			p.Refused = v.Refused(e.Message, v.requestID())
			return nil
		}
	}
	add := func(text web.Text, args ...any) { p.Moves = append(p.Moves, v.T(text, args...)) }
	stamps, cents := int64(0), int64(0)
	for _, row := range merged.Transactions {
		stamps, cents = stamps+max(0, row.StampsDelta.V), cents+max(0, row.ValueDelta.V)
	}
	switch {
	case cents > 0:
		add("{0} moves to the card that stays, which then has {1}.", v.money(cents), v.money(merged.Card.CurrentValue.V))
	case stamps > 0:
		add("{0} stamp moves to the card that stays.|{0} stamps move to the card that stays.", stamps)
		add("The card that stays then has {0} stamp.|The card that stays then has {0} stamps.", merged.Card.StampsCount)
	}
	if len(filled) > 0 {
		add("The card that stays gets what it does not have: {0}.", strings.Join(filled, ", "))
	}
	if merged.Card.InstalledAt.Valid && (slices.Contains(filled, v.T("Name")) || slices.Contains(filled, v.T("Email"))) {
		add("It is on a phone, so its name and email stay empty.")
	}
	if gone.Status == store.StatusLocked || gone.Status == store.StatusExpired {
		add("The card that goes is locked or expired. What is on it moves all the same.")
	}
	add("The card that goes is archived: its code and its links end. This cannot be undone.")
	return nil
}
