package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep objects and arrays may be nested; the body itself is 1.
const maxDepth = 16

const space = " \t\r\n"

// pair is a member of the body's top level.
type pair struct {
	name  string
	value []byte // a complete JSON value, in the body
}

// scan checks the whole of body for faults that have nothing to do with its
// fields, and splits it into its members. It gives up on members after the
// first keep of them, but checks them all the same. The walk is flat, so that
// a body of brackets costs no stack.
func scan(body []byte, keep int) ([]pair, *Detail) {
	if len(bytes.Trim(body, space)) == 0 {
		return nil, nil
	}
	if fault := checkEncoding(body); fault != nil {
		return nil, fault
	}
	// Tokens need a look for U+0000 only when the body spells it somewhere.
	nul := bytes.Contains(body, []byte(`\u0000`))
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	object := dec.PeekKind() == jsontext.KindBeginObject
	var pairs []pair
	var name string
	var start int64 // of the value that belongs to name, colon included
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, syntaxFault(body, err)
		}
		depth := dec.StackDepth()
		if depth > maxDepth {
			return nil, &Detail{Field: "", Code: CodeInvalidFormat, Message: fmt.Sprintf("the body must not be nested deeper than %d levels", maxDepth)}
		}
		if nul && token.Kind() == jsontext.KindString && strings.Contains(token.String(), "\x00") {
			return nil, nulFault(dec)
		}
		if depth == 0 {
			break
		}
		if depth > 1 || !object || len(pairs) >= keep {
			continue
		}
		switch _, n := dec.StackIndex(1); {
		case n%2 == 1:
			name, start = token.String(), dec.InputOffset()
		case n > 0:
			value := bytes.TrimLeft(body[start:dec.InputOffset()], ":"+space)
			pairs = append(pairs, pair{name, value})
		}
	}
	if rest := body[dec.InputOffset():]; len(bytes.Trim(rest, space)) > 0 {
		at := len(body) - len(bytes.TrimLeft(rest, space))
		return nil, notJSON("it goes on after its end", at)
	}
	if !object {
		return nil, &Detail{Field: "", Code: CodeInvalidType, Message: "the body must be a JSON object"}
	}
	return pairs, nil
}

// checkEncoding finds what is not UTF-8. A byte order mark would be an
// invalid character anyway, but one that nobody sees in an editor.
func checkEncoding(body []byte) *Detail {
	if bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")) {
		return notJSON("it starts with a byte order mark", 0)
	}
	if utf8.Valid(body) {
		return nil
	}
	at := 0
	for at < len(body) {
		r, n := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return notJSON("invalid UTF-8", at)
}

// syntaxFault says what the decoder stumbled over without quoting it.
func syntaxFault(body []byte, err error) *Detail {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return notJSON("it ends too early", len(body))
	case !errors.As(err, &syntax):
		return &Detail{Field: "", Code: CodeInvalidFormat, Message: "the body is not valid JSON"}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &Detail{Field: capName(dotted(syntax.JSONPointer)), Code: CodeInvalidValue, Message: "appears twice"}
	}
	at := int(syntax.ByteOffset)
	if at < len(body) && body[at] == '\\' {
		return notJSON("invalid escape sequence", at)
	}
	return notJSON("unexpected character", at)
}

func notJSON(what string, at int) *Detail {
	return &Detail{Field: "", Code: CodeInvalidFormat, Message: fmt.Sprintf("the body is not valid JSON: %s at byte %d", what, at)}
}

// nulFault names the place of the string just read: the value's path, or for
// a name the path of the object that has it, since the name is unfit to show.
func nulFault(dec *jsontext.Decoder) *Detail {
	at := dec.StackPointer()
	for strings.Contains(string(at), "\x00") {
		at = at.Parent()
	}
	return &Detail{Field: capName(dotted(at)), Code: CodeInvalidValue, Message: "must not contain the character U+0000"}
}

// dotted turns a JSON pointer into a field's path.
func dotted(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}
