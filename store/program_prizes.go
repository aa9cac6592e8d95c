package store

import (
	"maps"
	"slices"

	"punchcard/store/event"
)

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
	Ordinal                  Opt[int64]             `json:"ordinal" min:"0" max:"9007199254740991" doc:"Default: after the last one."`
}

// ladder returns the program's prizes by (ordinal, id).
func (q *queries) ladder(program int64) []Prize {
	return collect(q, func(r *rows) Prize {
		z := Prize{ProgramID: q.ID(KindProgram, program)}
		r.scan(q.into(KindPrize, &z.ID), &z.Threshold, &z.Name, &z.Description, &z.Ordinal, &z.CreatedAt, &z.UpdatedAt)
		return z
	}, `SELECT id, threshold, name, description, ordinal, created_at, updated_at FROM prizes WHERE program_id=?
		ORDER BY ordinal, id`, program)
}

// AddPrize adds a prize to a stamp program's ladder. A prize that breaks the rules of
// the ladder is refused as unprocessable (see checkLadder).
func (tx *Tx) AddPrize(a Access, programID string, f PrizeFields) (prize Prize, err error) {
	p, err := tx.program(a, programID)
	if err != nil {
		return prize, err
	}
	if err = p.checkLadderEditable(); err != nil {
		return prize, err
	}
	prize = Prize{
		ProgramID:   programID,
		Threshold:   f.Threshold.V,
		Name:        f.Name.V,
		Description: f.Description.Or(""),
		CreatedAt:   tx.Now,
		UpdatedAt:   tx.Now,
	}
	for _, o := range p.Prizes {
		prize.Ordinal = max(prize.Ordinal, o.Ordinal+1)
	}
	prize.Ordinal = f.Ordinal.Or(prize.Ordinal)
	if err = tx.checkLadder(p, prize); err != nil {
		return prize, err
	}
	key := tx.insert(
		`INSERT INTO prizes (program_id, threshold, name, name_localizations, description, description_localizations, ordinal,
			created_at, updated_at)
		VALUES (?,?,?,?,?,?,?,?,?)`, p.key, prize.Threshold, prize.Name, localizedJSON(f.NameLocalizations, ""), prize.Description,
		localizedJSON(f.DescriptionLocalizations, ""), prize.Ordinal, tx.Now, tx.Now)
	prize.ID = tx.ID(KindPrize, key)
	return prize, tx.recordLadderChange(a, p, "prize.create", key)
}

// checkLadderEditable refuses a program that has no ladder, or a frozen one.
func (p *program) checkLadderEditable() error {
	switch {
	case !CollectsStamps(p.Type):
		return refuse(Unprocessable, "Only stamp programs have prizes; this one is of type %s.", p.Type)
	case p.HasInstalledCards:
		return errInstalled
	}
	return nil
}

// checkLadder checks that a prize and the program's other prizes are within
// total_stamps and the numbers of thresholds and of options of a threshold, and above what
// new cards begin with.
func (tx *Tx) checkLadder(p program, prize Prize) error {
	if prize.Threshold > p.TotalStamps.V {
		return refuse(Unprocessable, "The threshold %d is above the program's total_stamps of %d.", prize.Threshold, p.TotalStamps.V)
	}
	options := map[int64]int{}
	for _, o := range p.Prizes {
		if o.ID != prize.ID {
			options[o.Threshold]++
		}
	}
	options[prize.Threshold]++
	l := tx.Limits
	if len(options) > l.PrizeThresholds {
		return refuse(Unprocessable, "A program has at most %d distinct thresholds.", l.PrizeThresholds)
	}
	if options[prize.Threshold] > l.PrizeOptions {
		return refuse(Unprocessable, "A threshold has at most %d options.", l.PrizeOptions)
	}
	return p.checkWelcome(prize.Threshold)
}

// recordLadderChange audits a change of the ladder and emits program.updated. p is
// the program before the change.
func (tx *Tx) recordLadderChange(a Access, p program, action string, prize int64) (err error) {
	tx.exec("UPDATE programs SET updated_at=? WHERE id=?", tx.Now, p.key)
	tx.bumpAuth() // programs are cached by epoch
	tx.programChanged(p.key)
	changed := p
	changed.Prizes = tx.ladder(p.key)
	tx.countLadder(&p, &changed)
	tx.emit(pendingEvent{name: event.ProgramUpdated, shop: a.Shop, program: p.key})
	tx.audit(a.Shop, action, KindPrize, prize)
	return tx.failed
}

