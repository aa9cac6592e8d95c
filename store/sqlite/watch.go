package sqlite

import (
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
)

// watch is what Watch and WatchScript are told about.
type watch struct {
	counter counter
	f       func(rows int64) // nil: nobody watches
}

// of makes the watch one of a statement, and its counter begin at 0.
func (w *watch) of(h handle, s *sqlite.Stmt, sql string, f func(rows int64)) {
	kind := int32(otherLoops)
	switch verb, _, _ := strings.Cut(strings.TrimSpace(sql), " "); verb {
	case "SELECT", "WITH", "INSERT", "UPDATE", "DELETE":
		kind = fullScans
	}
	*w = watch{h.counterOf(s, kind), f}
}

// tell calls the function of the watch.
func (w *watch) tell() {
	if w.f != nil {
		w.f(w.counter.read())
	}
}

// Watch makes the connection call f about every 65,536 steps, which take some milliseconds,
// until end is called. rows is the number of rows that the statement sql, which is run
// meanwhile, has read: by the scans of whole tables, see Scans, or, of a pragma that
// checks the file, in all tables. f must not use the connection.
func (c *Conn) Watch(sql string, f func(rows int64)) (end func()) {
	if c.limit > 0 { // the statement may be finalized while it is watched
		return func() {}
	}
	s, err := c.prepare(sql)
	if err != nil { // so it is not run either
		return func() {}
	}
	c.watch.of(c.raw, s.Stmt, sql, f)
	return func() { c.watch = watch{} }
}

// WatchScript is Script, which calls began with each statement before it runs. The
// function that began returns is called as that of Watch, unless it is nil.
func (c *Conn) WatchScript(sql string, began func(statement string) func(rows int64)) error {
	defer func() { c.watch = watch{} }()
	return c.script(sql, func(s *sqlite.Stmt, statement string) {
		c.watch = watch{}
		if f := began(statement); f != nil {
			c.watch.of(c.raw, s, statement, f)
		}
	})
}

// Scans returns the tables of which a statement scans all rows, one of them as often as
// it scans it. It leaves out those that the statement makes itself.
func (c *Conn) Scans(sql string) (tables []string, err error) {
	roots := map[int64]string{}
	if err := c.each("SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage>0", func(s *sqlite.Stmt) {
		roots[s.ColumnInt64(0)] = s.ColumnText(1)
	}); err != nil {
		return nil, err
	}
	cursors := map[int64]string{}
	err = c.each("EXPLAIN "+sql, func(s *sqlite.Stmt) {
		cursor, p2, p5 := s.ColumnInt64(2), s.ColumnInt64(3), s.ColumnInt64(6)
		switch op := s.ColumnText(1); {
		case op == "OpenRead" || op == "OpenWrite":
			cursors[cursor] = roots[p2]
		case (op == "Next" || op == "Prev") && p5 == fullScans:
			tables = append(tables, cursors[cursor])
		}
	})
	return slices.DeleteFunc(tables, func(name string) bool { return name == "" }), err
}

// each calls f with each row of a statement, which is not kept prepared.
func (c *Conn) each(sql string, f func(*sqlite.Stmt)) error {
	c.begin()
	s, _, err := c.db.PrepareTransient(sql)
	if err != nil {
		return c.classify(err)
	}
	defer s.Finalize()
	for {
		more, err := s.Step()
		if err != nil || !more {
			return c.classify(err)
		}
		f(s)
	}
}
