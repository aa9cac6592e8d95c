// Package seed reads seed files and fills empty databases with the shops that they
// describe. It also creates the demo shop, which a fixture has without a seed file.
package seed

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"regexp"
	"time"

	"punchcard/server/wire"
)

// maxSize is the size of the largest seed file, in bytes.
const maxSize = 16 << 20

// File is a seed file: shops with their locations, programs, cards and activity. It
// is validated as far as that is possible without a store. It never changes, so it
// can be applied to any number of stores, also concurrently.
type File struct {
	// Now is the start: the first time of the fixture's clock, unless the caller
	// chooses another. It is zero if the file has none.
	Now time.Time

	name    string
	raw     []byte
	shops   []*shop
	objects []object // shop by shop
	refs    map[string]object
}

// Read reads the seed file at path. Its errors are those of Parse, with the
// path as the file's name.
func Read(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, raw)
}

// Parse reads a seed of at most 16 MiB. Unknown fields, wrong types, duplicates and
// refs that do not exist are errors. An error has one line per problem, at most 20,
// in the order of the file:
//
//	coffee.json:14: shops.0.programs.1.total_stamps: must be at most 1000
//
// Apply reports in the same form what only the store can refuse.
func Parse(name string, raw []byte) (*File, error) {
	f := &File{name: name, raw: raw, refs: map[string]object{}}
	l := &linker{problems: problems{file: f}, secrets: map[string]string{APIKey: "", RestrictedAPIKey: "", MCPKey: ""}}
	top := &root{}
	switch {
	case len(raw) > maxSize:
		return nil, errors.New(f.line(0, "", "must be at most 16 MiB"))
	case !bytes.HasPrefix(bytes.TrimLeft(raw, space), []byte("{")):
		l.add("", "must be an object")
	default:
		for _, d := range wire.DecodeBody(raw, top, wire.Create, limits) {
			l.add(d.Field, cmp.Or(omitted[numbers.ReplaceAllString(d.Field, ".")], d.Message))
		}
	}
	// Return now, or a ref to an object that could not be read would be a second
	// problem.
	if err := l.err(); err != nil {
		return nil, err
	}
	f.shops = top.Shops.V
	if top.Now.Set {
		f.Now = top.Now.V.Std()
	}
	l.link()
	if err := l.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// numbers matches the numbers in a path.
var numbers = regexp.MustCompile(`\.[0-9]+\.`)

// space is the white space of JSON.
const space = " \t\r\n"
