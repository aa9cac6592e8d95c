package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"punchcard/store/sqlite"
)

// note writes an audit row with a text.
func note(tx *Tx, text string) error {
	tx.audit(0, text, KindShop, 1, "")
	return tx.failed
}

// notes returns the texts of the notes in the file, oldest first.
func notes(f *fixture) []string {
	return f.lines("SELECT action FROM audit WHERE shop_id=0 ORDER BY id")
}

// noting returns a write of a note.
func noting(text string) Write {
	return write(func(tx *Tx) error { return note(tx, text) })
}

func TestWritesOfOneMomentShareACommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ max, writes, commits int }{{128, 100, 1}, {10, 100, 10}, {10, 95, 10}, {1, 20, 20}} {
		t.Run(fmt.Sprintf("%d writes in groups of %d", c.writes, c.max), func(t *testing.T) {
			f := start(t, Options{MaxGroup: c.max})
			var want []string
			var writes []Write
			for i := range c.writes {
				want = append(want, fmt.Sprint("w", i))
				writes = append(writes, noting(want[i]))
			}
			before := f.commits()
			succeed(errors.Join(f.group(writes...)...))
			if got := f.commits() - before; got != c.commits {
				t.Errorf("%d writes took %d commits, want %d", c.writes, got, c.commits)
			}
			if got := notes(f); !slices.Equal(got, want) {
				t.Errorf("the file has %v", got)
			}
		})
	}
}

// TestOneMemberFailsAlone checks that members that return an error, panic or break a constraint are
// rolled back, and the others of their group are committed.
func TestOneMemberFailsAlone(t *testing.T) {
	f := start(t)
	mine := errors.New("mine")
	called := map[string]bool{}
	member := func(name string, end func(*Tx) error) Write {
		return Write{Actor: operator, Do: func(tx *Tx) error {
			tx.AfterCommit(func() { called[name] = true })
			if err := note(tx, name); err != nil {
				return err
			}
			return end(tx)
		}}
	}
	fine := func(*Tx) error { return nil }
	walking := func(tx *Tx) error {
		r := tx.query("SELECT name FROM sqlite_schema")
		r.next()
		panic("in the middle of a walk")
	}
	before := f.commits()
	errs := f.group(
		member("first", fine),
		member("error", func(*Tx) error { return mine }),
		member("second", fine),
		member("panic", walking),
		member("refusal", func(*Tx) error { return notFound("thing") }),
		member("constraint", func(tx *Tx) error {
			tx.exec("INSERT INTO meta (id, id_secret) VALUES (2, x'00')")
			tx.exec("UPDATE meta SET auth_epoch=auth_epoch+1") // does nothing
			return notFound("thing")
		}),
		member("third", fine),
	)
	if !errors.Is(errs[1], mine) {
		t.Errorf("the failed write got %v", errs[1])
	}
	if errs[3] == nil || !strings.HasPrefix(errs[3].Error(), "panic in a write: in the middle of a walk\n") {
		t.Errorf("the panicking write got %v", errs[3])
	}
	refused(t, errs[4], NotFound)
	if !errors.Is(errs[5], sqlite.ErrCheck) {
		t.Errorf("the write that broke a constraint got %v", errs[5])
	}
	for _, i := range []int{0, 2, 6} {
		if errs[i] != nil {
			t.Errorf("another member got %v", errs[i])
		}
	}
	want := []string{"first", "second", "third"}
	if got := notes(f); !slices.Equal(got, want) {
		t.Errorf("the file has %v, want %v", got, want)
	}
	if got := f.commits() - before; got != 1 {
		t.Errorf("the group took %d commits", got)
	}
	if len(called) != 3 || !called["first"] || !called["second"] || !called["third"] {
		t.Errorf("AfterCommit ran for %v", called)
	}
}

func TestAfterCommitSeesTheWrite(t *testing.T) {
	f := start(t)
	var inside, after int64
	count := func() (n int64) {
		f.View(0, func(v *View) (err error) {
			n, err = v.conn.Number("SELECT count(*) FROM audit WHERE action='mark'")
			return err
		})
		return n
	}
	f.must(func(tx *Tx) error {
		if err := note(tx, "mark"); err != nil {
			return err
		}
		inside = count()
		tx.AfterCommit(func() { after = count() })
		return nil
	})
	if inside != 0 || after != 1 {
		t.Errorf("readers saw %d rows inside the write and %d after it, want 0 and 1", inside, after)
	}
}

