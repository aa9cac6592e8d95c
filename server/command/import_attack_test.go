package command

import (
	"context"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestImportHugeCells checks that a report has the beginnings of huge cells alone.
func TestImportHugeCells(t *testing.T) {
	f := importFile(t)
	huge := strings.Repeat("ü", 1<<20)
	out, err := f.try("card import " + f.write("huge.csv", "reference,note\nr1,"+huge+"\n") + " --program Coffee --json")
	if err == nil || !strings.Contains(out, "at most 500") || len(out) > 5000 {
		t.Errorf("a huge cell: %v, %d bytes", err, len(out))
	}
	_, err = f.try("card import " + f.write("heading.csv", "reference,"+huge+"\nr1,x\n") + " --program Coffee")
	if err == nil || !strings.Contains(err.Error(), "column 2 of the first line") || len(err.Error()) > 500 {
		t.Errorf("a huge heading: %.500v", err)
	}
	f.prints("card import "+f.write("old.csv", "reference,name\rr1,Ada\rr2,Bob\r")+" --program Coffee", "done")
	if got := f.value("SELECT group_concat(holder_name) FROM cards"); got != "Ada,Bob" {
		t.Errorf("lines that end with carriage returns: %s", got)
	}
	f.checked()
}

// begin begins an import of references, and writes its first slice.
func (f *file) begin(n int) (run map[string]string) {
	f.t.Helper()
	text := "reference\n"
	for i := range n {
		text += "r" + strings.Repeat("x", i) + "\n"
	}
	fields := operation.ImportFields{}
	fields.File, fields.ProgramID = store.Given([]byte(text)), store.Given(f.id(operation.ListPrograms, 1))
	var report store.ImportReport
	decodeInto(f.t, f.invoke(operation.ImportCards, fields, nil), &report)
	run = map[string]string{"id": report.Run.V.ID}
	f.invoke(operation.ContinueImport, nil, run)
	return run
}

// finish works on an import to its end.
func (f *file) finish(run map[string]string, op *kernel.Operation) (r store.ImportRun) {
	f.t.Helper()
	for r.State == "" || r.State == store.ImportRunning || r.State == store.ImportUndoing {
		decodeInto(f.t, f.invoke(op, nil, run), &r)
		op = operation.ContinueImport
	}
	f.checked()
	return r
}

// TestImportMeanwhile changes a shop while rows of an import wait: its limit, the program, and the import
// itself.
func TestImportMeanwhile(t *testing.T) {
	f := importFile(t)
	run := f.begin(220)
	f.run("shop update --max-cards 160")
	if r := f.finish(run, operation.ContinueImport); r.Added != 160 || r.Skipped != 60 || r.State != store.ImportDone {
		t.Errorf("with a lower limit: %+v", r)
	}
	faulty := f.write("faulty.csv", "reference,birthday\nf1,02-30\nf2,99-99\nf3,\nf4,\n")
	f.run("shop update --max-cards 161")
	f.prints("card import "+faulty+" --program Coffee --skip-faulty", "is over the number of live cards", "Cards added                 1")
	f.run("shop update --max-cards none")

	f = importFile(t)
	run = f.begin(220)
	if r := f.finish(run, operation.UndoImport); r.Removed != 150 || r.State != store.ImportUndone {
		t.Errorf("undone while it runs: %+v", r)
	}

	f = importFile(t)
	run = f.begin(220)
	f.run("program delete Coffee --yes")
	if r := f.finish(run, operation.ContinueImport); r.Added != 150 || r.Skipped != 70 {
		t.Errorf("after the program was deleted: %+v", r)
	}
	if got := f.value("SELECT count(*)||' '||(SELECT live_cards FROM shops) FROM cards WHERE archived_at IS NULL"); got != "0 0" {
		t.Errorf("cards of a deleted program: %s", got)
	}
}

// TestImportOfErasedRows checks that an import does not begin with rows of an uploaded file that an erasure
// has removed after they were read.
func TestImportOfErasedRows(t *testing.T) {
	f := importFile(t)
	fields := operation.FileFields{File: store.Given([]byte("reference,email\nr1,ada@example.org\nr2,bob@example.org\n"))}
	var upload store.ImportRun
	decodeInto(t, f.invoke(operation.UploadImport, fields, nil), &upload)
	f.run("program publish Coffee")
	f.run("card issue Coffee --holder-email ada@example.org")
	options := store.ImportOptions{ProgramID: store.Given(f.id(operation.ListPrograms, 1))}
	f.run("card delete ada@example.org --yes")
	st := require.Must(store.Open(f.db, store.Options{}))
	file := require.Must(store.Read(st, func(v *store.View) (store.ImportFile, error) { return v.Upload(1, upload.ID) }))
	err := st.SystemWrite(context.Background(), func(tx *store.Tx) error {
		_, err := tx.StartImport(1, file, options, &store.ImportParts{}, store.ImportReport{Rows: 2})
		return err
	})
	noError(t, st.Close())
	if err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("rows that were erased: %v", err)
	}
	var report store.ImportReport
	decodeInto(t, f.invoke(operation.StartImport, options, map[string]string{"id": upload.ID}), &report)
	if report.New != 1 || f.finish(map[string]string{"id": report.Run.V.ID}, operation.ContinueImport).Added != 1 {
		t.Errorf("the other row: %+v", report)
	}
}

// TestImportShortCodes checks that the short code of a card is no code of an earlier card, also of a card that the
// file may change.
func TestImportShortCodes(t *testing.T) {
	f := importFile(t)
	f.run("card import " + f.write("first.csv", "reference\nr1\n") + " --program Coffee")
	var shown struct {
		ShortCode string `json:"short_code"`
	}
	f.json(&shown, "card show r1")
	for _, reference := range []string{"", "r1"} {
		newer := f.write("newer.csv", "reference,code,stamps\n"+reference+","+strings.ToUpper(shown.ShortCode)+",3\nr2,K-1,4\n")
		out, err := f.try("card import " + newer + " --program Coffee --update")
		if err == nil || !strings.Contains(out, "is the code of another card") {
			t.Errorf("the short code of a card with the reference %q: %v\n%s", reference, err, out)
		}
		f.prints("card import "+newer+" --program Coffee --update --skip-faulty", "done")
	}
	if got := f.value("SELECT group_concat(stamps_count||' '||state) FROM cards, imports WHERE imports.id=2"); got != "0 done,4 done" {
		t.Errorf("the cards have %s", got)
	}
}
