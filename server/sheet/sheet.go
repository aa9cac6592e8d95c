// Package sheet reads tables that other programs have exported as CSV.
package sheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"punchcard/store"
)

// The limits of a table.
const (
	MaxBytes   = 50 << 20
	MaxRows    = 100_000
	MaxColumns = 200
	maxName    = 200 // bytes of the name of a column
)

// Sheet is a table.
type Sheet struct {
	Columns []string // their names, of which no two are the same; a column without one is empty
	// Rows are those that are not blank, each with the line of its beginning, from 1. A row may have fewer cells than
	// there are columns, if the last ones are blank.
	Rows []store.RawRow
}

// Read reads a table whose first row has the names of the columns. Its text is UTF-8, UTF-16 or
// Windows-1252, and commas, semicolons or tabs separate its cells. An apostrophe by which a program
// has kept a cell from being a formula is removed; see [store.Undefuse]. The error says why the
// file is no table that can be read, such as "is not a text file".
func Read(file []byte) (Sheet, error) {
	text, err := decode(file)
	if err != nil {
		return Sheet{}, err
	}
	text, separator, before := separatorOf(text)
	r := csv.NewReader(bytes.NewReader(quoteFormulas(text, separator)))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = separator, -1, true
	header, err := r.Read()
	if err != nil {
		return Sheet{}, readError(err, before)
	}
	s := Sheet{}
	if s.Columns, err = columns(header); err != nil {
		return s, err
	}
	for {
		cells, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return s, readError(err, before)
		}
		for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
			cells = cells[:len(cells)-1]
		}
		if len(cells) == 0 {
			continue
		}
		line, _ := r.FieldPos(0)
		line += before
		switch {
		case len(s.Rows) == MaxRows:
			return s, fmt.Errorf("has more than %d rows", MaxRows)
		case len(cells) > len(s.Columns):
			return s, fmt.Errorf("has in line %d more cells (%d) than the first line names columns (%d)", line, len(cells), len(s.Columns))
		}
		s.Rows = append(s.Rows, store.RawRow{Line: line, Cells: clean(cells)})
	}
}

// quoteFormulas returns a table in which cells such as ="0012", which keep spreadsheets from taking a text for a number, are in
// quotes. Within quotes there is no such cell, since its quotes are doubled there.
func quoteFormulas(text []byte, separator rune) []byte {
	if !bytes.Contains(text, []byte(`="`)) {
		return text
	}
	s := regexp.QuoteMeta(string(separator))
	bare := regexp.MustCompile("(?m)(^|" + s + `)="([^"\r\n]+)"([\r` + s + `]|$)`)
	for range 2 { // neighbours share a separator
		text = bare.ReplaceAll(text, []byte(`$1"=""$2"""$3`))
	}
	return text
}

