package dashboard

import (
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// programStatePages publish, suspend and delete programs. Each asks first and says what
// happens.
var programStatePages = stateBindings()

// stateChange is a change of a program's state.
type stateChange struct {
	word   string // in the path
	op     *kernel.Operation
	title  string
	button string
	danger bool
	done   string
	says   func(*visit, *store.ProgramForm, store.ProgramImpact) (text string, consequences []string)
}

var stateChanges = []stateChange{
	{"publish", operation.PublishProgram, web.Text("Publish {0}?"), web.Text("Publish"), false,
		says("program-published", web.Text("The program is published. Cards can be issued.")), saysPublish},
	{"unpublish", operation.UnpublishProgram, web.Text("Unpublish {0}?"), web.Text("Unpublish"), true,
		says("program-unpublished", web.Text("The program is not published any more. No new cards can be issued.")), saysUnpublish},
	{"suspend", operation.SuspendProgram, web.Text("Suspend {0}?"), web.Text("Suspend"), true,
		says("program-suspended", web.Text("The program is suspended. Its cards cannot be used until you resume it.")), saysSuspend},
	{"unsuspend", operation.UnsuspendProgram, web.Text("Resume {0}?"), web.Text("Resume"), false,
		says("program-resumed", web.Text("The program is back. Its cards can be used again.")), saysResume},
}

var programDeleted = says("program-deleted", web.Text("The program was deleted and its cards were archived."))

func stateBindings() (list []binding) {
	for _, c := range stateChanges {
		pattern := "/dashboard/program/:id/" + c.word
		list = append(
			list,
			page(pattern, c.ask),
			post(pattern, action[store.ProgramDetail]{op: c.op, fields: only(), next: toProgram(c.done)}),
		)
	}
	remove := stateChange{
		"delete",
		operation.DeleteProgram,
		web.Text("Delete {0}?"),
		web.Text("Delete the program"),
		true,
		programDeleted,
		saysDelete,
	}
	return append(list, page("/dashboard/program/:id/delete", remove.ask),
		post("/dashboard/program/:id/delete", action[kernel.None]{op: operation.DeleteProgram, fields: only(),
			next: func(*visit, kernel.None) (string, string) { return programsPath, programDeleted }}))
}

// ask shows the page that asks before the change.
func (c stateChange) ask(v *visit) error {
	if err := v.require(c.op); err != nil {
		return err
	}
	p, err := findProgram(v)
	if err != nil {
		return err
	}
	im, err := read[store.ProgramImpact](v, operation.GetProgramImpact, v.args(nil))
	if err != nil {
		return err
	}
	text, consequences := c.says(v, &p, im)
	return v.confirm(programsPath, web.ConfirmPage{
		Frame:        web.Frame{Title: v.print.T(c.title, p.Name)},
		Path:         programPath(p.ID) + "/" + c.word,
		Text:         text,
		Consequences: consequences,
		Button:       v.print.T(c.button),
		Cancel:       programPath(p.ID),
		Danger:       c.danger,
	})
}

func saysPublish(v *visit, p *store.ProgramForm, im store.ProgramImpact) (string, []string) {
	list := []string{v.print.T("You can unpublish or suspend it at any time.")}
	if store.CollectsStamps(p.Type) && len(p.Prizes) == 0 {
		list = append(list, v.print.T("It has no prize yet. Customers would collect stamps for nothing."))
	}
	if im.InstalledCards == 0 {
		list = append(list, v.print.T("Once a customer has put a card on a phone, the design and the prizes stay as they are."))
	}
	return v.print.T("From now on you and your tills can issue cards of this program."), list
}

func saysUnpublish(v *visit, _ *store.ProgramForm, im store.ProgramImpact) (string, []string) {
	return v.print.T("No new cards can be issued until you publish the program again."), []string{
		goOnWorking(v, im),
		v.print.T("Customers see no difference on their cards."),
	}
}

// goOnWorking says how many cards an action leaves alone.
func goOnWorking(v *visit, im store.ProgramImpact) string {
	if im.ActiveCards == 0 {
		return v.print.T("No card is in use.")
	}
	return v.print.T("{0} card goes on working.|{0} cards go on working.", im.ActiveCards)
}

func saysSuspend(v *visit, p *store.ProgramForm, im store.ProgramImpact) (string, []string) {
	list := []string{v.print.T("No card is in use.")}
	if im.ActiveCards > 0 {
		list = []string{
			v.print.T(
				"{0} card stops working at once: tills refuse it.|{0} cards stop working at once: tills refuse them.",
				im.ActiveCards,
			),
		}
	}
	if im.BalanceCents > 0 {
		list = append(
			list,
			v.print.T(
				"{0} of your customers' money is on the cards and cannot be spent meanwhile.",
				v.print.Money(im.BalanceCents, v.shop().Currency),
			),
		)
	}
	return v.print.T("Until you resume the program, its cards can neither earn nor redeem anything, and no new cards can be issued."),
		append(list, v.print.T("Customers keep their cards and what is on them."))
}

func saysResume(v *visit, _ *store.ProgramForm, im store.ProgramImpact) (string, []string) {
	list := []string{v.print.T("What tills refused meanwhile is not made up for.")}
	if im.ActiveCards > 0 {
		list = append([]string{v.print.T("{0} card works again.|{0} cards work again.", im.ActiveCards)}, list...)
	}
	return v.print.T("Cards can be used and issued again at once."), list
}

func saysDelete(v *visit, _ *store.ProgramForm, im store.ProgramImpact) (string, []string) {
	list := []string{v.print.T("No card is in use.")}
	if im.ActiveCards > 0 {
		list = []string{
			v.print.T("{0} card stops working and is archived for good.|{0} cards stop working and are archived for good.", im.ActiveCards),
		}
	}
	if im.BalanceCents > 0 {
		list = append(
			list,
			v.print.T("{0} of your customers' money on the cards can never be spent.", v.print.Money(im.BalanceCents, v.shop().Currency)),
		)
	}
	if im.Webhooks > 0 {
		list = append(list, v.print.T("{0} webhook of the program is deleted.|{0} webhooks of the program are deleted.", im.Webhooks))
	}
	list = append(list, v.print.T("What happened stays in the statistics of the shop."))
	if im.ActiveCards > 0 {
		list = append(list, v.print.T("To stop only new cards, unpublish the program instead."))
	}
	return v.print.T("This cannot be undone."), list
}

// programActions returns the actions of a program: those in the header, and those in its
// menu.
func (v *visit) programActions(p *store.ProgramForm) (actions, more []web.Action) {
	to := func(word, label, icon, kind string) web.Action {
		return web.Action{Label: v.print.T(label), Path: programPath(p.ID) + "/" + word, Icon: icon, Kind: kind}
	}
	edit := to("edit", web.Text("Edit"), "edit", "")
	if p.HasInstalledCards {
		edit = to("edit", web.Text("Design"), "eye", "")
	}
	picture := to("logo", web.Text("Add a logo"), "image", "")
	if p.LogoHash.Valid {
		picture.Label = v.print.T("Change the logo")
	}
	remove := to("delete", web.Text("Delete"), "trash", "danger")
	switch {
	case p.SuspendedAt.Valid:
		actions = []web.Action{edit, to("unsuspend", web.Text("Resume"), "", "primary")}
	case p.PublishedAt.Valid:
		actions = []web.Action{edit}
		more = []web.Action{to("unpublish", web.Text("Unpublish"), "close", ""), to("suspend", web.Text("Suspend"), "lock", "")}
	default:
		actions = []web.Action{edit, to("publish", web.Text("Publish"), "", "primary")}
	}
	duplicate := web.Action{Label: v.print.T("Copy to a new program"), Path: "/dashboard/new/program?from=" + p.ID, Icon: "copy"}
	if !p.HasInstalledCards {
		more = append(more, picture)
	}
	return actions, append(more, duplicate, remove)
}
