//go:build unix

package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"punchcard/store/sqlite"
)

func init() { children["fail"] = failChild }

// failChild writes the same group repeatedly on a disk that fails some bytes later each time, until
// the group fits. RLIMIT_FSIZE simulates the disk, since a write beyond it is an I/O error. In each
// round it prints the results of the members.
func failChild(path string) {
	s, err := Open(path, Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	free := limit.Cur
	f := &fixture{Store: s}
	for round := 0; ; round++ {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		release := f.hold()
		var jobs []*job
		for _, do := range []func(*Tx) error{
			func(tx *Tx) error { return note(tx, fmt.Sprint(round, " first")) },
			rememberRows(fmt.Sprint(round, " big"), 2, 9000),
			func(tx *Tx) error { return note(tx, fmt.Sprint(round, " last")) },
		} {
			jobs = append(jobs, f.enqueue(do))
		}
		limit.Cur = min(free, uint64(info.Size())+uint64(round)*700)
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
		release()
		failed := 0
		for _, j := range jobs {
			switch err := j.wait(); {
			case errors.Is(err, sqlite.ErrIO):
				failed++
			case err != nil:
				fmt.Println(round, "other:", err)
			}
		}
		limit.Cur = free
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
		fmt.Println(round, "failed", failed)
		if err := f.do(func(tx *Tx) error { return note(tx, fmt.Sprint(round, " next")) }); err != nil {
			fmt.Println(round, "stuck:", err)
		}
		if failed == 0 || round > 200 {
			s.Close()
			return
		}
	}
}

// TestFailingDisk checks that if a commit fails, every member gets an error, nothing is in the
// file, and the store continues without being opened again.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	first := open(t, path, Options{})
	succeed((&fixture{Store: first, t: t}).do(func(tx *Tx) error { return note(tx, "before") }))
	first.Close()
	cmd, out, _ := childProcess(t, "fail", path)
	want := []string{"before"}
	rounds, made := 0, false
	for ; out.Scan(); rounds++ {
		switch out.Text() {
		case fmt.Sprint(rounds, " failed 3"):
		case fmt.Sprint(rounds, " failed 0"):
			made = true
			for _, name := range []string{" first", " big", " last"} {
				want = append(want, fmt.Sprint(rounds, name))
			}
		default:
			t.Fatalf("round %d: %s", rounds, out.Text())
		}
		want = append(want, fmt.Sprint(rounds, " next"))
	}
	if err := cmd.Wait(); err != nil || !made || rounds < 10 {
		t.Errorf("the child made %d rounds, and the group fitted: %t, %v", rounds, made, err)
	}
	f := reopen(t, path, Options{})
	if got := notes(f); !slices.Equal(got, want) {
		t.Errorf("the file has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	f.checkPages()
}

func init() { children["wipe"] = wipeChild }

// wipeChild erases a card on a disk where the WAL can be written but the file cannot: RLIMIT_FSIZE
// is beyond the WAL's size but below the file's. It prints the results of the erasure and of the
// write after it.
func wipeChild(path string) {
	var told bytes.Buffer
	s, err := Open(path, Options{Log: slog.New(slog.NewTextHandler(&told, nil))})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f := &fixture{Store: s}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	free := limit.Cur
	limit.Cur = 200_000
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	fmt.Println("erase", f.do(func(tx *Tx) error {
		tx.erases = true
		return note(tx, "erased")
	}))
	limit.Cur = free
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	fmt.Println("lines", strings.Count(told.String(), "\n"), strings.Contains(told.String(), sqlite.ErrIO.Error()))
	fmt.Println("next", f.do(func(tx *Tx) error { return note(tx, "next") }))
	fmt.Println("timeout", s.writer.WaitFor(0))
	s.Close()
}

// TestFailingWipe checks that an erasure succeeds although the WAL cannot be emptied after it, and
// so does the next write.
func TestFailingWipe(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	first := open(t, path, Options{})
	// The child's note goes to the last page, which is beyond its limit.
	succeed((&fixture{Store: first, t: t}).do(func(tx *Tx) error {
		if err := rememberRows("big", 50, 9000)(tx); err != nil {
			return err
		}
		for i := range 300 {
			if err := note(tx, fmt.Sprint("before ", i)); err != nil {
				return err
			}
		}
		return nil
	}))
	first.Close()
	cmd, out, _ := childProcess(t, "wipe", path)
	var got []string
	for out.Scan() {
		got = append(got, out.Text())
	}
	succeed(cmd.Wait())
	want := []string{"erase <nil>", "lines 1 true", "next <nil>", "timeout 30s"}
	if !slices.Equal(got, want) {
		t.Errorf("the child printed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	f := reopen(t, path, Options{})
	if all := notes(f); !slices.Equal(all[len(all)-2:], []string{"erased", "next"}) {
		t.Errorf("the file ends with %q", all[len(all)-2:])
	}
	f.checkPages()
}
