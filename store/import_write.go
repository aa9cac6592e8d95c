package store

import (
	"crypto/sha256"
	"iter"
	"slices"
	"strings"

	"punchcard/store/event"
)

// ImportFile is a file that is imported.
type ImportFile struct {
	Name    Null[string]
	Hash    [sha256.Size]byte // of the file
	Columns []string
	Rows    iter.Seq[RawRow]
	upload  int64 // see Upload; 0: the file was not uploaded before
}

// key returns what is the same for the same file, program and mapping, which is that of all columns.
func (f ImportFile) key(o ImportOptions) []byte {
	sum := sha256.Sum256([]byte(jsonText([]any{f.Hash, o.ProgramID.V, o.Map.V, o.StampsPer.Or(1)})))
	return sum[:]
}

// UploadImport stores a file whose mapping a person chooses next. It replaces an earlier one of the
// shop that was not imported.
func (tx *Tx) UploadImport(shop int64, f ImportFile, rows *ImportParts) (ImportRun, error) {
	for _, key := range tx.keys("SELECT id FROM imports WHERE shop_id=? AND state='uploaded'", shop) {
		tx.deleteImport(key)
	}
	key := tx.insert("INSERT INTO imports (shop_id, file_name, hash, columns, state, rows, created_at) VALUES (?,?,?,?,?,?,?)", shop,
		f.Name, f.Hash[:], jsonText(f.Columns), ImportUploaded, rows.n, tx.Now)
	tx.storeParts(key, rows)
	tx.audit(shop, "import.upload", KindImport, key)
	return tx.ImportRun(shop, tx.ID(KindImport, key))
}

// Upload returns a file that was uploaded and not imported yet. Its rows are read while they are ranged over.
func (v *View) Upload(shop int64, id string) (f ImportFile, err error) {
	v.snapshot()
	run, err := v.upload(shop, id)
	if err != nil {
		return f, err
	}
	f.Name, f.upload = run.FileName, run.key
	v.one(func(r *rows) { r.json(&f.Columns); copy(f.Hash[:], r.bytes()) }, "SELECT columns, hash FROM imports WHERE id=?", run.key)
	f.Rows = func(yield func(RawRow) bool) {
		for _, number := range v.keys("SELECT part FROM import_parts WHERE import_id=? ORDER BY part", run.key) {
			for _, r := range part[RawRow](&v.queries, run.key, number) {
				if !yield(r) {
					return
				}
			}
		}
	}
	return f, v.failed
}

// upload returns an import that was not begun.
func (q *queries) upload(shop int64, id string) (ImportRun, error) {
	run, err := q.ImportRun(shop, id)
	if err == nil && run.State != ImportUploaded {
		err = refuse(Conflict, "The file is imported already.")
	}
	return run, err
}

// KnownImport returns the import of the same file, program and mapping that was not undone, if there
// is one.
func (q *queries) KnownImport(shop int64, f ImportFile, o ImportOptions) (run Null[ImportRun], err error) {
	q.one(func(r *rows) { run = Some(q.scanImport(r)) }, "SELECT "+importCols+` FROM imports i WHERE i.shop_id=? AND i.hash=?
		AND i.state IN ('running', 'done') LIMIT 1`, shop, f.key(o))
	return run, q.failed
}

