package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// notCarried are the columns of cards.csv that an import does not read, or gives values of its own.
var notCarried = strings.Fields(`
	card_id program short_code locked created_at last_visit source opening_stamps initial_balance first_location_id activated_at
	installed_at platform archived_at consent_version consent_at
`)

// exportedCards exports the shop and returns the folder and the rows of cards.csv without the columns
// that are not carried.
func (f *file) exportedCards() (folder string, rows []string) {
	f.t.Helper()
	folder = filepath.Join(f.t.TempDir(), "out")
	f.run("export --out " + folder)
	r := require.Must(os.Open(filepath.Join(folder, "cards.csv")))
	defer r.Close()
	all := require.Must(csv.NewReader(r).ReadAll())
	for _, cells := range all[1:] {
		var kept []string
		for n, name := range all[0] {
			if name == "state" && cells[n] == store.StatusActive {
				cells[n] = store.StatusInvited // nothing was done with an imported card
			}
			if !slices.Contains(notCarried, name) {
				kept = append(kept, name+"="+cells[n])
			}
		}
		rows = append(rows, strings.Join(kept, "|"))
	}
	return folder, rows
}

// TestImportRoundTrip imports a list, uses its cards at a till, exports the shop, and imports what was
// exported into an empty shop, whose export is the same.
func TestImportRoundTrip(t *testing.T) {
	f, s := startServer(t)
	prepare := func(f *file) {
		f.run("shop update --country-code IT --timezone Europe/Rome")
		f.run("program create --name Bar --type standard --total-stamps 10 --prize 5=Cookie --prize 10=Coffee --repeat-after-reset " +
			"--icon-key coffee")
		f.run("program create --name Early --type standard --total-stamps 10 --prize 5=Cookie --repeat-after-reset --icon-key coffee")
		f.run("program create --name Wallet --type prepaid --initial-balance-cents 500")
		f.run("program publish Bar")
		f.run("program publish Early")
		f.run("program publish Wallet")
	}
	prepare(f)
	list := "card import ../../testdata/import/spreadsheet.csv --program Bar"
	f.prints(list+" --dry-run", "Tessera     code", "Telefono    phone", "New cards")
	if got := f.value("SELECT count(*) FROM cards"); got != "0" {
		t.Fatalf("a dry run wrote %s cards", got)
	}
	f.prints(list, "done")

	// At the till a customer says the last digits of the phone number.
	var member struct{ ID string }
	noError(t, json.Unmarshal([]byte(require.Must(f.typed("2468", "staff add --name Eva --location "+s.LocationIDs[0]+" --json"))),
		&member))
	till := s.Till(s.TillToken)
	session := till.Post("/session", servertest.Fields{"staff_id": member.ID, "pin": "2468"}).Want(201).Str("token")
	do := func(code, kind string, body servertest.Fields) {
		till.Post("/cards/"+code+"/"+kind, body, "X-Staff-Session", session).Want(201)
	}
	found := till.Get("/search?q=4567", "X-Staff-Session", session).Want(200)
	if name := found.Str("data.0.name"); name != "Ada Byron" {
		t.Fatalf("4567 finds %s", name)
	}
	do(found.Str("data.0.handle"), "stamps", servertest.Fields{"count": 1})
	prize := till.Get("/cards/4006381333948", "X-Staff-Session", session).Want(200).Str("prizes.0.id")
	do("4006381333948", "redemptions", servertest.Fields{"prize_id": prize}) // 10 stamps, and 2 on a second card
	do("4006381333948", "stamps", servertest.Fields{"count": 5})
	do("4006381333948", "redemptions", servertest.Fields{"prize_id": prize})
	do("4006381333955", "stamps", servertest.Fields{"count": 10}) // a full card

	var programs struct{ Data []struct{ ID, Name string } }
	f.json(&programs, "program list")
	ids := map[string]string{}
	for _, p := range programs.Data {
		ids[p.Name] = p.ID
	}
	// A card whose last prize is redeemed before it is full, and then another one that overflows.
	for _, reference := range []string{"full", "over"} {
		card := s.Issue(ids["Early"], servertest.Fields{"external_ref": reference})
		do(card, "stamps", servertest.Fields{"count": 7})
		do(card, "redemptions", servertest.Fields{"prize_id": till.Get("/cards/" + card).Want(200).Str("prizes.0.id")})
		do(card, "stamps", servertest.Fields{"count": 3})
		if reference == "over" {
			do(card, "stamps", servertest.Fields{"count": 2})
		}
	}
	many := s.Issue(ids["Bar"], servertest.Fields{"external_ref": "many"}) // whose holder has redeemed little
	for _, count := range []int{10, 10, 10, 6} {
		do(many, "stamps", servertest.Fields{"count": count})
	}
	for range 3 {
		do(many, "redemptions", servertest.Fields{"prize_id": prize})
	}

	// Cards whose texts are hard to write to a table, an archived one and one that expires.
	for n, text := range []string{"=1+1", "'x", "'=x", `say "no", twice`, "''-3", "@a;b"} {
		card := s.Issue(ids["Bar"], servertest.Fields{"external_ref": text, "holder_name": text + " & Söhne"})
		noError(t, Run([]string{"card", "contact", card, "--note", text + "\nand \"more\";\n=1,2", "--codes",
			fmt.Sprintf("=K%d,'%d", n, n)}))
	}
	gone := s.Issue(ids["Bar"], servertest.Fields{"external_ref": "gone"})
	f.run("card archive " + gone)
	ends := s.Issue(ids["Bar"], servertest.Fields{"external_ref": "ends", "expires_at": "2099-12-31T22:59:59.999Z"})
	f.run("card contact " + ends + " --birthday 02-29 --phone '+44 20 7946 0958' --codes A-1")
	f.run("card contact " + ends + " --codes none")
	if left := f.value("SELECT count(*) FROM foreign_codes WHERE barcode IN ('A-1', 'none')"); left != "0" {
		t.Errorf("%s codes are left", left)
	}
	money := s.Issue(ids["Wallet"], servertest.Fields{"external_ref": "money"})
	do(money, "topups", servertest.Fields{"amount_cents": 1205})
	s.Issue(ids["Wallet"], servertest.Fields{"external_ref": "untouched", "holder_email": "ada@example.org"})
	taken := s.Issue(ids["Bar"], servertest.Fields{"external_ref": "taken"}) // and a correction takes the stamps of its prize
	do(taken, "stamps", servertest.Fields{"count": 6})
	do(taken, "redemptions", servertest.Fields{"prize_id": prize})
	f.run("card adjust " + taken + " --stamps -2 --location " + s.LocationIDs[0] + " --reason slip")
	folder, want := f.exportedCards()

	second := newFile(t)
	prepare(second)
	for _, program := range []string{"Bar", "Early", "Wallet"} {
		second.run("card import " + filepath.Join(folder, "cards.csv") + " --program " + program)
	}
	_, got := second.exportedCards()
	want = slices.DeleteFunc(want, func(row string) bool { return strings.Contains(row, "external_ref=gone") })
	slices.Sort(want)
	slices.Sort(got)
	for n := range max(len(want), len(got)) {
		if n >= len(want) || n >= len(got) || want[n] != got[n] {
			t.Errorf("exported are\n%q\nwant\n%q", got, want)
			break
		}
	}
	for _, want := range []string{
		"stamps=17|balance=|claimed=5|claimed_overflow=5|", "stamps=36|balance=|claimed=5|claimed_overflow=5 / 5|",
		"stamps=4|balance=|claimed=5|",
	} {
		if text := strings.Join(got, "\n"); !strings.Contains(text, want) || len(got) != 16 {
			t.Errorf("%d cards, or not these prizes: %s\n%s", len(got), want, text)
		}
	}
	f.checked()
	second.checked()
}
