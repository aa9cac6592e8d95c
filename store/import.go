package store

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"strings"
)

// The states of an import.
const (
	ImportUploaded = "uploaded" // the file waits for its mapping
	ImportRunning  = "running"
	ImportDone     = "done"
	ImportUndoing  = "undoing"
	ImportUndone   = "undone"
)

// How many rows one write of an import takes, and how many cards one of its undo. A till waits at most so
// long: BenchmarkCardImport of server/e2e has the 99th percentile of a stamp meanwhile. With 50 rows an
// import takes 60 % longer, since each write waits for the lock.
const (
	importSlice = 150
	undoSlice   = 50
)

// ImportRow is a card in a file of another system.
type ImportRow struct {
	Line int // of the file
	RowFields
}

// RowFields are what the cells of a row say.
type RowFields struct {
	CardFields
	HolderContactPatch
	Stamps  Opt[int64]    `json:"stamps" min:"0" max:"100000"`
	Balance Opt[int64]    `json:"balance" min:"0" max:"100000000"` // in cents
	Claimed Opt[[]string] `json:"claimed" max:"200"`               // thresholds of prizes
	// ClaimedOverflow are thresholds too, for the cards that the first one overflowed into; nextCard is between those of two cards.
	// Exports alone have it, so a row that has it may have stamps for more than two cards.
	ClaimedOverflow Opt[[]string] `json:"claimed_overflow" max:"2000"`
	MemberSince     Opt[string]   `json:"member_since" format:"date"`
	LastVisit       Opt[string]   `json:"last_visit" format:"date"`
}

// ImportOptions say how a file is imported.
type ImportOptions struct {
	ProgramID    Opt[string]   `json:"program_id" req:"true" doc:"The program of the cards, which need not be published."`
	Map          Opt[[]string] `json:"map" max:"200" doc:"COLUMN=FIELD: what a column of the file holds; without a field, nothing that is read. Columns with well-known names need none."`
	StampsPer    Opt[int64]    `json:"stamps_per" min:"1" max:"1000000" doc:"The file has points, of which so many are a stamp; what is left of them is dropped and reported."`
	SkipFaulty   Opt[bool]     `json:"skip_faulty" doc:"Import the other rows where some are faulty."`
	AllowUnkeyed Opt[bool]     `json:"allow_unkeyed" doc:"Take rows with neither an external_ref nor a code. A newer file cannot find their cards again."`
	Update       Opt[bool]     `json:"update" doc:"The file is newer than one that was imported: cards that are there already get its stamps, balances and contacts, unless they were used or are on a phone."`
	Events       Opt[bool]     `json:"with_events" doc:"Send card.added to webhooks."`
	SendEmail    Opt[bool]     `json:"send_email" doc:"Mail each holder with an address the install link, at most half of the mail of an hour."`
}

// ImportRun is an import and how far it is.
type ImportRun struct {
	ID           string       `json:"id"`
	State        string       `json:"state" enum:"uploaded,running,done,undoing,undone"`
	ProgramID    Null[string] `json:"program_id"`
	ProgramName  Null[string] `json:"program_name"`
	FileName     Null[string] `json:"file_name"`
	Rows         int64        `json:"rows" doc:"Of the file that are to be imported."`
	Left         int64        `json:"left" doc:"Rows, or cards of an import that is undone, that are still to be worked on."`
	Added        int64        `json:"added" doc:"Cards."`
	Updated      int64        `json:"updated" doc:"Cards that were there."`
	Unchanged    int64        `json:"unchanged" doc:"Cards that were there and have what the file says."`
	Skipped      int64        `json:"skipped" doc:"Rows that are faulty, or whose cards must not be changed."`
	Removed      int64        `json:"removed" doc:"Cards that an undo erased."`
	Kept         int64        `json:"kept" doc:"Cards that an undo left, since they were used, changed or are on a phone."`
	OtherProgram int64        `json:"other_program" doc:"Rows of other programs."`
	PointsLeft   int64        `json:"points_left" doc:"Points that are no whole stamp, of all rows."`
	CreatedAt    Time         `json:"created_at"`
	EndedAt      Null[Time]   `json:"ended_at"`

	key     int64         `json:"-"`
	through int64         `json:"-"` // the last card that was worked on, of an undo or the invitations
	options ImportOptions `json:"-"`
}

// ImportNote says why an import left out a row, or its undo a card.
type ImportNote struct {
	Line   int          `json:"line" doc:"Of the file; 0 for a card."`
	CardID Null[string] `json:"card_id"`
	Detail
}

// ImportReport says what an import does or would do.
type ImportReport struct {
	Run        Null[ImportRun] `json:"run" doc:"Null if nothing is imported."`
	Columns    []ImportColumn  `json:"columns"`
	Mapping    []Detail        `json:"mapping" doc:"What is wrong with what the columns are said to hold. Then no row was checked."`
	Preview    [][]string      `json:"preview" doc:"The cells of the first rows."`
	Rows       int64           `json:"rows"`
	New        int64           `json:"new" doc:"Rows that make a card."`
	Updates    int64           `json:"updates" doc:"Rows of cards that are there and may be changed."`
	Refused    int64           `json:"refused" doc:"Rows of cards that are there and must not be changed."`
	Other      int64           `json:"other_program" doc:"Rows of other programs."`
	Archived   int64           `json:"archived" doc:"Rows of archived cards, which are left out."`
	PointsLeft int64           `json:"points_left"`
	Faulty     int64           `json:"faulty" doc:"Rows with faults."`
	Faults     []ImportFault   `json:"faults" doc:"The first 10,000."`
	Notes      []ImportNote    `json:"notes" doc:"What a command has left out while it imported."`
	Stamps     int64           `json:"stamps" doc:"Of all rows that are imported."`
	Balance    int64           `json:"balance" doc:"In cents, likewise."`
}

