package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"
)

// traces is a search for words in bytes, without regard to the case of ASCII letters.
type traces struct {
	begins [1 << 16]bool       // the first two bytes of a word
	words  map[[4]byte][]trace // by the first four bytes
	heap   string              // name of the file that may have words
}

type trace struct{ form, word, card string }

// minWord is the length of the shortest word that is searched for: shorter ones stand anywhere by chance.
const minWord = 5

// searchTraces searches the files of traces.json for words of erased people.
func (y *year) searchTraces(r *report) error {
	var list struct {
		Files []string `json:"files"`
		// Heap is a file with the memory of Go, whose buffers may still have what they have sent. May be absent.
		Heap string `json:"heap"`
	}
	if err := readJSON(filepath.Join(y.folder, "traces.json"), &list); err != nil {
		return err
	}
	s := &traces{words: map[[4]byte][]trace{}, heap: list.Heap}
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
	if list.Heap != "" {
		list.Files = append(list.Files, list.Heap)
	}
	for _, name := range list.Files {
		data, err := os.ReadFile(filepath.Join(y.folder, name))
		if err != nil {
			r.differ("files searched for traces", "%v", err)
			continue
		}
		r.count("files searched for traces", 1)
		if err := s.search(r, name, data); err != nil {
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
	}
}

// escaped returns a word as JSON in ASCII has it.
func escaped(word string) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(word)) {
		if c < 0x80 {
			b.WriteByte(byte(c))
		} else {
			fmt.Fprintf(&b, `\u%04x`, c)
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
func (s *traces) search(r *report, name string, data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		unpacked, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		return s.read(r, name, unpacked)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		packed, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		for _, f := range packed.File {
			part, err := f.Open()
			if err == nil {
				err = errors.Join(s.read(r, name+" "+f.Name, part), part.Close())
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	s.find(r, name, data)
	return nil
}

// read searches what was packed, up to where it can be read.
func (s *traces) read(r *report, name string, in io.Reader) error {
	data, err := io.ReadAll(in)
	s.find(r, name, data)
	return err
}

// find reports the words in bytes.
func (s *traces) find(r *report, name string, data []byte) {
	lowerBytes(data)
	for i := 0; i+4 <= len(data); i++ {
		if !s.begins[int(data[i])<<8|int(data[i+1])] {
			continue
		}
		for _, t := range s.words[[4]byte(data[i:i+4])] {
			if !bytes.HasPrefix(data[i:], []byte(t.form)) {
				continue
			}
			if name == s.heap {
				r.count("words of erased people in the memory of Go", 1)
			} else {
				r.differ("files searched for traces", "%s, byte %d: %q of the erased card %s", name, i, t.word, t.card)
			}
		}
	}
}
