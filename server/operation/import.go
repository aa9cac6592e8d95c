package operation

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
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

// ImportReport says what an import does or would do.
type ImportReport struct {
	Run        store.Null[store.ImportRun] `json:"run" doc:"Null if nothing is imported."`
	Columns    []ImportColumn              `json:"columns"`
	Preview    [][]string                  `json:"preview" doc:"The cells of the first rows."`
	Rows       int64                       `json:"rows"`
	New        int64                       `json:"new" doc:"Rows that make a card."`
	Updates    int64                       `json:"updates" doc:"Rows of cards that are there and may be changed."`
	Refused    int64                       `json:"refused" doc:"Rows of cards that are there and must not be changed."`
	Other      int64                       `json:"other_program" doc:"Rows of other programs."`
	Archived   int64                       `json:"archived" doc:"Rows of archived cards, which are left out."`
	PointsLeft int64                       `json:"points_left"`
	Faulty     int64                       `json:"faulty" doc:"Rows with faults."`
	Faults     []ImportFault               `json:"faults" doc:"The first 10,000."`
	Notes      []store.ImportNote          `json:"notes" doc:"What a command has left out while it imported."`
	Stamps     int64                       `json:"stamps" doc:"Of all rows that are imported."`
	Balance    int64                       `json:"balance" doc:"In cents, likewise."`
}

// ImportColumn is a column of a file and what it holds.
type ImportColumn struct {
	Name  string             `json:"name"`
	Field store.Null[string] `json:"field" doc:"Null: it is not read."`
}

// ImportFault is what is wrong with a cell, or with a row.
type ImportFault struct {
	Line   int    `json:"line"`
	Column string `json:"column" doc:"Empty: the row as a whole."`
	Value  string `json:"value"`
	store.Detail
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
		file, rows, err := readImport(f)
		var parts store.ImportParts[store.RawRow]
		for _, r := range rows {
			parts.Add(r)
		}
		return func(tx *store.Tx) (store.ImportRun, error) {
			return tx.UploadImport(c.Access.Shop, file, &parts, len(rows))
		}, err
	}),
})

// CheckImport says what StartImport would do with an uploaded file.
var CheckImport = declare(kernel.Operation{
	ID:      "checkImport",
	Group:   cards,
	Title:   "Check an uploaded file of cards",
	Callers: manager,
	Codes:   notFoundOrConflict,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, o store.ImportOptions) (ImportReport, error) {
		w := importWork{options: o}
		_, err := w.readUpload(v, c)
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
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, o store.ImportOptions) (func(*store.Tx) (ImportReport, error), error) {
		w := importWork{options: o, id: c.Param("id")}
		file, err := readBefore(c, func(v *store.View) (store.ImportFile, error) { return w.readUpload(v, c) })
		return w.start(c, file), err
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
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f ImportFields) (func(*store.Tx) (ImportReport, error), error) {
		file, rows, err := readImport(f.FileFields)
		if err != nil {
			return nil, err
		}
		w := importWork{options: f.ImportOptions, dry: f.DryRun.V}
		err = c.View(func(v *store.View) error {
			if err := w.begin(v, c, file); err != nil {
				return err
			}
			for _, r := range rows {
				w.add(r)
			}
			return nil
		})
		return w.start(c, file), err
	}),
})

// readImport reads a file.
func readImport(f FileFields) (file store.ImportFile, rows []store.RawRow, err error) {
	table, err := sheet.Read(f.File.V)
	var fault sheet.Error
	if errors.As(err, &fault) {
		return file, nil, store.InvalidField("file", wire.CodeInvalidFormat, fault.Error())
	}
	if table.Rows == nil {
		return file, nil, store.InvalidField("file", wire.CodeInvalidValue, "has no rows below the names of its columns")
	}
	return store.ImportFile{Name: f.FileName.Value(), Hash: sha256.Sum256(f.File.V), Columns: table.Columns}, table.Rows, err
}

// importWork checks the rows of a file one after another.
type importWork struct {
	options store.ImportOptions
	id      string // of the upload; empty: there is none
	dry     bool   // nothing is imported
	importer
	check  *store.ImportCheck
	report ImportReport
	rows   store.ImportParts[store.StoredRow] // that are imported
}

// begin prepares the work for a file.
func (w *importWork) begin(v *store.View, c *kernel.Call, file store.ImportFile) (err error) {
	columns := file.Columns
	if w.check, err = v.NewImportCheck(c.Access.Shop, w.options); err != nil {
		return err
	}
	shop := w.check.Shop
	w.report = ImportReport{}
	w.rows = store.ImportParts[store.StoredRow]{}
	w.importer = importer{currency: shop.Currency, zone: store.Zone(shop.Timezone), per: w.options.StampsPer.Or(1)}
	if err := w.setColumns(columns, w.options.Map.V); err != nil {
		return err
	}
	var mapping []string // as if all of it was given, so that the same one is known again
	for n, name := range columns {
		column := ImportColumn{Name: name}
		if of := w.fields[n]; of >= 0 {
			column.Field = store.Some(importFields[of].name)
		}
		w.report.Columns = append(w.report.Columns, column)
		if name != "" {
			mapping = append(mapping, name+"="+column.Field.V)
		}
	}
	w.options.Map = store.Given(mapping)
	w.report.Run, err = v.KnownImport(c.Access.Shop, file, w.options)
	return err
}

