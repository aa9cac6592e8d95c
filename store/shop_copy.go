package store

import (
	"context"
	"fmt"
	"slices"

	"punchcard/store/sqlite"
)

// CopyShop copies a shop that is being moved from the database at the path from, as it is at one moment,
// into the empty file to, which nobody else uses. The copy has the same ids, codes and secrets, and
// remembers url as its public URL. CopyShop returns how many rows of each table are the shop's.
//
// The keys of the copy begin with the number that BeginMove has chosen for it (see copyNumber) and continue with the count of the
// source, so that no two files give out the same ids.
//
// The copy has no journal, so that it is of use only once CopyShop has returned, and is not synced.
func CopyShop(ctx context.Context, from, to string, shop int64, url string, progress Progress) (rows map[string]int64, err error) {
	c, err := sqlite.OpenContext(ctx, to, sqlite.ReadWrite, "journal_mode=OFF", "synchronous=OFF", "busy_timeout=5000",
		"temp_store=MEMORY", "cache_size=-64000", "secure_delete=ON")
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := c.Close(); err == nil {
			err = cerr
		}
	}()
	defer progress.End()
	if err := c.Attach(from, "source"); err != nil {
		return nil, err
	}
	q := &queries{conn: c}
	q.exec("BEGIN")
	// The file has no table yet, so that names without a schema are those of the source.
	rows = q.countShop(shop)
	m := newMeter(c, progress)
	q.copyTables(m, shop, rows)
	q.exec("UPDATE shops SET closed=NULL, moved_to=NULL")
	q.exec("UPDATE meta SET public_url=?", url)
	q.exec("UPDATE links SET created_by=NULL WHERE created_by NOT IN (SELECT id FROM users)") // who invited need not be a member
	q.copySequences(shop)
	m.begin("making the indexes", 0)
	q.runScripts("SELECT sql FROM source.sqlite_schema WHERE type<>'table' AND sql IS NOT NULL")
	for _, pragma := range []string{"application_id", "user_version"} {
		value := q.number("PRAGMA source." + pragma)
		q.fail(c.Script(fmt.Sprintf("PRAGMA main.%s = %d", pragma, value)))
	}
	q.exec("COMMIT")
	return rows, q.failed
}

// countShop returns the number of rows of a shop in each table.
func (q *queries) countShop(shop int64) map[string]int64 {
	rows := map[string]int64{}
	for _, t := range shopTables {
		rows[t.name] = q.number("SELECT count(*) FROM "+t.name+" WHERE "+t.where, shop)
	}
	return rows
}

// copyTables makes the tables and copies the rows of the shop, each table after those that its condition
// refers to: it then means those of the copy.
func (q *queries) copyTables(m *meter, shop int64, rows map[string]int64) {
	total := int64(0)
	for _, t := range shopTables {
		q.runScripts("SELECT sql FROM source.sqlite_schema WHERE type='table' AND name=?", t.name)
		total += rows[t.name]
	}
	m.begin("copying the shop", total)
	for _, t := range slices.Backward(shopTables) {
		q.exec("INSERT INTO main."+t.name+" SELECT * FROM source."+t.name+" WHERE "+t.where, shop)
		m.add(rows[t.name])
	}
}

// runScripts runs the statements that a query selects.
func (q *queries) runScripts(sql string, args ...any) {
	for _, script := range collect(q, (*rows).str, sql, args...) {
		q.fail(q.conn.Script(script))
	}
}

// copySequences sets what new keys of the copy continue from. What a restore of the source has written
// for other numbers stays.
func (q *queries) copySequences(shop int64) {
	of := func(name string) int64 {
		return q.number("SELECT ifnull(max(seq), 0) FROM source.sqlite_sequence WHERE name=?", name)
	}
	first := of(moveOf(shop)) << keyBits
	for _, table := range slices.Concat(sequenced, floored) {
		last := max(of(table), q.number("SELECT ifnull(max(id), 0) FROM source."+table))
		q.setSequence(table, first+last&(1<<keyBits-1))
	}
	for _, name := range []string{reissues, eventSequences} {
		if seq := of(name); seq > 0 {
			q.setSequence(name, seq)
		}
	}
}

// CompareCopy returns an error unless the database at the path, which nobody writes, has exactly the rows
// that CopyShop returned.
func CompareCopy(path string, want map[string]int64) (err error) {
	c, err := sqlite.Open(path, sqlite.Immutable)
	if err != nil {
		return err
	}
	defer c.Close()
	q := &queries{conn: c}
	for name, n := range want {
		if have := q.number("SELECT count(*) FROM " + name); q.failed == nil && have != n {
			return fmt.Errorf("the table %s of the copy has %d rows instead of %d", name, have, n)
		}
	}
	return q.failed
}

// HasShop reports whether a copy of a database, of any version, has a shop.
func HasShop(path string, shop int64) (bool, error) {
	c, err := sqlite.Open(path, sqlite.Immutable)
	if err != nil {
		return false, err
	}
	defer c.Close()
	q := &queries{conn: c}
	return q.number("SELECT count(*) FROM shops WHERE id=?", shop) > 0, q.failed
}

// CopiedAt returns when the move began by which the database at the path got its only shop, which must
// have the key and be open. It returns 0 for any other file.
func CopiedAt(ctx context.Context, path string, shop int64) (began Time) {
	if v, err := Inspect(ctx, path); err != nil || v != version() {
		return 0
	}
	c, err := openInspected(ctx, path)
	if err != nil {
		return 0
	}
	defer c.Close()
	q := &queries{conn: c}
	began = Time(q.number("SELECT ifnull(max(closed_at), 0) FROM shops WHERE id=? AND closed IS NULL", shop))
	if q.failed != nil {
		return 0
	}
	return began
}
