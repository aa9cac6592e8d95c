package store

import (
	"fmt"
	"slices"
	"time"
)

// The actions of a run.
const (
	RunLock     = "lock"
	RunUnlock   = "unlock"
	RunArchive  = "archive"
	RunExtend   = "extend"
	RunGoodwill = "goodwill"
)

// The states of a run.
const (
	RunRunning = "running"
	RunDone    = "done"
	RunStopped = "stopped"
)

// The bounds of runs. A slice is one write, after which tills have their turn.
const (
	runSliceCards  = 20
	runSliceVisits = 500
	maxRunRefusals = 100
	runKept        = 30 * 24 * time.Hour
	runListed      = 20
)

// RunFields is the body of a change of many cards.
type RunFields struct {
	Action  Opt[string]   `json:"action" req:"true" enum:"lock,unlock,archive,extend,goodwill" doc:"extend sets a later expires_at where a card has an earlier one; goodwill gives stamps."`
	CardIDs Opt[[]string] `json:"card_ids" max:"100" doc:"The cards; without them all cards that pass the filters."`
	All     Opt[bool]     `json:"all" doc:"True: all cards that pass the filters."`
	ListFilter
	Stamps     Opt[int64]  `json:"stamps" min:"1" max:"100" doc:"For each card, with goodwill."`
	LocationID Opt[string] `json:"location_id" doc:"That the ledger names, with goodwill."`
	Reason     Opt[string] `json:"reason" min:"1" max:"200" format:"line" doc:"With goodwill, for the ledger. It is stored with the run, so it must name no person."`
	ExpiresAt  Opt[Time]   `json:"expires_at" doc:"With extend, in the future."`
}

// Check validates the fields against the action and the time.
func (f RunFields) Check(now Time) (details []Detail) {
	need := func(set bool, field, action string) {
		switch {
		case set && f.Action.V != action:
			details = append(details, Detail{field, "not_allowed", "is for the action " + action})
		case !set && f.Action.V == action:
			details = append(details, Detail{field, "required", "is required for the action " + action})
		}
	}
	need(f.Stamps.Set, "stamps", RunGoodwill)
	need(f.LocationID.Set, "location_id", RunGoodwill)
	need(f.Reason.Set, "reason", RunGoodwill)
	need(f.ExpiresAt.Set, "expires_at", RunExtend)
	if (len(f.CardIDs.V) > 0) == f.All.V {
		details = append(details, Detail{"card_ids", "required", "must name at least one card"})
	}
	if f.All.V {
		details = append(details, CardSearch{ListFilter: f.ListFilter}.Check(now)...)
	}
	return append(details, checkFuture(f.ExpiresAt, now)...)
}

// CardRun is a change of many cards, one after the other, while the server goes on with other work.
type CardRun struct {
	ID         string     `json:"id"`
	Action     string     `json:"action" enum:"lock,unlock,archive,extend,goodwill"`
	State      string     `json:"state" enum:"running,done,stopped"`
	Total      int64      `json:"total" doc:"Cards that were to be changed, as counted at the beginning."`
	More       bool       `json:"more" doc:"There were more than total."`
	Done       int64      `json:"done" doc:"Cards that are as they should be."`
	Refused    int64      `json:"refused"`
	CreatedAt  Time       `json:"created_at"`
	FinishedAt Null[Time] `json:"finished_at"`

	key, shop, user int64     `json:"-"`
	position        int64     `json:"-"` // all chains with greater roots are done
	fields          RunFields `json:"-"`
	roots           []int64   `json:"-"` // in order; empty: those that pass the filter
}

// CardRunReport is a run with the cards that it could not change.
type CardRunReport struct {
	CardRun
	Refusals []RunRefusal `json:"refusals" doc:"The first 100 of them."`
}

// RunRefusal is why a card was not changed.
type RunRefusal struct {
	CardID     string       `json:"card_id"`
	HolderName Null[string] `json:"holder_name"`
	Message    string       `json:"message"`
}

const runCols = `id, action, state, total, more, done, refused, created_at, finished_at, shop_id, ifnull(user_id, 0), position, fields,
	roots`

func (g IDs) scanRun(r *rows) (c CardRun) {
	r.scan(&c.key, &c.Action, &c.State, &c.Total, &c.More, &c.Done, &c.Refused, &c.CreatedAt, &c.FinishedAt, &c.shop, &c.user, &c.position,
		&c.fields, &c.roots)
	c.ID = g.ID(KindCardRun, c.key)
	return c
}

