package sqlite

import (
	"reflect"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/memory"
	sqlite3 "modernc.org/sqlite/lib"
)

// heap is the memory of SQLite in the whole process, which modernc.org/libc allocates. heapMu guards it; its
// name there depends on the system. TestLayout checks the fields that are read here.
//
//go:linkname heap modernc.org/libc.allocator
var heap memory.Allocator

// Release frees what the connection keeps of the file for its next statements, and overwrites the memory for small objects
// that is not in use. It finalizes the prepared statements too: SQLite may have taken their memory from what it freed just before,
// and does not write all of it. No rows may be open.
func (c *Conn) Release() error {
	c.finalizeOlder()
	c.finalizeOlder()
	err := c.Script("PRAGMA shrink_memory")
	db := *(**sqlite3.Tsqlite3)(unsafe.Pointer(&c.raw.db))
	for _, of := range []struct{ first, size uintptr }{
		{db.Flookaside.FpFree, uintptr(db.Flookaside.FszTrue)},
		{db.Flookaside.FpSmallFree, sqlite3.LOOKASIDE_SMALL},
	} {
		for slot := of.first; slot != 0; slot = word(slot) {
			zero(slot+wordSize, slot+of.size)
		}
	}
	return err
}

// ClearFreed overwrites what SQLite has freed in this process and not used again. It does not reach what connections
// keep; see Release.
func ClearFreed() error {
	heapMu.Lock()
	defer heapMu.Unlock()
	err := heap.Trim() // returns the regions that have no block in use to the system

	// The other regions have blocks of a power of two. A region begins with four words: how many blocks were
	// ever used, the exponent, the region's size, and how many blocks are used. A freed block begins with two words, the
	// addresses of its neighbours in the list of those of its size.
	of := reflect.ValueOf(&heap).Elem()
	lists, regions := of.FieldByName("lists"), of.FieldByName("pages")
	for exponent := range lists.Len() {
		for block := uintptr(lists.Index(exponent).Uint()); block != 0; block = word(block + wordSize) {
			zero(block+2*wordSize, block+1<<exponent)
		}
		if region := uintptr(regions.Index(exponent).Uint()); region != 0 { // from which new blocks are taken
			zero(region+4*wordSize+word(region)<<exponent, region+word(region+2*wordSize))
		}
	}
	return err
}

// wordSize is the size of an address.
const wordSize = unsafe.Sizeof(uintptr(0))

// word returns the word at an address.
func word(at uintptr) uintptr { return libc.AtomicLoadPUintptr(at) }

// zero overwrites the memory between two addresses.
func zero(from, until uintptr) {
	if from < until {
		libc.Xmemset(nil, from, 0, libc.Tsize_t(until-from))
	}
}
