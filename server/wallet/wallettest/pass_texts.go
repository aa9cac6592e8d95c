package wallettest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// PassField is a field of a pass as a phone shows it.
type PassField struct {
	Key   string `json:"key"`
	Place string `json:"place"` // "header", "primary", "secondary", "auxiliary" or "back"
	Label string `json:"label"`
	Value string `json:"value"`
}

// Fields returns the fields in a language, such as "de".
func (p *Pass) Fields(language string) (list []PassField) {
	for _, f := range p.content.fields {
		list = append(list, PassField{f.Key, f.place, p.Text(f.Label, language), p.shown(f, language)})
	}
	return list
}

// Text returns a text of the pass in a language, or as it stands in the pass if there is no translation.
func (p *Pass) Text(text, language string) string {
	if translated, ok := p.texts[language][text]; ok {
		return translated
	}
	return text
}

// shown returns the value of a field.
func (p *Pass) shown(f passField, language string) string {
	text, number, _ := f.value()
	switch {
	case f.CurrencyCode != "":
		amount, _ := number.Float64()
		text = strconv.FormatFloat(amount, 'f', 2, 64) + " " + f.CurrencyCode
		if language != "en" {
			text = strings.Replace(text, ".", ",", 1)
		}
		return text
	case number != "":
		return number.String()
	case f.DateStyle != "" && f.DateStyle != "PKDateStyleNone":
		t, _ := parseDate(text)
		if language == "en" {
			return t.Format("2 Jan 2006")
		}
		return t.Format("02.01.2006")
	}
	return p.Text(text, language)
}

// Notices returns what a phone tells its owner when a pass takes the place of an older one.
func (p *Pass) Notices(older *Pass, language string) (list []string) {
	before := map[string]string{}
	for _, f := range older.content.fields {
		before[f.Key] = string(f.Value)
	}
	for _, f := range p.content.fields {
		if value, ok := before[f.Key]; ok && value != string(f.Value) && f.ChangeMessage != "" {
			list = append(list, strings.Replace(p.Text(f.ChangeMessage, language), "%@", p.shown(f, language), 1))
		}
	}
	return list
}

// parseStrings returns the translations of a strings file, which is in UTF-8 or, with a byte order mark, in UTF-16.
func parseStrings(file []byte) (map[string]string, error) {
	s, err := decodeText(file)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for {
		if s = strings.TrimLeft(s, " \t\r\n"); s == "" {
			return texts, nil
		}
		if strings.HasPrefix(s, "/*") {
			_, rest, ok := strings.Cut(s, "*/")
			if !ok {
				return nil, errors.New("a comment does not end")
			}
			s = rest
			continue
		}
		var key, text string
		if key, s, err = cutQuoted(s, "="); err != nil {
			return nil, err
		}
		if text, s, err = cutQuoted(s, ";"); err != nil {
			return nil, err
		}
		if _, ok := texts[key]; ok {
			return nil, fmt.Errorf("%q stands twice", key)
		}
		texts[key] = text
	}
}

// decodeText returns the text of a file.
func decodeText(file []byte) (string, error) {
	if len(file) >= 2 && len(file)%2 == 0 {
		order := binary.ByteOrder(nil)
		switch {
		case file[0] == 0xFE && file[1] == 0xFF:
			order = binary.BigEndian
		case file[0] == 0xFF && file[1] == 0xFE:
			order = binary.LittleEndian
		}
		if order != nil {
			units := make([]uint16, 0, len(file)/2)
			for i := 2; i < len(file); i += 2 {
				units = append(units, order.Uint16(file[i:]))
			}
			return string(utf16.Decode(units)), nil
		}
	}
	if !utf8.Valid(file) {
		return "", errors.New("is neither UTF-8 nor UTF-16")
	}
	return strings.TrimPrefix(string(file), "\uFEFF"), nil
}

var unescaped = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '\'': '\''}

// cutQuoted returns the text in quotation marks at the beginning, and what follows the sign after it.
func cutQuoted(s, sign string) (text, rest string, err error) {
	s = strings.TrimLeft(s, " \t\r\n")
	if !strings.HasPrefix(s, `"`) {
		return "", "", fmt.Errorf("a quotation mark is missing before %.20q", s)
	}
	var b []byte
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			rest, ok := strings.CutPrefix(strings.TrimLeft(s[i+1:], " \t\r\n"), sign)
			if !ok {
				return "", "", fmt.Errorf("%s is missing after %.20q", sign, b)
			}
			return string(b), rest, nil
		case c == 0:
			return "", "", errors.New("has a zero byte")
		case c == '\\' && i+1 < len(s):
			i++
			if unescaped[s[i]] == 0 {
				return "", "", fmt.Errorf(`the escape \%c is not known`, s[i])
			}
			b = append(b, unescaped[s[i]])
		default:
			b = append(b, c)
		}
	}
	return "", "", errors.New("a text does not end")
}
