package dashboard

import (
	"slices"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// programStatePages publish, suspend and delete programs. Each asks first and says what
// happens.
var programStatePages = []binding{
	confirm(programAt+"/publish", findUsedProgram, askPublish, action{
		op:   operation.PublishProgram,
		to:   programAt,
		done: "The program is published. Cards can be issued.",
	}),
	confirm(programAt+"/unpublish", findUsedProgram, askUnpublish, action{
		op:   operation.UnpublishProgram,
		to:   programAt,
		done: "The program is not published any more. No new cards can be issued.",
	}),
	confirm(programAt+"/suspend", findUsedProgram, askSuspend, action{
		op:   operation.SuspendProgram,
		to:   programAt,
		done: "The program is suspended. Its cards cannot be used until you resume it.",
	}),
	confirm(programAt+"/unsuspend", findUsedProgram, askResume, action{
		op:   operation.UnsuspendProgram,
		to:   programAt,
		done: "The program is back. Its cards can be used again.",
	}),
	confirm(programAt+"/delete", findUsedProgram, askDelete, action{
		op:   operation.DeleteProgram,
		to:   programsPath,
		done: "The program was deleted and its cards were archived.",
	}),
}

// usedProgram is a program, and what a change of it meets.
type usedProgram struct {
	store.ProgramForm
	Impact store.ProgramImpact
}

// findUsedProgram returns the program of the path.
func findUsedProgram(v *visit) (p usedProgram, err error) {
	if p.ProgramForm, err = findProgram(v); err != nil {
		return p, err
	}
	p.Impact, err = read[store.ProgramImpact](v, operation.GetProgramImpact)
	return p, err
}

func askPublish(v *visit, p usedProgram) web.ConfirmPage {
	list := []string{v.T("You can unpublish or suspend it at any time.")}
	if store.CollectsStamps(p.Type) && len(p.Prizes) == 0 {
		list = append(list, v.T("It has no prize yet. Customers would collect stamps for nothing."))
	}
	if p.Impact.InstalledCards == 0 {
		list = append(list, v.T("Once a customer has put a card on a phone, the design and the prizes stay as they are."))
	}
	c := v.ask(programsPath, "Publish {0}?",
		"From now on you and your tills can issue cards of this program.",
		"Publish", p.Name)
	c.Consequences = list
	return c
}

func askUnpublish(v *visit, p usedProgram) web.ConfirmPage {
	c := v.danger(programsPath, "Unpublish {0}?",
		"No new cards can be issued until you publish the program again.",
		"Unpublish", p.Name)
	c.Consequences = []string{
		v.cardsInUse(p.Impact, "{0} card goes on working.|{0} cards go on working."),
		v.T("Customers see no difference on their cards."),
	}
	return c
}

// cardsInUse says how many cards a change is about, or that there is none.
func (v *visit) cardsInUse(im store.ProgramImpact, text web.Text) string {
	if im.ActiveCards == 0 {
		return v.T("No card is in use.")
	}
	return v.T(text, im.ActiveCards)
}

func askSuspend(v *visit, p usedProgram) web.ConfirmPage {
	im := p.Impact
	list := []string{
		v.cardsInUse(im, "{0} card stops working at once: tills refuse it.|{0} cards stop working at once: tills refuse them."),
	}
	if im.BalanceCents > 0 {
		list = append(list, v.T("{0} of your customers' money is on the cards and cannot be spent meanwhile.", v.money(im.BalanceCents)))
	}
	c := v.danger(programsPath, "Suspend {0}?",
		"Until you resume the program, its cards can neither earn nor redeem anything, and no new cards can be issued.",
		"Suspend", p.Name)
	c.Consequences = append(list, v.T("Customers keep their cards and what is on them."))
	return c
}

func askResume(v *visit, p usedProgram) web.ConfirmPage {
	list := []string{v.T("What tills refused meanwhile is not made up for.")}
	if n := p.Impact.ActiveCards; n > 0 {
		list = slices.Insert(list, 0, v.T("{0} card works again.|{0} cards work again.", n))
	}
	c := v.ask(programsPath, "Resume {0}?",
		"Cards can be used and issued again at once.",
		"Resume", p.Name)
	c.Consequences = list
	return c
}

func askDelete(v *visit, p usedProgram) web.ConfirmPage {
	im := p.Impact
	list := []string{
		v.cardsInUse(im, "{0} card stops working and is archived for good.|{0} cards stop working and are archived for good."),
	}
	if im.BalanceCents > 0 {
		list = append(list, v.T("{0} of your customers' money on the cards can never be spent.", v.money(im.BalanceCents)))
	}
	if im.Webhooks > 0 {
		list = append(list, v.T("{0} webhook of the program is deleted.|{0} webhooks of the program are deleted.", im.Webhooks))
	}
	list = append(list, v.T("What happened stays in the statistics of the shop."))
	if im.ActiveCards > 0 {
		list = append(list, v.T("To stop only new cards, unpublish the program instead."))
	}
	c := v.danger(programsPath, "Delete {0}?",
		"This cannot be undone.",
		"Delete the program", p.Name)
	c.Consequences = list
	c.Cancel = programPath(p.ID)
	return c
}
