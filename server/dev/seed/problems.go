package seed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/store"
)

// maxProblems is the number of lines that an error has at most.
const maxProblems = 20

// problems collects the problems of a seed file.
type problems struct {
	file  *File
	found []problem
}

// problem is a rule that the object or field at a path breaks.
type problem struct {
	path, rule string
	offset     int // of the path in the file, or of the longest part of it that is there
}

// add adds a problem. Those beyond maxProblems are dropped.
func (m *problems) add(path, rule string) {
	if len(m.found) < maxProblems {
		m.found = append(m.found, problem{path: path, rule: rule})
	}
}

// require adds a problem of a field of o, unless ok.
func (m *problems) require(ok bool, o object, field, rule string, args ...any) {
	if !ok {
		m.add(join(o.self().path, field), fmt.Sprintf(rule, args...))
	}
}

// details adds what the store found in the object at path.
func (m *problems) details(path string, list []store.Detail) {
	for _, d := range list {
		m.add(join(path, d.Field), d.Message)
	}
}

// join returns the path of a field of the object at path.
func join(path, field string) string {
	if field == "" {
		return path
	}
	return path + "." + field
}

// err returns one line per problem, in the order of the file, or nil. If the file is
// not JSON, that is the only problem.
func (m *problems) err() error {
	if len(m.found) == 0 {
		return nil
	}
	offsets := map[string]int{"": 0} // of the problems' paths and all that lead to them
	for _, x := range m.found {
		for path := x.path; path != ""; path = parent(path) {
			offsets[path] = 0
		}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(m.file.raw))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return m.file.syntaxError(dec, err)
		}
		path := dotted(dec.StackPointer())
		if offset, wanted := offsets[path]; wanted && offset == 0 {
			offsets[path] = int(dec.InputOffset()) // the end of a token, which has no line break
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	if rest := bytes.TrimLeft(m.file.raw[dec.InputOffset():], space); len(rest) > 0 {
		return errors.New(m.file.line(len(m.file.raw)-len(rest), "", "goes on after its end"))
	}
	for i, x := range m.found {
		path := x.path
		for offsets[path] == 0 {
			path = parent(path)
		}
		m.found[i].offset = offsets[path]
	}
	slices.SortStableFunc(m.found, func(a, b problem) int { return a.offset - b.offset })
	var lines []string
	for _, x := range m.found {
		lines = append(lines, m.file.line(x.offset, x.path, x.rule))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// parent returns the path of the object or array that has the value at path.
func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// dotted returns a JSON pointer as a path such as shops.0.name.
func dotted(p jsontext.Pointer) string { return strings.Join(slices.Collect(p.Tokens()), ".") }

// line returns the line of an error about the object at an offset.
func (f *File) line(offset int, path, rule string) string {
	printable := strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == '\u2028' || c == '\u2029' {
			return '\uFFFD' // keeps a name from the file from breaking the line
		}
		return c
	}, path)
	return fmt.Sprintf("%s:%d: %s: %s", f.name, 1+bytes.Count(f.raw[:offset], []byte("\n")), cmp.Or(printable, "$"), rule)
}

// syntaxError returns an error of the JSON decoder as a line.
func (f *File) syntaxError(dec *jsontext.Decoder, err error) error {
	syntax := &jsontext.SyntacticError{}
	errors.As(err, &syntax)
	offset := min(int(syntax.ByteOffset), len(f.raw))
	path, rule := syntax.JSONPointer, fmt.Sprintf(
		"is not valid JSON: unexpected character at byte %d of the line",
		offset-bytes.LastIndexByte(f.raw[:offset], '\n'),
	)
	switch c, n := utf8.DecodeRune(f.raw[offset:]); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		offset, path, rule = len(f.raw), dec.StackPointer(), "is not valid JSON: the file ends too early"
	case errors.Is(err, jsontext.ErrDuplicateName):
		rule = "appears twice"
	case c == utf8.RuneError && n == 1:
		path, rule = "", "is not valid UTF-8"
	case c == '\uFEFF' && offset == 0:
		path, rule = "", "must not start with a byte order mark"
	}
	return errors.New(f.line(offset, dotted(path), rule))
}
