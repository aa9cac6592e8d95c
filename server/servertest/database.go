package servertest

import (
	"database/sql"
	"net/url"

	_ "modernc.org/sqlite" // the driver of Database

	"punchcard/store"
)

// Database opens the file beside the server, as another process does.
func (s *Server) Database(do func(*sql.DB) error) {
	s.T.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: s.App.Store.Path()}).EscapedPath()+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
	if err == nil {
		defer db.Close()
		err = do(db)
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

// SQL changes the file beside the server.
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
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var v string
			if err := rows.Scan(&v); err != nil {
				return err
			}
			list = append(list, v)
		}
		return rows.Err()
	})
	return list
}

// Row returns the key in the file of what an id names.
func (s *Server) Row(kind store.Kind, id string) int64 {
	s.T.Helper()
	key, ok := s.App.Store.Key(kind, id)
	if !ok {
		s.T.Fatalf("%q is no id", id)
	}
	return key
}

// Unchanged runs what must write nothing to the ledger, the audit log, the
// cards, the claims and the remembered answers.
func (s *Server) Unchanged(do func()) {
	s.T.Helper()
	state := func() string {
		return s.Value("SELECT (SELECT count(*) FROM transactions)||' transactions, '||(SELECT count(*) FROM audit)||' audited, '||(SELECT count(*) FROM claims)||' claims, '||(SELECT count(*) FROM cards)||' cards, '||" +
			"(SELECT count(*) FROM cards WHERE activated_at IS NOT NULL)||' active, '||(SELECT count(*) FROM idempotency)||' remembered'")
	}
	before := state()
	do()
	if after := state(); after != before {
		s.T.Errorf("before %s; after %s", before, after)
	}
}
