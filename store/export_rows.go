package store

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"strings"
)

// newRowWriter returns a function that writes the rows of a table to a file in a format. The caller flushes
// the file, which has the first error.
func newRowWriter(format string, file *bufio.Writer, columns []string) func([]cell) error {
	if format == "jsonl" {
		return jsonLines(file, columns)
	}
	return csvRows(file, columns)
}

// csvRows writes a table with a heading. Texts are defused.
func csvRows(file *bufio.Writer, columns []string) func([]cell) error {
	out, fields := csv.NewWriter(file), make([]string, len(columns)) // the file is the buffer of out
	out.Write(columns)
	return func(cells []cell) error {
		for i, cell := range cells {
			if cell.quoted {
				cell.text = Defuse(cell.text)
			}
			fields[i] = cell.text
		}
		return out.Write(fields)
	}
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
func jsonLines(file *bufio.Writer, columns []string) func([]cell) error {
	var line []byte
	return func(cells []cell) error {
		line = append(line[:0], '{')
		for i, cell := range cells {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(line, `"`+columns[i]+`":`...)
			if cell.quoted {
				text, _ := json.Marshal(cell.text) // a string has no error
				line = append(line, text...)
			} else {
				line = append(line, cmp.Or(cell.text, "null")...)
			}
		}
		_, err := file.Write(append(line, "}\n"...))
		return err
	}
}
