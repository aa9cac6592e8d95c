package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/sqlite"
)

// conn is one SQLite connection with its prepared statements. It is used by
// one goroutine at a time.
//
// It speaks to the driver itself and not through database/sql: the store wants
// exactly one writer and a fixed set of readers, statements that stay prepared
// and no reflection on the way, and a pool would only be in between.
type conn struct {
	dc    driver.Conn
	stmts map[string]driver.Stmt
	older map[string]driver.Stmt // not used since stmts was begun
	keep  int                    // begins it anew when it has so many; 0: never
	args  []driver.NamedValue
	open  []*rows // not yet closed; a panic in the middle of a walk leaves some

	// ctx interrupts a long query of a connection that its end then discards;
	// nil: nothing does.
	ctx context.Context

	// The writer's connection keeps the first failure of the disk as its fault
	// and runs nothing more until commitGroup clears it: SQLite may have ended
	// the transaction, and a further statement would commit alone.
	keepFault bool
	fault     error
}

// failed classifies an error of the driver, and keeps it where it is a fault.
func (c *conn) failed(err error) error {
	err = classify(err)
	if c.keepFault && c.fault == nil && (errors.Is(err, ErrFull) || errors.Is(err, ErrIO)) {
		c.fault = err
	}
	return err
}

// dsn builds the driver's name for a file. A path may hold any character; made
// absolute it is no special name like ":memory:" and has no host in it.
func dsn(path string, params ...string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String() + "?" + strings.Join(params, "&")
}

func (c *conn) context() context.Context {
	if c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

func openConn(name string) (*conn, error) {
	dc, err := (&sqlite.Driver{}).Open(name)
	if err != nil {
		return nil, classify(err)
	}
	return &conn{dc: dc, stmts: map[string]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		s.Close()
	}
	for _, s := range c.older {
		s.Close()
	}
	return classify(c.dc.Close())
}

func (c *conn) prepare(sql string) (driver.Stmt, error) {
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
		var err error
		if s, err = c.dc.(driver.ConnPrepareContext).PrepareContext(context.Background(), sql); err != nil {
			return nil, fmt.Errorf("prepare %.60q: %w", sql, c.failed(err))
		}
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
		s.Close()
	}
	c.older, c.stmts = c.stmts, map[string]driver.Stmt{}
}

// script runs SQL of several statements, unprepared.
func (c *conn) script(sql string) error {
	_, err := c.dc.(driver.ExecerContext).ExecContext(context.Background(), sql, nil)
	return classify(err)
}

func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: value(a)})
	}
	return c.args
}

// value turns an argument into one of the driver's types. An argument of any
// other type is a mistake of the program.
func value(a any) driver.Value {
	switch a := a.(type) {
	case nil, int64, float64, string, []byte:
		return a
	case int:
		return int64(a)
	case bool:
		if a {
			return int64(1)
		}
		return int64(0)
	case Time:
		return int64(a)
	case Kind:
		return int64(a)
	case Code:
		return string(a)
	case Null[Time]:
		return orNil(a, func(t Time) driver.Value { return int64(t) })
	case Null[int64]:
		return orNil(a, func(v int64) driver.Value { return v })
	case Null[float64]:
		return orNil(a, func(v float64) driver.Value { return v })
	case Null[string]:
		return orNil(a, func(v string) driver.Value { return v })
	}
	panic(fmt.Sprintf("store: an argument of type %T", a))
}

func orNil[T any](n Null[T], f func(T) driver.Value) driver.Value {
	if !n.Valid {
		return nil
	}
	return f(n.V)
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
	s, err := c.prepare(sql)
	if err != nil {
		return 0, 0, err
	}
	res, err := s.(driver.StmtExecContext).ExecContext(c.context(), c.bind(args))
	if err != nil {
		return 0, 0, c.failed(err)
	}
	key, _ = res.LastInsertId()
	changes, _ = res.RowsAffected()
	return key, changes, nil
}

// packed writes a SELECT list as one text, its columns parted by NUL, which no
// stored text can hold (the API refuses it). Stepping one column instead of
// fifteen takes 5.1 instead of 8.3 µs, and the strings of a row share one
// allocation. A null reads as the empty text, so a nullable text column must
// not hold one. Reals need real().
func packed(cols ...string) string {
	var b strings.Builder
	b.WriteString("concat_ws(char(0)")
	for _, c := range cols {
		if neverNull[c] || strings.HasSuffix(c, " NULL") {
			b.WriteString("," + c)
		} else {
			b.WriteString(",ifnull(" + c + ",'')")
		}
	}
	b.WriteString(") AS x") // without it the driver copies the whole list as the column's name with each query
	return b.String()
}

