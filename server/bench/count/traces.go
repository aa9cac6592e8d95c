package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// traces is a search for words in bytes, without regard to the case of ASCII letters.
type traces struct {
	begins  [1 << 16]bool       // the first two bytes of a word
	words   map[[4]byte][]trace // by the first four bytes
	longest int
}

type trace struct{ form, word, card string }

// minWord is the length of the shortest word that is searched for: shorter ones stand anywhere by chance.
const minWord = 5

// searchTraces searches the files of traces.json for words of erased people.
func (y *year) searchTraces(r *report) error {
	var list struct {
		Files []string `json:"files"`
	}
	if err := readJSON(filepath.Join(y.folder, "traces.json"), &list); err != nil {
		return err
	}
	s := &traces{words: map[[4]byte][]trace{}}
	for _, e := range y.erased {
		for _, w := range e.Words {
			if len(w) < minWord {
				r.note("the word %q of the erased card %s is too short to be searched for", w, e.Card)
				continue
			}
			r.count("words of erased people", 1)
			s.add(w, e.Card)
		}
	}
	for _, name := range list.Files {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(y.folder, name)
		}
		file, err := os.Open(path)
		if err != nil {
			r.differ("files searched for traces", "%s: %v", name, err)
			continue
		}
		r.count("files searched for traces", 1)
		err = s.search(r, name, file)
		file.Close()
		if err != nil {
			r.note("%s could not be read to its end: %v", name, err)
		}
	}
	return nil
}

// add adds the forms in which a word may stand.
func (s *traces) add(word, card string) {
	quoted, _ := json.Marshal(word)
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	e.Encode(word)
	seen := map[string]bool{}
	for _, form := range []string{word, strings.Trim(string(quoted), `"`), strings.Trim(strings.TrimSpace(plain.String()), `"`),
		escaped(word),
		url.QueryEscape(word), url.PathEscape(word), html.EscapeString(word), strings.ToLower(word), strings.ToUpper(word)} {
		form = lower(form)
		if seen[form] {
			continue
		}
		seen[form] = true
		s.begins[int(form[0])<<8|int(form[1])] = true
		s.words[[4]byte([]byte(form))] = append(s.words[[4]byte([]byte(form))], trace{form, word, card})
		s.longest = max(s.longest, len(form))
	}
}

// escaped returns a word as JSON in ASCII has it.
func escaped(word string) string {
	var b strings.Builder
	for _, c := range word {
		switch {
		case c < 0x80:
			b.WriteRune(c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		}
	}
	return b.String()
}

// lower returns a text with small ASCII letters.
func lower(text string) string {
	b := []byte(text)
	lowerBytes(b)
	return string(b)
}

func lowerBytes(b []byte) {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
}

// search searches a file, and what is packed in it.
func (s *traces) search(r *report, name string, file *os.File) error {
	var magic [4]byte
	n, _ := file.ReadAt(magic[:], 0)
	switch {
	case n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		unpacked, err := gzip.NewReader(file)
		if err != nil {
			return err
		}
		return s.stream(r, name, unpacked)
	case n == 4 && string(magic[:]) == "PK\x03\x04":
		info, err := file.Stat()
		if err != nil {
			return err
		}
		packed, err := zip.NewReader(file, info.Size())
		if err != nil {
			return err
		}
		for _, f := range packed.File {
			part, err := f.Open()
			if err == nil {
				err = s.stream(r, name+" "+f.Name, part)
				part.Close()
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return s.stream(r, name, file)
}

// stream searches bytes in pieces that overlap by the longest word.
func (s *traces) stream(r *report, name string, in io.Reader) error {
	buffer := make([]byte, 4<<20)
	kept, begin := 0, int64(0)
	for {
		n, err := io.ReadFull(in, buffer[kept:])
		lowerBytes(buffer[kept : kept+n])
		data := buffer[:kept+n]
		last := err != nil
		s.find(r, name, begin, data, last)
		if last {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return nil
			}
			return err
		}
		kept = copy(buffer, data[len(data)-s.longest:])
		begin += int64(len(data) - kept)
	}
}

// find reports the words in a piece. One that begins in its end, which the next piece has again, is left
// to that.
func (s *traces) find(r *report, name string, begin int64, data []byte, last bool) {
	end := len(data) - 3
	if !last {
		end = min(end, len(data)-s.longest)
	}
	for i := 0; i < end; i++ {
		if !s.begins[int(data[i])<<8|int(data[i+1])] {
			continue
		}
		for _, t := range s.words[[4]byte(data[i:i+4])] {
			if len(data)-i >= len(t.form) && string(data[i:i+len(t.form)]) == t.form {
				r.differ("files searched for traces", "%s, byte %d: %q of the erased card %s", name, begin+int64(i), t.word, t.card)
			}
		}
	}
}
