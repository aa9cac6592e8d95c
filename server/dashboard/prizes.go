package dashboard

import (
	"net/url"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// prizePages are the pages of the prizes of a program.
var prizePages = []binding{
	edit(programAt+"/new-prize", findProgram, showNewPrize, action{
		op:   operation.CreatePrize,
		to:   programAt,
		done: "The prize was added.",
	}),
	post(programAt+"/prizes", action{
		op:     operation.OrderPrizes,
		fields: orderFields,
		to:     programAt,
		done:   "The prizes are in their new order.",
	}),
	edit(programAt+"/prize/:prizeId", findPrize, showEditPrize, action{
		op:   operation.UpdatePrize,
		to:   programAt,
		done: "The prize was saved.",
	}),
	confirm(programAt+"/prize/:prizeId/delete", findPrize, askDeletePrize, action{
		op:   operation.DeletePrize,
		to:   programAt,
		done: "The prize was deleted.",
	}),
}

// prizeRow is a prize in the page of a program.
type prizeRow struct {
	store.PrizeForm
	Actions []web.Action
}

// prizeRows returns the prizes of a program, with what can be done with each.
func (v *visit) prizeRows(p *store.ProgramForm, may bool) (rows []prizeRow) {
	var ids []string
	for _, z := range p.Prizes {
		ids = append(ids, z.ID)
	}
	for i, z := range p.Prizes {
		row := prizeRow{PrizeForm: z}
		add := func(a web.Action) {
			a.Kind = "quiet"
			row.Actions = append(row.Actions, a)
		}
		if may && i > 0 {
			order := slices.Clone(ids)
			order[i-1], order[i] = order[i], order[i-1]
			up := v.link("Move up", programPath(p.ID)+"/prizes")
			up.Post, up.Key, up.Name, up.Value = true, v.newForm(nil).Key, "prize_ids", strings.Join(order, " ")
			add(up)
		}
		if may {
			add(v.link("Edit", prizePath(p.ID, z.ID)))
		}
		if may && z.Redemptions == 0 {
			add(v.link("Delete", prizePath(p.ID, z.ID)+"/delete"))
		}
		rows = append(rows, row)
	}
	return rows
}

func prizePath(program, prize string) string { return programPath(program) + "/prize/" + prize }

// orderFields splits the ids that a button sends.
func orderFields(_ *visit, form url.Values) url.Values {
	return url.Values{"prize_ids": strings.Fields(form.Get("prize_ids"))}
}

// prizePage is the page of the form of a prize.
type prizePage struct {
	web.Frame
	Program store.ProgramForm
	Prize   store.PrizeForm
}

// OpenLanguages reports whether the part with other languages is open.
func (p prizePage) OpenLanguages() bool { return anyOf(p.Form, "_localizations.") }

func showNewPrize(v *visit, p store.ProgramForm) error {
	return v.prizeForm("New prize", p, store.PrizeForm{})
}

func showEditPrize(v *visit, z programPrize) error {
	v.fill(formValues(&z.PrizeForm))
	return v.prizeForm("Edit prize", z.Program.ProgramForm, z.PrizeForm)
}

// programPrize is a prize with its program.
type programPrize struct {
	store.PrizeForm
	Program usedProgram
}

// findPrize returns the prize of the path.
func findPrize(v *visit) (programPrize, error) {
	program, err := findUsedProgram(v)
	if err != nil {
		return programPrize{}, err
	}
	for _, z := range program.Prizes {
		if z.ID == v.params["prizeId"] {
			return programPrize{z, program}, nil
		}
	}
	return programPrize{}, kernel.Refuse(store.NotFound, "There is no such prize.")
}

// prizeForm shows the form of a prize.
func (v *visit) prizeForm(title web.Text, program store.ProgramForm, z store.PrizeForm) error {
	dropListErrors(v.shown)
	return v.render("prize_form", prizePage{
		Frame:   v.narrow(title, programsPath),
		Program: program,
		Prize:   z,
	})
}

func askDeletePrize(v *visit, z programPrize) web.ConfirmPage {
	c := v.danger(programsPath, "Delete {0}?",
		"Nobody has redeemed this prize yet, so it can be deleted. Customers cannot redeem it afterwards.",
		"Delete the prize", z.Name)
	c.Consequences = []string{
		v.cardsInUse(z.Program.Impact, "{0} card in use no longer leads to it.|{0} cards in use no longer lead to it."),
	}
	return c
}
