package store

import (
	"fmt"
	"testing"
	"time"
)

// TestImportWaits checks that nothing is imported into a shop while it is moved, and that an undo leaves the
// rows of another file alone, which erasing a holder does not.
func TestImportWaits(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Imported"))
	row := ImportRow{Line: 2}
	row.ExternalRef, row.HolderEmail = Given("r1"), Given("ada@example.org")
	var parts ImportParts
	parts.Add(row)
	run := must(f, func(tx *Tx) (ImportRun, error) {
		return tx.StartImport(f.a.Shop, ImportFile{}, ImportOptions{ProgramID: Given(program)}, &parts, ImportReport{Rows: 1})
	})
	next := func() (more bool) { return must(f, (*Tx).ContinueImports) }
	cards := func() int64 { return f.number("SELECT count(*) FROM cards WHERE deleted_at IS NULL") }

	f.sql("UPDATE shops SET closed=?", ShopMoving)
	f.sql("UPDATE meta SET auth_epoch=auth_epoch+1")
	refused(t, f.do(func(tx *Tx) error { return errorOf(tx.ContinueImport(f.a.Shop, run.ID)) }), Unavailable)
	if next() || cards() != 0 {
		t.Errorf("%d cards were imported into a shop that is moved", cards())
	}
	f.sql("UPDATE shops SET closed=NULL")
	f.sql("UPDATE meta SET auth_epoch=auth_epoch+1")
	for next() {
	}

	var raw ImportParts
	raw.Add(RawRow{Line: 2, Cells: []string{"ada@example.org"}})
	raw.Add(RawRow{Line: 3, Cells: []string{"bea@example.org"}})
	f.writes(func(tx *Tx) { check(tx.UploadImport(f.a.Shop, ImportFile{}, &raw)) })
	f.writes(func(tx *Tx) { check(tx.UndoImport(f.a.Shop, run.ID)) })
	for next() {
	}
	if left := f.number("SELECT sum(rows) FROM import_parts"); cards() != 0 || left != 2 {
		t.Errorf("after the undo there are %d cards, and %d rows wait", cards(), left)
	}
	c := f.cardWith(program, CardFields{HolderEmail: Given("Ada@example.org")})
	f.erase(c)
	if left := f.number("SELECT sum(rows) FROM import_parts"); left != 1 {
		t.Errorf("after an erasure %d rows wait", left)
	}
	raw = ImportParts{}
	raw.Add(RawRow{Line: 2, Cells: []string{"036000291452"}})
	f.writes(func(tx *Tx) { check(tx.UploadImport(f.a.Shop, ImportFile{}, &raw)) })
	c = f.cardWith(program, CardFields{HolderEmail: Given("eve@example.org")})
	f.writes(func(tx *Tx) {
		check(tx.UpdateContact(f.a, c, ContactPatch{Codes: Given([]string{"036000291452"})}))
	})
	f.erase(c)
	if left := f.number("SELECT ifnull(sum(rows), 0) FROM import_parts"); left != 0 {
		t.Errorf("after the erasure of a holder with a code of UPC-A %d rows wait", left)
	}
}

// TestInvitations checks that two imports together mail half of what the shop may, also after an hour in which
// nothing was mailed, and each holder once, also one whose first card the import has completed.
func TestInvitations(t *testing.T) {
	m := startMailing(t, 4)
	program := m.fixture.program(repeating())
	for n := range 2 {
		var parts ImportParts
		for line := range 4 {
			row := ImportRow{Line: line}
			row.HolderEmail, row.Stamps = Given(fmt.Sprintf("%d-%d@example.org", n, line)), Given(int64(line)*5)
			parts.Add(row)
		}
		file := ImportFile{Hash: [32]byte{byte(n)}}
		o := ImportOptions{ProgramID: Given(program), SendEmail: Given(true), AllowUnkeyed: Given(true)}
		m.must(func(tx *Tx) error {
			return errorOf(tx.StartImport(m.a.Shop, file, o, &parts, ImportReport{Rows: 4}))
		})
	}
	for must(m.fixture, (*Tx).ContinueImports) {
	}
	var sent []time.Time
	for minute := range 400 {
		if minute < 60 || minute > 150 {
			m.writes(func(tx *Tx) { check(tx.InviteImported(10)) })
		}
		for range m.send() {
			sent = append(sent, m.clock.now())
			if k := len(sent); k > 2 && sent[k-1].Sub(sent[k-3]) < 59*time.Minute {
				t.Errorf("at minute %d it is more than half of the mail of an hour", minute)
			}
		}
		m.clock.move(time.Minute)
	}
	if len(sent) != 8 {
		t.Errorf("%d of 8 holders were invited", len(sent))
	}
}

// TestPruneImports checks that the notes of an import are deleted 30 days after its end, also where an earlier one
// with many ended later.
func TestPruneImports(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Imported"))
	var runs []string
	for n := range 2 {
		report := ImportReport{Faults: make([]ImportFault, 1000)}
		run := must(f, func(tx *Tx) (ImportRun, error) {
			file := ImportFile{Hash: [32]byte{byte(n)}}
			return tx.StartImport(f.a.Shop, file, ImportOptions{ProgramID: Given(program)}, &ImportParts{}, report)
		})
		runs = append(runs, run.ID)
	}
	end := func() {
		for must(f, (*Tx).ContinueImports) {
		}
	}
	end()
	f.clock.move(days(20))
	f.writes(func(tx *Tx) { check(tx.UndoImport(f.a.Shop, runs[0])) })
	end()
	f.clock.move(days(10))
	for must(f, (*Tx).PruneImports) {
	}
	for n, want := range []int{1000, 0} {
		report := view(f, func(v *View) (ImportRunReport, error) { return v.ImportRunReport(f.a.Shop, runs[n]) })
		if len(report.Notes) != want {
			t.Errorf("import %d has %d notes, want %d", n, len(report.Notes), want)
		}
	}
}
