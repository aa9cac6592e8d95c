package sqlite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
)

// Rows is the result of a query. It reads each row from its first column to its
// last.
//
//	r := c.Query(…)
//	for r.Next() { … = r.Text(); … = r.Int() … }
//	return r.Close()
//
// An error ends the rows and is returned by Close. A statement cannot be run
// again while its rows are open.
type Rows struct {
	c    *Conn
	sql  string
	s    *statement
	open bool
	done bool  // there is no further row
	at   int   // the next column
	n    int64 // rows so far
	max  int64 // of them; see rowsAtLeast
	err  error
}

// Query runs a statement that returns rows, which must be closed. For its
// arguments see Exec.
func (c *Conn) Query(sql string, args ...any) *Rows {
	s, err := c.prepareBound(sql, args)
	if err != nil {
		return &Rows{c: c, err: err}
	}
	r := &s.rows
	r.open, r.done, r.err = true, false, nil
	r.n, r.max = 0, rowsAtLeast
	c.open = append(c.open, r)
	return r
}

// Number returns the integer of a query of one row and column, 0 if there is no
// row.
func (c *Conn) Number(sql string, args ...any) (n int64, err error) {
	r := c.Query(sql, args...)
	if r.Next() {
		n = r.Int()
	}
	return n, r.Close()
}

// Next moves to the next row. It returns false after the last one and after an
// error.
func (r *Rows) Next() bool {
	if !r.open || r.done || r.err != nil {
		return false
	}
	more, err := r.s.Step()
	if err != nil {
		r.err = r.c.fail(err)
	}
	if r.n++; more && r.n > r.max {
		r.max = rowsAtLeast + fileSize(r.c.path)/bytesPerRow
		if r.n > r.max {
			more, r.err = false, ErrEndless
		}
	}
	r.at, r.done = 0, !more
	return more
}

// Close ends the rows and returns their first error.
func (r *Rows) Close() error {
	if r.open {
		r.open = false
		if err := r.s.end(); err != nil && r.err == nil {
			r.err = r.c.fail(err)
		}
		if i := slices.Index(r.c.open, r); i >= 0 {
			r.c.open = slices.Delete(r.c.open, i, i+1)
		}
	}
	return r.err
}

// CloseRows closes the rows that a panic left open, so that no statement keeps an
// old snapshot.
func (c *Conn) CloseRows() {
	for len(c.open) > 0 {
		c.open[len(c.open)-1].Close()
	}
}

// Columns returns the names of the columns: none after an error.
func (r *Rows) Columns() (names []string) {
	if r.s == nil {
		return nil
	}
	for i := range r.s.ColumnCount() {
		names = append(names, r.s.ColumnName(i))
	}
	return names
}

// column returns the index of the next column and moves past it.
func (r *Rows) column() int {
	r.at++
	return r.at - 1
}

// Null reports whether the next column is null. If it is, Null moves past it.
func (r *Rows) Null() bool {
	null := r.s.ColumnIsNull(r.at)
	if null {
		r.at++
	}
	return null
}

// Text reads a text, "" for null.
func (r *Rows) Text() string { return r.s.ColumnText(r.column()) }

// Bytes reads a blob.
func (r *Rows) Bytes() []byte {
	at := r.column()
	b := make([]byte, r.s.ColumnLen(at))
	r.s.ColumnBytes(at, b)
	return b
}

// Int reads an integer.
func (r *Rows) Int() int64 {
	at := r.column()
	r.want(sqlite.TypeInteger, at)
	return r.s.ColumnInt64(at)
}

// Float reads a floating-point number.
func (r *Rows) Float() float64 {
	at := r.column()
	r.want(sqlite.TypeFloat, at)
	return r.s.ColumnFloat(at)
}

// Ints reads a text of integers separated by commas, as group_concat returns it.
func (r *Rows) Ints() (list []int64) {
	text := r.Text()
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil && r.err == nil {
			r.err = err
		}
		list = append(list, n)
	}
	return list
}

// JSON reads a text of JSON into the value that v points to.
func (r *Rows) JSON(v any) {
	if err := json.Unmarshal([]byte(r.Text()), v); err != nil && r.err == nil {
		r.err = err
	}
}

// want sets the error for a column of another type, which SQLite would convert.
func (r *Rows) want(t sqlite.ColumnType, at int) {
	if have := r.s.ColumnType(at); have != t && r.err == nil {
		r.err = fmt.Errorf("sqlite: column %d of %.60q is of type %s", at, r.sql, have)
	}
}
