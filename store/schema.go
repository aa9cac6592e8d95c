package store

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"punchcard/store/sqlite"
)

// object is a table, index, trigger or view of a schema.
type object struct{ kind, name, table, sql string }

func (o object) String() string { return fmt.Sprintf("%s %q", o.kind, o.name) }

// tolerated are the objects that a file may have beside its own: SQLite's statistics
// of tables, which ANALYZE makes, and the two tables of Litestream.
var tolerated = []object{
	{"table", "sqlite_stat1", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"},
	{"table", "sqlite_stat4", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"},
	{"table", "_litestream_seq", "_litestream_seq", "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)"},
	{"table", "_litestream_lock", "_litestream_lock", "CREATE TABLE _litestream_lock (id INTEGER)"},
}

// schemaSum is the checksum of the schema of this version. Without it each command
// would make an empty database to compare its file with, which takes as long as half of
// the command.
const schemaSum = "db767688457744886be781da9695c5332cba7977717fead10549509e69862c6c"

// checksum returns the SHA-256 of the objects of a schema in hexadecimal.
func checksum(objects []object) string {
	sum := sha256.New()
	for _, o := range objects {
		for _, text := range []string{o.kind, o.name, o.table, o.sql} {
			fmt.Fprintf(sum, "%d:%s", len(text), text)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// checkSchema returns an error if the schema of a file of version v is not the one
// that this program makes. The error names the first object that differs. A trigger
// or a view of somebody else could do what no operation does, with the rights of the
// server. ALTER TABLE lays the text of a table out in its own way; bareSQL of a new file's
// text and of a migrated one's is the same.
func checkSchema(c *sqlite.Conn, v int64) error {
	have, err := readSchema(c)
	if err != nil {
		return err
	}
	have = slices.DeleteFunc(have, func(o object) bool { return slices.Contains(tolerated, o) })
	if v == version() && checksum(have) == schemaSum {
		return nil
	}
	want, err := expectedSchema(v)
	if err != nil {
		return err
	}
	missing := slices.Clone(want)
	for _, o := range have {
		if i := slices.Index(missing, o); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
			continue
		}
		if slices.ContainsFunc(want, func(w object) bool { return w.kind == o.kind && w.name == o.name }) {
			return fmt.Errorf("its %s is not the one that punchcard makes", o)
		}
		return fmt.Errorf("has the %s, which is not punchcard's", o)
	}
	if len(missing) > 0 {
		return fmt.Errorf("lacks the %s", missing[0])
	}
	return nil
}

// readSchema returns the objects of a database, each with its SQL in a form that
// does not depend on comments and blanks.
func readSchema(c *sqlite.Conn) (all []object, err error) {
	r := c.Query("SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema ORDER BY type, name")
	for r.Next() {
		all = append(all, object{r.Text(), r.Text(), r.Text(), bareSQL(r.Text())})
	}
	return all, r.Close()
}

// expected caches the objects that a script makes, by script.
var expected sync.Map // of string to []object

// expectedSchema returns the objects of a new file of version v.
func expectedSchema(v int64) ([]object, error) {
	script := schemaOf(v)
	if cached, ok := expected.Load(script); ok {
		return cached.([]object), nil
	}
	c, err := sqlite.OpenMemory()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Script(script); err != nil {
		return nil, fmt.Errorf("the schema of version %d: %w", v, err)
	}
	all, err := readSchema(c)
	if err == nil {
		expected.Store(script, all)
	}
	return all, err
}

// bareSQL returns SQL without comments, without white space before a comma or a closing
// parenthesis, and with one blank for each other run of white space, outside of quotes.
func bareSQL(sql string) string {
	var b strings.Builder
	blank := false
	for i := 0; i < len(sql); {
		end := i + 1
		switch c := sql[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			blank = true
			i = end
			continue
		case strings.HasPrefix(sql[i:], "--"):
			blank, i = true, i+through(sql[i:], "\n")
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			blank, i = true, i+2+through(sql[i+2:], "*/")
			continue
		case c == '\'' || c == '"' || c == '`':
			end = i + 1 + through(sql[i+1:], string(c))
		case c == '[':
			end = i + 1 + through(sql[i+1:], "]")
		default: // the rest of a word at once, up to a character that a case is for or that no blank precedes
			for end < len(sql) && strings.IndexByte(" \t\n\r\f-/'\"`[,)", sql[end]) < 0 {
				end++
			}
		}
		if blank && b.Len() > 0 && sql[i] != ',' && sql[i] != ')' {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteString(sql[i:end])
		i = end
	}
	return b.String()
}

// through returns the length of text up to the end of the first mark in it, or of
// all of it.
func through(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i + len(mark)
	}
	return len(text)
}