// cardRunOf returns a run of a shop.
func (q *queries) cardRunOf(shop, key int64) (CardRun, error) {
	return findOne(q, "run", q.scanRun, "SELECT "+runCols+" FROM card_runs WHERE id=? AND shop_id=?", key, shop)
}

// CountRun returns how many cards a run of a filter would change, as far as counting is quick enough.
func (v *View) CountRun(shop int64, f ListFilter) (Total, error) {
	return v.countCards(shop, CardSearch{ListFilter: f}, maxTotal, maxTotalVisits)
}

// StartCardRun begins a change of many cards. total is how many pass the filter, for a run of all of them. A shop has one at a time.
func (tx *Tx) StartCardRun(shop int64, f RunFields, total Total) (run CardRun, err error) {
	if tx.number("SELECT count(*) FROM card_runs WHERE shop_id=? AND state='running'", shop) > 0 {
		return run, refuse(Conflict, "Another change of many cards is running. Wait until it has ended, or stop it.")
	}
	if f.LocationID.Set {
		if _, err := tx.ownLocation(shop, f.LocationID.V); err != nil {
			return run, err
		}
	}
	roots := []int64{}
	for i, id := range f.CardIDs.V {
		root := tx.rootOf(shop, id)
		if root == 0 {
			return run, InvalidField(fmt.Sprintf("card_ids.%d", i), "invalid_value", "must be the id of a card of this shop")
		}
		roots = append(roots, root)
	}
	slices.Sort(roots)
	roots = slices.Compact(roots)
	if !f.All.V {
		total = Total{N: int64(len(roots))}
	}
	f.CardIDs = Opt[[]string]{}
	key := tx.insert(`INSERT INTO card_runs (shop_id, user_id, action, state, fields, roots, position, total, more, created_at)
		VALUES (?,?,?,?,?,?,(SELECT ifnull(max(id), 0)+1 FROM cards),?,?,?)`, shop, nonZero(tx.Actor.Key), f.Action.V, RunRunning,
		jsonText(f), jsonKeys(roots), total.N, total.More, tx.Now)
	tx.audit(shop, "cards.run", KindCardRun, key, `{"action":"`+f.Action.V+`"}`)
	tx.AfterCommit(func() { wake(tx.s.runsDue) })
	return tx.cardRunOf(shop, key)
}

// CardRunsDue returns a channel that receives when a run has begun.
func (s *Store) CardRunsDue() <-chan struct{} { return s.runsDue }

// StopCardRun stops a run; the cards that it has changed stay changed.
func (tx *Tx) StopCardRun(shop int64, id string) (run CardRun, err error) {
	key := tx.keyOrNone(KindCardRun, id)
	if tx.exec("UPDATE card_runs SET state=?, finished_at=? WHERE id=? AND shop_id=? AND state='running'", RunStopped, tx.Now, key,
		shop) > 0 {
		tx.audit(shop, "cards.run_stop", KindCardRun, key)
	}
	return tx.cardRunOf(shop, key)
}

// CardRuns returns the newest runs of a shop.
func (v *View) CardRuns(shop int64) ([]CardRun, error) {
	return collect(v, v.scanRun, "SELECT "+runCols+" FROM card_runs WHERE shop_id=? ORDER BY id DESC LIMIT ?", shop, runListed), v.failed
}

// CardRun returns a run of a shop with its report.
func (v *View) CardRun(shop int64, id string) (r CardRunReport, err error) {
	v.snapshot()
	key := v.keyOrNone(KindCardRun, id)
	if r.CardRun, err = v.cardRunOf(shop, key); err != nil {
		return r, err
	}
	r.Refusals = collect(v, func(row *rows) RunRefusal {
		return RunRefusal{v.ID(KindCard, row.int()), row.nullStr(), row.str()}
	}, `SELECT x.card_id, ifnull(c.holder_name, ''), x.message FROM card_run_refusals x JOIN cards c ON c.id=x.card_id
		WHERE x.run_id=? AND c.deleted_at IS NULL ORDER BY x.card_id DESC`, key)
	return r, v.failed
}

// CardRunsWait reports whether StepCardRun has something to do.
func (v *View) CardRunsWait() (bool, error) {
	n := v.number(`SELECT EXISTS (SELECT 1 FROM card_runs WHERE state='running' AND `+ofOpenShop+`)
		OR EXISTS (SELECT 1 FROM card_runs WHERE finished_at<?)`, v.Now.Add(-runKept))
	return n > 0, v.failed
}

