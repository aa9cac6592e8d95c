package dashboard

import (
	"net/http"
	"net/url"
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
	post(
		"/dashboard/new/program",
		action[store.ProgramDetail]{
			op:     operation.CreateProgramWithPrizes,
			fields: newProgramFields,
			again:  showNewProgram,
			next:   toProgram(programCreated),
		},
	),
	{method: http.MethodPost, pattern: "/dashboard/new/program/preview", handle: previewNewProgram},
	page("/dashboard/program/:id", showProgram),
	page("/dashboard/program/:id/edit", func(v *visit) error { return showEditProgram(v, nil) }),
	post(
		"/dashboard/program/:id/edit",
		action[store.ProgramDetail]{
			op:     operation.UpdateProgram,
			fields: programFields,
			again:  showEditProgram,
			next:   toProgram(programSaved),
		},
	),
	{method: http.MethodPost, pattern: "/dashboard/program/:id/preview", handle: previewProgram},
	page("/dashboard/program/:id/customer", showCustomerPage),
	page("/dashboard/program/:id/rules", func(v *visit) error { return showRules(v, nil) }),
	post(
		"/dashboard/program/:id/rules",
		action[store.ProgramDetail]{op: operation.UpdateProgramSettings, fields: ruleFields, again: showRules, next: toProgram(rulesSaved)},
	),
}

var (
	programCreated = says("program-created", web.Text("The program was created. Publish it when it is complete."))
	programSaved   = says("program-saved", web.Text("The program was saved."))
	rulesSaved     = says("rules-saved", web.Text("The rules at the till were saved."))
)

// toProgram returns a function that returns the path of the program's page, and the word for
// what was done.
func toProgram(done string) func(*visit, store.ProgramDetail) (string, string) {
	return func(_ *visit, p store.ProgramDetail) (string, string) { return programPath(p.ID), done }
}

func programPath(id string) string { return "/dashboard/program/" + id }

// programTypes are the names of the types of programs.
var programTypes = map[string]string{
	store.ProgramStandard: web.Text("Stamp card"),
	store.ProgramPrivate:  web.Text("Private stamp card"),
	store.ProgramDiscount: web.Text("Discount"),
	store.ProgramAccess:   web.Text("Pass"),
	store.ProgramPrepaid:  web.Text("Prepaid card"),
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
	list, err := read[store.Page[store.Program]](v, operation.ListPrograms, v.query())
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	p := programsPage{
		Frame:     v.frame(web.Text("Programs"), programsPath),
		Form:      &web.Form{Values: url.Values{"type": {q.Get("type")}}},
		Types:     []web.Option{{Value: "", Label: v.print.T("All types")}},
		Filtered:  q.Get("type") != "" || q.Get("cursor") != "",
		Pager:     v.pager(len(list.Data), list.NextCursor),
		MayCreate: v.allows(kernel.Manager),
	}
	for _, name := range []string{store.ProgramStandard, store.ProgramPrivate, store.ProgramDiscount, store.ProgramAccess, store.ProgramPrepaid} {
		p.Types = append(p.Types, web.Option{Value: name, Label: v.print.T(programTypes[name])})
	}
	for _, program := range list.Data {
		im, err := read[store.ProgramImpact](v, operation.GetProgramImpact, kernel.Args{Params: map[string]string{"id": program.ID}})
		if err != nil {
			return err
		}
		p.Programs = append(
			p.Programs,
			programRow{program, v.print.T(programTypes[program.Type]), v.programState(&program), im.ActiveCards},
		)
	}
	return v.render(http.StatusOK, "programs", p)
}

// programState returns the state of a program.
func (v *visit) programState(p *store.Program) web.Badge {
	switch {
	case p.SuspendedAt.Valid:
		return web.Badge{Label: v.print.T("Suspended"), Tone: "warn"}
	case p.PublishedAt.Valid:
		return web.Badge{Label: v.print.T("Published"), Tone: "good"}
	}
	return web.Badge{Label: v.print.T("Not published")}
}

