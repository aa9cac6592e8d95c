package store

import (
	"net/url"
	"time"
)

// Today is what a shop did so far today, beside the same weekday a week before.
type Today struct {
	Timezone   string        `json:"timezone"`
	Date       string        `json:"date" format:"date" doc:"Today, by the shop's calendar."`
	WeekBefore string        `json:"week_before" format:"date"`
	Until      Time          `json:"until"`
	Today      DayTotals     `json:"today"`
	Before     DayTotals     `json:"before" doc:"Of the day a week before, up to the same time of day."`
	Events     []LedgerEntry `json:"events" doc:"The last 20 rows of the ledger, newest first."`
	Attention  []Attention   `json:"attention"`
	Begun      Begun         `json:"begun"`
}

// Begun says which of the things that a shop needs it has.
type Begun struct {
	Location  bool `json:"location"`
	Program   bool `json:"program"`
	Published bool `json:"published" doc:"A program is published, so that cards can be issued."`
	Till      bool `json:"till"`
	Card      bool `json:"card"`
	Prepaid   bool `json:"prepaid" doc:"A program has balances."`
}

// Done reports whether the shop has all of them. Prepaid cards are not for every shop.
func (b Begun) Done() bool { return b.Location && b.Program && b.Published && b.Till && b.Card }

// DayTotals are the sums of a part of a day, without what was reversed.
type DayTotals struct {
	Stamps        int64 `json:"stamps"`
	Redemptions   int64 `json:"redemptions"`
	NewCards      int64 `json:"new_cards" doc:"Overflow cards left out."`
	ToppedUpCents int64 `json:"topped_up_cents"`
	SpentCents    int64 `json:"spent_cents"`
}

// The kinds of Attention.
const (
	AttentionWebhookFailing  = "webhook_failing"
	AttentionWebhookInactive = "webhook_inactive"
	AttentionProgramDraft    = "program_draft"
	AttentionNoPrizes        = "program_without_prizes"
	AttentionFreeMoney       = "program_gives_money"
	AttentionForgetting      = "cards_are_erased"
	AttentionCorrection      = "correction_asked"
	AttentionErasure         = "erasure_asked"
	AttentionAppleEnds       = "apple_certificate_ends"
)

// Attention is something that a person of the shop may have to see to.
type Attention struct {
	Kind      string       `json:"kind" enum:"webhook_failing,webhook_inactive,program_draft,program_without_prizes,program_gives_money,cards_are_erased,correction_asked,erasure_asked,apple_certificate_ends"`
	ProgramID string       `json:"program_id"`
	WebhookID Null[string] `json:"webhook_id"`
	Name      string       `json:"name" doc:"The program's name, or the host of the webhook."`
	Failures  int64        `json:"failures" doc:"Of a webhook: deliveries in a row that failed."`
	CardID    Null[string] `json:"card_id" doc:"Of a holder who asks for something."`
	Cards     Total        `json:"cards" doc:"Cards that are erased within a month, since they were not seen."`
	EndsAt    Null[Time]   `json:"ends_at" doc:"Of a certificate that has ended or ends within 30 days."`
}

// The bounds of Today and of reports of a day.
const (
	todayEvents  = 20
	maxAttention = 20 // of a kind
)

// maxDayRows is the most rows of a day that a report reads. A test lowers it.
var maxDayRows = 100_000

// Today returns what a shop did so far today.
func (v *View) Today(shop int64) (t Today, err error) {
	v.snapshot()
	sh := v.shop(shop)
	now := v.Now.Std().In(Zone(sh.Timezone))
	before := now.AddDate(0, 0, -7) // the same time by the clock
	t = Today{Timezone: sh.Timezone, Date: now.Format(time.DateOnly), WeekBefore: before.Format(time.DateOnly), Until: v.Now}
	t.Today = v.dayTotals(shop, startOfDay(now), v.Now)
	t.Before = v.dayTotals(shop, startOfDay(before), TimeOf(before))
	newest := v.keys("SELECT id FROM transactions WHERE shop_id=? ORDER BY id DESC LIMIT ?", shop, todayEvents)
	t.Events = v.ledgerEntries(shop, newest)
	t.Attention = v.attention(shop)
	t.Begun = v.begun(shop)
	return t, v.failed
}

// begun returns which of the things that it needs a shop has.
func (v *View) begun(shop int64) (b Begun) {
	some := func(what string) string { return "EXISTS (SELECT 1 FROM " + what + " LIMIT 1)" }
	v.one(into(&b.Location, &b.Program, &b.Published, &b.Till, &b.Card, &b.Prepaid),
		"SELECT "+some("locations WHERE shop_id=?1")+", "+some("programs WHERE shop_id=?1 AND deleted_at IS NULL")+", "+some(`programs
			WHERE shop_id=?1 AND deleted_at IS NULL AND published_at IS NOT NULL`)+", "+some(`devices WHERE shop_id=?1
				AND revoked_at IS NULL`)+", "+some("cards WHERE shop_id=?1 AND deleted_at IS NULL")+", "+some(`programs WHERE shop_id=?1
					AND type='prepaid'`),
		shop)
	return b
}

// startOfDay returns the beginning of a time's day in its zone.
func startOfDay(t time.Time) Time {
	y, m, d := t.Date()
	return TimeOf(time.Date(y, m, d, 0, 0, 0, 0, t.Location()))
}