// add checks a row. It does nothing with the rows of a file that was imported before.
func (w *importWork) add(raw store.RawRow) {
	r := &w.report
	if r.Run.Valid {
		return
	}
	if len(r.Preview) < importPreviewRows {
		cells := make([]string, len(raw.Cells))
		for n, cell := range raw.Cells {
			cells[n] = shortened(cell)
		}
		r.Preview = append(r.Preview, cells)
	}
	program := w.check.Program()
	if column, name := w.column("program", raw.Cells); column != "" && name != program.ID && !strings.EqualFold(name, program.Name) {
		r.Other++
		return
	}
	if _, state := w.column("state", raw.Cells); state == store.StatusArchived {
		r.Archived++
		return
	}
	r.Rows++
	left := w.left
	row, codes, faults := w.row(raw.Cells)
	plan, more := w.check.Row(raw.Line, row, faults...)
	for _, d := range more {
		d.Field = codeField(d.Field, codes)
		if !slices.ContainsFunc(faults, func(have store.Detail) bool { return have.Field == d.Field }) {
			faults = append(faults, d)
		}
	}
	switch {
	case faults != nil:
		w.left = left
		r.Faulty++
		for _, d := range faults[:min(len(faults), maxImportFaults-len(r.Faults))] {
			column, value := w.column(d.Field, raw.Cells)
			r.Faults = append(r.Faults, ImportFault{raw.Line, column, shortened(value), d})
		}
		return
	case plan.Refused != nil:
		w.left = left
		r.Refused++
	case plan.New():
		r.New++
	default:
		r.Updates++
	}
	r.PointsLeft = w.left
	if plan.Refused == nil {
		r.Stamps += row.Stamps.V
		r.Balance += row.Balance.V
	}
	w.rows.Add(store.StoredRow{Line: raw.Line, Row: row})
}

// shortened returns a cell of a report, of which a file may have many that are long.
func shortened(cell string) string {
	const most = 200
	if len(cell) <= most {
		return cell
	}
	return strings.ToValidUTF8(cell[:most], "") + "…"
}

// readUpload checks the rows of an uploaded file.
func (w *importWork) readUpload(v *store.View, c *kernel.Call) (file store.ImportFile, err error) {
	file, err = v.Upload(c.Access.Shop, c.Param("id"))
	if err == nil {
		err = w.begin(v, c, file)
	}
	if err == nil {
		err = v.UploadedRows(file, w.add)
	}
	return file, err
}

// start returns the function that begins the import, unless there is nothing to begin.
func (w *importWork) start(c *kernel.Call, file store.ImportFile) func(*store.Tx) (ImportReport, error) {
	return func(tx *store.Tx) (report ImportReport, err error) {
		if w.dry || w.report.Run.Valid || w.report.Faulty > 0 && !w.options.SkipFaulty.V {
			return w.report, nil
		}
		counts := store.ImportRun{Rows: w.report.Rows, Skipped: w.report.Faulty, OtherProgram: w.report.Other, PointsLeft: w.left,
			Left: w.report.Rows + w.report.Other + w.report.Archived}
		var skipped []store.ImportNote
		for _, f := range w.report.Faults {
			skipped = append(skipped, store.ImportNote{Line: f.Line, Detail: f.Detail})
		}
		run, err := tx.StartImport(c.Access.Shop, w.id, file, w.options, &w.rows, counts, skipped)
		report = w.report
		report.Run = store.Some(run)
		return report, err
	}
}

// ContinueImport works on the next rows of an import or of its undo.
var ContinueImport = declare(kernel.Operation{
	ID:      "continueImport",
	Group:   cards,
	Title:   "Continue an import",
	Callers: manager,
	Codes:   notFound,
	Write:   inShop((*store.Tx).ContinueImport),
})

// UndoImport erases the cards of an import that were not used.
var UndoImport = declare(kernel.Operation{
	ID:      "undoImport",
	Group:   cards,
	Title:   "Undo an import",
	Callers: manager,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write:   inShop((*store.Tx).UndoImport),
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
	Read:    byIDInShop((*store.View).ImportRunReport),
})

// ListImports lists the newest imports.
var ListImports = declare(kernel.Operation{
	ID:      "listImports",
	Group:   cards,
	Title:   "List imports",
	Callers: manager,
	Read:    listOf((*store.View).ImportRuns),
})
