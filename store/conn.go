package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// As the library's own driver does: without it, pages of 64 KiB on Linux and
// arm64 read as a failing disk.
func init() { sqlite3.PatchIssue199() }

// conn is one SQLite connection with its prepared statements. It is used by
// one goroutine at a time.
//
// It is on SQLite's own interface and not on database/sql: the store wants
// exactly one writer and a fixed set of readers, statements that stay prepared,
// and columns without a detour through interfaces and reflection.
type conn struct {
	db    *sqlite.Conn
	stmts map[string]*statement
	older map[string]*statement // not used since stmts was begun
	keep  int                   // begins it anew when it has so many; 0: never
	open  []*rows               // not yet closed; a panic in the middle of a walk leaves some

	// The writer's connection keeps the first failure of the disk as its fault
	// and runs nothing more until commitGroup clears it: SQLite may have ended
	// the transaction, and a further statement would commit alone.
	keepFault bool
	fault     error
}

// statement is a prepared statement, and the walk of its rows.
type statement struct {
	*sqlite.Stmt
	rows rows
	long bool // texts or blobs are bound, which take memory
}

// failed classifies an error of SQLite, and keeps it where it is a fault.
func (c *conn) failed(err error) error {
	err = classify(err)
	if c.keepFault && c.fault == nil && (errors.Is(err, ErrFull) || errors.Is(err, ErrIO)) {
		c.fault = err
	}
	return err
}

// mode is what a connection may do with its file.
type mode struct {
	flags sqlite.OpenFlags
	query string
}

var (
	mayCreate = mode{flags: sqlite.OpenReadWrite | sqlite.OpenCreate}
	mustExist = mode{flags: sqlite.OpenReadWrite}
	readOnly  = mode{flags: sqlite.OpenReadOnly}
	// Of a file that nobody writes: it takes no locks, and touches nothing beside
	// the file.
	atRest = mode{flags: sqlite.OpenReadOnly, query: "?immutable=1"}
)

// uri is SQLite's name for a file. A path may hold any character; made absolute
// it is no special name like ":memory:" and has no host in it.
func uri(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String()
}

