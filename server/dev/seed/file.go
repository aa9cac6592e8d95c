// Package seed reads seed files and fills empty databases with the shops that they
// describe. It also creates the demo shop, which a fixture has without a seed file.
package seed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

	source
	shops   []*shop
	objects []object // in the order of the file
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
	f := &File{source: source{name, raw}, refs: map[string]object{}}
	if err := f.checkEncoding(); err != nil {
		return nil, err
	}
	top := &root{}
	p := &parser{problems: problems{source: f.source}, file: f, dec: jsontext.NewDecoder(bytes.NewBuffer(raw))}
	if err := p.readObject(top, listsOf(reflect.TypeFor[root]()), "", nil); err != nil {
		return nil, f.syntaxError(p.dec, err)
	}
	if rest := bytes.TrimLeft(raw[p.dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, errors.New(f.line(len(raw)-len(rest), "", "goes on after its end"))
	}
	// Return now, or a ref to an object that could not be read would be a second
	// problem.
	if err := p.err(); err != nil {
		return nil, err
	}
	f.shops = top.Shops
	if top.Now.Set {
		f.Now = top.Now.V.Std()
	}
	p.link()
	if err := p.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// parser reads a file and collects the problems in it.
type parser struct {
	problems
	file    *File
	dec     *jsontext.Decoder
	secrets map[string]string // paths of the keys by secret; empty for demo keys
}

// readObject reads the next JSON value into o. path is its path in the file, in the
// shop it belongs to, and lists are those of o's fields that are lists of objects.
// It returns syntax errors only.
func (p *parser) readObject(o object, lists []reflect.StructField, path string, in *shop) error {
	if p.dec.PeekKind() != jsontext.KindBeginObject {
		p.add(path, "must be an object")
		return p.dec.SkipValue()
	}
	v := reflect.ValueOf(o).Elem()
	e := o.self()
	*e = entry{n: len(p.file.objects), kind: v.Type().Name(), path: path, shop: in}
	if s, ok := o.(*shop); ok {
		e.shop = s
	}
	p.file.objects = append(p.file.objects, o)
	fields := []byte{'{'} // the object without its lists, for the wire package
	p.dec.ReadToken()
	for p.dec.PeekKind() != jsontext.KindEndObject {
		token, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if i := slices.IndexFunc(lists, func(f reflect.StructField) bool { return f.Tag.Get("list") == name }); i >= 0 {
			if err := p.readList(lists[i], v.FieldByIndex(lists[i].Index), e); err != nil {
				return err
			}
			continue
		}
		value, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		if rule, ok := absent[e.kind+"."+name]; ok {
			p.add(join(path, name), rule)
			continue
		}
		if name == "ref" && value.Kind() == jsontext.KindString {
			ref, _ := jsontext.AppendUnquote(nil, value)
			e.ref = string(ref)
		}
		if len(fields) > 1 {
			fields = append(fields, ',')
		}
		fields = append(append(wire.AppendString(fields, name), ':'), value...)
	}
	p.details(path, wire.DecodeBody(append(fields, '}'), o, wire.Create, limits))
	for _, f := range lists {
		p.require(f.Tag.Get("req") == "" || !v.FieldByIndex(f.Index).IsNil(), o, f.Tag.Get("list"), "is required")
	}
	_, err := p.dec.ReadToken()
	return err
}

// readList reads the next JSON value into dst, the field f of the object e. It
// leaves dst nil only for null, which equals absence as in the REST API.
func (p *parser) readList(f reflect.StructField, dst reflect.Value, e *entry) error {
	path := join(e.path, f.Tag.Get("list"))
	kind := p.dec.PeekKind()
	if kind == jsontext.KindNull {
		return p.dec.SkipValue()
	}
	dst.Set(reflect.MakeSlice(f.Type, 0, 0))
	if kind != jsontext.KindBeginArray {
		p.add(path, "must be an array of objects")
		return p.dec.SkipValue()
	}
	p.dec.ReadToken()
	before := len(p.found)
	of := f.Type.Elem().Elem()
	lists := listsOf(of)
	for i := 0; p.dec.PeekKind() != jsontext.KindEndArray; i++ {
		item := reflect.New(of)
		if err := p.readObject(item.Interface().(object), lists, join(path, strconv.Itoa(i)), e.shop); err != nil {
			return err
		}
		dst.Set(reflect.Append(dst, item))
	}
	if most, _ := strconv.Atoi(f.Tag.Get("max")); dst.Len() > most {
		p.found = p.found[:before] // the problems of the items do not matter
		p.add(path, fmt.Sprintf("must have at most %d items", most))
	} else if dst.Len() == 0 && f.Tag.Get("req") != "" {
		p.add(path, "must have at least 1 item")
	}
	_, err := p.dec.ReadToken()
	return err
}

// listsOf returns the fields of a struct that are lists of objects.
func listsOf(t reflect.Type) (lists []reflect.StructField) {
	for f := range t.Fields() {
		if f.Tag.Get("list") != "" {
			lists = append(lists, f)
		}
	}
	return lists
}
