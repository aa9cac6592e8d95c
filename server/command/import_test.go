package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// importFile is a file with a stamp program and a prepaid one.
func importFile(t *testing.T) *file {
	t.Helper()
	return fileOf(t,
		"shop create --name 'Bar Lux'",
		"shop update --country-code IT --timezone Europe/Rome",
		"program create --name Coffee --type standard --total-stamps 10 --prize 5=Cookie --prize 10=Coffee"+
			" --repeat-after-reset --icon-key coffee",
		"program create --name Wallet --type prepaid --initial-balance-cents 500",
	)
}

// write writes a file beside the database and returns its path.
func (f *file) write(name, text string) string {
	path := filepath.Join(filepath.Dir(f.db), name)
	noError(f.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// checked checks that the file has no findings.
func (f *file) checked() {
	f.t.Helper()
	f.prints("check", "ok")
}

func TestImport(t *testing.T) {
	f := importFile(t)
	csv := f.write(
		"members.csv",
		"Reference ID;First Name;Given Name;Last Name;Email;Phone;Birthday;Memo;stamps;claimed;Barcode;code_2;claimed_overflow;"+
			`member_since;Last Visit;expires_at
r1;Ada;;Byron;ada@example.org;333 123 4567;1990-02-28;a note;7;5;036000291452;X 1;;2020-05-01;2026-11-01 23:30;2099-12-31
r2;Bob;;O'Neil;;;02-29;;15;5;;;5;;;
;;;;;;;;0;;Q-3;;;;;
`,
	)
	line := "card import " + csv + " --program Coffee"
	f.prints(line+" --dry-run", "New cards", "holder_name")
	if n := f.value("SELECT count(*) FROM cards"); n != "0" {
		t.Errorf("a dry run wrote %s cards", n)
	}
	var report struct {
		Rows, New, Faulty int
		Run               struct {
			ID, State                     string
			Added, Left, Skipped, Updated int
		}
	}
	f.json(&report, line)
	if r := report.Run; report.New != 3 || r.State != "done" || r.Added != 3 || r.Left != 0 {
		t.Errorf("the report is %+v", report)
	}
	for query, want := range map[string]string{
		"SELECT group_concat(stamps_count||'/'||opening_stamps||' '||source||' '||ifnull(root_id,'-'), ',') FROM cards": "" +
			"7/7 import -,10/10 import -,5/5 overflow 2,0/0 import -",
		"SELECT holder_name FROM cards WHERE id=1":                                                   "Ada Byron",
		"SELECT group_concat(card_id||':'||threshold, ' ') FROM claims WHERE transaction_id IS NULL": "1:5 2:5 3:5",
		"SELECT phone||' '||birthday||' '||note||' '||member_since FROM contacts WHERE card_id=1": "" +
			"+393331234567 02-28 a note 2020-05-01",
		"SELECT group_concat(barcode, ',') FROM (SELECT barcode FROM foreign_codes ORDER BY barcode)": "0036000291452,Q-3,X 1",
		"SELECT date(last_seen_day*86400, 'unixepoch') FROM cards WHERE id=1":                         "2026-11-01",
		"SELECT datetime(expires_at/1000, 'unixepoch') FROM cards WHERE id=1":                         "2099-12-31 22:59:59",
		"SELECT count(*) FROM cards WHERE expires_at IS NULL":                                         "3",
		"SELECT count(*) FROM transactions":                                                           "0",
		"SELECT count(*) FROM import_parts":                                                           "0",
		"SELECT live_cards FROM shops":                                                                "3",
	} {
		if got := f.value(query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	f.checked()
	f.json(&report, line+" --map Memo=note --map Barcode=code --stamps-per 1") // the same mapping adds nothing again
	if n := f.value("SELECT count(*) FROM cards"); n != "4" || report.Run.Added != 3 || report.Rows != 3 || report.New != 0 {
		t.Errorf("imported twice: %s cards, %+v", n, report)
	}

	// A newer file changes what is not used.
	f.run("location create --name Bar --address x --city Rome --postal-code 1 --country-code IT --lat 1 --lon 1")
	var found struct{ Data []struct{ ID string } }
	f.json(&found, "card find Q-3")
	f.run("card adjust " + found.Data[0].ID + " --stamps 1 --location Bar --reason x")
	newer := f.write("newer.csv", "external_ref,holder_name,stamps,code\nr1,Ada Lovelace,19,\nr2,Bob,3,\nr4,Dan,2,\n,,4,Q-3\n")
	f.json(&report, "card import "+newer+" --program Coffee --update")
	if r := report.Run; r.Updated != 2 || r.Added != 1 || r.Skipped != 1 {
		t.Errorf("the update is %+v", r)
	}
	f.run("program create --name Tea --type standard --total-stamps 50 --prize 50=Tea --icon-key coffee")
	f.run("card import " + f.write("tea.csv", "code,stamps\nT-1,40\n") + " --program Tea")
	f.json(&report, "card import "+f.write("claimed.csv", "code,claimed\nQ-3,5\nT-1,5\n")+" --program Coffee --update")
	if r := report.Run; r.Skipped != 2 || r.Updated != 0 {
		t.Errorf("the update of a used card and one of another program is %+v", r)
	}
	sql := "SELECT group_concat(holder_name||' '||stamps_count, ',') FROM cards WHERE external_ref='r1'"
	if got := f.value(sql); got != "Ada Lovelace 10,Ada Lovelace 9" {
		t.Errorf("updated to %s", got)
	}
	claims := func(what, want string) { // of r1
		t.Helper()
		if got := f.value("SELECT ifnull(group_concat(threshold), 'none') FROM claims WHERE card_id=1"); got != want {
			t.Errorf("with %s the redeemed prizes are %s, want %s", what, got, want)
		}
	}
	claims("a file that does not have them", "5")
	f.json(&report, "card import "+f.write("none.csv", "external_ref,stamps,claimed\nr1,8,\n")+" --program Coffee --update")
	claims("a file that has none", "none")
	f.json(&report, "card import "+f.write("claims.csv", "external_ref,claimed\nr1,5\n")+" --program Coffee --update")
	claims("a file that has one and no stamps", "5")
	f.json(&report, "card import "+f.write("again.csv", "external_ref,stamps,claimed\nr1,9,5\n")+" --program Coffee --update")
	claims("a file that has one again", "5")
	f.json(&report, "card import "+f.write("less.csv", "external_ref,stamps\nr1,3\nr4,2\n")+" --program Coffee --update")
	claims("fewer stamps than it needs", "none")
	if got := f.value("SELECT group_concat(stamps_count, ',') FROM cards WHERE external_ref='r1' AND archived_at IS NULL"); got != "3" {
		t.Errorf("updated to %s stamps", got)
	}
	f.checked()

	// The undo leaves the cards that were adjusted or changed by newer files.
	first := f.value("SELECT min(id) FROM imports")
	var undone struct {
		State         string
		Removed, Kept int
	}
	var runs struct{ Data []store.ImportRun }
	decodeInto(t, f.invoke(operation.ListImports, nil, nil), &runs)
	f.json(&undone, "card import undo "+runs.Data[len(runs.Data)-1].ID)
	if undone.State != "undone" || undone.Removed != 0 || undone.Kept != 3 {
		t.Errorf("undone is %+v, of import %s", undone, first)
	}
	f.checked()
	f.refused("card import undo "+runs.Data[len(runs.Data)-1].ID, "running or done")
	f.refused("card import undo", "missing argument")
	f.refused("card import undo imp_x --dry-run", "--dry-run: must not be given with <run>")
	f.refused("card import x.csv imp_x", "unexpected argument")
	f.prints(line+" --skip-faulty", "is the code of another card", "Cards added") // no longer known, so it runs again
	f.checked()
}

func TestImportBalances(t *testing.T) {
	f := importFile(t)
	csv := f.write("w.csv", "program,reference,balance,claimed,stamps\nWallet,a,\"12,50\",,0\nwallet,b,3.5,,\nCoffee,c,,,4\nWALLET,d,,,\n")
	f.run("card import " + csv + " --program Wallet")
	if got := f.value("SELECT group_concat(current_value||'='||initial_value, ' ') FROM cards"); got != "1250=1250 350=350 500=500" {
		t.Errorf("the balances are %s", got)
	}
	f.run("card import " + f.write("p.csv", "ref,Points\np1,137\np2,99\n") + " --program Coffee --stamps-per 50")
	sql := "SELECT group_concat(stamps_count, ' ')||' '||(SELECT points_left FROM imports ORDER BY id DESC LIMIT 1) " +
		"FROM cards WHERE program_id=1"
	if got := f.value(sql); got != "2 1 86" {
		t.Errorf("stamps and points left are %s", got)
	}
	f.checked()
}

// TestImportFaults checks that each fault is named by line, column and rule, and that nothing is written.
func TestImportFaults(t *testing.T) {
	f := importFile(t)
	f.run("card import " + f.write("there.csv", "reference,code\nhere,C-1\n") + " --program Coffee")
	same := unchanged(t, f.db)
	const header = "reference,name,email,phone,birthday,stamps,balance,claimed,expires_at,code,member_since,last_visit\n"
	for row, want := range map[string][2]string{
		"here,,,,,,,,,,,":                       {"reference", "there already"},
		",,,,,,,,,C-1,,":                        {"code", "another card"},
		",x,,,,,,,,,,":                          {"reference", "required"},
		"x," + strings.Repeat("n", 201):         {"name", "at most 200"},
		"x,,nobody":                             {"email", "email address"},
		"x,,,12":                                {"phone", "phone number"},
		"x,,,+44 20 7946 0958 0000 0000":        {"phone", "phone number"},
		"x,,,,02-30":                            {"birthday", "day that the month has"},
		"x,,,,28/02/1990":                       {"birthday", "month and a day"},
		"x,,,,,21":                              {"stamps", "at most 20"},
		"x,,,,,-1":                              {"stamps", "negative"},
		"x,,,,,\"1,000\"":                       {"stamps", "whole number"},
		"x,,,,,1.5":                             {"stamps", "whole number"},
		"x,,,,,,12":                             {"balance", "prepaid"},
		"x,,,,,,1.234":                          {"balance", "at most 2 decimals"},
		"x,,,,,4,,5":                            {"claimed", "the card has 4"},
		"x,,,,,10,,10":                          {"claimed", "starts again"},
		"x,,,,,4,,3":                            {"claimed", "has a prize"},
		"x,,,,,19,,5 5":                         {"claimed", "twice"},
		"x,,,,,,,,2020-01-01":                   {"expires_at", "future"},
		"x,,,,,,,,31.12.2099":                   {"expires_at", "ISO 8601"},
		"x,,,,,,,,,é":                           {"code", "printable ASCII"},
		"x,,,,,,,,,,2024-02-30":                 {"member_since", "ISO 8601"},
		"x,,,,,,,,,,,2999-01-01":                {"last_visit", "future"},
		"x,,,,,,,,,,2999-01-01":                 {"member_since", "future"},
		"x,,,,,,,,,,1000-01-01":                 {"member_since", "before 1970"},
		"x,=HYPERLINK(\"\"\"x\"\"),,,,,,,,,,,,": {"", ""},
	} {
		path := f.write("bad.csv", header+"ok,,,,,,,,,,,\n"+row+"\n")
		out, err := f.try("card import " + path + " --program Coffee")
		if err == nil || want[0] != "" && (!strings.Contains(out, want[0]) || !strings.Contains(out, want[1]) ||
			!strings.Contains(out, "\n3 ")) {
			t.Errorf("%s: %v\n%s", row, err, out)
		}
	}
	twice := f.write("twice.csv", header+"a,,,,,,,,,Z1,,\na,,,,,,,,,,,\nb,,,,,,,,,Z1,,\n")
	out, err := f.try("card import " + twice + " --program Coffee")
	if err == nil || strings.Count(out, "is also in line 2") != 2 {
		t.Errorf("a row that is there twice: %v\n%s", err, out)
	}
	codes := f.write("codes.csv", "reference,code,code_2\na,A1,\u00e9\nb,B1,B2\nc,C1,B2\nd,D1,C-1\n")
	out, err = f.try("card import " + codes + " --program Coffee")
	want := `\n2 +code_2 +\S+ +must be 1 to 64(?s:.*)\n4 +code_2 +B2 +is also in line 3\n5 +code_2 +C-1 +is the code`
	if err == nil || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("faults of a second code: %v\n%s", err, out)
	}
	many := f.write("many.csv", header+strings.Repeat("x,,nobody\n", 10_000))
	if _, err := f.try("card import " + many + " --program Coffee"); err == nil || !strings.Contains(err.Error(), "rows are faulty (10000)") {
		t.Errorf("ten thousand faults: %v", err)
	}
	formulas := f.write("formulas.csv", strings.Repeat("=1+1,", 11)+"=1+1\n"+strings.Repeat("=1+1,", 11)+"=1+1\n")
	f.refused("card import "+formulas+" --program Coffee", "two columns")
	f.refused("card import "+f.write("zip.csv", "PK\x03\x04")+" --program Coffee", "workbook or a zip")
	f.refused("card import "+f.write("q.csv", "reference\n\"a\nb\n")+" --program Coffee", "line 2", "never closed")
	f.refused("card import "+twice+" --program Coffee --map name=nothing", "--map (value 1)", "must name a field")
	f.refused("card import "+twice+" --program Coffee --map other=note", "must name a column")
	f.refused("card import "+twice+" --program Coffee --map name=note --map reference=note", "two columns")
	f.refused("card import "+f.write("u.csv", "a,b\n1,2\n")+" --program Coffee", "must say what the columns hold")
	f.refused("card import "+f.write("h.csv", "reference\n")+" --program Coffee", "no rows")
	f.refused("card import "+filepath.Dir(f.db)+" --program Coffee", "regular file")
	f.refused("card import "+twice, "--program is required")
	f.refused("card import '' --program Coffee", "<file>: must not be empty")
	f.refused("card import "+twice+" --program Tea", "no program")
	f.refused("card import " + twice)
	same()
}

// TestImportContinues checks that the command finishes an import that ended in between, and that erasing a
// card removes what waits about it.
func TestImportContinues(t *testing.T) {
	f := importFile(t)
	var rows strings.Builder
	for i := range 170 {
		fmt.Fprintf(&rows, "r%d,n%d@example.org,+39 333 %07d\n", i, i, i)
	}
	csv := f.write("many.csv", "reference,email,phone\n"+rows.String())
	content := require.Must(os.ReadFile(csv))
	fields := operation.ImportFields{}
	fields.File, fields.FileName = store.Given(content), store.Given("many.csv")
	fields.ProgramID = store.Given(f.id(operation.ListPrograms, 1))
	var report store.ImportReport
	decodeInto(t, f.invoke(operation.ImportCards, fields, nil), &report)
	params := map[string]string{"id": report.Run.V.ID}
	f.invoke(operation.ContinueImport, nil, params)
	if got := f.value("SELECT count(*)||' '||(SELECT sum(rows) FROM import_parts) FROM cards"); got != "150 20" {
		t.Fatalf("after one slice there are cards and rows left: %s", got)
	}
	f.run("program publish Coffee")
	f.run("card issue Coffee --holder-email n160@example.org")
	f.run("card delete n160@example.org --yes")
	f.run("card import " + csv + " --program Coffee")
	sql := "SELECT count(*)||' '||count(DISTINCT external_ref)||' '||sum(holder_email='n160@example.org') FROM cards WHERE source='import'"
	if got := f.value(sql); got != "169 169 0" {
		t.Errorf("after all there are cards, references and the erased person: %s", got)
	}
	f.checked()
}

// invoke invokes an operation as the command line does and returns its answer.
func (f *file) invoke(op *kernel.Operation, fields any, params map[string]string) []byte {
	f.t.Helper()
	st := require.Must(store.Open(f.db, store.Options{}))
	defer st.Close()
	var shop int64
	noError(f.t, st.View(0, func(v *store.View) error {
		shops, err := v.Shops()
		if err == nil {
			shop, _ = st.Key(store.KindShop, shops[0].ID)
		}
		return err
	}))
	r, err := kernel.New(st, kernel.Config{Fields: fieldLimits}).
		Invoke(context.Background(), person(shop), op, kernel.Args{Params: params, Fields: fields})
	noError(f.t, err)
	return r.AppendJSON(nil)
}

// id returns the id of an item of a list, from its end.
func (f *file) id(list *kernel.Operation, fromEnd int) string {
	var all struct{ Data []struct{ ID string } }
	decodeInto(f.t, f.invoke(list, nil, nil), &all)
	return all.Data[len(all.Data)-fromEnd].ID
}

func decodeInto(t *testing.T, text []byte, v any) {
	t.Helper()
	noError(t, json.Unmarshal(text, v))
}

// TestImportDryRun checks that a dry run writes nothing, also of a file whose import was interrupted.
func TestImportDryRun(t *testing.T) {
	f := importFile(t)
	f.begin(170)
	var text strings.Builder
	text.WriteString("reference\n")
	for i := range 170 {
		text.WriteString("r" + strings.Repeat("x", i) + "\n")
	}
	csv := f.write("same.csv", text.String())
	same := unchanged(t, f.db)
	f.prints("card import "+csv+" --program Coffee --dry-run", "running")
	same()
	f.run("card import " + csv + " --program Coffee")
	f.prints("card import "+csv+" --program Coffee", "imported already")
}

// TestImportSpreadsheetNumbers checks what is made of phone numbers and codes that a spreadsheet took for numbers.
func TestImportSpreadsheetNumbers(t *testing.T) {
	f := importFile(t)
	f.run("card import " + f.write("n.csv", "reference,phone,code\na,3331234567.0,4006381333948.0\n"+
		"b,\"=\"\"3331234568\"\"\",\"=\"\"0123\"\"\"\nc,,12.0\nd,=\"3331234569\",=\"0,4\"\n") + " --program Coffee")
	f.run("shop update --country-code DE")
	f.run("card import " + f.write("de.csv", "reference,phone\ng,491712000000\nh,4915123456\n") + " --program Coffee") // without a plus sign
	for query, want := range map[string]string{
		"SELECT group_concat(phone) FROM contacts": "+393331234567,+393331234568,+393331234569,+491712000000," +
			"+494915123456",
		"SELECT group_concat(barcode) FROM (SELECT barcode FROM foreign_codes ORDER BY barcode)": "0,4,0123,12.0,4006381333948",
	} {
		if got := f.value(query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	for _, row := range []string{"d,3.33123E+09,", "d,,4.00638E+12", "d,,\"4,00638E+12\""} {
		out, err := f.try("card import " + f.write("e.csv", "reference,phone,code\n"+row+"\n") + " --program Coffee")
		if err == nil || !strings.Contains(out, "shortened by a spreadsheet") {
			t.Errorf("%s: %v\n%s", row, err, out)
		}
	}
}

// TestImportManyCards checks chains of more than two cards, as exports have them: which prizes of theirs are faults, and what a newer
// file without them leaves as it is.
func TestImportManyCards(t *testing.T) {
	f := importFile(t)
	try := func(rows, flags string) (string, error) {
		t.Helper()
		return f.try("card import " + f.write("c.csv", rows) + " --program Coffee " + flags)
	}
	const header = "reference,stamps,claimed,claimed_overflow\n"
	for row, want := range map[string]string{
		"x,36,5,/ / / 5": "the card has 0", "x,5,,5": "the card has 0", "x,36,5,5/5": "has a prize", "x,251,,": "at most 250",
		"x,36,/,": "has a prize", "x,36,,5 5": "twice",
	} {
		if out, err := try(header+row+"\n", ""); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", row, err, out)
		}
	}
	const state = "SELECT group_concat(stamps_count||' '||(SELECT group_concat(threshold) FROM claims WHERE card_id=c.id), '; ') " +
		"FROM cards c WHERE archived_at IS NULL"
	for _, step := range []struct{ rows, flags, want string }{
		{header + "z,27,5,5 / 5\n", "", "10 5; 10 5; 7 5"},
		{"reference,claimed_overflow\nz,/ 5\n", "--update", "10 5; 7 5"},
		{"reference,stamps\nz,28\n", "--update", "10 5; 8 5"},
		{"reference,claimed\nz,\n", "--update", "8 5"},
	} {
		if out, err := try(step.rows, step.flags); err != nil || f.value(state) != step.want {
			t.Errorf("after %q the cards with prizes are %s, want %s: %v\n%s", step.rows, f.value(state), step.want, err, out)
		}
	}
	f.checked()
}

// TestImportUndoKeepsChanged checks that the undo of an import keeps the cards that a newer file changed, lists them, and
// erases those whose data was downloaded.
func TestImportUndoKeepsChanged(t *testing.T) {
	f := importFile(t)
	var first, undone struct {
		ID    string
		Run   struct{ ID string }
		Kept  int
		Notes []store.ImportNote
	}
	f.json(&first, "card import "+f.write("1.csv", "reference,stamps,email\nr1,1,\nr2,2,\nr3,3,eva@example.org\n")+" --program Coffee")
	sqlExec(t, f.db, "UPDATE cards SET created_at=created_at-1, updated_at=updated_at-1") // the clock may not have moved since
	f.run("card import " + f.write("2.csv", "reference,stamps\nr1,5\nr2,2\n") + " --program Coffee --update")
	f.run("card person eva@example.org")
	f.json(&undone, "card import undo "+first.Run.ID)
	if undone.Kept != 1 || len(undone.Notes) != 1 || f.value("SELECT group_concat(external_ref) FROM cards WHERE deleted_at IS NULL") != "r1" {
		t.Errorf("undone is %+v", undone)
	}
	f.checked()
}

// TestImportOneCardTwice checks that two rows that find one card are not both taken.
func TestImportOneCardTwice(t *testing.T) {
	f := importFile(t)
	f.run("card import " + f.write("1.csv", "reference,code\nr1,K1\n") + " --program Coffee")
	out, err := f.try("card import " + f.write("2.csv", "reference,code,stamps\nr1,,3\n,K1,4\n") + " --program Coffee --update")
	if err == nil || !strings.Contains(out, "is also in line 2") {
		t.Errorf("two rows of a card: %v\n%s", err, out)
	}
}

// TestImportBalanceTexts checks that amounts are printed as amounts, and that a report counts the balances that cards begin with.
func TestImportBalanceTexts(t *testing.T) {
	f := importFile(t)
	var report store.ImportReport
	f.json(&report, "card import "+f.write("1.csv", "reference,balance\na,\nb,1\n")+" --program Wallet --dry-run")
	if report.Balance != 600 {
		t.Errorf("the balances are %d", report.Balance)
	}
	out, err := f.try("card import " + f.write("2.csv", "reference,balance\na,1000000.01\n") + " --program Wallet")
	if err == nil || !strings.Contains(out, "amount of at most 1000000.00") {
		t.Errorf("a balance over the limit: %v\n%s", err, out)
	}
	_, err = f.try("card import " + f.write("3.csv", "reference,program\na,Coffee\n") + " --program Wallet")
	if err == nil || !strings.Contains(err.Error(), "all rows are of other programs") || f.value("SELECT count(*) FROM imports") != "0" {
		t.Errorf("a file of another program: %v", err)
	}
}

// TestImportDays checks days that begin after midnight.
func TestImportDays(t *testing.T) {
	f := importFile(t)
	f.run("shop update --timezone America/Havana")
	f.run("card import " + f.write("1.csv", "reference,last_visit,member_since,expires_at\na,2026-03-08,2026-03-08,2099-12-31\n"+
		"b,2025-03-09,2025-03-09,2099-12-31\n") + " --program Coffee")
	if got := f.value("SELECT group_concat(date(last_seen_day*86400, 'unixepoch')) FROM cards"); got != "2026-03-08,2025-03-09" {
		t.Errorf("last seen on %s", got)
	}
}

// TestImportPipe checks that a pipe to which nobody writes is refused.
func TestImportPipe(t *testing.T) {
	f := importFile(t)
	path := filepath.Join(t.TempDir(), "pipe")
	noError(t, syscall.Mkfifo(path, 0o600))
	f.refused("card import "+path+" --program Coffee", "regular file")
}

// TestOverflowedChain checks that the two cards of a chain are one card for who names it by its reference.
func TestOverflowedChain(t *testing.T) {
	f := importFile(t)
	f.run("card import " + f.write("1.csv", "reference,stamps\nr1,15\n") + " --program Coffee")
	f.prints("card show r1", "Stamps      5")
}
