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

// maxDepth is the maximum depth of nested objects and arrays; that of the body is 1.
// Each object of a list of objects may have it again.
const maxDepth = 16

// space is the white space of JSON.
const space = " \t\r\n"

// IsBlankBody reports whether a body has nothing but white space. It equals {}.
func IsBlankBody(body []byte) bool { return len(bytes.Trim(body, space)) == 0 }

// pair is a member of the body.
type pair struct {
	name  string
	value []byte // a slice of the body
}

// scan checks that body is a valid JSON object nested at most maxDepth deep, and
// returns its first members, at most keep of them. It is not recursive, so that deeply
// nested arrays need no stack.
func scan(body []byte, keep, maxDepth int) ([]pair, *Detail) {
	if IsBlankBody(body) {
		return nil, nil
	}
	if fault := checkEncoding(body); fault != nil {
		return nil, fault
	}
	// Strings are searched for U+0000 only if the body contains its escape.
	nul := bytes.Contains(body, []byte(`\u0000`))
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	object := dec.PeekKind() == jsontext.KindBeginObject
	var pairs []pair
	var name string
	var start int64 // of the value of name, including the colon
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, syntaxFault(body, err)
		}
		depth := dec.StackDepth()
		if depth > maxDepth {
			return nil, &Detail{
				Code:    CodeInvalidFormat,
				Message: fmt.Sprintf("the body must not be nested deeper than %d levels", maxDepth),
			}
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
		return nil, &Detail{Code: CodeInvalidType, Message: "the body must be a JSON object"}
	}
	return pairs, nil
}

// checkEncoding checks that body is UTF-8 without a byte order mark, which has a
// message of its own, since editors do not show it.
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

// syntaxFault returns the detail for a syntax error, without quoting the body.
func syntaxFault(body []byte, err error) *Detail {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return notJSON("it ends too early", len(body))
	case !errors.As(err, &syntax):
		return &Detail{Code: CodeInvalidFormat, Message: "the body is not valid JSON"}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &Detail{Field: capName(dotted(syntax.JSONPointer)), Code: CodeInvalidValue, Message: "appears twice"}
	}
	at := int(syntax.ByteOffset)
	if at < len(body) && body[at] == '\\' {
		return notJSON("invalid escape sequence", at)
	}
	return notJSON("unexpected character", at)
}

// notJSON returns the detail for a body that is not JSON, because of the byte at an
// offset.
func notJSON(what string, at int) *Detail {
	return &Detail{Code: CodeInvalidFormat, Message: fmt.Sprintf("the body is not valid JSON: %s at byte %d", what, at)}
}

// nulFault returns the detail for U+0000 in the last string: with the path of the
// value or, if it is in a name, of the object that has the name.
func nulFault(dec *jsontext.Decoder) *Detail {
	at := dec.StackPointer()
	for strings.Contains(string(at), "\x00") {
		at = at.Parent()
	}
	return &Detail{Field: capName(dotted(at)), Code: CodeInvalidValue, Message: "must not contain the character U+0000"}
}

// dotted returns a JSON pointer as the path of a field, with dots.
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
