package store

import "punchcard/store/event"

// ProgramTarget says where a program is copied to.
type ProgramTarget struct {
	Shop Opt[string] `json:"to_shop_id" req:"true" min:"1" max:"255" doc:"The shop that gets the copy: its id or name."`
}

// CopyProgram copies a program with its prizes, texts, logo and settings, unpublished, into a shop
// of the same file. The copy is for all locations, since those of the program are the other shop's,
// and without the form for new cards, whose address is unique. A program with amounts is refused
// between shops of two currencies, since amounts are in the smallest unit of the shop's.
func (tx *Tx) CopyProgram(from int64, id string, to int64) (d ProgramDetail, err error) {
	p, err := tx.program(Access{Shop: from}, id)
	if err != nil {
		return d, err
	}
	source, target := tx.shop(from), tx.shop(to)
	if source.Currency != target.Currency && (p.minSpendCents.Valid || p.InitialBalanceCents.Valid) {
		return d, refuse(
			Unprocessable,
			"The program has amounts in %s, and the other shop's currency is %s: make the program there by hand.",
			source.Currency, target.Currency,
		)
	}
	old := p.key
	p.LocationScope = allLocations
	tx.insertProgram(to, &p)
	tx.exec(`UPDATE programs SET (min_spend_cents, max_stamps_per_day, welcome_stamps, logo_hash)=(SELECT min_spend_cents,
		max_stamps_per_day, welcome_stamps, logo_hash FROM programs WHERE id=?) WHERE id=?`, old, p.key)
	tx.exec(`INSERT INTO prizes (program_id, threshold, name, name_localizations, description, description_localizations, ordinal,
		created_at, updated_at) SELECT ?1, threshold, name, name_localizations, description, description_localizations, ordinal, ?2, ?2
		FROM prizes WHERE program_id=?3 ORDER BY ordinal, id`, p.key, tx.Now, old)
	return tx.recordProgramChange(Access{Shop: to}, p.key, "program.create", event.ProgramCreated)
}
