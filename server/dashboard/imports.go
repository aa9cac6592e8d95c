package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/sheet"
	"punchcard/server/web"
	"punchcard/store"
)

const (
	importsPath = "/dashboard/imports"
	importAt    = "/dashboard/import/:id"
)

// importPages are the pages on which cards of other systems are imported.
var importPages = []binding{
	form(importsPath, showImports, action{
		op:      operation.UploadImport,
		upload:  "file",
		maxFile: sheet.MaxBytes,
		fields:  addFileName,
		then:    then(func(v *visit, run store.ImportRun) error { return v.redirect(importPath(run.ID), "") }),
	}),
	edit(importAt, findImport, showImport, action{
		op: operation.StartImport,
		then: then(func(v *visit, r store.ImportReport) error {
			if !r.Run.Valid {
				return v.redirect(importPath(v.id())+"?"+ownFields(v.form).Encode(), "")
			}
			return v.redirect(importPath(r.Run.V.ID), importBegun)
		}),
	}),
	page(importAt+"/events", streamImport),
	confirm(importAt+"/undo", findImport, askUndoImport, action{
		op: operation.UndoImport, to: importAt, done: "The import is being undone.",
	}),
	post(importAt+"/discard", action{
		op: operation.DiscardImport, to: importsPath, done: "The file was deleted.",
	}),
}

var importBegun = says("import-begun", "The import has begun. You can leave this page.")

func importPath(id string) string { return strings.Replace(importAt, ":id", id, 1) }

// importLabels are the names of what a column may hold. TestImportFields checks that each has one.
var importLabels = map[string]web.Text{
	"holder_name":      "Name",
	"holder_email":     "Email",
	"phone":            "Phone number",
	"birthday":         "Birthday",
	"note":             "Note",
	"stamps":           "Stamps or points",
	"balance":          "Balance",
	"claimed":          "Prizes already redeemed, by their stamps",
	"claimed_overflow": "Those redeemed on the next card",
	"state":            "Status",
	"code":             "Code of the earlier card",
	"code_2":           "Second code",
	"code_3":           "Third code",
	"code_4":           "Fourth code",
	"code_5":           "Fifth code",
	"external_ref":     "Number of the customer",
	"expires_at":       "Expires",
	"member_since":     "Customer since",
	"last_visit":       "Last visit",
	"program":          "Program",
}

// importsPage is the form of a file, and the imports before.
type importsPage struct {
	web.Frame
	Runs []store.ImportRun
}

func showImports(v *visit) error {
	runs, err := read[operation.List[store.ImportRun]](v, operation.ListImports)
	if err != nil {
		return err
	}
	return v.render("imports", importsPage{v.frame("Import cards", cardsPath), runs.Data})
}

// importPage is an import that has begun: how far it is, and what it left out.
type importPage struct {
	web.Frame
	Run  store.ImportRunReport // whose notes have labels and sentences
	More int                   // notes that are not listed
}

// mappingPage are the choices before an import, and what it would do.
type mappingPage struct {
	web.Frame
	Run      store.ImportRunReport
	Programs []web.Option
	Columns  []importColumn
	Fields   []web.Option
	Checked  bool               // the report is there
	Report   store.ImportReport // whose faults are sentences
	Heads    []string           // of a preview with a column for each field that the file has
	Preview  [][]string
	More     int  // faults that are not listed
	Stamps   bool // the program collects stamps
	Prepaid  bool
	Mails    bool
}

// Importable returns how many cards an import would add or change.
func (p *mappingPage) Importable() int64 { return p.Report.New + p.Report.Updates }

// importColumn is a column of the file, with its first values.
type importColumn struct {
	Name, Sample, Field string
}

// listed returns the notes or faults that a page lists, and the number of the others.
func listed[T any](all []T) (first []T, more int) {
	first = all[:min(len(all), 200)]
	return first, len(all) - len(first)
}

var findImport = reader[store.ImportRunReport](operation.GetImport)

func showImport(v *visit, run store.ImportRunReport) error {
	frame := v.named(cmp.Or(run.FileName.V, v.T("Import")), cardsPath)
	if run.State == store.ImportUploaded {
		return v.showMapping(&mappingPage{Frame: frame, Run: run, Mails: v.Mails})
	}
	if run.State == store.ImportDone || run.State == store.ImportUndone {
		frame.Flash = "" // that it has begun
	}
	return v.render("import", v.importPage(frame, run))
}

