package sqlite

import (
	"fmt"
	"reflect"
	"strings"

	"zombiezen.com/go/sqlite"
)

// statement is a prepared statement with the rows of its current run.
type statement struct {
	*sqlite.Stmt
	rows Rows
	long bool // texts or blobs are bound, which take memory until they are cleared
}

// Exec runs one statement that returns no rows. An argument is nil, a []byte or
// a bool, a float64, or of an integer or string type.
func (c *Conn) Exec(sql string, args ...any) (changes int64, err error) {
	_, changes, err = c.run(sql, args)
	return changes, err
}

// Insert runs an INSERT and returns the new row's key.
func (c *Conn) Insert(sql string, args ...any) (key int64, err error) {
	key, _, err = c.run(sql, args)
	return key, err
}

// RowsInsert is an INSERT of any number of rows; see InsertOfRows.
type RowsInsert struct {
	columns int
	sql     [9]string // for 1, 2, 4 … 256 rows
}

// InsertOfRows returns an INSERT from the SQL before the rows, that of one row,
// and the SQL after the rows.
func InsertOfRows(before, row, after string) (ins RowsInsert) {
	ins.columns = strings.Count(row, "?")
	for i := range ins.sql {
		ins.sql[i] = before + row + strings.Repeat(","+row, 1<<i-1) + after
	}
	return ins
}

// InsertRows inserts rows; args contains their values, row after row. It uses the
// fewest statements of 256, 128 … 1 rows: a statement costs more than a row, and a
// statement for each number of rows would be too many to keep prepared.
func (c *Conn) InsertRows(ins RowsInsert, args []any) error {
	for i := len(ins.sql) - 1; len(args) > 0; {
		n := ins.columns << i
		if len(args) < n {
			i--
			continue
		}
		if _, err := c.Exec(ins.sql[i], args[:n]...); err != nil {
			return err
		}
		args = args[n:]
	}
	return nil
}

// run runs a statement to its end.
func (c *Conn) run(sql string, args []any) (key, changes int64, err error) {
	s, err := c.prepareBound(sql, args)
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
		return 0, 0, c.fail(err)
	}
	return key, changes, nil
}

// prepareBound prepares a statement and binds its arguments.
func (c *Conn) prepareBound(sql string, args []any) (*statement, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	if s.rows.open {
		panic(fmt.Sprintf("sqlite: %.60q is run while its rows are open", sql))
	}
	s.bind(args)
	return s, nil
}

// bind binds the arguments. It panics on a wrong number of them and on one of
// an unknown type.
func (s *statement) bind(args []any) {
	if len(args) != s.BindParamCount() {
		panic(fmt.Sprintf("sqlite: %d arguments for %.60q", len(args), s.rows.sql))
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
			s.bindText(i, a)
		case []byte:
			if a == nil {
				s.BindNull(i)
				continue
			}
			s.long = true
			s.BindBytes(i, a)
		default:
			s.bindNamed(i, reflect.ValueOf(a))
		}
	}
}

// bindNamed binds an argument of a named integer or string type.
func (s *statement) bindNamed(i int, v reflect.Value) {
	switch {
	case v.CanInt():
		s.BindInt64(i, v.Int())
	case v.CanUint():
		s.BindInt64(i, int64(v.Uint()))
	case v.Kind() == reflect.String:
		s.bindText(i, v.String())
	default:
		panic(fmt.Sprintf("sqlite: an argument of type %s", v.Type()))
	}
}

func (s *statement) bindText(i int, t string) {
	s.long = true
	s.BindText(i, t)
}

// end resets the statement for its next run. This ends its read snapshot and
// frees the bound values.
func (s *statement) end() error {
	err := s.Reset()
	if s.long {
		s.long = false
		s.ClearBindings()
	}
	return err
}
