package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCopyShop checks that a copy has exactly the rows of the shop, nothing of another one, a clean check,
// and keys of its own.
func TestCopyShop(t *testing.T) {
	f := start(t, Options{QueueMail: true})
	l := f.withLedger()
	f.cardOf(l.program, "Otherholder")
	foreign := must(f, func(tx *Tx) (int64, error) { return tx.AddUser(NewUser{Email: "foreign@example.com"}) })
	before := f.rowsOf()
	g := f.in(f.shop(ShopFields{Name: set("Leaving")}))
	runOperations(g)
	g.cardWith(g.program(stamps("More")), CardFields{HolderName: set("Ada"), HolderEmail: set("ada@example.com"), SendEmail: set(true)})
	g.must(func(tx *Tx) error {
		tx.Actor = Actor{Type: "user", Key: foreign}
		return errorOf(tx.Invite(g.a.Shop, "new@example.com", RoleViewer))
	})
	const url = "https://new.example.com"
	copyOf := func() *fixture {
		move := must(g, func(tx *Tx) (Move, error) { return tx.BeginMove(g.a.Shop, url) })
		path := filepath.Join(t.TempDir(), "copy.db")
		succeed(os.WriteFile(path, nil, 0o600))
		rows, err := CopyShop(t.Context(), f.path, path, g.a.Shop, url, nil)
		if err == nil {
			err = CompareCopy(path, rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		if began := CopiedAt(t.Context(), path, g.a.Shop); began != move.Began {
			t.Errorf("the copy is of a move at %d, not %d", began, move.Began)
		}
		rows["cards"]++
		if err := CompareCopy(path, rows); err == nil {
			t.Error("a row that is missing is not noticed")
		}
		c := reopen(t, path, Options{Ephemeral: true, Readers: 1, Now: f.clock.now})
		c.clock, c.a = f.clock, g.a
		return c
	}
	c := copyOf()
	after, copied := g.rowsOf(), c.rowsOf()
	for name, rows := range after {
		want := slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(before[name], row) })
		got := copied[name]
		if name == "shops" { // closed and moved_to
			want, got = []string{want[0][:20]}, []string{got[0][:20]}
		}
		for i := range want { // who invited is no member, so not in the copy
			if name == "links" {
				want[i] = strings.Replace(want[i], fmt.Sprintf(",%d,", foreign), ",NULL,", 1)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	c.checkPages()
	if c.PublicURL() != url || !bytes.Equal(c.seal(nil, KindCard, 0, 1), f.seal(nil, KindCard, 0, 1)) {
		t.Error("another public URL, or other ids")
	}
	content := check(os.ReadFile(c.path))
	for _, text := range []string{"Otherholder", "foreign@example.com"} {
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("the copy has %q of others", text)
		}
	}
	g.writes(func(tx *Tx) { check(tx.AbortMove(g.a.Shop)) })
	second := copyOf()
	ranges := map[string]int64{"0": f.key(KindCard, f.card(l.program))}
	for name, x := range map[string]*fixture{"1": c, "2": second} {
		ranges[name] = x.key(KindCard, x.card(x.program(stamps("New"))))
	}
	if ranges["1"]-ranges["0"] < skippedKeys-1000 || ranges["2"]-ranges["1"] < skippedKeys-1000 {
		t.Errorf("new cards have the keys %v", ranges)
	}
}
