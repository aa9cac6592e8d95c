// Package sqlite holds connections to SQLite files, their prepared statements,
// the rows of queries and the classes of errors. It is the only package that
// knows the SQLite library.
//
// It uses SQLite's own interface rather than database/sql: the store needs
// exactly one writer and a fixed set of readers, statements that stay prepared,
// and columns that are read without interfaces and reflection.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

// Conn is one SQLite connection with its prepared statements. It is used by
// one goroutine at a time.
type Conn struct {
	db    *sqlite.Conn
	stmts map[string]*statement
	older map[string]*statement // not used since finalizeOlder last ran
	limit int                   // of stmts; 0: none
	open  []*Rows               // not closed yet

	stopOnDiskError bool
	diskError       error // the first one since Resume

	watch watch
	bounds
}

// Mode is what a connection may do with its file.
type Mode struct {
	flags sqlite.OpenFlags
	query string
}

var (
	// ReadWrite reads and writes a file that exists. An empty one is a new database.
	ReadWrite = Mode{flags: sqlite.OpenReadWrite}
	// ReadOnly reads a file that exists.
	ReadOnly = Mode{flags: sqlite.OpenReadOnly}
	// Immutable reads a file that nobody writes. It takes no locks and touches
	// nothing beside the file.
	Immutable = Mode{flags: sqlite.OpenReadOnly, query: "?immutable=1"}
)

// full returns the absolute path of a file. Folders behind symbolic links are
// replaced by those that they lead to, since Open refuses links.
func full(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// uri returns SQLite's name for a file, whose path may contain any character. An
// absolute path is neither a special name like ":memory:" nor taken for a host.
func uri(path string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String()
}

// Open opens a file and sets pragmas, in their order. It does not wait for a
// busy file before busy_timeout=N, in milliseconds, is set; see WaitFor. It does not follow
// a symbolic link at the end of the path.
func Open(path string, mode Mode, pragmas ...string) (*Conn, error) {
	return OpenContext(context.Background(), path, mode, pragmas...)
}

// OpenMemory opens a new database in memory.
func OpenMemory() (*Conn, error) {
	db, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	if err != nil {
		return nil, classify(err)
	}
	c := &Conn{db: db, stmts: map[string]*statement{}}
	if err := c.bound(""); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// OpenContext is Open for a connection that is interrupted when ctx ends, also while
// it is opened; see InterruptOn.
func OpenContext(ctx context.Context, path string, mode Mode, pragmas ...string) (*Conn, error) {
	path = full(path)
	db, err := sqlite.OpenConn(uri(path)+mode.query, mode.flags|sqlite.OpenURI|noFollow)
	if err != nil {
		return nil, classify(err)
	}
	db.SetBusyTimeout(0) // by default it waits forever
	c := &Conn{db: db, stmts: map[string]*statement{}}
	err = c.bound(path)
	c.raw.handleBusy()
	c.InterruptOn(ctx)
	defer c.FewSteps()() // a pragma reads the schema
	for _, p := range pragmas {
		if ms, wait := strings.CutPrefix(p, "busy_timeout="); wait && err == nil {
			c.wait, err = time.ParseDuration(ms + "ms")
		} else if err == nil {
			err = c.Script("PRAGMA " + p)
		}
	}
	if err == nil {
		// Last, since it forbids journal_mode=OFF.
		err = c.raw.defend(true)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close finalizes the statements and closes the connection.
func (c *Conn) Close() error {
	for _, stmts := range []map[string]*statement{c.stmts, c.older} {
		for _, s := range stmts {
			s.Finalize()
		}
	}
	defer c.raw.forget(c)
	return classify(c.db.Close())
}

// EditSchema calls f, during which statements may write to the text of the schema, as a migration
// does.
func (c *Conn) EditSchema(f func() error) error {
	if err := c.raw.defend(false); err != nil {
		return err
	}
	return errors.Join(f(), c.raw.defend(true))
}

// StopOnDiskError makes the connection return its first error of class ErrFull or
// ErrIO for every later statement until Resume is called: SQLite may have ended
// the transaction, and a later statement would commit alone.
func (c *Conn) StopOnDiskError() { c.stopOnDiskError = true }

// Resume lets a connection run statements again after an error of the disk.
func (c *Conn) Resume() { c.diskError = nil }

// fail classifies an error of SQLite. It remembers the error if the connection
// has to stop.
func (c *Conn) fail(err error) error {
	err = c.classify(err)
	if c.stopOnDiskError && c.diskError == nil && (errors.Is(err, ErrFull) || errors.Is(err, ErrIO)) {
		c.diskError = err
	}
	return err
}

// LimitStatements bounds the prepared statements that the connection keeps to
// the n used last, and up to n more that it used before them.
func (c *Conn) LimitStatements(n int) { c.limit = n }

// NoLookaside frees the memory that SQLite sets aside for small objects of the
// connection, 48 kB, and has it allocate each. No statement may be prepared yet.
func (c *Conn) NoLookaside() error { return c.raw.noLookaside() }

// Statements returns the SQL of the statements that the connection keeps
// prepared.
func (c *Conn) Statements() []string {
	return slices.Concat(slices.Collect(maps.Keys(c.stmts)), slices.Collect(maps.Keys(c.older)))
}

// prepare returns the prepared statement of sql, which must be a single one.
func (c *Conn) prepare(sql string) (*statement, error) {
	if c.diskError != nil {
		return nil, c.diskError
	}
	c.begin()
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, ok := c.older[sql]
	if ok {
		delete(c.older, sql)
	} else {
		prepared, rest, err := c.db.PrepareTransient(sql)
		if err != nil {
			return nil, fmt.Errorf("prepare %.60q: %w", sql, c.fail(err))
		}
		if rest > 0 {
			panic(fmt.Sprintf("sqlite: more than one statement in %.60q", sql))
		}
		s = &statement{Stmt: prepared}
		s.rows = Rows{c: c, sql: sql, s: s}
	}
	if c.limit > 0 && len(c.stmts) >= c.limit {
		c.finalizeOlder()
	}
	c.stmts[sql] = s
	return s, nil
}

// finalizeOlder finalizes the statements that were not used for a while, except
// those whose rows are open.
func (c *Conn) finalizeOlder() {
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

// Script runs SQL of several statements, without keeping them prepared. Nothing
// but white space may follow the last.
func (c *Conn) Script(sql string) error { return c.script(sql, func(*sqlite.Stmt, string) {}) }

// script is Script, which calls began with each statement before it runs.
func (c *Conn) script(sql string, began func(s *sqlite.Stmt, statement string)) error {
	for strings.TrimSpace(sql) != "" {
		c.begin()
		s, rest, err := c.db.PrepareTransient(sql)
		if err != nil {
			return c.classify(err)
		}
		began(s, sql[:len(sql)-rest])
		for more := true; more && err == nil; {
			more, err = s.Step()
		}
		s.Finalize() // repeats the error
		if err != nil {
			return c.classify(err)
		}
		sql = sql[len(sql)-rest:]
	}
	return nil
}

// Copy copies all pages of one database into another. After every n pages it checks ctx
// and calls copied, unless that is nil, with the number of pages that are copied and of
// all pages. If n is -1, it copies all pages at once.
func Copy(ctx context.Context, to, from *Conn, n int, copied func(done, total int64)) error {
	b, err := sqlite.NewBackup(to.db, "", from.db, "")
	if err != nil {
		return classify(err)
	}
	defer b.Close()
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = b.Step(n)
		}
		if err == nil && copied != nil {
			total := b.PageCount()
			copied(int64(total-b.Remaining()), int64(total))
		}
	}
	return classify(err)
}
