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
		fields: amountFields,
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
	Form     *web.Form // the filter
	Filtered bool
	Programs []programRow
	Pager    web.Pager
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
		Frame:    v.frame("Programs", programsPath),
		Form:     filter,
		Filtered: q.Get("type") != "" || q.Get("cursor") != "",
		Pager:    pager,
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
	Impact      store.ProgramImpact
	TypeName    string
	Where       string     // it is valid
	Languages   string     // others, in which there are texts
	Unreachable *attention // nil: phones can open the links
	Face        web.HolderCard
	Prizes      []prizeRow
	HasPrizes   bool // programs of this type do
	MayPrizes   bool // the ladder can be edited
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
		Impact:    used.Impact,
		TypeName:  v.T(programTypes[program.Type]),
		Where:     v.whereValid(&program, locations),
		Languages: otherLanguages(&program),
		Face:      v.sampleCard(&program),
		HasPrizes: store.CollectsStamps(program.Type),
	}
	p.Style = p.Face.Style()
	p.MayPrizes = v.allows(kernel.Manager) && p.HasPrizes && !program.HasInstalledCards
	p.Prizes = v.prizeRows(&program, p.MayPrizes)
	if !program.PublishedAt.Valid {
		p.Unreachable = v.unreachable()
	}
	return v.render("program", p)
}

// otherLanguages names the languages in which a program has further texts.
func otherLanguages(p *store.ProgramForm) string {
	var languages []string
	for _, lang := range web.Languages {
		if p.NameLocalizations[lang.Value] != "" || p.DescriptionLocalizations[lang.Value] != "" {
			languages = append(languages, lang.Label)
		}
	}
	return strings.Join(languages, ", ")
}

// whereValid names the locations of a program.
func (v *visit) whereValid(p *store.ProgramForm, locations []store.Location) string {
	if len(p.ScopedLocationIDs) == 0 {
		return v.T("At all locations")
	}
	var list []string
	for i, id := range p.ScopedLocationIDs {
		if i == 8 {
			list = append(list, v.T("and {0} more", len(p.ScopedLocationIDs)-i))
			break
		}
		list = append(list, locationName(locations, id))
	}
	return strings.Join(list, ", ")
}
