package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/operation"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestSplitCommand checks what shop split prints, that it prints it again where the shop has moved, and what it refuses before it
// closes the shop and afterwards.
func TestSplitCommand(t *testing.T) {
	f := newFile(t)
	out := filepath.Join(t.TempDir(), "new.db")
	split := func(out, url string) string {
		return "shop split 'Bar Lux' --quiet --out " + out + " --moved-to " + url
	}
	const url, other = "https://new.example.com", "https://other.example.com"
	open := func(when string) {
		t.Helper()
		var shops operation.List[store.Shop]
		if f.json(&shops, "shop list"); shops.Data[0].Closed.Valid {
			t.Errorf("%s the shop is %s", when, shops.Data[0].Closed.V)
		}
	}
	noError(t, os.WriteFile(out, nil, 0o600))
	f.refused("shop split 'Bar Lux' --moved-to "+url, "--out")
	f.refused(split(out, url), "exists already")
	f.refused(split(filepath.Join(out, "none", "new.db"), url), "the folder")
	open("after a file that exists,")
	noError(t, os.Remove(out))
	noError(t, os.Mkdir(out+".partial", 0o700))
	f.refused(split(out, url), ".partial")
	open("after a file that cannot be written,")
	noError(t, os.Remove(out+".partial"))
	noError(t, os.WriteFile(out+".partial", nil, 0o600)) // rest of a killed process
	text := f.run(split(out, url))
	for _, want := range []string{"punchcard serve --db " + out + " --public-url " + url, "Pair the tills (0) again"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not have %q", text, want)
		}
	}
	if again := f.run(split(out, url)); again != text {
		t.Errorf("again:\n%s\nwant\n%s", again, text)
	}
	f.refused(split(out, other), "--moved-to: The shop has moved to "+url+" already.", "Without --out")
	f.refused(split(out+"2", url), "--out: there is no file "+out+"2")
	f.refused(split(f.db, url), "--out: "+f.db+" is not the file that the shop has moved to")
	f.refused("shop split 'Bar Lux' --abort", "has moved")
	f.prints("shop split 'Bar Lux' --moved-to "+other, "leads to "+other)
	f.prints("shop list", other)
	f.prints("audit", "shop.correct_move")
}

// TestSplitGoesOn checks what continues a move that did not get to its end.
func TestSplitGoesOn(t *testing.T) {
	f := newFile(t)
	out := filepath.Join(t.TempDir(), "new.db")
	const split = "shop split 'Bar Lux' --quiet --moved-to https://new.example.com --out "
	s := require.Must(store.Open(f.db, store.Options{MustExist: true}))
	noError(t, s.SystemWrite(t.Context(), func(tx *store.Tx) error {
		_, err := tx.BeginMove(1, "https://new.example.com")
		return err
	}))
	noError(t, s.Close())
	f.refused("shop split 'Bar Lux' --quiet --moved-to https://other.example.com --out "+out, "--moved-to: The shop is being moved to "+
		"https://new.example.com already.", "--abort")
	if _, err := os.Stat(out); err == nil {
		t.Error("a file was made")
	}
	f.prints(split+out, "Serve it now, at https://new.example.com")
}

// TestDeleteNamesBackups checks that all copies are named that have the shop, whatever their names say of the time, and no other ones.
func TestDeleteNamesBackups(t *testing.T) {
	f := newFile(t)
	dir := t.TempDir()
	without, with := filepath.Join(dir, "shop-29990131T090000Z.db"), filepath.Join(dir, "shop-20200131T090000Z.db")
	f.run("backup " + without)
	f.run("shop create --name 'Bar Nero'")
	f.run("backup " + with)
	kept := []string{f.db + ".before-restore-20260131T090000Z", f.db + ".schema-11"}
	for _, name := range kept {
		noError(t, os.WriteFile(name, require.Must(os.ReadFile(with)), 0o600))
	}
	want := append(kept, with)
	var out struct{ Backups []string }
	f.json(&out, "shop delete 'Bar Nero' --confirm 'Bar Nero' --backup-dir "+dir)
	if !slices.Equal(out.Backups, want) {
		t.Errorf("it names %q, want %q", out.Backups, want)
	}
}
