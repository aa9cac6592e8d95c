package operation

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/sheet"
	"punchcard/server/wire"
	"punchcard/store"
)

// FileFields are the fields of UploadImport.
type FileFields struct {
	File     store.Opt[[]byte] `json:"file" req:"true" max:"52428800" doc:"CSV in UTF-8, UTF-16 or Windows-1252, whose first row names the columns."`
	FileName store.Opt[string] `json:"file_name" min:"1" max:"200" format:"line"`
}

// ImportFields are the fields of ImportCards.
type ImportFields struct {
	FileFields
	store.ImportOptions
	DryRun store.Opt[bool] `json:"dry_run" doc:"Import nothing, and say what would be."`
}

const (
	maxImportFaults   = 10_000
	importPreviewRows = 10
)

// UploadImport stores a file, whose mapping StartImport takes.
var UploadImport = declare(kernel.Operation{
	ID:      "uploadImport",
	Group:   cards,
	Title:   "Upload a file of cards",
	Callers: manager,
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f FileFields) (func(*store.Tx) (store.ImportRun, error), error) {
		file, err := readImport(f)
		if err != nil {
			return nil, err
		}
		var parts store.ImportParts
		for r := range file.Rows {
			parts.Add(r)
		}
		return func(tx *store.Tx) (store.ImportRun, error) { return tx.UploadImport(c.Access.Shop, file, &parts) }, nil
	}),
})

// CheckImport says what StartImport would do with an uploaded file.
var CheckImport = declare(kernel.Operation{
	ID:      "checkImport",
	Group:   cards,
	Title:   "Check an uploaded file of cards",
	Callers: manager,
	Codes:   notFoundOrConflict,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, o store.ImportOptions) (store.ImportReport, error) {
		w, err := checkUpload(v, c, o)
		return w.report, err
	}),
})

// StartImport imports an uploaded file.
var StartImport = declare(kernel.Operation{
	ID:      "startImport",
	Group:   cards,
	Title:   "Import an uploaded file of cards",
	Callers: manager,
	Codes:   notFoundConflictOrUnprocessable,
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, o store.ImportOptions) (kernel.Prepared[store.ImportReport], error) {
		w, err := readBefore(c, func(v *store.View) (importWork, error) { return checkUpload(v, c, o) })
		return w.start, err
	}),
})

// ImportCards imports a file at once. With faulty rows it imports nothing, unless they are to be
// skipped.
var ImportCards = declare(kernel.Operation{
	ID:      "importCards",
	Group:   cards,
	Title:   "Import a file of cards",
	Callers: manager,
	Codes:   notFoundConflictOrUnprocessable,
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f ImportFields) (kernel.Prepared[store.ImportReport], error) {
		file, err := readImport(f.FileFields)
		if err != nil {
			return nil, err
		}
		w, err := readBefore(c, func(v *store.View) (importWork, error) { return checkImport(v, c, file, f.ImportOptions) })
		w.dry = f.DryRun.V
		return w.start, err
	}),
})

// readImport reads a file.
func readImport(f FileFields) (file store.ImportFile, err error) {
	table, err := sheet.Read(f.File.V)
	if err != nil {
		return file, store.InvalidField("file", wire.CodeInvalidFormat, err.Error())
	}
	if table.Rows == nil {
		return file, store.InvalidField("file", wire.CodeInvalidValue, "has no rows below the names of its columns")
	}
	return store.ImportFile{
		Name:    f.FileName.Value(),
		Hash:    sha256.Sum256(f.File.V),
		Columns: table.Columns,
		Rows:    slices.Values(table.Rows),
	}, nil
}

// importWork checks the rows of a file one after another.
type importWork struct {
	shop    int64
	file    store.ImportFile
	options store.ImportOptions
	dry     bool // nothing is imported
	check   *store.ImportCheck
	report  store.ImportReport
	left    int64             // points of the last row that are no whole stamp
	rows    store.ImportParts // that are imported
}

// checkUpload checks the rows of an uploaded file.
func checkUpload(v *store.View, c *kernel.Call, o store.ImportOptions) (w importWork, err error) {
	file, err := v.Upload(c.Access.Shop, c.Param("id"))
	if err != nil {
		return w, err
	}
	return checkImport(v, c, file, o)
}

// checkImport checks the rows of a file, unless it was imported before.
func checkImport(v *store.View, c *kernel.Call, file store.ImportFile, o store.ImportOptions) (w importWork, err error) {
	w = importWork{shop: c.Access.Shop, file: file, options: o}
	if w.check, err = v.NewImportCheck(w.shop, o); err != nil {
		return w, err
	}
	if w.report.Columns, w.report.Mapping = mapColumns(file.Columns, o.Map.V); w.report.Mapping != nil {
		for raw := range file.Rows {
			if !w.preview(raw) {
				break
			}
		}
		return w, nil
	}
	var mapping []string // as if all of it was given, so that the same one is known again
	for _, column := range w.report.Columns {
		if column.Name != "" {
			mapping = append(mapping, column.Name+"="+column.Field.V)
		}
	}
	w.options.Map = store.Given(mapping)
	w.report.Run, err = v.KnownImport(w.shop, file, w.options)
	if run := w.report.Run.V; run.ID != "" || err != nil {
		w.report.Rows, w.report.Other, w.report.PointsLeft = run.Rows, run.OtherProgram, run.PointsLeft
		return w, err
	}
	for raw := range file.Rows {
		w.add(raw)
	}
	return w, nil
}