// openConn opens a file and sets pragmas, in their order. A busy file is not
// waited for unless busy_timeout is the first of them.
func openConn(path string, as mode, pragmas ...string) (*conn, error) {
	db, err := sqlite.OpenConn(uri(path)+as.query, as.flags|sqlite.OpenURI)
	if err != nil {
		return nil, classify(err)
	}
	db.SetBusyTimeout(0) // by default it would wait for ever
	c := &conn{db: db, stmts: map[string]*statement{}}
	for _, p := range pragmas {
		if err := c.script("PRAGMA " + p); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// until has the end of ctx interrupt the connection, which is of no use after
// that. A query that begins in the same instant may still run to its end.
func (c *conn) until(ctx context.Context) { c.db.SetInterrupt(ctx.Done()) }

// bound prepares a statement and gives it its arguments.
func (c *conn) bound(sql string, args []any) (*statement, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	if s.rows.open {
		panic(fmt.Sprintf("store: %.60q is run while its rows are walked", sql))
	}
	s.bind(args)
	return s, nil
}

func (c *conn) close() error {
	for _, stmts := range []map[string]*statement{c.stmts, c.older} {
		for _, s := range stmts {
			s.Finalize()
		}
	}
	return classify(c.db.Close())
}

func (c *conn) prepare(sql string) (*statement, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, ok := c.older[sql]
	if ok {
		delete(c.older, sql)
	} else {
		prepared, rest, err := c.db.PrepareTransient(sql)
		if err != nil {
			return nil, fmt.Errorf("prepare %.60q: %w", sql, c.failed(err))
		}
		if rest > 0 {
			panic(fmt.Sprintf("store: more than one statement in %.60q", sql))
		}
		s = &statement{Stmt: prepared}
		s.rows = rows{c: c, sql: sql, s: s}
	}
	if c.keep > 0 && len(c.stmts) >= c.keep {
		c.age()
	}
	c.stmts[sql] = s
	return s, nil
}

// age lets go of the statements that were not used for a while. One whose rows
// are being walked stays.
func (c *conn) age() {
	for _, r := range c.open {
		if s, ok := c.older[r.sql]; ok {
			delete(c.older, r.sql)
			c.stmts[r.sql] = s
		}
	}
	for _, s := range c.older {
		s.Finalize()
	}
	c.older, c.stmts = c.stmts, map[string]*statement{}
}

// script runs SQL of several statements, unprepared. Nothing but white space
// may follow the last.
func (c *conn) script(sql string) error {
	for strings.TrimSpace(sql) != "" {
		s, rest, err := c.db.PrepareTransient(sql)
		if err != nil {
			return classify(err)
		}
		for more := true; more && err == nil; {
			more, err = s.Step()
		}
		s.Finalize() // repeats the error
		if err != nil {
			return classify(err)
		}
		sql = sql[len(sql)-rest:]
	}
	return nil
}

// bind gives the statement its arguments. One of a type that it does not know,
// or another number of them, is a mistake of the program.
func (s *statement) bind(args []any) {
	if len(args) != s.BindParamCount() {
		panic(fmt.Sprintf("store: %d arguments for %.60q", len(args), s.rows.sql))
	}
	for i, a := range args {
		i++
		switch a := a.(type) {
		case nil:
			s.BindNull(i)
		case int64:
			s.BindInt64(i, a)
		case int:
			s.BindInt64(i, int64(a))
		case bool:
			s.BindBool(i, a)
		case float64:
			s.BindFloat(i, a)
		case string:
			s.text(i, a)
		case []byte:
			if a == nil {
				s.BindNull(i)
				continue
			}
			s.long = true
			s.BindBytes(i, a)
		case Time:
			s.BindInt64(i, int64(a))
		case Kind:
			s.BindInt64(i, int64(a))
		case Code:
			s.text(i, string(a))
		case Null[Time]:
			orNull(s, i, a, func(t Time) { s.BindInt64(i, int64(t)) })
		case Null[int64]:
			orNull(s, i, a, func(n int64) { s.BindInt64(i, n) })
		case Null[float64]:
			orNull(s, i, a, func(f float64) { s.BindFloat(i, f) })
		case Null[string]:
			orNull(s, i, a, func(t string) { s.text(i, t) })
		default:
			panic(fmt.Sprintf("store: an argument of type %T", a))
		}
	}
}

func (s *statement) text(i int, t string) {
	s.long = true
	s.BindText(i, t)
}

func orNull[T any](s *statement, i int, n Null[T], bind func(T)) {
	if n.Valid {
		bind(n.V)
	} else {
		s.BindNull(i)
	}
}

// end makes the statement ready for its next run. It gives up the snapshot that
// the statement held, and the memory of what was bound.
func (s *statement) end() error {
	err := s.Reset()
	if s.long {
		s.long = false
		s.ClearBindings()
	}
	return err
}

// exec runs one statement that returns no rows.
func (c *conn) exec(sql string, args ...any) (changes int64, err error) {
	_, changes, err = c.run(sql, args)
	return changes, err
}

// insert runs an INSERT and returns the new row's key.
func (c *conn) insert(sql string, args ...any) (key int64, err error) {
	key, _, err = c.run(sql, args)
	return key, err
}

// rowsOf is a statement that takes any number of rows at once.
type rowsOf struct {
	columns int
	sql     [9]string // for 1, 2, 4 … 256 rows
}

// manyRows makes the statements of execRows from what stands before the rows,
// one row, and what stands behind them.
func manyRows(before, row, after string) (m rowsOf) {
	m.columns = strings.Count(row, "?")
	for i := range m.sql {
		m.sql[i] = before + row + strings.Repeat(","+row, 1<<i-1) + after
	}
	return m
}

// execRows writes rows, whose values args holds one row after the other, with
// as few statements as powers of two allow: a statement costs more than a row,
// and one for each number of rows would never end.
func (c *conn) execRows(m rowsOf, args []any) error {
	for i := len(m.sql) - 1; len(args) > 0; {
		n := m.columns << i
		if len(args) < n {
			i--
			continue
		}
		if _, err := c.exec(m.sql[i], args[:n]...); err != nil {
			return err
		}
		args = args[n:]
	}
	return nil
}

func (c *conn) run(sql string, args []any) (key, changes int64, err error) {
	s, err := c.bound(sql, args)
	if err != nil {
		return 0, 0, err
	}
	for more := true; more && err == nil; {
		more, err = s.Step()
	}
	key, changes = c.db.LastInsertRowID(), int64(c.db.Changes())
	if eerr := s.end(); err == nil {
		err = eerr
	}
	if err != nil {
		return 0, 0, c.failed(err)
	}
	return key, changes, nil
}
