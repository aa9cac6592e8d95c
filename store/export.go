package store

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"

	"punchcard/store/sqlite"
)

// Export is all data of a shop, without secrets. Write writes it.
type Export struct {
	Shop   NamedShop `json:"shop"`
	Format string    `json:"format"`
	s      *Store
	key    int64
}

// ExportFormat is the format of the files of an export.
type ExportFormat struct {
	Format Opt[string] `json:"format" enum:"csv,jsonl" doc:"Tables, or lines of JSON. Default: csv."`
}

// ExportManifest is the last file of an export. An export without it is not complete.
type ExportManifest struct {
	ShopID string       `json:"shop_id"`
	At     Time         `json:"at" doc:"All that was written before is in the files."`
	Files  []ExportFile `json:"files"`
}

// ExportFile is a file of an export.
type ExportFile struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
}

// errExporting is the refusal of a second export at the same time: each reads the whole shop.
var errExporting = refuse(Conflict, "Another export of all data is being made. Try again when it is complete.")

// Export returns the export of a shop's data.
func (v *View) Export(shop int64, f ExportFormat) (Export, error) {
	return Export{v.namedShop(shop), f.Format.Or("csv"), v.s, shop}, v.failed
}

// AuditShopExport records that somebody exports all data of a shop, or its cards: action is "shop.export" or "cards.export".
func (tx *Tx) AuditShopExport(shop int64, action string) error {
	tx.insertAudit(shop, action, KindShop, shop)
	return tx.failed
}

// Write writes the files of the export as they are at one moment, and then manifest.json. create
// begins a file; what is written before is to the file before.
//
// It reads in one transaction on a connection of its own, so that it stops neither writes nor other
// reads. The write-ahead log is not reused meanwhile, and grows by what is written. So the writer
// that create returns should not wait for a network. Memory does not grow with the rows.
func (x Export) Write(ctx context.Context, create func(name string) (io.Writer, error)) (m ExportManifest, err error) {
	if !x.s.exporting.CompareAndSwap(false, true) {
		return m, errExporting
	}
	defer x.s.exporting.Store(false)
	m = ExportManifest{ShopID: x.Shop.ID, At: max(x.s.Now(), Time(x.s.latest.Load()))}
	db, err := sqlite.OpenContext(ctx, x.s.path, sqlite.ReadWrite, x.s.busyTimeout(), "query_only=1", "temp_store=MEMORY",
		"cache_size=-16000")
	if err != nil {
		return m, cmp.Or(ctx.Err(), err)
	}
	q := x.s.queries(db, m.At)
	if m.Files, err = x.writeTables(&q, create); err == nil {
		err = writeManifest(m, create)
	}
	return m, cmp.Or(ctx.Err(), err, db.Close())
}

// writeTables writes the tables in one transaction.
func (x Export) writeTables(q *queries, create func(string) (io.Writer, error)) (files []ExportFile, err error) {
	q.exec("BEGIN")
	// The read transaction begins with the first query.
	sh := q.shop(x.key)
	meter := newMeter(q.conn, x.s.opts.Progress)
	defer x.s.opts.Progress.End()
	for _, t := range exportTables() {
		if q.failed != nil {
			break
		}
		meter.begin("exporting "+t.name, meter.number("sum(1) FROM "+t.name+" WHERE shop_id=?", x.key))
		name := t.name + "." + x.Format
		out, err := create(name)
		if err != nil {
			return files, err
		}
		sum := sha256.New()
		buffered := bufio.NewWriterSize(io.MultiWriter(out, sum), 64<<10)
		rows, err := t.write(q, x.Format, buffered, x.key, sh.Currency, meter)
		if err = cmp.Or(err, buffered.Flush()); err != nil {
			return files, err
		}
		files = append(files, ExportFile{name, rows, hex.EncodeToString(sum.Sum(nil))})
	}
	q.exec("COMMIT")
	// The log goes into the database as far as other connections allow it, so that no writer has to
	// move all that it got meanwhile.
	q.exec("PRAGMA wal_checkpoint(PASSIVE)")
	return files, q.failed
}

// write writes the rows of a table and returns their number.
func (t exportTable) write(q *queries, format string, out *bufio.Writer, shop int64, currency string, meter *meter) (n int64, err error) {
	sql, args := "SELECT "+t.columns+" FROM "+t.from, []any{shop}
	if strings.Contains(sql, "?2") {
		args = append(args, q.Now)
	}
	r := q.query(sql, args...)
	names := r.db().Columns()
	write := newRowWriter(format, out, names)
	types, cells := make([]exportType, len(names)), make([]cell, len(names))
	for i, name := range names {
		types[i] = typeOf(name)
	}
	for err == nil && r.next() {
		for i, as := range types {
			cells[i] = q.readCell(r, as, currency)
		}
		err = write(cells)
		if n++; n%1000 == 0 {
			meter.add(1000)
		}
	}
	meter.end()
	return n, cmp.Or(err, r.close())
}

// writeManifest writes manifest.json.
func writeManifest(m ExportManifest, create func(string) (io.Writer, error)) error {
	out, err := create("manifest.json")
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(m)
}
