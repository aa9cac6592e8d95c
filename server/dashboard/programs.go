package dashboard

import (
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const programsPath = "/dashboard/programs"

// programPages are the pages of programs. program_form.go has their forms,
// program_state.go what publishes, suspends and deletes them, and prizes.go their prizes.
var programPages = []binding{
	page(programsPath, showPrograms),
	page("/dashboard/new/program", newProgram),
	post("/dashboard/new/program", action{
		op:     operation.CreateProgramWithPrizes,
		fields: newProgramFields,
		again:  showNewProgram,
		then: then(func(v *visit, p store.ProgramDetail) error {
			return v.redirect(programPath(p.ID), programCreated)
		}),
	}),
	{pattern: "/dashboard/new/program/preview", post: previewNewProgram},
	page(programAt, about(findUsedProgram, showProgram)),
	edit(programAt+"/edit", findUsedProgram, showEditProgram, action{
		op:     operation.UpdateProgram,
		fields: programFields,
		to:     programAt,
		done:   "The program was saved.",
	}),
	{pattern: programAt + "/preview", post: previewProgram},
	page(programAt+"/customer", about(findProgram, showCustomerPage)),
	edit(programAt+"/rules", findProgram, showRules, action{
		op:     operation.UpdateProgramSettings,
		fields: ruleFields,
		to:     programAt,
		done:   "The rules at the till were saved.",
	}),
}

var programCreated = says("program-created", "The program was created. Publish it when it is complete.")

// programAt is the pattern of the page of a program.
const programAt = "/dashboard/program/:id"

func programPath(id string) string { return "/dashboard/program/" + id }

// programTypes are the names of the types of programs.
var programTypes = map[string]web.Text{
	store.ProgramStandard: "Stamp card",
	store.ProgramPrivate:  "Private stamp card",
	store.ProgramDiscount: "Discount",
	store.ProgramAccess:   "Pass",
	store.ProgramPrepaid:  "Prepaid card",
}

// programsPage is the list of programs.
type programsPage struct {
	web.Frame
	Form      *web.Form // the filter
	Types     []web.Option
	Filtered  bool
	Programs  []programRow
	Pager     web.Pager
	MayCreate bool
}

// programRow is a row of the list.
type programRow struct {
	store.Program
	TypeName string
	State    web.Badge
	Cards    int64
}

func showPrograms(v *visit) error {
	q := v.r.URL.Query()
	filter := v.filter(q)
	programs, pager, err := list[store.Program](v, operation.ListPrograms, nonEmpty(q), filter)
	if err != nil {
		return err
	}
	p := programsPage{
		Frame:     v.frame("Programs", programsPath),
		Form:      filter,
		Types:     []web.Option{v.option("", "All types")},
		Filtered:  q.Get("type") != "" || q.Get("cursor") != "",
		Pager:     pager,
		MayCreate: v.allows(kernel.Manager),
	}
	types := []string{store.ProgramStandard, store.ProgramPrivate, store.ProgramDiscount, store.ProgramAccess, store.ProgramPrepaid}
	for _, name := range types {
		p.Types = append(p.Types, v.option(name, programTypes[name]))
	}
	for _, program := range programs {
		im, err := read[store.ProgramImpact](v, operation.GetProgramImpact, withID(program.ID))
		if err != nil {
			return err
		}
		p.Programs = append(
			p.Programs,
			programRow{program, v.T(programTypes[program.Type]), v.programState(&program), im.ActiveCards},
		)
	}
	return v.render("programs", p)
}

// programState returns the state of a program.
func (v *visit) programState(p *store.Program) web.Badge {
	switch {
	case p.SuspendedAt.Valid:
		return v.badge("Suspended", "warn")
	case p.PublishedAt.Valid:
		return v.badge("Published", "good")
	}
	return v.badge("Not published", "")
}

// programPage is the page of a program.
type programPage struct {
	web.Frame
	Program     store.ProgramForm
	State       web.Badge
	Figures     []tile
	Facts       []web.Fact
	Rules       []web.Fact
	Unreachable *attention // nil: phones can open the links
	Face        web.HolderCard
	Prizes      []prizeRow
	HasPrizes   bool // programs of this type do
	MayEdit     bool
	MayPrizes   bool // the ladder can be edited
	Actions     []web.Action
	MoreAction  []web.Action
	Links       []web.Action // to pages about the program
}

// findProgram returns the program of the path.
var findProgram = reader[store.ProgramForm](operation.GetProgramForm)

// programForm returns a program of the shop.
func (v *visit) programForm(id string) (store.ProgramForm, error) {
	return read[store.ProgramForm](v, operation.GetProgramForm, withID(id))
}

func showProgram(v *visit, used usedProgram) error {
	program := used.ProgramForm
	locations, err := v.locations()
	if err != nil {
		return err
	}
	p := programPage{
		Frame:     v.named(program.Name, programsPath),
		Program:   program,
		State:     v.programState(&program.Program),
		Figures:   v.programFigures(&program, used.Impact),
		Facts:     v.programFacts(&program, locations),
		Rules:     v.programRules(&program),
		Face:      v.sampleCard(&program),
		HasPrizes: store.CollectsStamps(program.Type),
		MayEdit:   v.allows(kernel.Manager),
		Links:     v.enrolmentLink(program.ID),
	}
	p.Style = p.Face.Style()
	p.MayPrizes = p.MayEdit && p.HasPrizes && !program.HasInstalledCards
	p.Prizes = v.prizeRows(&program, p.MayPrizes)
	if !program.PublishedAt.Valid {
		p.Unreachable = v.unreachable()
	}
	if p.MayEdit {
		p.Actions, p.MoreAction = v.programActions(&program)
	}
	return v.render("program", p)
}

// programFigures returns the numbers that matter for a type of program.
func (v *visit) programFigures(p *store.ProgramForm, im store.ProgramImpact) (list []tile) {
	add := func(label web.Text, value, note string) {
		list = append(list, tile{Label: v.T(label), Value: value, Note: note})
	}
	add("Cards in use", v.Number(im.ActiveCards), v.T("{0} on a phone", im.InstalledCards))
	switch {
	case store.CollectsStamps(p.Type):
		add("Stamps given", v.Number(im.Stamps), "")
		add("Prizes redeemed", v.Number(im.Redemptions), "")
	case p.Type == store.ProgramPrepaid:
		add("Money on cards", v.money(im.BalanceCents), v.T("Paid, and not yet spent"))
	default:
		add("Times used", v.Number(im.Uses), "")
	}
	return list
}

// programFacts returns what the page of a program says about it.
func (v *visit) programFacts(p *store.ProgramForm, locations []store.Location) []web.Fact {
	facts := []web.Fact{v.fact("Type", v.T(programTypes[p.Type]))}
	switch p.Type {
	case store.ProgramDiscount:
		facts = append(facts, v.fact("Discount", v.T("{0} % off", v.Decimal(p.DiscountPercent.V, -1))))
	case store.ProgramPrepaid:
		facts = append(facts, v.fact("Balance of a new card", v.money(p.InitialBalanceCents.V)))
	case store.ProgramAccess:
	default:
		after := v.T("The card ends")
		if p.RepeatAfterReset {
			after = v.T("The card starts again")
		}
		stamps := v.T("Stay forever")
		if p.StampsExpireAfterDays.Valid {
			stamps = v.T("Expire after {0} day|Expire after {0} days", p.StampsExpireAfterDays.V)
		}
		facts = append(
			facts,
			v.fact("Stamps on a card", v.Number(p.TotalStamps.V)),
			v.fact("When it is full", after),
			v.fact("Stamps", stamps),
		)
	}
	valid := v.T("Without end")
	if p.DefaultExpireAfterDays.Valid {
		valid = v.T("{0} day from issue|{0} days from issue", p.DefaultExpireAfterDays.V)
	}
	facts = append(facts, v.fact("Cards are valid", valid), v.fact("Where", v.whereValid(p, locations)))
	var languages []string
	for _, lang := range web.Languages {
		if p.NameLocalizations[lang.Value] != "" || p.DescriptionLocalizations[lang.Value] != "" {
			languages = append(languages, lang.Label)
		}
	}
	if languages != nil {
		facts = append(facts, v.fact("Other languages", strings.Join(languages, ", ")))
	}
	return append(facts, v.fact("Created", v.Date(p.CreatedAt.Std())), v.fact("Id", p.ID))
}

// whereValid names the locations of a program.
func (v *visit) whereValid(p *store.ProgramForm, locations []store.Location) string {
	if len(p.ScopedLocationIDs) == 0 {
		return v.T("At all locations")
	}
	names := map[string]string{}
	for _, l := range locations {
		names[l.ID] = l.Name
	}
	var list []string
	for i, id := range p.ScopedLocationIDs {
		if i == 8 {
			list = append(list, v.T("and {0} more", len(p.ScopedLocationIDs)-i))
			break
		}
		list = append(list, names[id])
	}
	return strings.Join(list, ", ")
}

// programRules returns what tills demand.
func (v *visit) programRules(p *store.ProgramForm) []web.Fact {
	if !store.CollectsStamps(p.Type) {
		return nil
	}
	spend, max := v.T("None"), v.T("No limit")
	if p.MinSpendCents.Valid {
		spend = v.money(p.MinSpendCents.V)
	}
	if p.MaxStampsPerDay.Valid {
		max = v.Number(p.MaxStampsPerDay.V)
	}
	return []web.Fact{
		v.fact("Minimum purchase for a stamp", spend),
		v.fact("Most stamps per card and day", max),
		v.fact("Stamps on a new card", v.Number(p.WelcomeStamps)),
	}
}
