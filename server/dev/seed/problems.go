package seed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/store"
)

// source is a seed file as text.
type source struct {
	name string
	raw  []byte
}

// line returns the line of an error about the object at an offset.
func (f source) line(offset int, path, rule string) string {
	printable := strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == '\u2028' || c == '\u2029' {
			return '\uFFFD' // keeps a name from the file from breaking the line
		}
		return c
	}, path)
	return fmt.Sprintf("%s:%d: %s: %s", f.name, 1+bytes.Count(f.raw[:offset], []byte("\n")), cmp.Or(printable, "$"), rule)
}

// checkEncoding returns an error if the file is too large or is not UTF-8 text.
func (f source) checkEncoding() error {
	if len(f.raw) > maxSize {
		return errors.New(f.line(0, "", "must be at most 16 MiB"))
	}
	if bytes.HasPrefix(f.raw, []byte("\xEF\xBB\xBF")) {
		return errors.New(f.line(0, "", "must not start with a byte order mark"))
	}
	offset := 0
	for line := range bytes.Lines(f.raw) {
		if !utf8.Valid(line) {
			return errors.New(f.line(offset, "", "is not valid UTF-8"))
		}
		offset += len(line)
	}
	return nil
}

// syntaxError returns an error of the JSON decoder as a line.
func (f source) syntaxError(dec *jsontext.Decoder, err error) error {
	syntax := &jsontext.SyntacticError{}
	errors.As(err, &syntax)
	offset := min(int(syntax.ByteOffset), len(f.raw))
	path, rule := syntax.JSONPointer, fmt.Sprintf("is not valid JSON: unexpected character at byte %d of the line", offset-bytes.LastIndexByte(f.raw[:offset], '\n'))
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		offset, path, rule = len(f.raw), dec.StackPointer(), "is not valid JSON: the file ends too early"
	case errors.Is(err, jsontext.ErrDuplicateName):
		rule = "appears twice"
	}
	return errors.New(f.line(offset, dotted(path), rule))
}

// dotted returns a JSON pointer as a path such as shops.0.name.
func dotted(p jsontext.Pointer) string { return strings.Join(slices.Collect(p.Tokens()), ".") }

// join returns the path of a field of the object at path.
func join(path, field string) string {
	if path == "" || field == "" {
		return path + field
	}
	return path + "." + field
}

// maxProblems is the number of lines that an error has at most.
const maxProblems = 20

// problems collects the problems of a seed file.
type problems struct {
	source
	found []problem
}

// problem is a rule that the object or field at a path breaks.
type problem struct {
	path, rule string
	offset     int // of the path in the file
	matched    int // length of the part of the path that was found at the offset
}

// add adds a problem. Those beyond maxProblems are dropped.
func (m *problems) add(path, rule string) {
	if len(m.found) < maxProblems {
		m.found = append(m.found, problem{path: path, rule: rule, matched: -1})
	}
}

// require adds a problem of a field of o, unless ok.
func (m *problems) require(ok bool, o object, field, rule string, args ...any) {
	if !ok {
		m.add(join(o.self().path, field), fmt.Sprintf(rule, args...))
	}
}

// details adds what wire or the store found in the object at path.
func (m *problems) details(path string, list []store.Detail) {
	for _, d := range list {
		m.add(join(path, d.Field), d.Message)
	}
}

// err returns one line per problem, in the order of the file, or nil.
func (m *problems) err() error {
	if len(m.found) == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(m.raw))
	for _, err := dec.ReadToken(); err == nil; _, err = dec.ReadToken() {
		path := dotted(dec.StackPointer())
		for i := range m.found {
			m.found[i].locate(path, int(dec.InputOffset())-1) // of the last byte of a token, which has no line break
		}
	}
	slices.SortStableFunc(m.found, func(a, b problem) int { return a.offset - b.offset })
	var lines []string
	for _, x := range m.found {
		lines = append(lines, m.line(x.offset, x.path, x.rule))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// locate sets the offset of a problem if path, which is at offset, matches more of
// its path than was found before. The whole path of a missing field is not in the
// file.
func (x *problem) locate(path string, offset int) {
	beginning, cut := strings.CutSuffix(x.path, "…") // wire shortens very long names
	switch rest, ok := strings.CutPrefix(x.path, path); {
	case len(path) <= x.matched:
	case ok && (path == "" || rest == "" || rest[0] == '.'):
		x.matched, x.offset = len(path), offset
	case cut && strings.HasPrefix(path, beginning):
		x.matched, x.offset = math.MaxInt, offset
	}
}