// ImportColumn is a column of a file and what it holds.
type ImportColumn struct {
	Name  string       `json:"name"`
	Field Null[string] `json:"field" doc:"Null: it is not read."`
}

// ImportFault is what is wrong with a cell, or with a row.
type ImportFault struct {
	Line   int    `json:"line"`
	Column string `json:"column" doc:"Empty: the row as a whole."`
	Value  string `json:"value"`
	Detail
}

// Column returns the names and the cell of the columns that hold a field; empty if none does. First and last name are two columns.
func (r *ImportReport) Column(field string, cells []string) (name, cell string) {
	var names, texts []string
	for n, c := range r.Columns {
		if c.Field != Some(field) {
			continue
		}
		names = append(names, c.Name)
		if n < len(cells) && cells[n] != "" {
			texts = append(texts, cells[n])
		}
	}
	return strings.Join(names, ", "), strings.TrimSpace(strings.Join(texts, " "))
}

// ImportRunReport is an import with its notes.
type ImportRunReport struct {
	ImportRun
	Notes []ImportNote `json:"notes" doc:"The first 1,000. Those of an import that ended 30 days ago are gone."`
}

const importCols = `i.id, i.state, i.program_id, (SELECT name FROM programs WHERE id=i.program_id), i.file_name, i.rows,
	iif(i.state='undoing', i.added-i.removed-i.kept, (SELECT ifnull(sum(rows), 0) FROM import_parts WHERE import_id=i.id)),
	i.added, i.updated, i.unchanged, i.skipped, i.removed, i.kept,
	i.other_program, i.points_left, i.created_at, i.ended_at, i.through, ifnull(i.options, '{}')`

// scanImport reads an import.
func (q *queries) scanImport(r *rows) (i ImportRun) {
	var program Null[int64]
	r.scan(&i.key, &i.State, &program, &i.ProgramName, &i.FileName, &i.Rows, &i.Left, &i.Added, &i.Updated, &i.Unchanged, &i.Skipped,
		&i.Removed, &i.Kept, &i.OtherProgram, &i.PointsLeft, &i.CreatedAt, &i.EndedAt, &i.through, &i.options)
	i.ID, i.ProgramID = q.ID(KindImport, i.key), q.nullID(KindProgram, program)
	return i
}

// ImportRun returns an import of a shop.
func (q *queries) ImportRun(shop int64, id string) (ImportRun, error) {
	return findOne(q, "import", q.scanImport, "SELECT "+importCols+" FROM imports i WHERE i.id=? AND i.shop_id=?",
		q.keyOrNone(KindImport, id), shop)
}

// ImportRuns returns the newest imports of a shop, newest first.
func (v *View) ImportRuns(shop int64) ([]ImportRun, error) {
	const newest = 50
	return collect(v, v.scanImport,
		"SELECT "+importCols+" FROM imports i WHERE i.shop_id=? ORDER BY i.id DESC LIMIT ?", shop, newest), v.failed
}

// ImportRunReport returns an import with its notes.
func (v *View) ImportRunReport(shop int64, id string) (report ImportRunReport, err error) {
	const first = 1000
	if report.ImportRun, err = v.ImportRun(shop, id); err != nil {
		return report, err
	}
	report.Notes = collect(v, func(r *rows) (n ImportNote) {
		var card Null[int64]
		r.scan(&n.Line, &card, &n.Field, &n.Code, &n.Message)
		n.CardID = v.nullID(KindCard, card)
		return n
	}, "SELECT line, card_id, field, code, message FROM import_notes WHERE import_id=? ORDER BY id LIMIT ?",
		report.key, first)
	return report, v.failed
}

// note adds a note to an import.
func (tx *Tx) note(run int64, line int, card int64, d Detail) {
	tx.exec("INSERT INTO import_notes (import_id, line, card_id, field, code, message) VALUES (?,?,?,?,?,?)", run, line, nonZero(card),
		d.Field, d.Code, d.Message)
}

// RawRow is a row of a file as it was uploaded, without what is not in its columns.
type RawRow struct {
	Line  int
	Cells []string
}

// ImportParts are rows of an import, each a RawRow or an ImportRow, in the form in which they are stored.
type ImportParts struct {
	n      int // rows
	packed [][]byte
	rows   []int // of each part
	next   []any
}

// Add adds a row.
func (p *ImportParts) Add(r any) {
	p.n++
	if p.next = append(p.next, r); len(p.next) == importSlice {
		p.pack()
	}
}

// pack packs the rows that Add has collected.
func (p *ImportParts) pack() {
	if len(p.next) > 0 {
		p.packed, p.rows = append(p.packed, packRows(p.next)), append(p.rows, len(p.next))
		p.next = p.next[:0]
	}
}

// packRows returns rows in the form in which they are stored.
func packRows(rows []any) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestSpeed)
	json.NewEncoder(w).Encode(rows) // neither rows nor a buffer have an error
	w.Close()
	return b.Bytes()
}

// storeParts stores the rows of an import.
func (tx *Tx) storeParts(run int64, p *ImportParts) {
	p.pack()
	for n, packed := range p.packed {
		tx.exec("INSERT INTO import_parts (import_id, part, rows, packed) VALUES (?,?,?,?)", run, n, p.rows[n], packed)
	}
}

// part reads the rows of a part of an import.
func part[R any](q *queries, run, number int64) (all []R) {
	read := func(r *rows) { q.fail(json.NewDecoder(flate.NewReader(bytes.NewReader(r.bytes()))).Decode(&all)) }
	q.one(read, "SELECT packed FROM import_parts WHERE import_id=? AND part=?", run, number)
	return all
}
