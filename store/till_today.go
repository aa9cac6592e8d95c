package store

import "time"

// TillToday is what a device did so far today, by the shop's calendar, with the sums of the
// day report: rows that were reversed are in no sum, and a stamp that was sent later is of the
// day on which it was given.
type TillToday struct {
	Date          string `json:"date" format:"date"`
	Timezone      string `json:"timezone"`
	Stamps        int64  `json:"stamps"`
	Redemptions   int64  `json:"redemptions"`
	Uses          int64  `json:"uses" doc:"Of access and discount cards."`
	NewCards      int64  `json:"new_cards" doc:"Issued by the device, without those that were archived since."`
	IssuedCents   int64  `json:"issued_cents" doc:"With what these cards began."`
	ToppedUpCents int64  `json:"topped_up_cents"`
	SpentCents    int64  `json:"spent_cents"`
	Complete      bool   `json:"complete" doc:"False if the location has 20,000 rows today or more, or the server 20,000 new cards: then the newest rows and the earliest cards are counted."`
}

// maxTillDayRows is the most rows of its location, and the most new cards, that TillToday visits.
const maxTillDayRows = 20_000

var tillTodaySQL = `SELECT count(*), ifnull(sum(iif(own AND type='stamp', stamps_delta, 0)), 0), ifnull(sum(own
	AND type='redemption'), 0), ifnull(sum(own AND type IN ('discount', 'access')), 0), ifnull(sum(iif(own
	AND type='topup', value_delta, 0)), 0), ifnull(sum(iif(own AND type='spend', -value_delta, 0)), 0) FROM (SELECT *
	FROM (SELECT device_id=?1 AND reversed_at IS NULL AS own, type, stamps_delta, value_delta FROM transactions
	WHERE location_id=?2 AND id>=?3 AND occurred_at IS NULL ORDER BY id DESC LIMIT ?4) UNION ALL SELECT *
	FROM (SELECT device_id=?1 AND reversed_at IS NULL AND location_id=?2, type, stamps_delta, value_delta FROM transactions
	WHERE shop_id=?5 AND occurred_at>=?6 AND occurred_at<?7 LIMIT ?4))`

// The audit says which device issued a card. It is asked for the new cards of the location alone.
var tillCardsSQL = `SELECT count(*), ifnull(sum(own), 0), ifnull(sum(own*initial_value), 0)
	FROM (SELECT ifnull(initial_value, 0) AS initial_value, shop_id=?1 AND root_id IS NULL AND source='counter'
	AND first_location_id=?2 AND archived_at IS NULL AND EXISTS (SELECT 1 FROM audit WHERE ` + cardAudit + ` AND target_id=c.id
	AND action='card.issue' AND actor_type='device' AND actor_id=?3) AS own FROM cards c WHERE id>=?4 ORDER BY id LIMIT ?5)`

// TillToday returns what a device did so far today.
func (v *View) TillToday(till Till) (d TillToday, err error) {
	v.snapshot()
	sh := v.shop(till.Shop)
	now := v.Now.Std().In(Zone(sh.Timezone))
	from, to := startOfDay(now), startOfDay(now.AddDate(0, 0, 1))
	d.Date, d.Timezone = now.Format(time.DateOnly), sh.Timezone
	min, _ := v.rowsBetween(till.Shop, from, to)
	var visited, cards int64
	v.one(into(&visited, &d.Stamps, &d.Redemptions, &d.Uses, &d.ToppedUpCents, &d.SpentCents), tillTodaySQL, till.Device, till.Location,
		min, maxTillDayRows, till.Shop, from, to)
	v.one(into(&cards, &d.NewCards, &d.IssuedCents), tillCardsSQL, till.Shop, till.Location, till.Device, v.firstKeyFrom("cards", from),
		maxTillDayRows)
	d.Complete = visited < maxTillDayRows && cards < maxTillDayRows
	return d, v.failed
}