// decode returns the text of a file as UTF-8 without a byte order mark.
func decode(file []byte) ([]byte, error) {
	decoder := charmap.Windows1252.NewDecoder()
	wrong, isUTF8 := notUTF8(file)
	switch {
	case len(file) > MaxBytes:
		return nil, fmt.Errorf("has more than %d MB", MaxBytes>>20)
	case bytes.HasPrefix(file, []byte("PK\x03\x04")):
		return nil, errors.New("is a workbook or a zip file: save the table as CSV")
	case bytes.HasPrefix(file, []byte{0xff, 0xfe}), len(file) > 1 && file[0] != 0 && file[1] == 0:
		decoder = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case bytes.HasPrefix(file, []byte{0xfe, 0xff}), len(file) > 1 && file[0] == 0 && file[1] != 0:
		decoder = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	case wrong < 0:
		decoder = nil
	case isUTF8:
		return nil, unreadable(file[:wrong])
	}
	text := file
	if decoder != nil {
		var err error
		if text, err = decoder.Bytes(file); err != nil {
			return nil, errors.New("is not a text file")
		}
		if at := bytes.IndexRune(text, utf8.RuneError); at >= 0 {
			return nil, unreadable(text[:at])
		}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.IndexByte(text, '\n') < 0 { // as old programs of the Macintosh end lines
		text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return nil, errors.New("is not a text file")
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("is empty")
	}
	return text, nil
}

// notUTF8 returns the index of the first byte that is not UTF-8, or -1. isUTF8 reports whether the file is UTF-8 all
// the same: it says so, or has as many characters of several bytes as such bytes. In a text of Windows-1252 these are rare.
func notUTF8(file []byte) (first int, isUTF8 bool) {
	first = -1
	more := 0
	for i := 0; i < len(file); {
		r, n := utf8.DecodeRune(file[i:])
		switch {
		case n > 1:
			more++
		case r == utf8.RuneError:
			more--
			if first < 0 {
				first = i
			}
		}
		i += n
	}
	return first, more >= 0 || bytes.HasPrefix(file, []byte("\ufeff"))
}

// unreadable returns the error for a character after a part of a file.
func unreadable(before []byte) error {
	return fmt.Errorf("has in line %d a character that cannot be read: save the file as UTF-8", bytes.Count(before, []byte("\n"))+1)
}

// separatorOf returns the character that separates the cells of a table: the one that is most
// frequent in its first line, or the one that this line names as spreadsheets do ("sep=;"), which is
// then removed. before is how many lines were removed.
func separatorOf(text []byte) (rest []byte, separator rune, before int) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	first = bytes.TrimRight(first, "\r")
	if named, ok := bytes.CutPrefix(first, []byte("sep=")); ok && len(named) == 1 && strings.ContainsRune(",;\t", rune(named[0])) {
		return rest, rune(named[0]), 1
	}
	separator = ','
	for _, other := range ";\t" {
		if countUnquoted(first, byte(other)) > countUnquoted(first, byte(separator)) {
			separator = other
		}
	}
	return text, separator, 0
}

// countUnquoted returns how often a character is in a line outside of quotes.
func countUnquoted(line []byte, of byte) (n int) {
	for i, part := range bytes.Split(line, []byte{'"'}) {
		if i%2 == 0 { // those between are quoted
			n += bytes.Count(part, []byte{of})
		}
	}
	return n
}

// columns returns the names of the columns in the first row.
func columns(header []string) ([]string, error) {
	names := clean(header)
	for i, name := range names {
		names[i] = strings.Join(strings.Fields(name), " ") // a form of a page changes the ends of lines
	}
	for len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	if len(names) > MaxColumns {
		return nil, fmt.Errorf("has %d columns; at most %d are read", len(names), MaxColumns)
	}
	for i, name := range names {
		if len(name) > maxName {
			return nil, fmt.Errorf("has in column %d of the first line a name of more than %d bytes", i+1, maxName)
		}
		if isContact(name) {
			return nil, errors.New("has an address or a number in its first line, where the names of the columns must be")
		}
		if name != "" && slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("has two columns with the name %v: give each a name of its own", name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("must have the names of the columns in its first line")
	}
	return names, nil
}

// isContact reports whether the name of a column is an address or a phone number, as in a file without names. A date
// has fewer digits.
func isContact(name string) bool {
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" +-/().", r) {
			return -1
		}
		return r
	}, name)
	isNumber := digits != "" && strings.Trim(digits, "0123456789") == ""
	return strings.Contains(name, "@") || isNumber && (len(digits) >= 9 || name[0] == '+')
}

// clean returns a copy of cells without blanks around them.
func clean(cells []string) []string {
	cleaned := make([]string, len(cells))
	for i, cell := range cells {
		cleaned[i] = store.Undefuse(strings.TrimSpace(cell))
	}
	return cleaned
}

// readError returns what is wrong with the text of a table.
func readError(err error, before int) error {
	var at *csv.ParseError
	switch {
	case !errors.As(err, &at):
		return errors.New("is empty")
	case errors.Is(err, csv.ErrQuote):
		return fmt.Errorf(`has in line %d a quote (") that is never closed, or one that is not doubled within quotes`, at.StartLine+before)
	case errors.Is(err, csv.ErrBareQuote):
		return fmt.Errorf(`has in line %d a quote (") in a cell that does not begin with one`, at.Line+before)
	}
	return fmt.Errorf("cannot be read in line %d", at.Line+before)
}
