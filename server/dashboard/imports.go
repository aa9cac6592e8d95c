package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

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
		op:     operation.StartImport,
		fields: func(_ *visit, form url.Values) url.Values { return mapped(form) },
		then: then(func(v *visit, r operation.ImportReport) error {
			if !r.Run.Valid {
				return v.redirect(importPath(v.id())+"?"+mapped(v.form).Encode(), "")
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
	Form *web.Form
	Runs []importRow
}

// importRow is an import in the list.
type importRow struct {
	store.ImportRun
	State web.Badge
}

func showImports(v *visit, f *web.Form) error {
	runs, err := read[operation.List[store.ImportRun]](v, operation.ListImports)
	if err != nil {
		return err
	}
	return v.render("imports", importsPage{
		Frame: v.frame("Import cards", cardsPath),
		Form:  f,
		Runs:  each(runs.Data, func(r store.ImportRun) importRow { return importRow{r, v.importState(r.State)} }),
	})
}

// importState returns the badge of an import.
func (v *visit) importState(state string) web.Badge {
	switch state {
	case store.ImportUploaded:
		return v.badge("Not imported yet", "warn")
	case store.ImportRunning:
		return v.badge("Running", "info")
	case store.ImportUndoing:
		return v.badge("Being undone", "info")
	case store.ImportUndone:
		return v.badge("Import undone", "")
	}
	return v.badge("Done", "good")
}

// importPage is an import: the choices before it, how far it is, or what it did.
type importPage struct {
	web.Frame
	Run      store.ImportRun
	State    web.Badge
	Form     *web.Form
	Programs []web.Option
	Columns  []importColumn
	Fields   []web.Option
	Report   operation.ImportReport
	Checked  bool // the report is there
	Preview  previewTable
	Faults   []importFault
	More     int64 // faulty rows that are not listed
	Stamps   bool  // the program collects stamps
	Ready    bool  // there is something to import
	Tiles    []tile
	Notes    []importFault
	Mails    bool
	MayUndo  bool
}

// importColumn is a column of the file, with its first values.
type importColumn struct {
	Name, Sample, Field string
}

// previewTable is the beginning of a file as it is understood.
type previewTable struct {
	Heads []string
	Rows  [][]string
}

// importFault is what is wrong with a row.
type importFault struct {
	Line                int
	Column, Value, Rule string
	Path                string // of the card; empty: it is about a row
}

// listedFaults is how many of them a page lists.
const listedFaults = 200

func findImport(v *visit) (store.ImportRun, error) {
	return read[store.ImportRun](v, operation.GetImport)
}

func showImport(v *visit, run store.ImportRun, f *web.Form) error {
	title := cmp.Or(run.FileName.V, v.T("Import"))
	p := importPage{Frame: v.named(title, cardsPath), Run: run, State: v.importState(run.State), Form: f, Mails: v.Mails}
	if run.State == store.ImportUploaded {
		return v.showMapping(&p)
	}
	if err := v.importProgress(&p); err != nil {
		return err
	}
	return v.render("import", p)
}

// showMapping shows what the columns of a file hold, and what an import would do.
func (v *visit) showMapping(p *importPage) error {
	programs, err := v.programs()
	if err != nil {
		return err
	}
	p.Programs = each(programs, programOption)
	if len(programs) == 0 {
		return v.render("import_map", p)
	}
	values := mapped(v.r.URL.Query())
	if v.form != nil {
		values = mapped(v.form)
	}
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
	if first && err == nil && !slices.ContainsFunc(report.Columns, func(c operation.ImportColumn) bool {
		return c.Field.V == "external_ref" || c.Field.V == "code"
	}) {
		values.Set("allow_unkeyed", "true") // no row can have either
		report, err = v.checkImport(values)
	}
	v.fill(p.Form, values)
	if err != nil && !v.faultyFilter(p.Form, err) {
		return err
	}
	p.Checked, p.Report = err == nil, report
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
	p.Preview = v.preview(report)
	for _, fault := range report.Faults[:min(len(report.Faults), listedFaults)] {
		p.Faults = append(p.Faults, importFault{Line: fault.Line, Column: fault.Column, Value: fault.Value, Rule: v.problem(fault.Detail)})
	}
	p.More = int64(len(report.Faults) - len(p.Faults))
	p.Stamps = store.CollectsStamps(program.Type)
	add := func(label web.Text, value string) { p.Tiles = append(p.Tiles, v.tile(label, value)) }
	add("New cards", v.Number(report.New))
	if report.Updates+report.Refused > 0 {
		add("Cards to change", v.Number(report.Updates))
		add("Cards in use, left as they are", v.Number(report.Refused))
	}
	add("Faulty rows", v.Number(report.Faulty))
	if p.Stamps {
		add("Stamps", v.Number(report.Stamps))
	} else if program.Type == store.ProgramPrepaid {
		add("Balance", v.money(report.Balance))
	}
	if report.Other > 0 {
		add("Rows of other programs", v.Number(report.Other))
	}
	if report.Archived > 0 {
		add("Rows of archived cards", v.Number(report.Archived))
	}
	p.Ready = report.New+report.Updates > 0 && (report.Faulty == 0 || p.Form.Value("skip_faulty") == "true")
	return v.render("import_map", p)
}

// checkImport says what an import with the choices of a form would do.
func (v *visit) checkImport(values url.Values) (operation.ImportReport, error) {
	return read[operation.ImportReport](v, operation.CheckImport, &formInput{visit: v, fields: values})
}

// mapped returns what is chosen of an import, without what is empty.
func mapped(q url.Values) url.Values {
	kept := url.Values{}
	for _, name := range []string{"program_id", "map", "stamps_per", "skip_faulty", "allow_unkeyed", "update", "with_events",
		"send_email"} {
		if values := q[name]; len(values) > 0 {
			kept[name] = slices.Clone(values)
		}
	}
	return kept
}

// preview returns the first rows, with a column for each field that the file has.
func (v *visit) preview(report operation.ImportReport) (t previewTable) {
	for _, field := range operation.ImportFieldNames() {
		var of []int
		for n, c := range report.Columns {
			if c.Field.V == field {
				of = append(of, n)
			}
		}
		if of == nil {
			continue
		}
		t.Heads = append(t.Heads, v.T(importLabels[field]))
		for r, cells := range report.Preview {
			if r == len(t.Rows) {
				t.Rows = append(t.Rows, nil)
			}
			var texts []string
			for _, n := range of {
				if n < len(cells) && cells[n] != "" {
					texts = append(texts, cells[n])
				}
			}
			t.Rows[r] = append(t.Rows[r], strings.Join(texts, " "))
		}
	}
	return t
}

// importProgress adds how far an import is, and what it left out.
func (v *visit) importProgress(p *importPage) error {
	run := p.Run
	add := func(label web.Text, n int64) { p.Tiles = append(p.Tiles, v.tile(label, v.Number(n))) }
	switch run.State {
	case store.ImportUndoing, store.ImportUndone:
		add("Cards erased", run.Removed)
		add("Cards kept", run.Kept)
	default:
		add("Cards added", run.Added)
		if run.Updated+run.Unchanged > 0 {
			add("Cards changed", run.Updated)
			add("Cards left as they were", run.Unchanged)
		}
		add("Rows left out", run.Skipped)
		if run.OtherProgram > 0 {
			add("Rows of other programs", run.OtherProgram)
		}
		if run.PointsLeft > 0 {
			add("Points that are no whole stamp", run.PointsLeft)
		}
	}
	notes, err := read[operation.List[store.ImportNote]](v, operation.ListImportNotes)
	for _, n := range notes.Data[:min(len(notes.Data), listedFaults)] {
		fault := importFault{Line: n.Line, Column: v.T(importLabels[n.Field]), Rule: v.problem(n.Detail)}
		if n.CardID.Valid {
			fault.Path = cardPath(n.CardID.V)
		}
		p.Notes = append(p.Notes, fault)
	}
	p.More = int64(len(notes.Data) - len(p.Notes))
	p.MayUndo = run.State == store.ImportDone || run.State == store.ImportRunning
	return err
}

// streamImport keeps the page of an import up to date.
func streamImport(v *visit) error {
	return v.stream("import", func() (any, error) {
		run, err := findImport(v)
		if err != nil {
			return nil, err
		}
		p := importPage{Run: run, State: v.importState(run.State)}
		err = v.importProgress(&p)
		return p, err
	})
}

func askUndoImport(v *visit, run store.ImportRun) web.ConfirmPage {
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

// Working reports whether the import goes on.
func (p importPage) Working() bool {
	return p.Run.State == store.ImportRunning || p.Run.State == store.ImportUndoing
}

// addFileName adds the name of the file that was uploaded.
func addFileName(v *visit, form url.Values) url.Values {
	name := []rune(strings.TrimSpace(v.fileName))
	form.Set("file_name", string(name[:min(len(name), 200)]))
	return form
}
