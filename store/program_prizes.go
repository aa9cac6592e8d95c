package store

import "punchcard/store/event"

// Prize is an option of a program's prize ladder.
type Prize struct {
	ID          string `json:"id" min:"1" doc:"Opaque."`
	ProgramID   string `json:"program_id"`
	Threshold   int64  `json:"threshold" min:"0" doc:"Stamp count that unlocks the prize."`
	Name        string `json:"name" min:"1"`
	Description string `json:"description"`
	Ordinal     int64  `json:"ordinal" min:"0" doc:"Ordering within the ladder."`
	CreatedAt   Time   `json:"created_at"`
	UpdatedAt   Time   `json:"updated_at"`
}

// PrizeFields is the body of creating and updating a prize.
type PrizeFields struct {
	Threshold                Opt[int64]             `json:"threshold" req:"true" min:"0" doc:"At most the program's total_stamps."`
	Name                     Opt[string]            `json:"name" req:"true" min:"1" limit:"prize_name" format:"line"`
	NameLocalizations        Opt[map[string]string] `json:"name_localizations" keys:"it,en,es,fr,de,pt" limit:"localization" min:"1" format:"line" patch:"default" doc:"By language. In a PATCH, null empties it."`
	Description              Opt[string]            `json:"description" limit:"prize_description" patch:"default" doc:"Default empty; in a PATCH, null empties it."`
	DescriptionLocalizations Opt[map[string]string] `json:"description_localizations" keys:"it,en,es,fr,de,pt" limit:"localization" patch:"default" doc:"By language. In a PATCH, null empties it."`
	Ordinal                  Opt[int64]             `json:"ordinal" min:"0" max:"1000000" doc:"Default: after the last one."`
}

// ladder returns the program's prizes by (ordinal, id).
func (s *Store) ladder(c *conn, program int64) ([]Prize, error) {
	return list(c, func(r *rows) Prize {
		return Prize{ID: s.ID(KindPrize, r.int()), ProgramID: s.ID(KindProgram, program), Threshold: r.int(), Name: r.str(), Description: r.str(),
			Ordinal: r.int(), CreatedAt: r.time(), UpdatedAt: r.time()}
	}, "SELECT "+columns("id", "threshold", "name", "description", "ordinal", "created_at", "updated_at")+" FROM prizes WHERE program_id=? ORDER BY ordinal, id", program)

}

// AddPrize adds a prize to a stamp program's ladder. A prize that breaks the rules of
// the ladder is refused as unprocessable (see checkLadder).
func (tx *Tx) AddPrize(a Access, programID string, f PrizeFields) (z Prize, err error) {
	p, err := tx.s.program(tx.conn, a, programID)
	if err != nil {
		return z, err
	}
	if err = p.checkLadderEditable(); err != nil {
		return z, err
	}
	z = Prize{ProgramID: programID, Threshold: f.Threshold.V, Name: f.Name.V, Description: f.Description.Or(""), CreatedAt: tx.Now, UpdatedAt: tx.Now}
	for _, o := range p.Prizes {
		z.Ordinal = max(z.Ordinal, o.Ordinal+1)
	}
	z.Ordinal = f.Ordinal.Or(z.Ordinal)
	if err = tx.checkLadder(p, z); err != nil {
		return z, err
	}
	key := tx.insert(`INSERT INTO prizes (program_id, threshold, name, name_localizations, description, description_localizations, ordinal, created_at, updated_at)
		VALUES (?,?,?,?,?,?,?,?,?)`, p.key, z.Threshold, z.Name, localizedJSON(f.NameLocalizations, ""), z.Description, localizedJSON(f.DescriptionLocalizations, ""),
		z.Ordinal, tx.Now, tx.Now)
	z.ID = tx.s.ID(KindPrize, key)
	return z, tx.recordLadderChange(a, p, "prize.create", key)
}

// checkLadderEditable refuses a program that has no ladder, or a frozen one.
func (p *program) checkLadderEditable() error {
	switch {
	case !CollectsStamps(p.Type):
		return refuse(Unprocessable, "Only stamp programs have prizes; this one is of type %s.", p.Type)
	case p.HasInstalledCards:
		return errInstalled()
	}
	return nil
}

