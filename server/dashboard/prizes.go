package dashboard

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// prizePages are the pages of the prizes of a program.
var prizePages = []binding{
	page("/dashboard/program/:id/new-prize", func(v *visit) error { return showNewPrize(v, v.newForm(nil)) }),
	post(
		"/dashboard/program/:id/new-prize",
		action[store.Prize]{op: operation.CreatePrize, again: showNewPrize, next: toLadder[store.Prize](prizeAdded)},
	),
	post(
		"/dashboard/program/:id/prizes",
		action[store.ProgramDetail]{op: operation.OrderPrizes, fields: orderFields, next: toLadder[store.ProgramDetail](prizesOrdered)},
	),
	page("/dashboard/program/:id/prize/:prizeId", func(v *visit) error { return showEditPrize(v, nil) }),
	post(
		"/dashboard/program/:id/prize/:prizeId",
		action[store.Prize]{op: operation.UpdatePrize, again: showEditPrize, next: toLadder[store.Prize](prizeSaved)},
	),
	page("/dashboard/program/:id/prize/:prizeId/delete", confirmDeletePrize),
	post(
		"/dashboard/program/:id/prize/:prizeId/delete",
		action[kernel.None]{op: operation.DeletePrize, fields: only(), next: toLadder[kernel.None](prizeDeleted)},
	),
}

var (
	prizeAdded    = says("prize-added", web.Text("The prize was added."))
	prizeSaved    = says("prize-saved", web.Text("The prize was saved."))
	prizeDeleted  = says("prize-deleted", web.Text("The prize was deleted."))
	prizesOrdered = says("prizes-ordered", web.Text("The prizes are in their new order."))
)

// toLadder returns what leads to the program in whose page the prizes are.
func toLadder[O any](done string) func(*visit, O) (string, string) {
	return func(v *visit, _ O) (string, string) { return programPath(v.id()), done }
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
		if may {
			if i > 0 {
				up := slices.Clone(ids)
				up[i-1], up[i] = up[i], up[i-1]
				row.Actions = append(
					row.Actions,
					web.Action{
						Label: v.print.T("Move up"),
						Path:  programPath(p.ID) + "/prizes",
						Kind:  "quiet",
						Post:  true,
						Key:   v.newForm(nil).Key,
						Name:  "prize_ids",
						Value: strings.Join(up, " "),
					},
				)
			}
			row.Actions = append(row.Actions, web.Action{Label: v.print.T("Edit"), Path: prizePath(p.ID, z.ID), Kind: "quiet"})
			if z.Redemptions == 0 {
				row.Actions = append(
					row.Actions,
					web.Action{Label: v.print.T("Delete"), Path: prizePath(p.ID, z.ID) + "/delete", Kind: "quiet"},
				)
			}
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
	Form      *web.Form
	Program   store.ProgramForm
	Prize     store.PrizeForm
	Languages []web.Option
	Max       string // stamps
}

// OpenLanguages reports whether the part with other languages is open.
func (p prizePage) OpenLanguages() bool { return anyOf(p.Form, "_localizations.") }

func showNewPrize(v *visit, f *web.Form) error {
	return v.prizeForm(operation.CreatePrize, web.Text("New prize"), f, func(p *store.ProgramForm) (store.PrizeForm, error) {
		return store.PrizeForm{}, nil
	})
}

func showEditPrize(v *visit, f *web.Form) error {
	return v.prizeForm(operation.UpdatePrize, web.Text("Edit prize"), f, v.findPrize)
}

// findPrize returns the prize of the path.
func (v *visit) findPrize(p *store.ProgramForm) (store.PrizeForm, error) {
	for _, z := range p.Prizes {
		if z.ID == v.params.ByName("prizeId") {
			return z, nil
		}
	}
	return store.PrizeForm{}, kernel.Refuse(store.NotFound, "There is no such prize.")
}

// prizeForm shows the form of a prize, if the person may invoke the operation.
func (v *visit) prizeForm(op *kernel.Operation, title string, f *web.Form, find func(*store.ProgramForm) (store.PrizeForm, error)) error {
	if err := v.require(op); err != nil {
		return err
	}
	program, err := findProgram(v)
	if err != nil {
		return err
	}
	z, err := find(&program)
	if err != nil {
		return err
	}
	if f == nil {
		f = v.newForm(url.Values{"threshold": {strconv.FormatInt(z.Threshold, 10)}, "name": {z.Name}, "description": {z.Description}})
		for lang, text := range z.NameLocalizations {
			f.Values.Set("name_localizations."+lang, text)
		}
		for lang, text := range z.DescriptionLocalizations {
			f.Values.Set("description_localizations."+lang, text)
		}
	}
	dropListErrors(f)
	f.Order = []string{"threshold", "name", "description"}
	frame := v.frame(title, programsPath)
	frame.Width = "narrow"
	return v.render(
		v.status(),
		"prize_form",
		prizePage{
			Frame:     frame,
			Form:      f,
			Program:   program,
			Prize:     z,
			Languages: languageOptions(),
			Max:       strconv.FormatInt(program.TotalStamps.V, 10),
		},
	)
}

func confirmDeletePrize(v *visit) error {
	if err := v.require(operation.DeletePrize); err != nil {
		return err
	}
	program, err := findProgram(v)
	if err != nil {
		return err
	}
	z, err := v.findPrize(&program)
	if err != nil {
		return err
	}
	im, err := read[store.ProgramImpact](v, operation.GetProgramImpact, v.args(nil))
	if err != nil {
		return err
	}
	list := []string{v.print.T("No card is in use.")}
	if im.ActiveCards > 0 {
		list = []string{v.print.T("{0} card in use no longer leads to it.|{0} cards in use no longer lead to it.", im.ActiveCards)}
	}
	return v.confirm(programsPath, web.ConfirmPage{
		Frame:        web.Frame{Title: v.print.T("Delete {0}?", z.Name)},
		Path:         prizePath(program.ID, z.ID) + "/delete",
		Text:         v.print.T("Nobody has redeemed this prize yet, so it can be deleted. Customers cannot redeem it afterwards."),
		Consequences: list,
		Button:       v.print.T("Delete the prize"),
		Cancel:       programPath(program.ID),
		Danger:       true,
	})
}
