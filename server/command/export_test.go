package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestExportCommands exports a shop beside its server, the money of a month and the data of a person,
// and checks what bad flags are refused with.
func TestExportCommands(t *testing.T) {
	f, s := startServer(t)
	card := s.Issue(s.ProgramIDs["prepaid"], map[string]any{"holder_email": "ada@example.com"})
	s.Till(s.TillToken).Post("/cards/"+card+"/topups", map[string]any{"amount_cents": 1250}).Want(201)
	out := filepath.Join(t.TempDir(), "all")
	var made struct {
		store.ExportManifest
		Out string
	}
	f.json(&made, "export --out "+out)
	if made.Out != out || made.ShopID != s.ShopID || len(made.Files) != 7 || made.Files[0].Name != "cards.csv" || made.Files[0].Rows != 1 {
		t.Errorf("%+v", made)
	}
	if text := string(require.Must(os.ReadFile(filepath.Join(out, "cards.csv")))); !strings.Contains(text, "ada@example.com") ||
		!strings.Contains(text, ",12.50,") {
		t.Errorf("cards.csv: %s", text)
	}
	f.prints("export all --format jsonl --out "+out+".zip", "transactions.jsonl", "complete")
	f.refused("export --out "+out, out+": exists already")
	noError(t, os.WriteFile(out+".db", nil, 0o600))
	for _, suffix := range []string{"-wal", "-shm", "-journal", ".lock"} {
		f.refused("export --out "+out+".db"+suffix, "belongs to the database "+out+".db")
	}
	f.refused("export", "--out: is required")
	f.refused("export --format xml --out "+out+"2", "--format must be one of csv, jsonl")
	f.refused("export --shop Nobody --out "+out+"2", "--shop")
	f.refused("export --out "+filepath.Join(out, "missing", "all"), "the folder")

	month := s.App.Store.Now().Std().Format("2006-01")
	f.prints("export money --month "+month, "date,scope,location_id,location,opening,sold,", ",0.00,12.50,0.00,0.00,12.50,0.00,EUR")
	f.refused("export money --month 2026-13", "--month must be a month such as 2026-01")
	f.refused("export money --month 2999-01", "--month must be this month or one before")

	f.prints("card person ADA@example.com", `"id": "`+card+`"`, `"holder_email": "ada@example.com"`)
	var person store.PersonExport
	f.json(&person, "card person --card-ids ada@example.com")
	if len(person.Chains) != 1 || person.Chains[0].Transactions[0].ValueDelta.V != 1250 {
		t.Errorf("%+v", person)
	}
	f.refused("card person bob@example.com", "No card has this email or phone number.")
	f.refused("card person", "PERSON is required, or --card-ids")
	f.refused("card person ada --card-ids "+card, "must not be given beside person")
}
