package store

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
)

// rowWriter writes the rows of a file.
type rowWriter interface {
	begin(names []string) error
	row(cells []cell) error
	end() error
}

// newRowWriter returns a writer of rows in a format.
func newRowWriter(format string, w io.Writer) rowWriter {
	if format == "jsonl" {
		return &jsonLines{w: w}
	}
	return &csvRows{w: csv.NewWriter(w)}
}

// csvRows writes a table with a heading. Texts are defused.
type csvRows struct {
	w      *csv.Writer
	fields []string
}

func (c *csvRows) begin(names []string) error { return c.w.Write(names) }

func (c *csvRows) row(cells []cell) error {
	c.fields = c.fields[:0]
	for _, cell := range cells {
		if cell.quoted {
			cell.text = Defuse(cell.text)
		}
		c.fields = append(c.fields, cell.text)
	}
	return c.w.Write(c.fields)
}

func (c *csvRows) end() error {
	c.w.Flush()
	return c.w.Error()
}

// Defuse returns a text as a cell of a CSV file, which a spreadsheet does not take for a formula: one
// that begins with = + - @, a tab or a carriage return, also after apostrophes, gets an apostrophe
// before it. Undefuse reverses it.
func Defuse(text string) string {
	if isFormula(text) {
		return "'" + text
	}
	return text
}

// Undefuse returns the text of which Defuse made a cell.
func Undefuse(cell string) string {
	if strings.HasPrefix(cell, "'") && isFormula(cell) {
		return cell[1:]
	}
	return cell
}

// isFormula reports whether a text begins like a formula, also after apostrophes.
func isFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	return text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0
}

// jsonLines writes an object for each row, with all columns.
type jsonLines struct {
	w     io.Writer
	names []string
	line  []byte
}

func (j *jsonLines) begin(names []string) error {
	for _, name := range names {
		j.names = append(j.names, `"`+name+`":`)
	}
	return nil
}

func (j *jsonLines) row(cells []cell) error {
	j.line = append(j.line[:0], '{')
	for i, cell := range cells {
		if i > 0 {
			j.line = append(j.line, ',')
		}
		j.line = append(j.line, j.names[i]...)
		switch {
		case cell.null:
			j.line = append(j.line, "null"...)
		case cell.quoted:
			text, _ := json.Marshal(cell.text) // a string has no error
			j.line = append(j.line, text...)
		default:
			j.line = append(j.line, cell.text...)
		}
	}
	_, err := j.w.Write(append(j.line, "}\n"...))
	return err
}

func (j *jsonLines) end() error { return nil }
