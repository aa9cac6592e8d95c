package servertest

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of Database

	"punchcard/store"
)

// Database calls do with connections to the server's file that are separate from the
// server's, as those of another process are. They stay open until the server stops.
func (s *Server) Database(do func(*sql.DB) error) {
	s.T.Helper()
	db, err := s.beside.open(s.App.Store.Path())
	if err == nil {
		err = do(db)
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

// beside holds a test's own connections to the file of a server.
type beside struct {
	mu sync.Mutex
	db *sql.DB // nil if there are none
}

func (b *beside) open(file string) (db *sql.DB, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.db == nil {
		b.db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
	}
	return b.db, err
}

func (b *beside) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.db != nil {
		b.db.Close()
		b.db = nil
	}
}

// SQL runs a statement on the file beside the server.
func (s *Server) SQL(query string, args ...any) {
	s.T.Helper()
	s.Database(func(db *sql.DB) error {
		_, err := db.Exec(query, args...)
		return err
	})
}

// Value reads one value from the file as text.
func (s *Server) Value(query string, args ...any) (v string) {
	s.T.Helper()
	s.Database(func(db *sql.DB) error { return db.QueryRow(query, args...).Scan(&v) })
	return v
}

// Values reads a column from the file as text.
func (s *Server) Values(query string, args ...any) (list []string) {
	s.T.Helper()
	s.Database(func(db *sql.DB) error {
		rows, err := db.Query(query, args...)
		for err == nil && rows.Next() {
			var v string
			err = rows.Scan(&v)
			list = append(list, v)
		}
		if err != nil {
			return err
		}
		return errors.Join(rows.Err(), rows.Close())
	})
	return list
}

// Beside opens the file with a second store, as commands do.
func (s *Server) Beside() *store.Store {
	s.T.Helper()
	st, err := store.Open(s.App.Store.Path(), store.Options{
		MustExist: true, Now: func() time.Time { return s.App.Store.Now().Std() }, Limits: store.DefaultLimits(),
	})
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { st.Close() })
	return st
}

// Write makes a write of an operator, which must succeed.
func Write(t testing.TB, st *store.Store, do func(*store.Tx) error) {
	t.Helper()
	if err := st.Write(context.Background(), store.Write{Actor: store.Actor{Type: "user", Name: "operator"}, Do: do}); err != nil {
		t.Fatal(err)
	}
}

// Row returns the key of the row that an id names.
func (s *Server) Row(kind store.Kind, id string) int64 {
	s.T.Helper()
	key, ok := s.App.Store.Key(kind, id)
	if !ok {
		s.T.Fatalf("%q is no id", id)
	}
	return key
}

// Unchanged calls do and fails the test if that changes the number of rows of the
// ledger, the audit log, the cards, the active cards, the claims or the remembered
// answers.
func (s *Server) Unchanged(do func()) {
	s.T.Helper()
	state := func() string {
		return s.Value("SELECT (SELECT count(*) FROM transactions)||' transactions, '||(SELECT count(*) FROM audit)||' audited, " +
			"'||(SELECT count(*) FROM claims)||' claims, '||(SELECT count(*) FROM cards)||' cards, '||" +
			"(SELECT count(*) FROM cards WHERE activated_at IS NOT NULL)||' active, '||(SELECT count(*) FROM idempotency)||' remembered'")
	}
	before := state()
	do()
	if after := state(); after != before {
		s.T.Errorf("something was written: before %s; after %s", before, after)
	}
}
