package dashboard_test

import (
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"punchcard/server/dashboard"
	"punchcard/server/operation"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestImportFields checks that the pages have a name for each field of an import.
func TestImportFields(t *testing.T) {
	shown := slices.Sorted(maps.Keys(dashboard.ImportLabels))
	if names := slices.Sorted(slices.Values(operation.ImportFieldNames())); !slices.Equal(names, shown) {
		t.Errorf("the pages name %v, and there are %v", shown, names)
	}
}

// TestImport imports a file as a person does: upload, columns, faults, run, undo.
func TestImport(t *testing.T) {
	s := start(t)
	program := s.NewProgram("standard", false, object{"total_stamps": 10})
	manager := s.as("manager")
	s.Unchanged(func() {
		s.as("viewer").upload("/dashboard/imports", "file", []byte("name\nx\n")).want(403)
		manager.upload("/dashboard/imports", "file", nil).want(400).problem("file")
		manager.upload("/dashboard/imports", "file", []byte("PK\x03\x04")).want(400).problem("file")
		manager.upload("/dashboard/imports", "other", []byte("name\nx\n")).want(400).problem("file")
	})
	file := require.Must(os.ReadFile("../../testdata/import/stamp-me.csv"))
	at := manager.upload("/dashboard/imports", "file", append(file, "<b>Eve</b>,nobody,,,99,,,,\n"...)).to("/dashboard/import/")
	manager.get(at).has("Active Stamps", "Ada Byron", "Faulty rows", "<b>Eve")
	manager.get(at + "?allow_unkeyed=false&program_id=" + program).has("The row has neither")
	choices := url.Values{"program_id": {program}, "allow_unkeyed": {"true"}, "map": {"Stamps=", "Email=holder_email"}}
	s.Unchanged(func() {
		manager.get(at+"?"+choices.Encode()).has("At most 10 stamps", "nobody").lacks("The row has neither")
		for _, wrong := range []string{"map=x%3Dnote", "map=Stamps%3Dnote", "stamps_per=abc"} {
			form := manager.get(at + "?map=Email%3Dnote&" + wrong).want(400).has("Active Stamps").form(at)
			if !slices.Contains(form.fields["map"], "Email=note") {
				t.Errorf("after %s the choices are %v", wrong, form.fields["map"])
			}
		}
		manager.get(at + "?program_id=prg_none").want(404)
		manager.post(at, choices).want(303) // with faults nothing is imported
	})
	choices.Set("skip_faulty", "true")
	run := manager.post(at, choices).to("/dashboard/import/")
	run, _, _ = strings.Cut(run, "?")
	s.finishImports()
	report := manager.get(run).has("Done", "What was left out", "Email", "logo.png", "Undo the import")
	report.lacks("nobody", "Eve") // the values of the file are not kept
	manager.get(at).want(404)     // nor is the file
	manager.get("/dashboard/cards").has("Chloë Müller-Weiß", "7 of 10")

	again := manager.upload("/dashboard/imports", "file", append(file, "<b>Eve</b>,nobody,,,99,,,,\n"...)).to("/dashboard/import/")
	manager.get(again + "?" + choices.Encode()).has("This file was imported already")
	manager.get(again).press(again + "/discard").next().has("The file was deleted.")
	for rows, want := range map[string]string{
		"code,state\nX1,archived\n":       "No card to import",
		"code,program\nX2,reading ROOM\n": "No row is of this program",
	} {
		at := manager.upload("/dashboard/imports", "file", []byte(rows)).to("/dashboard/import/")
		manager.get(at+"?program_id="+program).has(want).lacks("Nothing can be imported yet", "Import 0 cards")
	}
	at = manager.upload("/dashboard/imports", "file", []byte("code\né\n")).to("/dashboard/import/")
	manager.get(at + "?skip_faulty=true&program_id=" + program).has("Correct the file, and check again.")
	at = manager.upload("/dashboard/imports", "file", []byte("code,program\nX2,reading ROOM\n")).to("/dashboard/import/")
	manager.get(at).has("Import 1 card") // the program that the first row names is chosen
	manager.get(at).press(at)
	s.finishImports()
	both := []byte("code,program,name\nX2,Reading room,Ada\nX3,Reading room,\n")
	at = manager.upload("/dashboard/imports", "file", both).to("/dashboard/import/")
	manager.get(at + "?update=true").has("Import 2 cards") // one is new

	s.as("viewer").get(run).want(403)
	manager.get(run + "/undo").has("used, changed or put on a phone").form().send().next()
	s.finishImports()
	manager.get(run+"?done=import-begun").has("Import undone", "Cards erased").lacks("Undo the import", "The import has begun")
	manager.get("/dashboard/cards").lacks("Chloë")
}

// finishImports works on imports until none is left.
func (s *demo) finishImports() {
	for more := true; more; {
		servertest.Write(s.T, s.App.Store, func(tx *store.Tx) (err error) {
			more, err = tx.ContinueImports()
			return err
		})
	}
}
