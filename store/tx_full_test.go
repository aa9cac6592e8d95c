package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"punchcard/store/sqlite"
)

// These tests simulate a full disk by a limit on the file's pages. Depending on the statement,
// SQLite rolls back the whole transaction silently or only the statement. In both cases the whole
// group must fail.

// limit lets the file grow by at most more pages from now on, or without a limit if more is
// negative.
func (f *fixture) limit(more int) {
	f.must(func(tx *Tx) error {
		n, err := tx.conn.Number("PRAGMA page_count")
		if err != nil {
			return err
		}
		if n += int64(more); more < 0 {
			n = 1 << 30
		}
		_, err = tx.conn.Number(fmt.Sprintf("PRAGMA max_page_count=%d", n))
		return err
	})
}

// raiseLimitUntilFits repeats the group with one more page each time until it fits. Until then
// every member must get sqlite.ErrFull, nothing of any may be in the file, and the next write
// must succeed. The group must not fit into fewer than least pages.
func raiseLimitUntilFits(t *testing.T, min int, members func(f *fixture, program string) []Write) {
	t.Helper()
	f := start(t)
	program := f.program(stamps("Coffee"))
	for i := range 10 {
		f.cardWith(program, CardFields{ExternalRef: set(fmt.Sprint("person", i))})
	}
	for more := 0; ; more++ {
		writes := members(f, program)
		before := f.dump()
		f.limit(more)
		called := 0
		for i, w := range writes {
			writes[i].Do = func(tx *Tx) error {
				tx.AfterCommit(func() { called++ })
				return w.Do(tx)
			}
		}
		errs := f.group(writes...)
		f.limit(-1)
		if errors.Join(errs...) == nil {
			if called != len(writes) {
				t.Errorf("with %d pages the group fits, but AfterCommit ran %d times", more, called)
			}
			if more < min {
				t.Errorf("the group fitted into %d pages, so too few statements failed", more)
			}
			break
		}
		for i, err := range errs {
			if !errors.Is(err, sqlite.ErrFull) {
				t.Fatalf("with %d pages, member %d got: %v", more, i, err)
			}
		}
		if called > 0 {
			t.Errorf("with %d pages, AfterCommit ran %d times", more, called)
		}
		if after := f.dump(); after != before {
			t.Fatalf("with %d pages, something of the group is in the file:\n%s", more, firstDifference(before, after))
		}
		if err := f.do(func(tx *Tx) error { return note(tx, "still working") }); err != nil {
			t.Fatalf("after a group that had %d pages, the next write got: %v", more, err)
		}
	}
	f.checkPages()
}

// firstDifference returns the first line of after that before does not have.
func firstDifference(before, after string) string {
	old := map[string]bool{}
	for _, l := range strings.Split(before, "\n") {
		old[l] = true
	}
	for _, l := range strings.Split(after, "\n") {
		if !old[l] {
			return fmt.Sprintf("%.200s", l)
		}
	}
	return "rows are missing"
}

// rememberRows remembers the given number of responses of size bytes, which need several pages, and
// writes a note.
func rememberRows(name string, rows, size int) func(*Tx) error {
	return func(tx *Tx) error {
		for i := range rows {
			c := NewIdempotencyKey(1, fmt.Sprint(name, i), "POST", "/", nil)
			if err := tx.Remember(c, Remembered{Status: 200, Body: []byte(strings.Repeat("x", size))}); err != nil {
				return err
			}
		}
		return note(tx, name)
	}
}

func write(do func(*Tx) error) Write { return Write{Actor: operator, Do: do} }

// issueLong returns a write that issues a card with a long name.
func (f *fixture) issueLong(program, name string) Write {
	return write(f.issuing(program, CardFields{HolderName: set(strings.Repeat(name, 500))}))
}

// TestFullDisk has members that write several pages among members that write one row.
func TestFullDisk(t *testing.T) {
	raiseLimitUntilFits(t, 20, func(f *fixture, program string) []Write {
		return []Write{noting("small"), f.issueLong(program, "before"), write(rememberRows("first", 4, 9000)), noting("between"),
			write(rememberRows("second", 3, 14000)), f.issueLong(program, "after"), noting("last")}
	})
}

// TestFullDiskNotNoticed uses a member that ignores the error and executes other statements after
// it. A statement on many rows has its own journal, so that SQLite rolls back only the statement.
func TestFullDiskNotNoticed(t *testing.T) {
	t.Parallel()
	for name, big := range map[string]func(*Tx) error{
		"one row": rememberRows("big", 1, 60000),
		"many rows": func(tx *Tx) error {
			return errorOf(tx.conn.Exec("UPDATE cards SET external_ref=?", strings.Repeat("n", 4000)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			raiseLimitUntilFits(t, 10, func(f *fixture, program string) []Write {
				return []Write{noting("small"), write(func(tx *Tx) error {
					note(tx, "same member")
					big(tx)
					tx.exec("UPDATE shops SET name='alone' WHERE id=?", f.a.Shop)
					note(tx, "same member, later")
					return nil
				}), noting("last")}
			})
		})
	}
}

// TestFullDiskBeforeFinish checks that what Finish writes after the error of the disk is not
// committed alone.
func TestFullDiskBeforeFinish(t *testing.T) {
	raiseLimitUntilFits(t, 10, func(f *fixture, program string) []Write {
		w := write(rememberRows("big", 2, 30000))
		w.Finish = func(tx *Tx, err error) error {
			if err := note(tx, "settled"); err != nil {
				return err
			}
			return err
		}
		return []Write{noting("small"), w, noting("last")}
	})
}

// TestFullDiskInFinish has a Finish that needs more pages than Do.
func TestFullDiskInFinish(t *testing.T) {
	raiseLimitUntilFits(t, 10, func(f *fixture, program string) []Write {
		w := noting("do")
		w.Finish = func(tx *Tx, err error) error { return errors.Join(err, rememberRows("big", 2, 30000)(tx)) }
		return []Write{noting("small"), w, noting("last")}
	})
}

// TestFullDiskLeavesNoCache checks that what the writer cached in a failed group, here that a
// webhook is inactive, is dropped.
func TestFullDiskLeavesNoCache(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Coffee"))
	f.hook(program, hookFields{})
	f.limit(8)
	errs := f.group(write(func(tx *Tx) error {
		if _, err := tx.conn.Exec("UPDATE webhooks SET active=0"); err != nil {
			return err
		}
		tx.bumpAuth()
		return tx.failed
	}), f.issueLong(program, "x"), write(func(tx *Tx) error {
		rememberRows("big", 1, 90000)(tx)
		return nil
	}))
	for _, err := range errs {
		if !errors.Is(err, sqlite.ErrFull) {
			t.Fatal(err)
		}
	}
	f.limit(-1)
	f.card(program)
	f.selects(1, "SELECT count(*) FROM events")
}
