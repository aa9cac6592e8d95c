package store

import (
	"fmt"
	"testing"
	"time"
)

func (f *fixture) recall(c IdempotencyKey) (m *Remembered, err error) {
	err = f.View(0, func(v *View) error {
		m, err = v.Recall(c)
		return err
	})
	return m, err
}

func (f *fixture) remember(c IdempotencyKey, status int, body string) {
	f.must(func(tx *Tx) error { return tx.Remember(c, Remembered{Status: status, Body: []byte(body)}) })
}

// recalls fails the test unless this response is remembered for the key; status 0 means
// none.
func (f *fixture) recalls(c IdempotencyKey, status int, body string) {
	f.t.Helper()
	m, err := f.recall(c)
	switch {
	case err != nil:
		f.t.Errorf("recall: %v", err)
	case m == nil && status != 0:
		f.t.Errorf("nothing is remembered, want %d %q", status, body)
	case m != nil && (m.Status != status || string(m.Body) != body):
		f.t.Errorf("remembered %d %q, want %d %q", m.Status, m.Body, status, body)
	}
}

func idempotencyKey(caller int64, key, request string) IdempotencyKey {
	return NewIdempotencyKey(caller, key, "POST", "/cards", []byte(request))
}

// TestIdempotencyKeysAreSeparate checks that a response is for one caller and key only, and that
// another request with the same key is a conflict.
func TestIdempotencyKeysAreSeparate(t *testing.T) {
	f := start(t)
	first := idempotencyKey(KeyScope(1), "key", "request")
	f.remember(first, 201, "first")
	f.recalls(idempotencyKey(KeyScope(2), "key", "request"), 0, "")   // another caller
	f.recalls(idempotencyKey(KeyScope(1)+1, "key", "request"), 0, "") // the device with the same number
	f.recalls(idempotencyKey(KeyScope(1), "KEY", "request"), 0, "")
	for what, c := range map[string]IdempotencyKey{
		"another body":   idempotencyKey(KeyScope(1), "key", "request "),
		"another path":   NewIdempotencyKey(KeyScope(1), "key", "POST", "/cards/", []byte("request")),
		"another method": NewIdempotencyKey(KeyScope(1), "key", "PATCH", "/cards", []byte("request")),
		"parts moved":    NewIdempotencyKey(KeyScope(1), "key", "POST", "/card", []byte("srequest")),
	} {
		m, err := f.recall(c)
		if m != nil {
			t.Errorf("%s is answered %d %q", what, m.Status, m.Body)
		}
		refused(t, err, IdempotencyConflict)
	}
	f.recalls(first, 201, "first")
}

func TestPruneIdempotency(t *testing.T) {
	f := start(t)
	prune := func(max int) (n int64) {
		f.must(func(tx *Tx) (err error) { n, err = tx.PruneIdempotency(max); return err })
		return n
	}
	for i := range 25 {
		f.remember(idempotencyKey(2, fmt.Sprint("old", i), ""), 200, "old")
	}
	f.clock.move(time.Hour)
	for i := range 10 {
		f.remember(idempotencyKey(2, fmt.Sprint("new", i), ""), 200, "new")
	}
	f.clock.move(23*time.Hour - time.Millisecond)
	if n := prune(100); n != 0 {
		t.Errorf("%d rows were pruned before their window ended", n)
	}
	f.clock.move(time.Millisecond)
	for i, want := range []int64{10, 10, 5, 0, 0} {
		if n := prune(10); n != want {
			t.Errorf("batch %d deleted %d rows, want %d", i+1, n, want)
		}
	}
	for i := range 10 {
		f.recalls(idempotencyKey(2, fmt.Sprint("new", i), ""), 200, "new")
	}
	// A key that was used again is pruned when its new window ends.
	f.remember(idempotencyKey(2, "new0", "again"), 200, "again")
	f.clock.move(time.Hour)
	if n := prune(100); n != 9 {
		t.Errorf("%d rows were pruned, want the 9 whose window ended", n)
	}
	f.recalls(idempotencyKey(2, "new0", "again"), 200, "again")
}

// TestRefusedWriteRemembersNothing checks that a response is remembered if and only if its write is
// committed.
func TestRefusedWriteRemembersNothing(t *testing.T) {
	f := start(t)
	c := idempotencyKey(2, "key", "request")
	program := f.program(stamps("Coffee"))
	issue := func(end error) error {
		return f.do(func(tx *Tx) error {
			succeed(f.issuing(program, CardFields{})(tx), tx.Remember(c, Remembered{Status: 201, Body: []byte("made")}))
			return end
		})
	}
	refused(t, issue(notFound("thing")), NotFound)
	f.recalls(c, 0, "")
	f.selects(0, "SELECT count(*) FROM cards")
	succeed(issue(nil))
	f.recalls(c, 201, "made")
	f.selects(1, "SELECT count(*) FROM cards")
}
