package store

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// maxWipedPages is the number of pages of a file up to which WipePages overwrites any. The first byte of
// an overflow page is that of the number of the next one: from this number on it looks like a B-tree's.
const maxWipedPages = 1 << 25

// wipeAll makes WipePages search the whole file for remains.
const wipeAll = "UPDATE meta SET wipe_page=1 WHERE id=1"

// noteErased has the log emptied after the write, and the file's pages searched for remains by WipePages.
func (tx *Tx) noteErased() {
	tx.erases = true
	tx.exec(wipeAll)
}

// WipePages overwrites what is left of rows in the unused parts of up to n pages, since the last
// erasure. With secure_delete SQLite overwrites what is deleted, but not the copies of rows that it has
// moved to other pages. It does so in the order of the file; more reports whether there are further pages.
func (tx *Tx) WipePages(n int) (more bool, err error) {
	from := tx.number("SELECT wipe_page FROM meta WHERE id=1")
	if from == 0 {
		return false, tx.failed
	}
	type page struct {
		number int64
		data   []byte
	}
	var dirty []page
	last := int64(0)
	for r := range tx.each("SELECT pgno, data FROM sqlite_dbpage WHERE pgno>=? AND pgno<?", from, from+int64(n)) {
		last = r.int()
		if data := slices.Clone(r.bytes()); last < maxWipedPages && wipeGap(data, last == 1) {
			dirty = append(dirty, page{last, data})
		}
	}
	if len(dirty) > 0 {
		tx.fail(tx.conn.EditSchema(func() error { // pages are written as the schema's text is
			for _, p := range dirty {
				tx.exec("UPDATE sqlite_dbpage SET data=? WHERE pgno=?", p.data, p.number)
			}
			return nil
		}))
	}
	next := last + 1
	if more = last == from+int64(n)-1; !more {
		next = 0
		tx.erases = true // the log has older versions of the pages
	}
	tx.exec("UPDATE meta SET wipe_page=? WHERE id=1", next)
	return more, tx.failed
}

// wipeGap overwrites the unused part of a page of a B-tree, which is between the pointers to its cells and the
// cells (https://www.sqlite.org/fileformat2.html#b_tree_pages). It reports whether there was anything.
func wipeGap(data []byte, isFirst bool) bool {
	header := 0
	if isFirst {
		header = 100
	}
	if len(data) < header+12 {
		return false
	}
	begin := header + 8
	switch data[header] {
	case 2, 5: // inner pages have one pointer more
		begin += 4
	case 10, 13:
	default:
		return false
	}
	begin += 2 * int(binary.BigEndian.Uint16(data[header+3:]))
	end := int(binary.BigEndian.Uint16(data[header+5:]))
	if end == 0 {
		end = 1 << 16
	}
	if begin >= end || end > len(data) {
		return false
	}
	gap := data[begin:end]
	if len(bytes.Trim(gap, "\x00")) == 0 {
		return false
	}
	clear(gap)
	return true
}
