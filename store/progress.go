package store

import (
	"fmt"
	"slices"
	"strings"

	"punchcard/store/sqlite"
)

// Progress is told how far long work is: that done of total units of a step are done. It
// is called every few milliseconds by the goroutine that works, and must return at once.
// total is 0 where nobody knows it, and the step has no unit then. done grows to total,
// and to less where rows are read that could not be counted before. A step begins with a
// done that is less than before. The zero Step says that the work has ended.
type Progress func(step Step, done, total int64)

// Step is a part of long work.
type Step struct {
	Name string // such as "checking the integrity"
	Unit string // Rows or Bytes, or empty
}

// Units of a Step.
const (
	Rows  = "rows"
	Bytes = "bytes"
)

// End says that the work has ended. A nil Progress does nothing.
func (p Progress) End() {
	if p != nil {
		p(Step{}, 0, 0)
	}
}

// Begin says that a step has begun of which nobody knows how long it takes. A nil Progress
// does nothing.
func (p Progress) Begin(step string) {
	if p != nil {
		p(Step{Name: step}, 0, 0)
	}
}

// meter tells how many rows the statements of a step have read. A nil meter does nothing.
type meter struct {
	c      *sqlite.Conn
	report Progress
	counts map[string]int64 // of the rows of tables
	step   Step
	done   int64
	total  int64
}

// newMeter returns a meter of a connection; nil if nobody wants to know.
func newMeter(c *sqlite.Conn, report Progress) *meter {
	if report == nil {
		return nil
	}
	return &meter{c: c, report: report, counts: map[string]int64{}}
}

// begin begins a step of a number of rows. If that is 0 the step has no total.
func (m *meter) begin(step string, rows int64) {
	if m == nil {
		return
	}
	m.step, m.done, m.total = Step{Name: step, Unit: Rows}, 0, rows
	if rows == 0 {
		m.step.Unit = ""
	}
	m.report(m.step, 0, rows)
}

// add counts rows of the step that have been read.
func (m *meter) add(rows int64) {
	if m == nil || m.total == 0 {
		return
	}
	m.done = min(m.done+rows, m.total)
	m.report(m.step, m.done, m.total)
}

// end ends a step whose rows are not all counted by add and watch.
func (m *meter) end() {
	if m != nil {
		m.add(m.total)
	}
}

// watch counts the rows that a statement reads, at most most, until end is called.
func (m *meter) watch(sql string, max int64) (end func()) {
	if m == nil {
		return func() {}
	}
	done := m.done
	unwatch := m.c.Watch(sql, func(rows int64) {
		m.done = done
		m.add(min(rows, max))
	})
	return func() {
		unwatch()
		m.done = done
		m.add(max)
	}
}

// number returns the integer that a query selects, 0 if there is none or the query fails:
// what is wrong with the file is for others to say.
func (m *meter) number(sql string, args ...any) int64 {
	if m == nil {
		return 0
	}
	n, _ := m.c.Number("SELECT ifnull((SELECT "+sql+"), 0)", args...)
	return n
}

// rows returns the number of rows of tables.
func (m *meter) rows(tables ...string) (sum int64) {
	if m == nil {
		return 0
	}
	for _, table := range tables {
		n, ok := m.counts[table]
		if !ok {
			n = m.number("sum(1) FROM " + quoted(table)) // not count(*), which SQLite does not interrupt
			m.counts[table] = n
		}
		sum += n
	}
	return sum
}

// quoted returns the name of a table or index in SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// scanned returns the number of rows that statements read by scans of whole tables.
func (m *meter) scanned(statements ...string) (sum int64) {
	if m == nil {
		return 0
	}
	for _, sql := range statements {
		tables, _ := m.c.Scans(sql)
		sum += m.rows(tables...)
	}
	return sum
}

// names returns the texts of a query of one column.
func (m *meter) names(sql string) (all []string) {
	if m == nil {
		return nil
	}
	r := m.c.Query(sql)
	for r.Next() {
		all = append(all, r.Text())
	}
	r.Close()
	return all
}

// checked returns the number of rows that checkIntegrity reads: those of all tables, and but for the
// structure alone the entry of each unique index that the table has beside its key.
func (m *meter) checked(depth Depth) int64 {
	sum := m.rows(m.names("SELECT name FROM sqlite_schema WHERE type='table' AND rootpage>0")...)
	if depth == Structure {
		return sum
	}
	for _, name := range m.names(`SELECT i.name FROM pragma_table_list t, pragma_index_list(t.name) i
		WHERE t.schema='main' AND t.type='table' AND i."unique" AND NOT (t.wr AND i.origin='pk')`) {
		table, where := m.index(name)
		if where == "" {
			sum += m.rows(table)
		} else {
			sum += m.number(fmt.Sprintf("sum(1) FROM %s INDEXED BY %s WHERE %s", quoted(table), quoted(name), where))
		}
	}
	return sum
}

// index returns the table of an index, and the condition on the rows of a partial one.
func (m *meter) index(name string) (table, where string) {
	r := m.c.Query("SELECT tbl_name, ifnull(sql, '') FROM sqlite_schema WHERE type='index' AND name=?", name)
	if r.Next() {
		table = r.Text()
		_, where, _ = strings.Cut(bareSQL(r.Text()), " WHERE ")
	}
	r.Close()
	return table, where
}

// referring returns the number of rows that foreign_key_check reads.
func (m *meter) referring() int64 {
	return m.rows(
		m.names("SELECT name FROM sqlite_schema s WHERE type='table' AND EXISTS (SELECT 1 FROM pragma_foreign_key_list(s.name))")...)
}

// script runs a script of a migration. Each statement is a step.
func (m *meter) script(c *sqlite.Conn, step, sql string) error {
	if m == nil {
		return c.Script(sql)
	}
	err := c.WatchScript(sql, func(statement string) func(int64) {
		m.end()
		clear(m.counts) // the script changes the tables
		words := strings.Fields(strings.TrimSuffix(bareSQL(statement), ";"))
		rows := int64(0)
		switch {
		case slices.Contains(words, "INDEX") && words[0] == "CREATE":
			table, _, _ := strings.Cut(words[slices.Index(words, "ON")+1], "(")
			rows = m.rows(table)
		case words[0] == "INSERT" || words[0] == "UPDATE":
			rows = m.scanned(statement)
		}
		words = slices.DeleteFunc(words, func(word string) bool { return word == "UNIQUE" })
		m.begin(step+": "+strings.Join(words[:min(len(words), 3)], " "), rows)
		return func(read int64) {
			m.done = 0
			m.add(read)
		}
	})
	m.end()
	return err
}
