package store

import (
	"context"
	"strings"

	"punchcard/store/sqlite"
)

// conn is a sqlite.Conn without exported methods: View and Tx embed it, and their
// users must not run SQL.
type conn sqlite.Conn

func openConn(path string, mode sqlite.Mode, pragmas ...string) (*conn, error) {
	c, err := sqlite.Open(path, mode, pragmas...)
	return (*conn)(c), err
}

// openConnContext opens the file for writing. ctx ends what the connection does until
// NoInterrupt is called.
func openConnContext(ctx context.Context, path string, pragmas ...string) (*conn, error) {
	c, err := sqlite.OpenContext(ctx, path, sqlite.ReadWrite, pragmas...)
	return (*conn)(c), err
}

func (c *conn) db() *sqlite.Conn { return (*sqlite.Conn)(c) }

func (c *conn) close() error            { return c.db().Close() }
func (c *conn) script(sql string) error { return c.db().Script(sql) }

func (c *conn) exec(sql string, args ...any) (changes int64, err error) {
	return c.db().Exec(sql, bindable(args)...)
}

func (c *conn) insert(sql string, args ...any) (key int64, err error) {
	return c.db().Insert(sql, bindable(args)...)
}

func (c *conn) query(sql string, args ...any) *rows {
	return (*rows)(c.db().Query(sql, bindable(args)...))
}

// one runs a query and calls scan with its first row, if there is one.
func (c *conn) one(scan func(*rows), sql string, args ...any) (found bool, err error) {
	r := c.query(sql, args...)
	if r.next() {
		scan(r)
		found = true
	}
	return found, r.close()
}

// find does the same as one, but returns not_found if there is no row. what names it.
func (c *conn) find(what string, scan func(*rows), sql string, args ...any) error {
	found, err := c.one(scan, sql, args...)
	if err == nil && !found {
		err = notFound(what)
	}
	return err
}

// number returns the integer of a query of one row and column, 0 if there is no
// row.
func (c *conn) number(sql string, args ...any) (n int64, err error) {
	return c.db().Number(sql, bindable(args)...)
}

// keys returns the integers of a query of one column.
func (c *conn) keys(sql string, args ...any) ([]int64, error) {
	return list(c, (*rows).int, sql, args...)
}

// list returns what scan reads from each row of a query. It is never nil, which
// is null in JSON.
func list[T any](c *conn, scan func(*rows) T, sql string, args ...any) ([]T, error) {
	all := []T{}
	r := c.query(sql, args...)
	for r.next() {
		all = append(all, scan(r))
	}
	return all, r.close()
}

// bindable replaces arguments of type Null by nil or their value, in place.
func bindable(args []any) []any {
	for i, a := range args {
		if n, ok := a.(interface{ bindable() any }); ok {
			args[i] = n.bindable()
		}
	}
	return args
}

func (n Null[T]) bindable() any {
	if !n.Valid {
		return nil
	}
	return n.V
}

// columns returns the columns as a SELECT list.
func columns(cols ...string) string { return strings.Join(cols, ", ") }

// rows is sqlite.Rows with methods for the types of the domain.
type rows sqlite.Rows

func (r *rows) db() *sqlite.Rows { return (*sqlite.Rows)(r) }

func (r *rows) next() bool     { return r.db().Next() }
func (r *rows) close() error   { return r.db().Close() }
func (r *rows) str() string    { return r.db().Text() }
func (r *rows) bytes() []byte  { return r.db().Bytes() }
func (r *rows) int() int64     { return r.db().Int() }
func (r *rows) float() float64 { return r.db().Float() }
func (r *rows) keys() []int64  { return r.db().Ints() }
func (r *rows) json(v any)     { r.db().JSON(v) }
func (r *rows) bool() bool     { return r.int() != 0 }
func (r *rows) time() Time     { return Time(r.int()) }

// nullStr reads a text. An empty text is null.
func (r *rows) nullStr() Null[string] {
	s := r.str()
	return Null[string]{V: s, Valid: s != ""}
}

func (r *rows) nullInt() Null[int64]     { return nullable(r, r.int) }
func (r *rows) nullFloat() Null[float64] { return nullable(r, r.float) }
func (r *rows) nullTime() Null[Time]     { return nullable(r, r.time) }

func nullable[T any](r *rows, read func() T) Null[T] {
	if r.db().Null() {
		return Null[T]{}
	}
	return Some(read())
}
