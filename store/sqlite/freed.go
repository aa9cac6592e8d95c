package sqlite

import (
	"reflect"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/memory"
)

// heap is the memory of SQLite in the whole process, which modernc.org/libc allocates. heapMu guards it; its
// name there depends on the system. TestLayout checks the fields that are read here.
//
//go:linkname heap modernc.org/libc.allocator
var heap memory.Allocator

// Release frees what the connection keeps for its next statements: pages of the file, prepared statements and the
// memory for small objects. No rows may be open.
func (c *Conn) Release() error {
	c.finalizeOlder()
	c.finalizeOlder()
	err := c.Script("PRAGMA shrink_memory")
	if err != nil || c.plain {
		return err
	}
	return c.raw.lookaside(1200, 40) // as SQLite does by default
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
	const word = unsafe.Sizeof(uintptr(0))
	load := libc.AtomicLoadPUintptr
	zero := func(from, until uintptr) {
		if from < until {
			libc.Xmemset(nil, from, 0, libc.Tsize_t(until-from))
		}
	}
	of := reflect.ValueOf(&heap).Elem()
	lists, regions := of.FieldByName("lists"), of.FieldByName("pages")
	for exponent := range lists.Len() {
		for block := uintptr(lists.Index(exponent).Uint()); block != 0; block = load(block + word) {
			zero(block+2*word, block+1<<exponent)
		}
		if region := uintptr(regions.Index(exponent).Uint()); region != 0 { // from which new blocks are taken
			zero(region+4*word+load(region)<<exponent, region+load(region+2*word))
		}
	}
	return err
}