// checkLadder checks that z and the program's other prizes are within total_stamps and
// the numbers of thresholds and of options of a threshold.
func (tx *Tx) checkLadder(p program, z Prize) error {
	if z.Threshold > p.TotalStamps.V {
		return refuse(Unprocessable, "The threshold %d is above the program's total_stamps of %d.", z.Threshold, p.TotalStamps.V)
	}
	options := map[int64]int{}
	for _, o := range p.Prizes {
		if o.ID != z.ID {
			options[o.Threshold]++
		}
	}
	options[z.Threshold]++
	l := tx.Limits
	if len(options) > l.PrizeThresholds {
		return refuse(Unprocessable, "A program has at most %d distinct thresholds.", l.PrizeThresholds)
	}
	if options[z.Threshold] > l.PrizeOptions {
		return refuse(Unprocessable, "A threshold has at most %d options.", l.PrizeOptions)
	}
	return nil
}

// recordLadderChange audits a change of the ladder and emits program.updated. p is
// the program before the change.
func (tx *Tx) recordLadderChange(a Access, p program, action string, prize int64) (err error) {
	tx.exec("UPDATE programs SET updated_at=? WHERE id=?", tx.Now, p.key)
	tx.bumpAuth() // programs are cached by epoch
	changed := p
	if changed.Prizes, err = tx.s.ladder(tx.conn, p.key); err != nil {
		return err
	}
	tx.countLadder(&p, &changed)
	tx.emit(pendingEvent{name: event.ProgramUpdated, shop: a.Shop, program: p.key})
	tx.audit(a.Shop, action, KindPrize, prize, "")
	return tx.failed
}

// programAndPrize finds a program and one of its prizes.
func (tx *Tx) programAndPrize(a Access, programID, prizeID string) (p program, key int64, z Prize, err error) {
	if p, err = tx.s.program(tx.conn, a, programID); err != nil {
		return p, 0, z, err
	}
	key, _ = tx.s.Key(KindPrize, prizeID)
	z, err = p.prize(prizeID)
	return p, key, z, err
}

// prize returns a prize of the program's ladder.
func (p *program) prize(id string) (Prize, error) {
	for _, z := range p.Prizes {
		if z.ID == id {
			return z, nil
		}
	}
	return Prize{}, notFound("prize")
}

// UpdatePrize changes the fields that f sets. If f sets none, it changes nothing,
// also in a frozen program. A prize that has the values already stays as it is.
func (tx *Tx) UpdatePrize(a Access, programID, prizeID string, f PrizeFields) (z Prize, err error) {
	p, key, z, err := tx.programAndPrize(a, programID, prizeID)
	if err != nil || !namesAnyField(&f) {
		return z, err
	}
	if err = p.checkLadderEditable(); err != nil {
		return z, err
	}
	old := z
	z.Threshold, z.Name, z.Ordinal = f.Threshold.Or(z.Threshold), f.Name.Or(z.Name), f.Ordinal.Or(z.Ordinal)
	if f.Description.Set {
		z.Description = f.Description.Or("")
	}
	var oldNames, oldDescriptions string
	tx.one(func(r *rows) { oldNames, oldDescriptions = r.str(), r.str() }, "SELECT "+columns("name_localizations", "description_localizations")+" FROM prizes WHERE id=?", key)
	names, descriptions := localizedJSON(f.NameLocalizations, oldNames), localizedJSON(f.DescriptionLocalizations, oldDescriptions)
	if z == old && names == oldNames && descriptions == oldDescriptions {
		return z, tx.failed
	}
	if err = tx.checkLadder(p, z); err != nil {
		return z, err
	}
	z.UpdatedAt = tx.Now
	tx.exec("UPDATE prizes SET threshold=?, name=?, name_localizations=?, description=?, description_localizations=?, ordinal=?, updated_at=? WHERE id=?",
		z.Threshold, z.Name, names, z.Description, descriptions, z.Ordinal, tx.Now, key)
	return z, tx.recordLadderChange(a, p, "prize.update", key)
}

// DeletePrize deletes a prize. One that was ever redeemed is refused with conflict, and
// so is any prize of a frozen program, with program_has_installed_cards.
func (tx *Tx) DeletePrize(a Access, programID, prizeID string) error {
	p, key, _, err := tx.programAndPrize(a, programID, prizeID)
	if err != nil {
		return err
	}
	if err := p.checkLadderEditable(); err != nil {
		return err
	}
	if tx.number("SELECT redemptions FROM prizes WHERE id=?", key) > 0 {
		return refuse(Conflict, "The prize was redeemed before and stays in the ledger.")
	}
	tx.exec("DELETE FROM prizes WHERE id=?", key)
	return tx.recordLadderChange(a, p, "prize.delete", key)
}
