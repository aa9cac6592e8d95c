package store

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
)

// columns writes a SELECT list.
func columns(cols ...string) string { return strings.Join(cols, ", ") }

// rows walks the result of a query, and each row from its first column to its
// last.
//
//	r := c.query(…)
//	for r.next() { … = r.str(); … = r.int() … }
//	return r.close()
//
// An error of any step ends the walk and is returned by close. A statement has
// one walk at a time.
type rows struct {
	c    *conn
	sql  string
	s    *statement
	open bool
	over bool // the last was read
	at   int  // the next column
	err  error
}

func (c *conn) query(sql string, args ...any) *rows {
	s, err := c.bound(sql, args)
	if err != nil {
		return &rows{c: c, err: err}
	}
	r := &s.rows
	r.open, r.over, r.err = true, false, nil
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

// blob is the single BLOB that a query of one row gives.
func (c *conn) blob(sql string) (b []byte, err error) {
	_, err = c.one(func(r *rows) { b = r.bytes() }, sql)
	return b, err
}

func (r *rows) next() bool {
	if !r.open || r.over || r.err != nil {
		return false
	}
	more, err := r.s.Step()
	if err != nil {
		r.err = r.c.failed(err)
	}
	r.at, r.over = 0, !more
	return more
}

func (r *rows) close() error {
	if r.open {
		r.open = false
		if err := r.s.end(); err != nil && r.err == nil {
			r.err = r.c.failed(err)
		}
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

func (r *rows) column() int {
	r.at++
	return r.at - 1
}

// str is a text; null reads as the empty one.
func (r *rows) str() string { return r.s.ColumnText(r.column()) }

func (r *rows) bytes() []byte {
	at := r.column()
	b := make([]byte, r.s.ColumnLen(at))
	r.s.ColumnBytes(at, b)
	return b
}

func (r *rows) int() int64 {
	at := r.column()
	r.want(sqlite.TypeInteger, at)
	return r.s.ColumnInt64(at)
}

func (r *rows) float() float64 {
	at := r.column()
	r.want(sqlite.TypeFloat, at)
	return r.s.ColumnFloat(at)
}

// want refuses a column of another type: SQLite would make a number of it.
func (r *rows) want(t sqlite.ColumnType, at int) {
	if have := r.s.ColumnType(at); have != t && r.err == nil {
		r.err = fmt.Errorf("store: column %d of %.60q is of type %s", at, r.sql, have)
	}
}

func (r *rows) bool() bool { return r.int() != 0 }
func (r *rows) time() Time { return Time(r.int()) }

// nullStr takes the empty text for a null.
func (r *rows) nullStr() Null[string] {
	s := r.str()
	return Null[string]{V: s, Valid: s != ""}
}

func nullable[T any](r *rows, read func() T) Null[T] {
	if r.s.ColumnIsNull(r.at) {
		r.at++
		return Null[T]{}
	}
	return Some(read())
}

func (r *rows) nullInt() Null[int64]     { return nullable(r, r.int) }
func (r *rows) nullFloat() Null[float64] { return nullable(r, r.float) }
func (r *rows) nullTime() Null[Time]     { return nullable(r, r.time) }
