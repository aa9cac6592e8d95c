package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/store"
)

// initArgs are the flags of init that have no default.
var initArgs = []string{"init", "--name", "Bar Lux", "--timezone", "Europe/Rome", "--email", "ada@example.com", "--location", "Centrale", "--address", "Via Po 1", "--city", "Torino", "--postal-code", "10123", "--country-code", "IT"}

// folder returns the names in the folder of the file.
func (f *file) folder() (names []string) {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Dir(f.db))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestInit makes a shop that issues a card at once, in a file that is whole or not there.
func TestInit(t *testing.T) {
	onStdin(t, "")
	f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
	f.refused([]string{"init", "--name", "Bar Lux"}, "missing flags: --timezone, --email, --location, --address, --city, --postal-code, --country-code")
	f.refused(append(initArgs, "--timezone", "Europe/Atlantis", "--country-code", "Italy", "--total-stamps", "0", "--currency", "LIR", "--email", "ada"),
		"--timezone", "--country-code", "--total-stamps", "--currency", "--email")
	f.refused(append(initArgs, "--program", strings.Repeat("x", 201)), "--program must be")
	f.refused(append(initArgs, "--prize", "11=Cake"), "total_stamps") // by the store
	f.refused(append(initArgs, "--prize", "Cake"), "--prize (value 1)")
	f.refused(append(initArgs, "--public-url", "cards.example.com"), "--public-url")
	f.refused(append(initArgs, "--write-deploy", t.TempDir(), "--public-url", "http://127.0.0.1:8080"), "--write-deploy", "https://")
	if left := f.folder(); len(left) != 0 {
		t.Fatalf("refused commands left %v", left)
	}

	deploy := filepath.Join(t.TempDir(), "deploy")
	args := append(initArgs, "--public-url", "https://lux.example.com/", "--write-deploy", deploy)
	var made opened
	f.json(&made, args...)
	if left := f.folder(); len(left) != 1 || left[0] != "shop.db" {
		t.Errorf("init left %v", left)
	}
	if !strings.HasPrefix(made.OwnerLink.URL, "https://lux.example.com/invite/") || !strings.HasPrefix(made.Key.Secret, "tsk_live_") || !strings.HasPrefix(made.Device.Token, "tdk_live_") ||
		made.Shop.Currency != "EUR" || !made.Program.Active || len(made.Program.Prizes) != 2 || made.Device.LocationID != made.Location.ID {
		t.Errorf("made %+v", made)
	}
	for name, want := range map[string]string{"Caddyfile": "\nlux.example.com {", "punchcard.service": "--public-url https://lux.example.com "} {
		if text, err := os.ReadFile(filepath.Join(deploy, name)); err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "cards.example.com") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	f.prints([]string{"card", "issue", "coffee card", "--holder-name", "Ada", "--public-url", made.OwnerLink.URL}, "/i/")
	f.prints([]string{"check"}, "ok")
	before, _ := os.ReadFile(f.db)
	f.refused(initArgs, "is there already")
	if after, _ := os.ReadFile(f.db); string(after) != string(before) {
		t.Error("init changed a file that was there")
	}

	f.db = filepath.Join(t.TempDir(), "second.db")
	f.refused(args, "--write-deploy", "is there already")
	if left := f.folder(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	f.prints(append(initArgs, "--total-stamps", "8", "--prize", "8=Pizza, large"), "punchcard serve --db "+f.db, "/invite/", "tsk_live_", "tdk_live_")
	var list struct{ Data []store.Program }
	if f.json(&list, "program", "list"); len(list.Data) != 1 || list.Data[0].TotalStamps.V != 8 {
		t.Errorf("the programs are %+v", list.Data)
	}
}
