package store

import (
	"slices"
	"strconv"
	"strings"
)

const (
	maxSentPushes      = 50  // in SentPushes
	maxProgramsCounted = 200 // in CopiesByProgram
)

// ProgramCopies are the copies of a program's cards. Each is counted to 100,000.
type ProgramCopies struct {
	ProgramID   string `json:"program_id"`
	ProgramName string `json:"program_name"`
	ApplePasses int64  `json:"apple_passes" doc:"Passes for Apple Wallet that are on a phone."`
	GoogleCards int64  `json:"google_cards" doc:"Cards at Google Wallet that are on a phone, as far as Google reports."`
	Browsers    int64  `json:"browsers" doc:"Browsers that show notices about a card."`
}

// CopiesByProgram returns how many copies the cards of a shop have, by program: the newest first, at most 200.
func (v *View) CopiesByProgram(shop int64) ([]ProgramCopies, error) {
	all := collect(v, func(r *rows) ProgramCopies {
		return ProgramCopies{v.ID(KindProgram, r.int()), r.str(), r.int(), r.int(), r.int()}
	}, `SELECT p.id, p.name,
		(SELECT count(*) FROM (SELECT 1 FROM apple_passes WHERE program_id=p.id AND delete_at IS NULL LIMIT ?2)),
		(SELECT count(*) FROM (SELECT 1 FROM google_objects WHERE shop_id=?1 AND program_id=p.id AND saved>0 LIMIT ?2)),
		(SELECT count(*) FROM (SELECT 1 FROM push_subscriptions WHERE program_id=p.id LIMIT ?2))
		FROM programs p WHERE p.shop_id=?1 AND p.deleted_at IS NULL ORDER BY p.id DESC LIMIT ?3`, shop, maxTotalVisits, maxProgramsCounted)
	return all, v.failed
}

// SentPush is what came of the last push to a browser, a phone or Google.
type SentPush struct {
	At            Time         `json:"at"`
	CardID        string       `json:"card_id"`
	HolderName    Null[string] `json:"holder_name"`
	ProgramName   string       `json:"program_name"`
	Target        string       `json:"target" enum:"browser,phone,google"`
	Service       string       `json:"service" doc:"Host of the push service that it was sent to."`
	State         string       `json:"state" enum:"sent,refused,failed,held" doc:"Held: the certificate for Apple Wallet has ended."`
	Status        Null[int64]  `json:"status" doc:"Of an answer that is an error."`
	NextAttemptAt Null[Time]   `json:"next_attempt_at" doc:"Null: it is not sent again before the card changes."`
}

// What pushes are sent to.
const (
	TargetBrowser = "browser"
	TargetPhone   = "phone"
	TargetGoogle  = "google"
)

// The states of SentPush, which outcomes begin with.
const (
	PushSent    = "sent"
	PushRefused = "refused" // it is not sent again
	PushFailed  = "failed"  // it is sent again
	PushHeld    = "held"
	PushEnded   = "ended" // the target is forgotten, so no SentPush has it
)

// SentPushes returns what came of the last pushes to the browsers and phones of a shop, and to Google, newest first, at most 50.
func (v *View) SentPushes(shop int64) ([]SentPush, error) {
	all := collect(v, func(r *rows) (p SentPush) {
		var service, outcome, status string
		r.scan(&p.Target, &service, &p.At, v.into(KindCard, &p.CardID), &p.HolderName, &p.ProgramName, &outcome, &p.NextAttemptAt)
		p.Service = HostOf(service)
		p.State, status, _ = strings.Cut(outcome, " ")
		if n, err := strconv.ParseInt(status, 10, 64); err == nil {
			p.Status = Some(n)
		}
		return p
	}, `SELECT target, service, outcome_at, c.id, c.holder_name, p.name, outcome, iif(attempts>0, due_at, NULL) FROM (
		SELECT * FROM (SELECT 'browser' target, endpoint service, card_id, outcome, outcome_at, attempts, due_at
			FROM push_subscriptions WHERE shop_id=?1 AND outcome_at IS NOT NULL ORDER BY outcome_at DESC LIMIT ?2) UNION ALL
		SELECT * FROM (SELECT 'phone', 'https://api.push.apple.com', card_id, outcome, outcome_at, attempts, due_at
			FROM apple_devices WHERE shop_id=?1 AND outcome_at IS NOT NULL ORDER BY outcome_at DESC LIMIT ?2) UNION ALL
		SELECT * FROM (SELECT 'google', 'https://walletobjects.googleapis.com', card_id, outcome, outcome_at, attempts, due_at
			FROM google_objects WHERE shop_id=?1 AND outcome_at IS NOT NULL ORDER BY outcome_at DESC LIMIT ?2)) x
		JOIN cards c ON c.id=x.card_id JOIN programs p ON p.id=c.program_id`, shop, maxSentPushes)
	slices.SortStableFunc(all, func(a, b SentPush) int { return int(b.At - a.At) })
	return all[:min(len(all), maxSentPushes)], v.failed
}

// TestedPush says to whom a test is sent.
type TestedPush struct {
	Browsers int64 `json:"browsers"`
	Phones   int64 `json:"phones" doc:"With Apple Wallet."`
	Google   int64 `json:"google" doc:"Cards at Google Wallet that are on a phone."`
}

// TestPush queues a push to the copies of a card although the card has not changed. Browsers say that it is a test. Phones say
// nothing: those with Apple Wallet ask what has changed, and Google is told once more what the card shows.
func (tx *Tx) TestPush(shop int64, card string) (t TestedPush, err error) {
	root := tx.rootOf(shop, card)
	if root == 0 {
		return t, notFound("card")
	}
	// A browser that does not know yet what the card shows is about to be told.
	t.Browsers = tx.exec(`UPDATE push_subscriptions SET told=json_set(told, '$.test', json('true')), attempts=0, due_at=0
		WHERE card_id=? AND told IS NOT NULL`, root)
	if w := tx.AppleWallet(shop); w.IsSet() {
		t.Phones = tx.exec(`UPDATE apple_devices SET told='', attempts=0, due_at=0
			WHERE card_id=?1 AND generation=(SELECT code_generation FROM cards WHERE id=?1)`, root)
	}
	if w := tx.GoogleWallet(shop); w.IsSet() {
		t.Google = tx.exec(`UPDATE google_objects SET told=json_set(told, '$.hash', ''), attempts=0, due_at=0
			WHERE card_id=?1 AND generation=(SELECT code_generation FROM cards WHERE id=?1) AND told<>'' AND saved>0`, root)
	}
	if t == (TestedPush{}) {
		return t, refuse(Unprocessable, "No phone has a pass of this card, and no browser shows notices about it.")
	}
	tx.queuePushes(root, CopyBrowser|CopyApple|CopyGoogle)
	tx.audit(shop, "card.test_push", KindCard, root, "")
	return t, tx.failed
}