// TestFinish checks that Finish decides whether a write succeeds, and what of it is in the file, after a
// Do that succeeds, fails or panics. Do writes the note do, and Finish the note settle.
func TestFinish(t *testing.T) {
	t.Parallel()
	mine, other := errors.New("mine"), errors.New("other")
	ok := func(tx *Tx) error { return note(tx, "do") }
	bad := func(tx *Tx) error { note(tx, "do"); return mine }
	blow := func(tx *Tx) error { note(tx, "do"); panic("do") }
	for _, c := range []struct {
		name     string
		do       func(*Tx) error
		end      error // what Finish returns
		blow     bool  // Finish panics
		want     []string
		err      error
		fragment string
	}{
		{"both good", ok, nil, false, []string{"do", "settle"}, nil, ""},
		{"do taken back, settled", bad, nil, false, []string{"settle"}, nil, ""},
		{"do taken back, error kept", bad, mine, false, nil, mine, ""},
		{"do panicked, settled", blow, nil, false, []string{"settle"}, nil, ""},
		{"settle fails", ok, other, false, nil, other, ""},
		{"settle panics", ok, nil, true, nil, nil, "panic in a write: settle"},
		{"both panic", blow, nil, true, nil, nil, "panic in a write: settle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t)
			var heard error
			called := 0
			errs := f.group(noting("before"), Write{Actor: operator, Do: func(tx *Tx) error {
				tx.AfterCommit(func() { called++ })
				return c.do(tx)
			}, Finish: func(tx *Tx, err error) error {
				heard = err
				tx.AfterCommit(func() { called += 10 })
				if err := note(tx, "settle"); err != nil {
					return err
				}
				if c.blow {
					panic("settle")
				}
				return c.end
			}}, noting("after"))
			if errs[0] != nil || errs[2] != nil {
				t.Errorf("the other members got %v and %v", errs[0], errs[2])
			}
			switch {
			case c.fragment != "":
				if errs[1] == nil || !strings.Contains(errs[1].Error(), c.fragment) {
					t.Errorf("the write got %v", errs[1])
				}
			case !errors.Is(errs[1], c.err):
				t.Errorf("the write got %v, want %v", errs[1], c.err)
			}
			if doFailed := !slices.Contains([]string{"both good", "settle fails", "settle panics"}, c.name); (heard != nil) != doFailed {
				t.Errorf("Finish got %v", heard)
			}
			want := append(append([]string{"before"}, c.want...), "after")
			if got := notes(f); !slices.Equal(got, want) {
				t.Errorf("the file has %v, want %v", got, want)
			}
			calls := 0
			for _, mark := range c.want {
				calls += map[string]int{"do": 1, "settle": 10}[mark]
			}
			if called != calls {
				t.Errorf("AfterCommit calls add up to %d, want %d", called, calls)
			}
		})
	}
}

func TestCloseFinishesWhatIsQueued(t *testing.T) {
	f := start(t, Options{MaxGroup: 7})
	release := f.hold()
	var jobs []*job
	for i := range 50 {
		jobs = append(jobs, f.enqueue(func(tx *Tx) error { return note(tx, fmt.Sprint(i)) }))
	}
	closed := make(chan error)
	go func() { closed <- f.Close() }()
	for isClosed := false; !isClosed; runtime.Gosched() {
		f.closing.RLock()
		isClosed = f.Store.closed
		f.closing.RUnlock()
	}
	// The writer is still busy with earlier writes.
	if err := f.do(func(*Tx) error { t.Error("a write after Close was made"); return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a write after Close got %v", err)
	}
	release()
	succeed(<-closed)
	for i, j := range jobs {
		if err := j.wait(); err != nil {
			t.Errorf("queued write %d got %v", i, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Errorf("the second Close got %v", err)
	}
	if err := f.View(0, func(*View) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a read after Close got %v", err)
	}
	again := reopen(t, f.path, Options{MustExist: true})
	if got := len(notes(again)); got != 50 {
		t.Errorf("%d of 50 queued writes are in the file", got)
	}
}

func TestCloseWaitsForReads(t *testing.T) {
	f := start(t, Options{Readers: 2})
	closed := make(chan error, 1)
	f.view(func(v *View) error {
		go func() { closed <- f.Close() }()
		for {
			if err := f.do(func(*Tx) error { return nil }); errors.Is(err, ErrClosed) {
				break
			}
		}
		n, err := v.conn.Number("SELECT count(*) FROM shops")
		if err != nil || n != 1 {
			t.Errorf("a read during Close got %d, %v", n, err)
		}
		return nil
	})
	succeed(<-closed)
}

func TestCallerGone(t *testing.T) {
	f := start(t)

	// The caller leaves while its write waits in the queue, or runs.
	release := f.hold()
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error)
	go func() { got <- f.Write(ctx, noting("queued")) }()
	for len(f.queue) == 0 {
		runtime.Gosched()
	}
	cancel()
	release()
	if err := <-got; err != nil {
		t.Errorf("a write accepted before its caller left got %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	if err := f.Write(ctx, write(func(tx *Tx) error { cancel(); return note(tx, "running") })); err != nil {
		t.Errorf("a write whose caller left while it ran got %v", err)
	}

	// The caller leaves before there is room in the queue, so the write is never made.
	release = f.hold()
	var filled []*job
	for range cap(f.queue) {
		filled = append(filled, f.enqueue(func(*Tx) error { return nil }))
	}
	if err := f.Write(ctx, noting("refused")); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was not queued got %v", err)
	}
	release()
	for _, j := range filled {
		j.wait()
	}
	if got := notes(f); !slices.Equal(got, []string{"queued", "running"}) {
		t.Errorf("the file has %v", got)
	}
}

// TestReaderSurvivesAPanic checks that a panic in a read does not leave its connection in a
// transaction.
func TestReaderSurvivesAPanic(t *testing.T) {
	f := start(t, Options{Readers: 1})
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("View did not panic")
				}
			}()
			f.View(0, func(v *View) error {
				v.snapshot()
				v.query("SELECT id FROM shops").next()
				panic("handler")
			})
		}()
	}
	f.must(func(tx *Tx) error { return note(tx, "later") })
	f.view(func(v *View) error {
		v.snapshot()
		if n := v.number("SELECT count(*) FROM audit WHERE action='later'"); n != 1 {
			t.Errorf("the reader sees %d of 1 later rows", n)
		}
		return v.failed
	})
}