// StartImport begins an import, whose rows ContinueImport writes. The report is what was found in the file: if it is of an
// upload of which some rows were erased since, StartImport refuses. The same file, program and mapping are imported once.
func (tx *Tx) StartImport(shop int64, f ImportFile, o ImportOptions, rows *ImportParts, r ImportReport) (ImportRun, error) {
	if known, err := tx.KnownImport(shop, f, o); known.Valid || err != nil {
		return known.V, err
	}
	p, err := tx.program(Access{Shop: shop}, o.ProgramID.V)
	if err != nil {
		return ImportRun{}, err
	}
	if err := tx.requireMailServer(o.SendEmail); err != nil {
		return ImportRun{}, err
	}
	if f.upload != 0 {
		upload, err := tx.upload(shop, tx.ID(KindImport, f.upload))
		if err != nil {
			return ImportRun{}, err
		}
		if upload.Left != r.Rows+r.Other+r.Archived {
			return ImportRun{}, refuse(Conflict, "The file has changed meanwhile. Look at it again.")
		}
		tx.deleteImport(upload.key)
	}
	key := tx.insert(`INSERT INTO imports (shop_id, program_id, file_name, hash, columns, options, state, rows, skipped, other_program,
		points_left, created_at, invite_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`, shop, p.key, f.Name, f.key(o), jsonText(f.Columns),
		jsonText(o), ImportRunning, r.Rows, r.Faulty, r.Other, r.PointsLeft, tx.Now, Null[Time]{tx.Now, o.SendEmail.V})
	tx.storeParts(key, rows)
	for _, f := range r.Faults {
		tx.note(key, f.Line, 0, f.Detail)
	}
	tx.audit(shop, "import.start", KindImport, key)
	tx.AfterCommit(func() { wake(tx.s.importsDue) })
	return tx.ImportRun(shop, tx.ID(KindImport, key))
}

// ImportsDue returns a channel that receives when an import begins or is undone.
func (s *Store) ImportsDue() <-chan struct{} { return s.importsDue }

// ContinueImport works on the next rows of an import or, of one that is undone, on the next cards.
// It does nothing for other imports.
func (tx *Tx) ContinueImport(shop int64, id string) (ImportRun, error) {
	run, err := tx.ImportRun(shop, id)
	if err != nil {
		return run, err
	}
	tx.requireOpen(shop) // a copy of the shop has the rows that wait
	switch run.State {
	case ImportRunning:
		tx.importPart(shop, &run)
	case ImportUndoing:
		tx.undoImported(shop, &run)
	default:
		return run, tx.failed
	}
	tx.exec(`UPDATE imports SET state=?, added=?, updated=?, unchanged=?, skipped=?, removed=?, kept=?, through=?, ended_at=? WHERE id=?`,
		run.State, run.Added, run.Updated, run.Unchanged, run.Skipped, run.Removed, run.Kept, run.through, run.EndedAt, run.key)
	if !run.options.Events.V {
		tx.events, tx.lastEvents = nil, nil
	}
	return tx.ImportRun(shop, id)
}

// ImportsWait reports whether imports are to be continued or invitations to be mailed. A server asks
// before it writes, so that one that has nothing to do holds no lock.
func (v *View) ImportsWait() (bool, error) {
	n := v.number(`SELECT EXISTS (SELECT 1 FROM imports WHERE state IN ('running', 'undoing') AND `+ofOpenShop+`)
		OR EXISTS (SELECT 1 FROM imports WHERE invite_at<=? AND `+ofOpenShop+`)`, v.Now)
	return n > 0, v.failed
}

// ContinueImports works on an import of any shop, and reports whether there was one.
func (tx *Tx) ContinueImports() (more bool, err error) {
	var key, shop int64
	if !tx.one(into(&key, &shop), "SELECT id, shop_id FROM imports WHERE state IN ('running', 'undoing') AND "+ofOpenShop+" LIMIT 1") {
		return false, tx.failed
	}
	_, err = tx.ContinueImport(shop, tx.ID(KindImport, key))
	return true, err
}

// importPart writes the next rows of an import, and ends it after the last ones.
func (tx *Tx) importPart(shop int64, run *ImportRun) {
	number := tx.number("SELECT ifnull(min(part), -1) FROM import_parts WHERE import_id=?", run.key)
	if number < 0 {
		run.State, run.EndedAt = ImportDone, Some(tx.Now)
		tx.noteErased() // of its rows, once for all of its parts
		return
	}
	c, err := tx.importCheck(shop, run.options)
	for _, r := range part[ImportRow](&tx.queries, run.key, number) {
		if err != nil {
			run.Skipped++
			tx.note(run.key, r.Line, 0, Detail{"program", "not_allowed", "the program was deleted"})
			continue
		}
		tx.importRow(c, run, r)
	}
	tx.exec("DELETE FROM import_parts WHERE import_id=? AND part=?", run.key, number)
}