// showMapping shows what the columns of a file hold, and what an import would do.
func (v *visit) showMapping(p *mappingPage) error {
	programs, err := v.programs()
	if err != nil {
		return err
	}
	p.Programs = each(programs, programOption)
	if len(programs) == 0 {
		return v.render("import_map", p)
	}
	values := ownFields(v.sent())
	values.Del("done")
	first := values.Get("program_id") == ""
	chosen := slices.IndexFunc(programs, func(p store.Program) bool {
		if first { // most files have stamps
			return store.CollectsStamps(p.Type)
		}
		return p.ID == values.Get("program_id")
	})
	program := programs[max(0, chosen)]
	if first {
		values.Set("program_id", program.ID)
	}
	report, err := v.checkImport(values)
	if first && err == nil && len(report.Preview) > 0 {
		_, cell := report.Column("program", report.Preview[0])
		named := slices.IndexFunc(programs, func(p store.Program) bool { return p.Name == cell })
		if named < 0 {
			named = slices.IndexFunc(programs, func(p store.Program) bool { return operation.NamesProgram(cell, p) })
		}
		if named >= 0 && programs[named].ID != program.ID {
			program = programs[named]
			values.Set("program_id", program.ID)
			report, err = v.checkImport(values)
		}
	}
	if first && err == nil && !slices.ContainsFunc(report.Columns, func(c store.ImportColumn) bool {
		return c.Field.V == "external_ref" || c.Field.V == "code"
	}) {
		values.Set("allow_unkeyed", "true") // no row can have either
		report, err = v.checkImport(values)
	}
	v.fill(values)
	if err == nil && report.Mapping != nil {
		err = store.Invalid(report.Mapping...)
	}
	p.Checked = err == nil
	if err != nil {
		if !v.faultyFilter(p.Form, err) {
			return err
		}
		if report.Columns == nil {
			for field := range p.Form.Errors {
				values.Del(field)
			}
			if report, err = v.checkImport(values); err != nil {
				return err
			}
		}
	}
	p.Report = report
	p.Fields = each(operation.ImportFieldNames(), func(field string) web.Option { return v.option(field, importLabels[field]) })
	for n, c := range report.Columns {
		if c.Name == "" {
			continue
		}
		var samples []string
		for _, row := range report.Preview {
			if n < len(row) && row[n] != "" && len(samples) < 3 {
				samples = append(samples, row[n])
			}
		}
		p.Columns = append(p.Columns, importColumn{Name: c.Name, Sample: strings.Join(samples, " · "), Field: c.Field.V})
	}
	p.Heads, p.Preview = v.preview(report)
	p.Report.Faults, p.More = listed(report.Faults)
	for i, fault := range p.Report.Faults {
		p.Report.Faults[i].Message = v.problem(fault.Detail)
	}
	p.Stamps, p.Prepaid = store.CollectsStamps(program.Type), program.Type == store.ProgramPrepaid
	return v.render("import_map", p)
}

// checkImport says what an import with the choices of a form would do.
func (v *visit) checkImport(values url.Values) (store.ImportReport, error) {
	return read[store.ImportReport](v, operation.CheckImport, kernel.Form{Params: v.params, Fields: values})
}

// preview returns the first rows, with a column for each field that the file has.
func (v *visit) preview(report store.ImportReport) (heads []string, rows [][]string) {
	rows = make([][]string, len(report.Preview))
	for _, field := range operation.ImportFieldNames() {
		if name, _ := report.Column(field, nil); name == "" {
			continue
		}
		heads = append(heads, v.T(importLabels[field]))
		for r, cells := range report.Preview {
			_, text := report.Column(field, cells)
			rows[r] = append(rows[r], text)
		}
	}
	return heads, rows
}

// importPage returns the page of an import that has begun.
func (v *visit) importPage(frame web.Frame, run store.ImportRunReport) importPage {
	p := importPage{Frame: frame, Run: run}
	p.Run.Notes, p.More = listed(run.Notes)
	for i, n := range p.Run.Notes {
		p.Run.Notes[i].Message, p.Run.Notes[i].Field = v.problem(n.Detail), v.T(importLabels[n.Field])
	}
	return p
}

// streamImport keeps the page of an import up to date.
func streamImport(v *visit) error {
	return v.stream("import", func() (any, error) {
		run, err := findImport(v)
		return v.importPage(web.Frame{}, run), err
	})
}

func askUndoImport(v *visit, run store.ImportRunReport) web.ConfirmPage {
	c := v.danger(cardsPath, "Undo this import?",
		"The cards that it added are erased. It cannot be undone, but the file can be imported again.", "Undo the import")
	c.Consequences = []string{
		v.T("Cards that were used, changed or put on a phone since are kept, and listed."),
		v.T("Cards that it changed stay as they are now."),
	}
	c.Cancel = importPath(run.ID)
	return c
}

// Percent returns how much of the work is done.
func (p importPage) Percent() int64 {
	all := p.Run.Rows
	if p.Run.State == store.ImportUndoing {
		all = p.Run.Added
	}
	if all == 0 {
		return 100
	}
	return 100 * (all - p.Run.Left) / all
}

// addFileName adds the name of the file that was uploaded.
func addFileName(v *visit, form url.Values) url.Values {
	name := []rune(strings.TrimSpace(v.fileName))
	form.Set("file_name", string(name[:min(len(name), 200)]))
	return form
}
