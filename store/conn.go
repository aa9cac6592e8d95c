package store

import (
	"cmp"
	"encoding/json"
	"iter"

	"punchcard/store/sqlite"
)

// one runs a query and calls scan with its first row, if there is one.
func one(c *sqlite.Conn, scan func(*rows), sql string, args ...any) (found bool, err error) {
	r := (*rows)(c.Query(sql, bindable(args)...))
	if r.next() {
		scan(r)
		found = true
	}
	return found, r.close()
}

// queries are what View and Tx have in common: statements on a connection.
type queries struct {
	conn *sqlite.Conn
	IDs
	s   *Store
	Now Time // never before the time of the newest row
	// failed is the first error of exec, insert, number, keys, one, each and collect, which do
	// nothing more after it. The read or write fails with it, whatever its function returns. So
	// a function that runs several statements looks at it once, at its end.
	failed error
}

// fail sets failed to the first error.
func (q *queries) fail(err error) { q.failed = cmp.Or(q.failed, err) }

// query returns the rows of a query, which must be closed, also after an earlier error.
func (q *queries) query(sql string, args ...any) *rows {
	return (*rows)(q.conn.Query(sql, bindable(args)...))
}

// exec runs a statement that returns no rows.
func (q *queries) exec(sql string, args ...any) (changes int64) {
	if q.failed == nil {
		changes, q.failed = q.conn.Exec(sql, bindable(args)...)
	}
	return changes
}

// insert runs an INSERT and returns the new row's key.
func (q *queries) insert(sql string, args ...any) (key int64) {
	if q.failed == nil {
		key, q.failed = q.conn.Insert(sql, bindable(args)...)
	}
	return key
}

// insertRows runs an INSERT of any number of rows.
func (q *queries) insertRows(ins sqlite.RowsInsert, args []any) {
	if q.failed == nil {
		q.failed = q.conn.InsertRows(ins, args)
	}
}

// number returns the integer of a query of one row and column, 0 if there is no row.
func (q *queries) number(sql string, args ...any) (n int64) {
	if q.failed == nil {
		n, q.failed = q.conn.Number(sql, bindable(args)...)
	}
	return n
}

// each returns the rows of a query. The next statement of the same text must wait for their end.
func (q *queries) each(sql string, args ...any) iter.Seq[*rows] {
	return func(yield func(*rows) bool) {
		if q.failed != nil {
			return
		}
		r := q.query(sql, args...)
		for r.next() && yield(r) {
		}
		q.fail(r.close())
	}
}

// one calls scan with the first row of a query, if there is one.
func (q *queries) one(scan func(*rows), sql string, args ...any) (found bool) {
	if q.failed == nil {
		found, q.failed = one(q.conn, scan, sql, args...)
	}
	return found
}

// find does the same as one. It returns not_found if there is no row. what names it.
func (q *queries) find(what string, scan func(*rows), sql string, args ...any) error {
	if !q.one(scan, sql, args...) && q.failed == nil {
		return notFound(what)
	}
	return q.failed
}

// findOne returns what scan reads from the first row of a query of a View or a Tx, as find does.
func findOne[T any](q interface {
	find(what string, scan func(*rows), sql string, args ...any) error
}, what string, scan func(*rows) T, sql string, args ...any) (found T, err error) {
	err = q.find(what, func(r *rows) { found = scan(r) }, sql, args...)
	return found, err
}

// keys returns the integers of a query of one column.
func (q *queries) keys(sql string, args ...any) []int64 {
	return collect(q, (*rows).int, sql, args...)
}

// collect returns what scan reads from each row of a query of a View or a Tx. It is never nil,
// which is null in JSON.
func collect[T any](q interface {
	each(sql string, args ...any) iter.Seq[*rows]
}, scan func(*rows) T, sql string, args ...any) []T {
	all := []T{}
	for r := range q.each(sql, args...) {
		all = append(all, scan(r))
	}
	return all
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

// jsonText returns a value, which JSON can say, as the text of a column.
func jsonText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func (n Null[T]) bindable() any {
	if !n.Valid {
		return nil
	}
	return n.V
}

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

// scan reads the next columns into the variables that pointers point to: JSON into those of other
// types. It calls a function, which reads what it needs.
func (r *rows) scan(to ...any) {
	for _, p := range to {
		switch p := p.(type) {
		case *int64:
			*p = r.int()
		case *int:
			*p = int(r.int())
		case *bool:
			*p = r.bool()
		case *Time:
			*p = r.time()
		case *string:
			*p = r.str()
		case *[]byte:
			*p = r.bytes()
		case *Null[int64]:
			*p = r.nullInt()
		case *float64:
			*p = r.float()
		case *Null[float64]:
			*p = r.nullFloat()
		case *Null[Time]:
			*p = r.nullTime()
		case *Null[string]:
			*p = r.nullStr()
		case func(*rows):
			p(r)
		default:
			r.json(p)
		}
	}
}

// into returns a function that reads the columns of a row into variables, as scan does.
func into(to ...any) func(*rows) { return func(r *rows) { r.scan(to...) } }

// nullStr reads a text. An empty text is null.
func (r *rows) nullStr() Null[string] {
	return nonZero(r.str())
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