// importRow writes a row, or notes why it cannot.
func (tx *Tx) importRow(c *ImportCheck, run *ImportRun, r ImportRow) {
	plan, faults := c.Row(r)
	switch {
	case faults != nil:
		run.Skipped++
		for _, d := range faults {
			if strings.HasPrefix(d.Field, "codes.") { // which column has the code is no longer known
				d.Field = "code"
			}
			tx.note(run.key, r.Line, 0, d)
		}
	case plan.Refused != nil:
		run.Skipped++
		tx.note(run.key, r.Line, plan.match, *plan.Refused)
	case plan.New():
		run.Added++
		tx.addImported(c, run, &plan)
	case tx.updateImported(c, &plan):
		run.Updated++
	default:
		run.Unchanged++
	}
}

// addImported adds the card of a row.
func (tx *Tx) addImported(c *ImportCheck, run *ImportRun, plan *ImportPlan) {
	r, p := &plan.row, c.program
	balance, expires := Null[int64]{}, r.ExpiresAt.Value()
	if p.Type == ProgramPrepaid {
		balance = Some(plan.Balance)
	}
	if !r.ExpiresAt.Set { // an empty cell is null, and means that the card does not expire
		expires = tx.defaultExpiry(p.DefaultExpireAfterDays)
	}
	stamps := min(r.Stamps.V, p.TotalStamps.V)
	email := r.HolderEmail.Value()
	root := tx.insert(`INSERT INTO cards (id, shop_id, program_id, source, external_ref, holder_name, holder_email, email_key,
		current_value, initial_value,
		expires_at, live, created_at, updated_at, last_seen_day, stamps_count, opening_stamps, opening_left, import_id)
		VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?9,?10,1,?11,?11,?12,?13,?13,?13,?14)`, tx.nextKey("cards"), c.key, p.key, SourceImport,
		r.ExternalRef.Value(), r.HolderName.Value(), email, emailKey(email), balance, expires, tx.Now, plan.seen, stamps, run.key)
	tx.countIssued(c.key, p.key)
	tx.fail(tx.setContact(c.key, root, HolderContact{}, plan.contact))
	tx.emit(pendingEvent{name: event.CardAdded, shop: c.key, program: p.key, card: root})
	if r.Stamps.V < p.TotalStamps.V && plan.claims == nil { // most cards, of which nothing else is to be written
		tx.counts.addTotals(p.key, totals{balance: balance.V, open: oneIf(r.Stamps.V > 0)})
		return
	}
	chain := tx.importedChain(c, root)
	tx.setOpening(chain, r.Stamps.V, plan)
	tx.countOpening(chain, 1)
	tx.archiveCompleted(chain)
}

// importedChain returns the chain of a root.
func (tx *Tx) importedChain(c *ImportCheck, root int64) *cardChain {
	chain := tx.chainByRoot(Till{Shop: c.key}, root)
	chain.setProgram(c.program)
	return chain
}

// setOpening gives the cards of a chain without a ledger the stamps that they begin with, and the prizes
// that were redeemed on them. Those of an earlier file stay as long as there are stamps for them, if the plan's has none.
func (tx *Tx) setOpening(chain *cardChain, stamps int64, plan *ImportPlan) {
	if !CollectsStamps(chain.program.Type) || tx.failed != nil {
		return
	}
	total := chain.program.TotalStamps.V
	for n := len(chain.instances); stamps > total*int64(n); n++ {
		tx.addOverflowCard(chain, chain.instances[n-1])
	}
	for i, c := range chain.instances {
		n := min(stamps, total)
		stamps -= n
		if c.StampsCount != n {
			c.StampsCount, c.openingLeft = n, n
			tx.exec("UPDATE cards SET stamps_count=?1, opening_stamps=?1, opening_left=?1 WHERE id=?2", n, c.key)
		}
		known := i == 0 && plan.row.Claimed.Set || i > 0 && plan.row.ClaimedOverflow.Set
		tx.exec("DELETE FROM claims WHERE card_id=? AND (? OR threshold>?)", c.key, known, n)
		for _, claim := range plan.claims {
			if claim.card == i {
				tx.exec("INSERT INTO claims (card_id, cycle, threshold, prize_id) VALUES (?,?,?,?)", c.key, c.cycle, claim.threshold,
					claim.prize)
			}
		}
	}
}