// add checks a row.
func (w *importWork) add(raw store.RawRow) {
	r := &w.report
	w.preview(raw)
	program := w.check.Program()
	if column, name := r.Column("program", raw.Cells); column != "" && !NamesProgram(name, program) {
		r.Other++
		return
	}
	if _, state := r.Column("state", raw.Cells); state == store.StatusArchived {
		r.Archived++
		return
	}
	r.Rows++
	row, codes, faults := w.row(raw)
	plan, faults := w.check.Row(row, faults...)
	switch {
	case faults != nil:
		r.Faulty++
		w.addFaults(raw, codes, faults)
		return
	case plan.Refused != nil:
		r.Refused++
	case plan.New():
		r.New++
	default:
		r.Updates++
	}
	if plan.Refused == nil {
		r.PointsLeft += w.left
		r.Stamps += row.Stamps.V
		r.Balance += plan.Balance
	}
	w.rows.Add(row)
}

// NamesProgram reports whether a cell of an import names a program, by its id or its name without case.
func NamesProgram(cell string, p store.Program) bool {
	return cell == p.ID || strings.EqualFold(cell, p.Name)
}

// preview adds a row to the preview, and reports whether it has room.
func (w *importWork) preview(raw store.RawRow) bool {
	if len(w.report.Preview) == importPreviewRows {
		return false
	}
	cells := make([]string, len(raw.Cells))
	for n, cell := range raw.Cells {
		cells[n] = shortened(cell)
	}
	w.report.Preview = append(w.report.Preview, cells)
	return true
}

// addFaults adds the first fault of each column of a row to the report. codes has the fields of the row's codes.
func (w *importWork) addFaults(raw store.RawRow, codes []string, faults []store.Detail) {
	var faulty []string // fields
	for _, d := range faults {
		field, item, _ := strings.Cut(d.Field, ".")
		if n, err := strconv.Atoi(item); err == nil && field == "codes" {
			field = codes[n]
		}
		if slices.Contains(faulty, field) || len(w.report.Faults) == maxImportFaults {
			continue
		}
		faulty, d.Field = append(faulty, field), field
		column, value := w.report.Column(field, raw.Cells)
		w.report.Faults = append(w.report.Faults, store.ImportFault{Line: raw.Line, Column: column, Value: shortened(value), Detail: d})
	}
}

// shortened returns a cell of a report, of which a file may have many that are long.
func shortened(cell string) string {
	const most = 200
	if len(cell) <= most {
		return cell
	}
	return strings.ToValidUTF8(cell[:most], "") + "…"
}

// start begins the import, unless there is nothing to begin.
func (w *importWork) start(tx *store.Tx) (store.ImportReport, error) {
	report := w.report
	if report.Mapping != nil {
		return report, store.Invalid(report.Mapping...)
	}
	if w.dry || report.Run.Valid || report.Rows == 0 && report.Other > 0 || report.Faulty > 0 && !w.options.SkipFaulty.V {
		return report, nil
	}
	run, err := tx.StartImport(w.shop, w.file, w.options, &w.rows, report)
	report.Run = store.Some(run)
	return report, err
}

// ContinueImport works on the next rows of an import or of its undo.
var ContinueImport = declare(kernel.Operation{
	ID:      "continueImport",
	Group:   cards,
	Title:   "Continue an import",
	Callers: manager,
	Codes:   notFound,
	Write:   change((*store.Tx).ContinueImport),
})

// UndoImport erases the cards of an import that were not used.
var UndoImport = declare(kernel.Operation{
	ID:      "undoImport",
	Group:   cards,
	Title:   "Undo an import",
	Callers: manager,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write:   change((*store.Tx).UndoImport),
})

// DiscardImport deletes an uploaded file.
var DiscardImport = declare(kernel.Operation{
	ID:      "discardImport",
	Group:   cards,
	Title:   "Delete an uploaded file of cards",
	Callers: manager,
	Codes:   notFoundOrConflict,
	Write:   removal((*store.Tx).DiscardImport),
})

// GetImport returns an import with what it left out.
var GetImport = declare(kernel.Operation{
	ID:      "getImport",
	Group:   cards,
	Title:   "Read an import",
	Callers: manager,
	Codes:   notFound,
	Read:    byID((*store.View).ImportRunReport),
})

// ListImports lists the newest imports.
var ListImports = declare(kernel.Operation{
	ID:      "listImports",
	Group:   cards,
	Title:   "List imports",
	Callers: manager,
	Read:    listOf((*store.View).ImportRuns),
})