// dayTotals returns the sums from one time up to and with another. Those of whole
// quarter hours are maintained; the rest of the last one is counted.
func (v *View) dayTotals(shop int64, from, to Time) (d DayTotals) {
	first, last := (int64(from)+quarterHour-1)/quarterHour, (int64(to)+1)/quarterHour
	v.one(into(&d.Stamps, &d.NewCards, &d.Redemptions, &d.ToppedUpCents, &d.SpentCents),
		`SELECT ifnull(sum(stamps), 0), ifnull(sum(cards), 0), ifnull(sum(redemptions), 0), ifnull(sum(topped_up), 0),
			ifnull(sum(spent), 0) FROM quarter_counts WHERE `+programsOfShop+" AND quarter>=? AND quarter<?", shop, first, last)
	part := max(from, Time(last*quarterHour))
	if part > to {
		return d
	}
	// Overflow cards are left out. Keys grow with created_at, so a binary search finds the first card without an index.
	d.NewCards += v.number(`SELECT count(*) FROM (SELECT shop_id, root_id FROM cards WHERE id>=? AND id<? ORDER BY id LIMIT ?)
		WHERE shop_id=? AND root_id IS NULL`, v.firstKeyFrom("cards", part), v.firstKeyFrom("cards", to+1), maxDayRows, shop)
	firstRow, lastRow := v.rowsBetween(shop, part, to+1)
	const cols = "type, value_delta, stamps_delta, reversed_at"
	v.one(func(r *rows) {
		d.Stamps += r.int()
		d.Redemptions += r.int()
		d.ToppedUpCents += r.int()
		d.SpentCents += r.int()
	}, `SELECT ifnull(sum(iif(type='stamp', stamps_delta, 0)), 0), ifnull(sum(type='redemption'), 0), ifnull(sum(iif(type='topup',
		value_delta, 0)), 0), ifnull(sum(iif(type='spend', -value_delta, 0)), 0) FROM (SELECT * FROM (SELECT `+cols+` FROM transactions
			WHERE shop_id=? AND id>=? AND id<=? AND occurred_at IS NULL ORDER BY id
		LIMIT ?) UNION ALL SELECT * FROM (SELECT `+cols+` FROM transactions WHERE shop_id=? AND occurred_at>=? AND occurred_at<=? LIMIT ?))
		WHERE reversed_at IS NULL`,
		shop, firstRow, lastRow, maxDayRows, shop, part, to, maxDayRows)
	return d
}

// rowsBetween returns the first and the last key of the shop's rows of the ledger from one
// time until before another. The first is greater if there are none.
func (v *View) rowsBetween(shop int64, from, to Time) (first, last int64) {
	var w listQuery
	v.boundByTime(&w, shop, TransactionFilter{From: Given(from), To: Given(to)})
	if w.below == 0 {
		w.below = 1 << 62
	}
	return w.above + 1, w.below - 1
}

// firstKeyFrom returns a key of a table: no row below it was created at a time or
// later, and no row from it on before.
func (q *queries) firstKeyFrom(table string, at Time) (key int64) {
	low, high := int64(1), q.number("SELECT ifnull(max(id), 0)+1 FROM "+table)
	for low < high && q.failed == nil {
		middle := low + (high-low)/2
		var key int64
		var created Time
		q.one(into(&key, &created), "SELECT id, created_at FROM "+table+" WHERE id>=? ORDER BY id LIMIT 1", middle)
		if created < at {
			low = key + 1
		} else {
			high = middle
		}
	}
	return low
}

// attention returns what a person of the shop may have to see to.
func (v *View) attention(shop int64) (all []Attention) {
	all = []Attention{}
	if s, _ := v.AppleStatus(shop); s.State == AppleEnding || s.State == AppleEnded {
		all = append(all, Attention{Kind: AttentionAppleEnds, EndsAt: s.EndsAt})
	}
	for r := range v.each(`SELECT id, program_id, url, consecutive_failures, active FROM webhooks WHERE shop_id=? AND deleted_at IS NULL
		AND (active=0 OR consecutive_failures>0) ORDER BY id DESC LIMIT ?`,
		shop, maxAttention) {
		a := Attention{
			Kind:      AttentionWebhookFailing,
			WebhookID: Some(v.ID(KindWebhook, r.int())),
			ProgramID: v.ID(KindProgram, r.int()),
			Name:      HostOf(r.str()),
			Failures:  r.int(),
		}
		if !r.bool() {
			a.Kind = AttentionWebhookInactive
		}
		all = append(all, a)
	}
	for _, kind := range []struct{ kind, cond string }{
		{AttentionFreeMoney, "initial_balance_cents>0 AND EXISTS (SELECT 1 FROM enrolments WHERE program_id=p.id AND enabled)"},
		{AttentionNoPrizes, `published_at IS NOT NULL AND total_stamps IS NOT NULL AND NOT EXISTS (SELECT 1 FROM prizes
			WHERE program_id=p.id)`},
		{AttentionProgramDraft, "published_at IS NULL"},
	} {
		some := collect(v, func(r *rows) Attention {
			return Attention{Kind: kind.kind, ProgramID: v.ID(KindProgram, r.int()), Name: r.str()}
		}, "SELECT id, name FROM programs p WHERE shop_id=? AND deleted_at IS NULL AND "+
			kind.cond+" ORDER BY id DESC LIMIT ?", shop, maxAttention)
		all = append(all, some...)
	}
	all = append(all, v.askedOfShop(shop)...)
	if f := v.forgetting(shop, 0); f.Due.N > 0 {
		all = append(all, Attention{Kind: AttentionForgetting, Cards: f.Due})
	}
	return all
}

// HostOf returns the host of a webhook's or a push service's URL, which people recognise it by. The rest
// may hold a secret.
func HostOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Host
}