// programPage is the page of a program.
type programPage struct {
	web.Frame
	Program     store.ProgramForm
	State       web.Badge
	Figures     []figure
	Facts       []web.Fact
	Rules       []web.Fact
	Todo        []todo     // what is missing before publishing; nil: it was published
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

// figure is a number in the component "tile".
type figure struct{ Label, Value, Note string }

// todo is a step before publishing.
type todo struct {
	Text string
	Hint string
	Path string
	Done bool
}

// findProgram returns the program of the path.
func findProgram(v *visit) (store.ProgramForm, error) {
	return read[store.ProgramForm](v, operation.GetProgramForm, v.args(nil))
}

func showProgram(v *visit) error {
	program, err := findProgram(v)
	if err != nil {
		return err
	}
	im, err := read[store.ProgramImpact](v, operation.GetProgramImpact, v.args(nil))
	if err != nil {
		return err
	}
	locations, err := shopLocations(v)
	if err != nil {
		return err
	}
	frame := v.frame(web.Text("Program"), programsPath)
	frame.Title = program.Name
	p := programPage{
		Frame:     frame,
		Program:   program,
		State:     v.programState(&program.Program),
		Figures:   v.programFigures(&program, im),
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
		p.Todo, p.Unreachable = v.programTodo(&program, locations), v.unreachable()
	}
	if p.MayEdit {
		p.Actions, p.MoreAction = v.programActions(&program)
	}
	return v.render(http.StatusOK, "program", p)
}

// programFigures returns the numbers that matter for a type of program.
func (v *visit) programFigures(p *store.ProgramForm, im store.ProgramImpact) []figure {
	n, currency := v.print.Number, v.shop().Currency
	list := []figure{{v.print.T("Cards in use"), n(im.ActiveCards), v.print.T("{0} on a phone", im.InstalledCards)}}
	switch {
	case store.CollectsStamps(p.Type):
		list = append(
			list,
			figure{v.print.T("Stamps given"), n(im.Stamps), ""},
			figure{v.print.T("Prizes redeemed"), n(im.Redemptions), ""},
		)
	case p.Type == store.ProgramPrepaid:
		list = append(
			list,
			figure{v.print.T("Money on cards"), v.print.Money(im.BalanceCents, currency), v.print.T("Paid, and not yet spent")},
		)
	default:
		list = append(list, figure{v.print.T("Times used"), n(im.Uses), ""})
	}
	return list
}

// programFacts returns what the page of a program says about it.
func (v *visit) programFacts(p *store.ProgramForm, locations []store.Location) []web.Fact {
	fact := func(label string, value string) web.Fact { return web.Fact{Label: v.print.T(label), Value: value} }
	facts := []web.Fact{fact(web.Text("Type"), v.print.T(programTypes[p.Type]))}
	switch p.Type {
	case store.ProgramDiscount:
		facts = append(facts, fact(web.Text("Discount"), v.print.T("{0} % off", decimal(v, p.DiscountPercent.V))))
	case store.ProgramPrepaid:
		facts = append(facts, fact(web.Text("Balance of a new card"), v.print.Money(p.InitialBalanceCents.V, v.shop().Currency)))
	case store.ProgramAccess:
	default:
		after := v.print.T("The card ends")
		if p.RepeatAfterReset {
			after = v.print.T("The card starts again")
		}
		stamps := v.print.T("Stay forever")
		if p.StampsExpireAfterDays.Valid {
			stamps = v.print.T("Expire after {0} day|Expire after {0} days", p.StampsExpireAfterDays.V)
		}
		facts = append(
			facts,
			fact(web.Text("Stamps on a card"), v.print.Number(p.TotalStamps.V)),
			fact(web.Text("When it is full"), after),
			fact(web.Text("Stamps"), stamps),
		)
	}
	valid := v.print.T("Without end")
	if p.DefaultExpireAfterDays.Valid {
		valid = v.print.T("{0} day from issue|{0} days from issue", p.DefaultExpireAfterDays.V)
	}
	facts = append(facts, fact(web.Text("Cards are valid"), valid), fact(web.Text("Where"), v.whereValid(p, locations)))
	var languages []string
	for _, lang := range languageOptions() {
		if p.NameLocalizations[lang.Value] != "" || p.DescriptionLocalizations[lang.Value] != "" {
			languages = append(languages, lang.Label)
		}
	}
	if languages != nil {
		facts = append(facts, fact(web.Text("Other languages"), strings.Join(languages, ", ")))
	}
	return append(facts, fact(web.Text("Created"), v.print.Date(p.CreatedAt.Std())), fact(web.Text("Id"), p.ID))
}

// whereValid names the locations of a program.
func (v *visit) whereValid(p *store.ProgramForm, locations []store.Location) string {
	if len(p.ScopedLocationIDs) == 0 {
		return v.print.T("At all locations")
	}
	names := map[string]string{}
	for _, l := range locations {
		names[l.ID] = l.Name
	}
	var list []string
	for i, id := range p.ScopedLocationIDs {
		if i == 8 {
			list = append(list, v.print.T("and {0} more", len(p.ScopedLocationIDs)-i))
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
	spend, most := v.print.T("None"), v.print.T("No limit")
	if p.MinSpendCents.Valid {
		spend = v.print.Money(p.MinSpendCents.V, v.shop().Currency)
	}
	if p.MaxStampsPerDay.Valid {
		most = v.print.Number(p.MaxStampsPerDay.V)
	}
	return []web.Fact{
		{Label: v.print.T("Minimum purchase for a stamp"), Value: spend},
		{Label: v.print.T("Most stamps per card and day"), Value: most},
	}
}

// programTodo returns what is to be done before a program is published.
func (v *visit) programTodo(p *store.ProgramForm, locations []store.Location) (list []todo) {
	if store.CollectsStamps(p.Type) {
		list = append(
			list,
			todo{
				Text: v.print.T("Add a prize"),
				Hint: v.print.T("Without a prize there is nothing to collect stamps for."),
				Path: programPath(p.ID) + "/new-prize",
				Done: len(p.Prizes) > 0,
			},
		)
	}
	open := false
	for _, l := range locations {
		open = open || l.Active
	}
	return append(
		list,
		todo{
			Text: v.print.T("Have an open location"),
			Hint: v.print.T("Cards are used at the tills of a location."),
			Path: locationsPath,
			Done: open,
		},
		todo{Text: v.print.T("Publish the program"), Hint: v.print.T("Then cards can be issued."), Path: programPath(p.ID) + "/publish"},
	)
}

// shopLocations returns all locations of the shop, newest first.
func shopLocations(v *visit) (all []store.Location, err error) {
	q := operation.PageQuery{PageQuery: store.PageQuery{Limit: store.Given[int64](100)}}
	for {
		list, err := read[store.Page[store.Location]](v, operation.ListLocations, kernel.Args{Fields: q})
		if err != nil {
			return nil, err
		}
		all = append(all, list.Data...)
		if !list.NextCursor.Valid {
			return all, nil
		}
		q.Cursor = store.Given(list.NextCursor.V)
	}
}
