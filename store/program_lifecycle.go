package store

import (
	"slices"

	"punchcard/store/event"
)

// The actions that change a program's state.
const (
	Publish   = "publish"
	Unpublish = "unpublish"
	Suspend   = "suspend"
	Unsuspend = "unsuspend"
)

// ProgramAction publishes, unpublishes, suspends or unsuspends a program. It changes
// nothing if the program is already in the state that the action leads to. An action
// that is not possible in the program's state is a conflict. The table is in
// store/README.md, "Programs and prizes".
func (tx *Tx) ProgramAction(a Access, id, action string) (d ProgramDetail, err error) {
	p, err := tx.program(a, id)
	if err != nil {
		return d, err
	}
	state := "unpublished"
	if p.SuspendedAt.Valid {
		state = "suspended"
	} else if p.PublishedAt.Valid {
		state = "published"
	}
	step := map[string][3]string{ // unpublished, published, suspended
		Publish:   {"UPDATE programs SET published_at=?1, updated_at=?1 WHERE id=?2", "", "conflict"},
		Unpublish: {"", "UPDATE programs SET published_at=NULL, updated_at=?1 WHERE id=?2", "conflict"},
		Suspend:   {"conflict", "UPDATE programs SET suspended_at=?1, updated_at=?1 WHERE id=?2", ""},
		Unsuspend: {"conflict", "", "UPDATE programs SET suspended_at=NULL, updated_at=?1 WHERE id=?2"},
	}[action][slices.Index([]string{"unpublished", "published", "suspended"}, state)]
	switch step {
	case "":
		return p.ProgramDetail, nil
	case "conflict":
		return d, refuse(Conflict, "Cannot %s a program that is %s.", action, state)
	}
	tx.exec(step, tx.Now, p.key)
	return tx.recordProgramChange(a, p.key, "program."+action, map[string]event.Name{
		Publish: event.ProgramPublished, Unpublish: event.ProgramUnpublished,
		Suspend: event.ProgramSuspended, Unsuspend: event.ProgramUnsuspended}[action])
}

// ProgramSettings are what only people set of a program, never a key. Null removes a
// demand or a limit, and an absent field is left alone.
type ProgramSettings struct {
	MinSpendCents   Opt[int64] `json:"min_spend_cents" min:"1" max:"100000000" patch:"nullable" doc:"Minimum purchase for a stamp, in cents; null removes the minimum."`
	MaxStampsPerDay Opt[int64] `json:"max_stamps_per_day" min:"1" max:"1000" patch:"nullable" doc:"Stamps that a card may get on a day of the shop's calendar; null removes the limit."`
	WelcomeStamps   Opt[int64] `json:"welcome_stamps" min:"0" max:"999" patch:"default" doc:"Stamps with which new cards begin, below every threshold and total_stamps; imported cards begin without. Default 0."`
}

// UpdateProgramSettings changes what only people set, also of a frozen program.
func (tx *Tx) UpdateProgramSettings(shop int64, id string, f ProgramSettings) (d ProgramDetail, err error) {
	p, err := tx.program(Access{Shop: shop}, id)
	cents, stamps, old := f.MinSpendCents.Apply(p.minSpendCents), f.MaxStampsPerDay.Apply(p.maxStampsPerDay), p.welcomeStamps
	f.WelcomeStamps.mergeInto(&p.welcomeStamps)
	if err != nil || cents == p.minSpendCents && stamps == p.maxStampsPerDay && old == p.welcomeStamps {
		return p.ProgramDetail, err
	}
	lowest := p.TotalStamps.V
	for _, z := range p.Prizes {
		lowest = min(lowest, z.Threshold)
	}
	if err := p.checkWelcome(lowest); err != nil {
		return d, err
	}
	tx.exec("UPDATE programs SET min_spend_cents=?, max_stamps_per_day=?, welcome_stamps=?, updated_at=? WHERE id=?", cents, stamps,
		p.welcomeStamps, tx.Now, p.key)
	return tx.recordProgramChange(Access{Shop: shop}, p.key, "program.update", event.ProgramUpdated)
}

// checkWelcome refuses a threshold or total_stamps that a new card would have reached already.
func (p *program) checkWelcome(goal int64) error {
	if p.welcomeStamps == 0 || p.welcomeStamps < goal {
		return nil
	}
	return refuse(Unprocessable, "New cards begin with welcome_stamps of %d, which must be below every threshold and total_stamps.",
		p.welcomeStamps)
}

// DeleteProgram deletes a program and its webhooks, and archives its cards. Its ledger
// stays. No key deletes programs.
func (tx *Tx) DeleteProgram(shop int64, id string) error {
	p, err := tx.program(Access{Shop: shop}, id)
	if err != nil {
		return err
	}
	for _, key := range tx.keys("SELECT id FROM cards WHERE program_id=? AND deleted_at IS NULL AND archived_at IS NULL ORDER BY id", p.key) {
		tx.emit(pendingEvent{name: event.CardArchived, shop: shop, program: p.key, card: key})
	}
	tx.exec(`UPDATE shops SET live_cards=live_cards-(SELECT count(*) FROM cards WHERE program_id=? AND live=1 AND deleted_at IS NULL)
			WHERE id=?`, p.key, shop)
	tx.exec(`UPDATE cards SET archived_at=ifnull(archived_at, ?1), updated_at=?1, live=0 WHERE program_id=?2 AND deleted_at IS NULL
			AND (archived_at IS NULL OR live=1)`, tx.Now, p.key)
	logo := Null[string]{}
	tx.one(into(&logo), "SELECT ifnull(logo_hash, '') FROM programs WHERE id=?", p.key)
	tx.exec("UPDATE programs SET deleted_at=?1, updated_at=?1, logo_hash=NULL WHERE id=?2", tx.Now, p.key)
	tx.dropLogo(logo)
	tx.exec("DELETE FROM enrolments WHERE program_id=?", p.key) // which gives up the address; the consents stay, as the cards do
	tx.exec(deleteWebhooks+"program_id=?2 AND deleted_at IS NULL", tx.Now, p.key)
	for _, root := range tx.keys("SELECT id FROM cards WHERE program_id=? AND deleted_at IS NULL AND copies & ?", p.key, CopyBrowser) {
		tx.endSubscriptions(root)
	}
	tx.programChanged(p.key)
	tx.exec("DELETE FROM mails WHERE card_id IN (SELECT id FROM cards WHERE program_id=? AND deleted_at IS NULL)", p.key)
	tx.audit(shop, "program.delete", KindProgram, p.key)
	tx.emit(pendingEvent{name: event.ProgramDeleted, shop: shop, program: p.key})
	tx.bumpAuth()
	return tx.failed
}