// countOpening adds what the cards of a chain have to the sums of their program, or takes it off.
func (tx *Tx) countOpening(chain *cardChain, sign int64) {
	for _, c := range chain.instances {
		t := totals{balance: sign * c.CurrentValue.V}
		if c.StampsCount > 0 {
			finished := chain.isFull(c) && tx.nothingToClaim(chain, c)
			t.completed, t.open = sign*oneIf(finished), sign*oneIf(!finished)
		}
		tx.counts.addTotals(c.program, t)
	}
}

// updateImported gives a card that an import made what a newer file says of it, and reports whether
// that is something new. What the file does not have stays.
func (tx *Tx) updateImported(c *ImportCheck, plan *ImportPlan) bool {
	r, root := &plan.row, plan.match
	chain := tx.importedChain(c, root)
	before := tx.importedState(root)
	first := chain.first
	name, email := r.HolderName.Apply(first.HolderName), r.HolderEmail.Apply(first.HolderEmail)
	expires := r.ExpiresAt.Apply(first.ExpiresAt)
	if name != first.HolderName || email != first.HolderEmail || expires != first.ExpiresAt {
		tx.reindexChain(c.key, root, true, name)
		tx.exec("UPDATE cards SET holder_name=?, holder_email=?, email_key=?, expires_at=? WHERE "+inChain, name, email, emailKey(email),
			expires, root, root)
	}
	old := tx.contact(root)
	contact, _ := r.apply(old, c.Shop.CountryCode)
	contact.MemberSince = r.MemberSince.Apply(old.MemberSince)
	tx.fail(tx.setContact(c.key, root, old, contact))
	if plan.seen > 0 {
		tx.exec("UPDATE cards SET last_seen_day=? WHERE id=?", plan.seen, root)
	}
	tx.countOpening(chain, -1)
	if r.Balance.Set && c.program.Type == ProgramPrepaid {
		chain.instances[0].CurrentValue = r.Balance.Value()
		tx.exec("UPDATE cards SET current_value=?1, initial_value=?1 WHERE id=?2", r.Balance.V, root)
	}
	if r.Stamps.Set || r.Claimed.Set || r.ClaimedOverflow.Set {
		tx.setOpening(chain, r.Stamps.Or(chain.stamps()), plan)
	}
	tx.countOpening(chain, 1)
	for _, i := range slices.Clone(chain.instances) { // an overflow card that is no longer needed
		if i.child && i.StampsCount == 0 {
			tx.archiveInstance(chain, i)
		}
	}
	tx.archiveCompleted(chain)
	if tx.importedState(root) == before {
		return false
	}
	tx.exec("UPDATE cards SET updated_at=? WHERE "+inChain, tx.Now, root, root)
	tx.cardChanged(root)
	return true
}

// importedState returns a text that differs if anything of a chain differs that an import may change.
func (tx *Tx) importedState(root int64) (state string) {
	tx.one(into(&state), `SELECT json_array((SELECT json_group_array(json_array(id, holder_name, holder_email, expires_at, stamps_count,
			current_value, archived_at, last_seen_day)) FROM cards WHERE id=?1 OR root_id=?1),
		(SELECT json_group_array(json_array(phone, birthday, note, member_since)) FROM contacts WHERE card_id=?1),
		(SELECT json_group_array(barcode) FROM foreign_codes WHERE card_id=?1),
		(SELECT json_group_array(json_array(card_id, threshold)) FROM claims
			WHERE card_id IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1)))`, root)
	return state
}
