package store

import (
	"encoding/json"

	"punchcard/store/event"
)

// Delivery is an entry of a webhook's delivery log (spec Webhook delivery):
// one event to one webhook, as of its latest attempt.
type Delivery struct {
	ID             string          `json:"id" min:"1" doc:"Opaque."`
	WebhookID      string          `json:"webhook_id"`
	Event          string          `json:"event"`
	EventID        string          `json:"event_id" doc:"The key to recognise repeats by: the same in every attempt and redelivery."`
	RequestPayload json.RawMessage `json:"request_payload" doc:"The envelope that is sent."`
	RequestHeaders json.RawMessage `json:"request_headers" doc:"Of the latest attempt; secrets are masked. Empty before the first."`
	ResponseStatus Null[int64]     `json:"response_status"`
	Attempts       int64           `json:"attempts" min:"0"`
	LastError      Null[string]    `json:"last_error"`
	DurationMS     int64           `json:"duration_ms" min:"0" doc:"Of the latest attempt."`
	CardInstanceID Null[string]    `json:"card_instance_id"`
	DeliveredAt    Null[Time]      `json:"delivered_at"`
	CreatedAt      Time            `json:"created_at"`
}

// DeliveriesQuery is the query of a delivery log.
type DeliveriesQuery struct {
	Limit Opt[int64] `json:"limit" min:"0" limit:"delivery_log" doc:"Entries, newest first: 50, or the maximum where that is smaller. 0 gives none."`
}

// The payload is that of the webhook's own version.
var deliveryCols = columns(epochColumn, "d.webhook_id", "d.event_id", "e.name", "ifnull(d.request_headers, '{}')", "d.response_status", "d.attempts", "d.last_error", "d.duration_ms",
	"e.card_id", "d.delivered_at", "e.occurred_at", "iif(?1='v2', e.payload_v2, e.payload_v1)")

const deliveryTables = " FROM deliveries d JOIN events e ON e.id=d.event_id"

func (s *Store) scanDelivery(r *rows, webhook string) Delivery {
	hook, happened := r.int(), r.int()
	d := Delivery{ID: s.deliveryID(KindDelivery, hook, happened), WebhookID: webhook, Event: r.str(), EventID: s.deliveryID(KindEvent, hook, happened), RequestHeaders: json.RawMessage(r.str()),
		ResponseStatus: r.nullInt(), Attempts: r.int(), LastError: r.nullStr(), DurationMS: r.int()}
	if card := r.nullInt(); card.Valid {
		d.CardInstanceID = Some(s.ID(KindCard, card.V))
	}
	d.DeliveredAt, d.CreatedAt = r.nullTime(), r.time()
	d.RequestPayload = event.Splice(r.bytes(), d.EventID)
	return d
}

// Deliveries is the newest part of a webhook's log.
func (v *View) Deliveries(a Access, programID, id string, q DeliveriesQuery) (list []Delivery, err error) {
	list = []Delivery{}
	most := int64(v.s.opts.Limits.DeliveryLogLimit)
	err = v.snapshot(func() error {
		w, err := v.s.webhook(v.conn, a, programID, id)
		if err != nil {
			return err
		}
		r := v.query("SELECT "+deliveryCols+deliveryTables+" WHERE d.webhook_id=?2 ORDER BY d.event_id DESC LIMIT ?3", w.PayloadVersion, w.key, min(q.Limit.Or(50), most))
		for r.next() {
			v.seeEpoch(r.int())
			list = append(list, v.s.scanDelivery(r, w.ID))
		}
		return r.close()
	})
	return list, err
}

// delivery finds the entry of an event in a webhook's log.
func (tx *Tx) delivery(w webhook, happened int64) (d Delivery, err error) {
	ok, err := tx.one(func(r *rows) {
		r.int() // the epoch: a write knows it
		d = tx.s.scanDelivery(r, w.ID)
	}, "SELECT "+deliveryCols+deliveryTables+" WHERE d.webhook_id=?2 AND d.event_id=?3", w.PayloadVersion, w.key, happened)
	if err == nil && !ok {
		err = notFound("delivery")
	}
	tx.Touches(d.CardInstanceID.V)
	return d, err
}

const pingMessage = "This is a test delivery; nothing happened in the shop."

// TestWebhook sends test.ping once, to an inactive webhook too.
func (tx *Tx) TestWebhook(a Access, programID, id string) (d Delivery, err error) {
	w, err := tx.s.webhook(tx.conn, a, programID, id)
	if err != nil {
		return d, err
	}
	sh, err := tx.s.shop(tx.conn, a.Shop)
	if err != nil {
		return d, err
	}
	env := &event.Envelope{Event: event.TestPing, OccurredAt: tx.Now.String(), ShopID: sh.ID, ShopName: sh.Name, Data: event.TestPingData{Message: pingMessage}}
	var p1, p2 []byte
	if w.PayloadVersion == event.V2 {
		p2 = event.AppendV2(nil, env)
	} else {
		p1 = event.AppendV1(nil, env)
	}
	happened, err := tx.recordEvent(a.Shop, event.TestPing, Null[int64]{}, p1, p2)
	if err != nil {
		return d, err
	}
	if _, err = tx.exec("INSERT INTO deliveries (webhook_id, event_id, special, due_at) VALUES (?,?,?,?)", w.key, happened, specialTest, tx.Now); err != nil {
		return d, err
	}
	tx.notifyDue(w.key)
	if err = tx.audit(a.Shop, "webhook.test", KindWebhook, w.key, ""); err != nil {
		return d, err
	}
	return tx.delivery(w, happened)
}

// Redeliver sends an entry of the log again as if it were new: the same row
// and event_id, with all its attempts.
func (tx *Tx) Redeliver(a Access, programID, id, deliveryID string) (d Delivery, err error) {
	w, err := tx.s.webhook(tx.conn, a, programID, id)
	if err != nil {
		return d, err
	}
	happened, ok := tx.s.DeliveryKey(w.key, deliveryID)
	if !ok {
		return d, notFound("delivery")
	}
	pending := false
	if ok, err = tx.one(func(r *rows) { pending = r.bool() }, "SELECT outcome IS NULL FROM deliveries WHERE webhook_id=? AND event_id=?", w.key, happened); err != nil {
		return d, err
	}
	switch {
	case !ok:
		return d, notFound("delivery")
	case pending:
		return d, refuse(Conflict, "The delivery is still pending.")
	case !w.Active:
		return d, refuse(Unprocessable, "The webhook is inactive; a PATCH with active true enables it.")
	}
	if _, err = tx.exec(`UPDATE deliveries SET outcome=NULL, due_at=?, attempts=0, response_status=NULL, last_error=NULL, duration_ms=0,
		request_headers=NULL, delivered_at=NULL WHERE webhook_id=? AND event_id=?`, tx.Now, w.key, happened); err != nil {
		return d, err
	}
	tx.notifyDue(w.key)
	if err = tx.audit(a.Shop, "webhook.redeliver", KindWebhook, w.key, `{"delivery_id":"`+deliveryID+`"}`); err != nil {
		return d, err
	}
	return tx.delivery(w, happened)
}