// programAndPrize finds a program and one of its prizes.
func (tx *Tx) programAndPrize(a Access, programID, prizeID string) (p program, key int64, prize Prize, err error) {
	if p, err = tx.program(a, programID); err != nil {
		return p, 0, prize, err
	}
	key, _ = tx.Key(KindPrize, prizeID)
	prize, err = p.prize(prizeID)
	return p, key, prize, err
}

// prize returns a prize of the program's ladder.
func (p *program) prize(id string) (Prize, error) {
	for _, prize := range p.Prizes {
		if prize.ID == id {
			return prize, nil
		}
	}
	return Prize{}, notFound("prize")
}

// UpdatePrize changes the fields that f sets. If f sets none, it changes nothing,
// also in a frozen program. A prize that has the values already stays as it is.
func (tx *Tx) UpdatePrize(a Access, programID, prizeID string, f PrizeFields) (prize Prize, err error) {
	p, key, prize, err := tx.programAndPrize(a, programID, prizeID)
	if err != nil || !namesAnyField(&f) {
		return prize, err
	}
	if err = p.checkLadderEditable(); err != nil {
		return prize, err
	}
	old := prize
	merge(&prize, f)
	var oldNames, oldDescriptions string
	tx.one(into(&oldNames, &oldDescriptions), "SELECT name_localizations, description_localizations FROM prizes WHERE id=?", key)
	names, descriptions := localizedJSON(f.NameLocalizations, oldNames), localizedJSON(f.DescriptionLocalizations, oldDescriptions)
	if prize == old && names == oldNames && descriptions == oldDescriptions {
		return prize, tx.failed
	}
	if err = tx.checkLadder(p, prize); err != nil {
		return prize, err
	}
	prize.UpdatedAt = tx.Now
	tx.exec(
		`UPDATE prizes SET threshold=?, name=?, name_localizations=?, description=?, description_localizations=?, ordinal=?, updated_at=?
			WHERE id=?`, prize.Threshold, prize.Name, names, prize.Description, descriptions, prize.Ordinal, tx.Now, key)
	return prize, tx.recordLadderChange(a, p, "prize.update", key)
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

// PrizeOrder are the fields of OrderPrizes.
type PrizeOrder struct {
	PrizeIDs Opt[[]string] `json:"prize_ids" req:"true" max:"1000" doc:"All prizes of the program, in the new order."`
}

// OrderPrizes puts the prizes of a program in another order. It is refused if the ids are
// not those of all prizes, as after somebody else added one.
func (tx *Tx) OrderPrizes(a Access, programID string, f PrizeOrder) (d ProgramDetail, err error) {
	p, err := tx.program(a, programID)
	if err != nil {
		return d, err
	}
	if err = p.checkLadderEditable(); err != nil {
		return d, err
	}
	moved := map[int64]int64{} // the new ordinals of the prizes that move
	seen := map[string]bool{}
	for i, id := range f.PrizeIDs.V {
		z, err := p.prize(id)
		if err != nil || seen[id] {
			return d, errOtherPrizes
		}
		seen[id] = true
		if key, _ := tx.Key(KindPrize, id); z.Ordinal != int64(i) {
			moved[key] = int64(i)
		}
	}
	switch {
	case len(seen) != len(p.Prizes):
		return d, errOtherPrizes
	case len(moved) == 0:
		return p.ProgramDetail, nil
	}
	keys := slices.Sorted(maps.Keys(moved))
	for _, key := range keys {
		tx.exec("UPDATE prizes SET ordinal=?, updated_at=? WHERE id=?", moved[key], tx.Now, key)
	}
	for _, key := range keys[1:] {
		tx.audit(a.Shop, "prize.update", KindPrize, key)
	}
	if err := tx.recordLadderChange(a, p, "prize.update", keys[0]); err != nil {
		return d, err
	}
	p, err = tx.program(a, programID)
	return p.ProgramDetail, err
}

var errOtherPrizes = refuse(Conflict, "The prizes of this program have changed meanwhile. Look at them again.")
