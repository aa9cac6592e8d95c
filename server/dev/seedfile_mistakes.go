package dev

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// source is a seed file.
type source struct {
	name string
	raw  []byte
}

// line is one line of an error: where, and which rule.
func (f source) line(at int, path, rule string) string {
	return fmt.Sprintf("%s:%d: %s: %s", f.name, 1+bytes.Count(f.raw[:at], []byte("\n")), cmp.Or(printable(path), "$"), rule)
}

// printable keeps names that came from the file from breaking the line.
func printable(path string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == '\u2028' || c == '\u2029' {
			return '\uFFFD'
		}
		return c
	}, path)
}

// checkSyntax reports the first place where the file is not JSON: everything
// after it would be a guess.
func (f source) checkSyntax() error {
	mistake := func(at int, path jsontext.Pointer, rule string) error {
		return errors.New(f.line(at, strings.Join(slices.Collect(path.Tokens()), "."), rule))
	}
	if bytes.HasPrefix(f.raw, []byte("\xEF\xBB\xBF")) {
		return mistake(0, "", "must not start with a byte order mark")
	}
	if !utf8.Valid(f.raw) {
		at := 0
		for r, n := utf8.DecodeRune(f.raw); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(f.raw[at:]) {
			at += n
		}
		return mistake(at, "", "is not valid UTF-8")
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(f.raw))
	for {
		_, err := dec.ReadToken()
		var syntax *jsontext.SyntacticError
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return mistake(len(f.raw), dec.StackPointer(), "is not valid JSON: the file ends too early")
		case !errors.As(err, &syntax):
			return mistake(0, "", "is not valid JSON")
		case errors.Is(err, jsontext.ErrDuplicateName):
			return mistake(int(syntax.ByteOffset), syntax.JSONPointer, "appears twice")
		default:
			at := min(int(syntax.ByteOffset), len(f.raw))
			column := at - (bytes.LastIndexByte(f.raw[:at], '\n') + 1)
			return mistake(at, syntax.JSONPointer, fmt.Sprintf("is not valid JSON: unexpected character at byte %d of the line", column+1))
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	end := int(dec.InputOffset())
	if rest := bytes.TrimLeft(f.raw[end:], " \t\r\n"); len(rest) > 0 {
		return mistake(len(f.raw)-len(rest), "", "goes on after its end")
	}
	return nil
}

// locate is the offset of what a path names. Where the file has not all of
// the path, as with a field that is missing, it is that of the innermost
// object or array that there is.
func (f source) locate(path string) (at int) {
	at = len(f.raw) - len(bytes.TrimLeft(f.raw, " \t\r\n"))
	raw := f.raw[at:]
	base := at
	for path != "" && len(raw) > 0 {
		switch raw[0] {
		case '{':
			m, rest, ok := memberOf(raw, path)
			if !ok {
				return at
			}
			at, base = base+m.at, base+m.start
			raw, path = m.value, rest
		case '[':
			first, rest, _ := strings.Cut(path, ".")
			start, value, ok := itemOf(raw, first)
			if !ok {
				return at
			}
			at, base = base+start, base+start
			raw, path = value, rest
		default:
			return at
		}
	}
	return at
}

// memberOf finds the member that a path begins with. Names may have dots, and
// very long ones were cut.
func memberOf(raw []byte, path string) (found member, rest string, ok bool) {
	for _, m := range members(raw) {
		after, is := strings.CutPrefix(path, m.name)
		cut, long := strings.CutSuffix(path, "…")
		switch {
		case is && after == "", long && strings.HasPrefix(m.name, cut):
			return m, "", true
		case is && after[0] == '.':
			found, rest, ok = m, after[1:], true
		}
	}
	return found, rest, ok
}

func itemOf(raw []byte, index string) (start int, value []byte, ok bool) {
	n, err := strconv.Atoi(index)
	if err != nil {
		return 0, nil, false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	dec.ReadToken()
	for i := 0; dec.PeekKind() != jsontext.KindEndArray; i++ {
		v, err := dec.ReadValue()
		if err != nil { // cannot be: the file was checked
			return 0, nil, false
		}
		if i == n {
			end := int(dec.InputOffset())
			return end - len(v), raw[end-len(v) : end], true
		}
	}
	return 0, nil, false
}

// maxMistakes bounds the lines of one error.
const maxMistakes = 20

// mistakes collects what is wrong with a seed.
type mistakes struct {
	source
	list []mistake
}

type mistake struct {
	at   int
	text string
}

func (f *mistakes) full() bool { return len(f.list) >= maxMistakes }

// add notes that what the path names breaks a rule.
func (f *mistakes) add(path, rule string) {
	if !f.full() {
		at := f.locate(path)
		f.list = append(f.list, mistake{at, f.line(at, path, rule)})
	}
}

// err is one line per mistake, in the order of the file; nil when there is none.
func (f *mistakes) err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b mistake) int { return a.at - b.at })
	lines := make([]string, len(f.list))
	for i, x := range f.list {
		lines[i] = x.text
	}
	return errors.New(strings.Join(lines, "\n"))
}
