package store

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// UndoImport begins to erase the cards of an import. ContinueImport goes on. It leaves cards that
// were used, changed or are on a phone. It changes nothing of an import that is being undone.
func (tx *Tx) UndoImport(shop int64, id string) (ImportRun, error) {
	run, err := tx.ImportRun(shop, id)
	if err != nil || run.State == ImportUndoing {
		return run, err
	}
	if run.State != ImportRunning && run.State != ImportDone {
		return run, refuse(Conflict, "Only an import that is running or done can be undone.")
	}
	tx.exec("DELETE FROM import_parts WHERE import_id=?", run.key)
	tx.exec("UPDATE imports SET state=?, through=0, ended_at=NULL, invite_at=NULL WHERE id=?", ImportUndoing, run.key)
	tx.audit(shop, "import.undo", KindImport, run.key)
	tx.AfterCommit(func() { wake(tx.s.importsDue) })
	return tx.ImportRun(shop, id)
}

// DiscardImport deletes a file that was uploaded and not imported.
func (tx *Tx) DiscardImport(shop int64, id string) error {
	run, err := tx.upload(shop, id)
	if err != nil {
		return err
	}
	tx.deleteImport(run.key)
	tx.audit(shop, "import.discard", KindImport, run.key)
	return tx.failed
}

// deleteImport deletes an import of which nothing was written.
func (tx *Tx) deleteImport(key int64) {
	tx.exec("DELETE FROM import_parts WHERE import_id=?", key)
	tx.exec("DELETE FROM imports WHERE id=?", key)
	tx.noteErased()
}

// undoImported erases the next cards of an import, and ends the undo after the last ones.
func (tx *Tx) undoImported(shop int64, run *ImportRun) {
	roots := tx.keys("SELECT id FROM cards WHERE import_id=? AND id>? ORDER BY id LIMIT ?", run.key, run.through, undoSlice)
	for _, root := range roots {
		run.through = root
		c, err := tx.card(Access{Shop: shop}, tx.ID(KindCard, root))
		switch {
		case err != nil: // it was erased before
			run.Removed++
		case tx.changedSinceImport(root):
			run.Kept++
			tx.note(run.key, 0, root, Detail{"", "not_allowed", "the card was used or changed"})
		default:
			tx.eraseChain(shop, c)
			run.Removed++
		}
	}
	if len(roots) == 0 {
		run.State, run.EndedAt = ImportUndone, Some(tx.Now)
		tx.noteErased() // once for all of its slices
	}
}

// changedSinceImport reports whether a chain was used, changed, also by a newer file, or installed. Its expiry is no change.
func (tx *Tx) changedSinceImport(root int64) bool {
	return tx.number(`SELECT EXISTS (SELECT 1 FROM cards WHERE (id=?1 OR root_id=?1)
			AND (installed_at IS NOT NULL OR updated_at>created_at AND archived_at IS NULL))
		OR EXISTS (SELECT 1 FROM transactions WHERE card_id IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1))
		OR EXISTS (SELECT 1 FROM audit WHERE `+cardAudit+` AND action<>'card.export'
			AND target_id IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1))`, root) > 0
}

// The times after which imports are deleted.
const (
	uploadPeriod = 24 * time.Hour      // of a file that nobody imports
	reportPeriod = 30 * 24 * time.Hour // of the notes, after the end
)

// PruneImports deletes files that nobody has imported for a day, and the notes of imports that ended 30
// days ago.
func (tx *Tx) PruneImports() (more bool, err error) {
	for _, key := range tx.keys("SELECT id FROM imports WHERE state='uploaded' AND created_at<=?", tx.Now.Add(-uploadPeriod)) {
		tx.deleteImport(key)
	}
	n := tx.exec(`DELETE FROM import_notes WHERE id IN (SELECT n.id FROM imports i CROSS JOIN import_notes n ON n.import_id=i.id
		WHERE i.state IN ('done', 'undone') AND i.ended_at<=? LIMIT 1000)`, tx.Now.Add(-reportPeriod))
	return n > 0, tx.failed
}

// eraseFromImports removes the rows that are about the holders of chains from the imports of the shop
// that are not done: those that have a value by which a chain can be found. It reads all rows that
// wait, so it is called once for all chains of a write. An undo does not call it: the rows may be those of the
// corrected file.
func (tx *Tx) eraseFromImports(shop int64, chains []card) {
	values := map[string]bool{}
	for _, c := range chains {
		contact := tx.contact(c.root)
		for _, text := range append(contact.Codes, c.HolderEmail.V, c.ExternalRef.V, contact.Phone.V) {
			if text != "" {
				values[foldCase(text)] = true
			}
		}
	}
	if len(values) == 0 {
		return
	}
	country := tx.cachedShop(shop).CountryCode
	isAbout := func(text string) bool {
		number, faults := parsePhone(country, text)
		code, _ := parseForeignCode(text)
		return values[foldCase(strings.TrimSpace(text))] || values[foldCase(code)] || faults == nil && values[foldCase(number.V)]
	}
	for r := range tx.each(`SELECT import_id, part FROM import_parts
		WHERE import_id IN (SELECT id FROM imports WHERE shop_id=? AND state IN ('uploaded', 'running'))`, shop) {
		run, number := r.int(), r.int()
		rows := part[any](&tx.queries, run, number)
		waiting := len(rows)
		if rows = slices.DeleteFunc(rows, func(row any) bool { return anyText(row, isAbout) }); len(rows) < waiting {
			tx.exec("UPDATE import_parts SET packed=?, rows=? WHERE import_id=? AND part=?", packRows(rows), len(rows), run, number)
		}
	}
}

// anyText reports whether f is true for any text in a value of JSON.
func anyText(value any, f func(string) bool) bool {
	switch v := value.(type) {
	case string:
		return f(v)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return anyText(item, f) })
	case map[string]any:
		return anyText(slices.Collect(maps.Values(v)), f)
	}
	return false
}