// StepCardRun does the next slice of the oldest run, and reports whether there is more to do. The changes of the
// cards and the position are one transaction, so that a run that was interrupted goes on
// where it was and changes no card twice. Without a run it deletes one that is no longer kept.
func (tx *Tx) StepCardRun() (more bool, err error) {
	var run CardRun
	if !tx.one(func(r *rows) { run = tx.scanRun(r) }, "SELECT "+runCols+" FROM card_runs WHERE state='running' AND "+ofOpenShop+
		" ORDER BY id LIMIT 1") {
		return tx.pruneCardRun(), tx.failed
	}
	tx.Actor = Actor{Type: "user", Key: run.user, Context: `"run":"` + run.ID + `"`}
	var next []int64
	next, run.position = tx.nextOfRun(run)
	for _, root := range next {
		err := tx.changeInRun(run, root)
		if err == nil {
			run.Done++
			continue
		}
		refusal, ok := AsError(err)
		if !ok {
			return false, err
		}
		if run.Refused++; run.Refused <= maxRunRefusals {
			tx.exec("INSERT INTO card_run_refusals (run_id, card_id, message) VALUES (?,?,?)", run.key, root, refusal.Message)
		}
	}
	if run.position == 0 {
		run.State, run.FinishedAt = RunDone, Some(tx.Now)
	}
	tx.exec("UPDATE card_runs SET position=?, done=?, refused=?, state=?, finished_at=? WHERE id=?", run.position, run.Done, run.Refused,
		run.State, run.FinishedAt, run.key)
	return true, tx.failed
}

// nextOfRun returns the roots of the next slice, the greatest first, and the position after it, 0 at the end.
func (tx *Tx) nextOfRun(run CardRun) (next []int64, position int64) {
	slices.Reverse(run.roots)
	sql, args := "SELECT value, 1 FROM json_each(?) WHERE value<? LIMIT ?", []any{jsonKeys(run.roots)}
	if run.fields.All.V {
		conds := tx.searchConditions(run.shop, CardSearch{ListFilter: run.fields.ListFilter})
		sql = "SELECT r.id, r.root_id IS NULL AND EXISTS (SELECT 1 FROM cards c WHERE (c.id=r.id OR c.root_id=r.id) AND " +
			conds.sql() + ") FROM cards r WHERE r.shop_id=? AND r.deleted_at IS NULL AND r.id<? ORDER BY r.id DESC LIMIT ?"
		args = append(conds.args, run.shop)
	}
	visited := 0
	for r := range tx.each(sql, append(args, run.position, runSliceVisits)...) {
		visited++
		if position = r.int(); r.bool() {
			if next = append(next, position); len(next) == runSliceCards {
				return next, position
			}
		}
	}
	if visited < runSliceVisits {
		position = 0
	}
	return next, position
}

// changeInRun changes the chain of a root.
func (tx *Tx) changeInRun(run CardRun, root int64) error {
	id := tx.ID(KindCard, tx.number(`SELECT ifnull((SELECT max(id) FROM cards WHERE root_id=?1 AND archived_at IS NULL
		AND deleted_at IS NULL), ?1)`, root))
	f := run.fields
	switch f.Action.V {
	case RunLock, RunUnlock:
		return errorIn(tx.SetCardLocked(run.shop, id, f.Action.V == RunLock))
	case RunArchive:
		return errorIn(tx.ArchiveCard(run.shop, id))
	case RunGoodwill:
		return errorIn(tx.AdjustCard(run.shop, id, AdjustFields{Stamps: f.Stamps, LocationID: f.LocationID, Reason: f.Reason}))
	}
	a := Access{Shop: run.shop}
	c, err := tx.card(a, id)
	if err != nil || c.Status != StatusArchived && (!c.ExpiresAt.Valid || c.ExpiresAt.V >= f.ExpiresAt.V) {
		return err
	}
	return errorIn(tx.UpdateCard(a, id, CardPatch{ExpiresAt: f.ExpiresAt}))
}

// errorIn returns the error of a call with two results.
func errorIn[T any](_ T, err error) error { return err }

// pruneCardRun deletes a run that has ended long ago, and reports whether there was one.
func (tx *Tx) pruneCardRun() bool {
	key := tx.number("SELECT ifnull((SELECT id FROM card_runs WHERE finished_at<? ORDER BY finished_at LIMIT 1), 0)", tx.Now.Add(-runKept))
	tx.exec("DELETE FROM card_run_refusals WHERE run_id=?", key)
	return tx.exec("DELETE FROM card_runs WHERE id=?", key) > 0
}
