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

// source is the text of a seed file.
type source struct {
	name string
	raw  []byte
}

// line returns one line of an error about what is at an offset.
func (f source) line(offset int, path, rule string) string {
	printable := strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == '\u2028' || c == '\u2029' {
			return '\uFFFD' // a name from the file must not break the line
		}
		return c
	}, path)
	return fmt.Sprintf("%s:%d: %s: %s", f.name, 1+bytes.Count(f.raw[:offset], []byte("\n")), cmp.Or(printable, "$"), rule)
}

// checkEncoding reports what keeps the file from being read as text.
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

// syntaxError turns an error of the JSON decoder into a line.
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

func dotted(p jsontext.Pointer) string { return strings.Join(slices.Collect(p.Tokens()), ".") }

func join(path, field string) string {
	if path == "" || field == "" {
		return path + field
	}
	return path + "." + field
}

// maxMistakes bounds the lines of one error.
const maxMistakes = 20

// mistakes collects what is wrong with a seed file.
type mistakes struct {
	source
	found []mistake
}

type mistake struct {
	path, rule string
	offset     int // of what the path names
	matched    int // the length of the part of the path that is at the offset
}

// add notes that what path names breaks a rule.
func (m *mistakes) add(path, rule string) {
	if len(m.found) < maxMistakes {
		m.found = append(m.found, mistake{path: path, rule: rule, matched: -1})
	}
}

// require notes that a field of o breaks a rule, unless ok.
func (m *mistakes) require(ok bool, o object, field, rule string, args ...any) {
	if !ok {
		m.add(join(o.self().path, field), fmt.Sprintf(rule, args...))
	}
}

// details notes what wire or the store found in the object at path.
func (m *mistakes) details(path string, list []store.Detail) {
	for _, d := range list {
		m.add(join(path, d.Field), d.Message)
	}
}

// err returns one line per mistake, in the order of the file, or nil.
func (m *mistakes) err() error {
	if len(m.found) == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(m.raw))
	for _, err := dec.ReadToken(); err == nil; _, err = dec.ReadToken() {
		path := dotted(dec.StackPointer())
		for i := range m.found {
			m.found[i].locate(path, int(dec.InputOffset())-1) // a token has one line
		}
	}
	slices.SortStableFunc(m.found, func(a, b mistake) int { return a.offset - b.offset })
	var lines []string
	for _, x := range m.found {
		lines = append(lines, m.line(x.offset, x.path, x.rule))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// locate sets the offset where path names more of x's path than what was there
// before: of a field that is missing the file has only the beginning.
func (x *mistake) locate(path string, offset int) {
	beginning, cut := strings.CutSuffix(x.path, "…") // wire cuts very long names
	switch rest, ok := strings.CutPrefix(x.path, path); {
	case len(path) <= x.matched:
	case ok && (path == "" || rest == "" || rest[0] == '.'):
		x.matched, x.offset = len(path), offset
	case cut && strings.HasPrefix(path, beginning):
		x.matched, x.offset = math.MaxInt, offset
	}
}
