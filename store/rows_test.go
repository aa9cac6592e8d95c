package store

import (
	"strings"
	"testing"
)

// TestRows: columns come as they are, and a column of another type than the one
// it is read as ends the walk with an error.
func TestRows(t *testing.T) {
	f := start(t, Options{})
	texts := []string{"", "a\x00b", "é\u2028", strings.Repeat("x", 100_000)}
	f.view(func(v *View) error {
		for _, text := range texts {
			if _, err := v.one(func(r *rows) {
				if got, n, null := r.str(), r.int(), r.nullInt(); got != text || n != -7 || null.Valid {
					t.Errorf("%.20q, -7 and null are read as %.20q, %d and %v", text, got, n, null)
				}
				if x, y, b := r.float(), r.nullFloat(), r.bytes(); x != 0.1+0.2 || y.V != 0 || !y.Valid || string(b) != "\x00\xff" {
					t.Errorf("three more are read as %v, %v and %x", x, y, b)
				}
			}, "SELECT ?1, ?2, ?3, ?4, ?5, ?6", text, -7, Null[int64]{}, 0.1+0.2, 0.0, []byte("\x00\xff")); err != nil {
				t.Error(err)
			}
		}
		for _, wrong := range []string{"NULL", "'card'", "'12abc'", "'7'", "x'00'", "0.0", "2.5"} {
			if n, err := v.number("SELECT " + wrong); err == nil || !strings.Contains(err.Error(), "column 0") {
				t.Errorf("%s is read as the integer %d, %v", wrong, n, err)
			}
		}
		if _, err := v.one(func(r *rows) { r.int(); r.int() }, "SELECT 1"); err == nil {
			t.Error("a second column of one is read without an error")
		}
		return nil
	})
}

// TestBindCounts: a statement that is used again has no arguments left from its
// last use.
func TestBindCounts(t *testing.T) {
	f := start(t, Options{})
	f.view(func(v *View) error {
		if n, err := v.number("SELECT ?1", 5); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		defer func() {
			if recover() == nil {
				t.Error("an argument too few is not noticed")
			}
		}()
		_, err := v.number("SELECT ?1")
		return err
	})
}

// TestRowHoldsSnapshot: what is read while a statement stands at its row is of
// the same moment as the row, whatever is written meanwhile.
func TestRowHoldsSnapshot(t *testing.T) {
	f := start(t, Options{})
	count := func(v *View) int64 {
		n, err := v.number("SELECT count(*) FROM locations")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	f.view(func(v *View) error {
		r := v.query("SELECT id FROM shops")
		if !r.next() {
			t.Fatal("no shop", r.close())
		}
		before := count(v)
		f.location(f.a)
		if n := count(v); n != before {
			t.Errorf("%d locations within the walk, %d before the write", n, before)
		}
		if err := r.close(); err != nil {
			return err
		}
		if n := count(v); n != before+1 {
			t.Errorf("%d locations after the walk, want %d", n, before+1)
		}
		return nil
	})
}

// TestStatementsAreNotShared: a statement whose rows are walked is not run, a
// walk at its end stays there, and a second statement is not passed over.
func TestStatementsAreNotShared(t *testing.T) {
	f := start(t, Options{})
	panics := func(what string, do func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s is not noticed", what)
			}
		}()
		do()
	}
	f.view(func(v *View) error {
		r := v.query("SELECT 1")
		if !r.next() || r.int() != 1 {
			t.Fatal("no row", r.close())
		}
		panics("a second walk", func() { v.query("SELECT 1") })
		panics("a run", func() { v.exec("SELECT 1") })
		panics("two statements", func() { v.exec("SELECT 1; SELECT 2") })
		for range 2 {
			if r.next() {
				t.Error("the walk begins again")
			}
		}
		err := r.close()
		if r.next() {
			t.Error("the walk goes on after its end")
		}
		return err
	})
}