// neverNull are columns of the most read rows that need no ifnull: they are NOT
// NULL in the schema, and no query has them on the outer side of a join. A null
// among them would shift all that follow.
var neverNull = map[string]bool{"c.id": true, "c.program_id": true, "c.stamps_count": true, "c.created_at": true, "c.cycle": true, "c.code_generation": true,
	"c.live": true, epochColumn: true}

// real keeps all seventeen digits of a REAL column inside packed.
func real(col string) string {
	return "CASE WHEN " + col + " IS NULL THEN '' ELSE printf('%!.17g'," + col + ") END"
}

// rows walks the result of a query whose SELECT list is one packed column.
//
//	r := c.query(…)
//	for r.next() { … = r.str() … }
//	return r.close()
//
// An error of any step ends the walk and is returned by close.
type rows struct {
	c    *conn
	sql  string
	dr   driver.Rows
	dest [1]driver.Value
	line string
	err  error
}

func (c *conn) query(sql string, args ...any) *rows {
	r := &rows{c: c, sql: sql}
	s, err := c.prepare(sql)
	if err != nil {
		r.err = err
		return r
	}
	dr, err := s.(driver.StmtQueryContext).QueryContext(c.context(), c.bind(args))
	if err != nil {
		r.err = c.failed(err)
		return r
	}
	r.dr = dr
	c.open = append(c.open, r)
	return r
}

// one runs a query and reads its first row with scan, if there is one.
func (c *conn) one(scan func(*rows), sql string, args ...any) (found bool, err error) {
	r := c.query(sql, args...)
	if r.next() {
		scan(r)
		found = true
	}
	return found, r.close()
}

// number is the single integer that a query of one row gives.
func (c *conn) number(sql string, args ...any) (n int64, err error) {
	_, err = c.one(func(r *rows) { n = r.int() }, sql, args...)
	return n, err
}

func (r *rows) next() bool {
	if r.err != nil {
		return false
	}
	if err := r.dr.Next(r.dest[:]); err != nil {
		if err != io.EOF {
			r.err = r.c.failed(err)
		}
		return false
	}
	switch v := r.dest[0].(type) {
	case string:
		r.line = v
	case int64:
		r.line = strconv.FormatInt(v, 10)
	case nil:
		r.line = ""
	default:
		r.err = fmt.Errorf("store: a packed column of type %T", v)
	}
	return r.err == nil
}

func (r *rows) close() error {
	if r.dr != nil {
		if err := r.dr.Close(); err != nil && r.err == nil {
			r.err = r.c.failed(err)
		}
		r.dr = nil
		for i, o := range r.c.open {
			if o == r {
				r.c.open = append(r.c.open[:i], r.c.open[i+1:]...)
				break
			}
		}
	}
	return r.err
}

// reset closes what a panic left open, so that no statement keeps an old
// snapshot alive.
func (c *conn) reset() {
	for len(c.open) > 0 {
		c.open[len(c.open)-1].close()
	}
}

func (r *rows) str() string {
	s, rest, _ := strings.Cut(r.line, "\x00")
	r.line = rest
	return s
}

func (r *rows) int() int64 {
	n, err := strconv.ParseInt(r.str(), 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("store: a column that is not an integer: %w", err)
	}
	return n
}

func (r *rows) float() float64 {
	f, err := strconv.ParseFloat(r.str(), 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("store: a column that is not a number: %w", err)
	}
	return f
}

func (r *rows) bool() bool { return r.int() != 0 }
func (r *rows) time() Time { return Time(r.int()) }

func (r *rows) nullStr() Null[string] {
	s := r.str()
	return Null[string]{V: s, Valid: s != ""}
}

func nullable[T any](r *rows, read func() T) Null[T] {
	if r.line == "" || r.line[0] == 0 {
		r.str()
		return Null[T]{}
	}
	return Some(read())
}

func (r *rows) nullInt() Null[int64]     { return nullable(r, r.int) }
func (r *rows) nullFloat() Null[float64] { return nullable(r, r.float) }
func (r *rows) nullTime() Null[Time]     { return nullable(r, r.time) }

// blob is the single BLOB that a query of one row gives.
func (c *conn) blob(sql string) ([]byte, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	dr, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), nil)
	if err != nil {
		return nil, classify(err)
	}
	defer dr.Close()
	var dest [1]driver.Value
	if err := dr.Next(dest[:]); err != nil {
		return nil, classify(err)
	}
	b, _ := dest[0].([]byte)
	return b, nil
}
