package store

import (
	"encoding/json"

	"punchcard/store/event"
)

// Delivery is an entry of a webhook's delivery log: one event to one webhook, as
// of its latest attempt.
type Delivery struct {
	ID             string          `json:"id" min:"1" doc:"Opaque."`
	WebhookID      string          `json:"webhook_id"`
	Event          string          `json:"event"`
	EventID        string          `json:"event_id" doc:"The key to recognise repeats by: the same in every attempt and redelivery."`
	RequestPayload json.RawMessage `json:"request_payload" viewer:"hidden" doc:"The envelope that is sent."`
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

// deliveryCols are the columns that scanDelivery reads, after the epoch. ?1 is
// the payload version of the webhook.
var deliveryCols = epochColumn + `, d.webhook_id, d.event_id, e.name, ifnull(d.request_headers, '{}'), d.response_status, d.attempts,
	d.last_error, d.duration_ms, e.card_id, d.delivered_at, e.occurred_at, iif(?1='v2', e.payload_v2, e.payload_v1)`

const deliveryTables = " FROM deliveries d JOIN events e ON e.id=d.event_id"

func (g IDs) scanDelivery(r *rows, webhook string) Delivery {
	hook, eventKey := r.int(), r.int()
	d := Delivery{
		ID:        g.deliveryID(KindDelivery, hook, eventKey),
		WebhookID: webhook,
		EventID:   g.deliveryID(KindEvent, hook, eventKey),
	}
	r.scan(&d.Event, &d.RequestHeaders, &d.ResponseStatus, &d.Attempts, &d.LastError, &d.DurationMS)
	d.CardInstanceID = g.nullID(KindCard, r.nullInt())
	r.scan(&d.DeliveredAt, &d.CreatedAt)
	d.RequestPayload = event.Splice(r.bytes(), d.EventID)
	return d
}

// Deliveries returns the newest entries of a webhook's log.
func (v *View) Deliveries(a Access, programID, id string, q DeliveriesQuery) (list []Delivery, err error) {
	list = []Delivery{}
	max := int64(v.s.opts.Limits.DeliveryLogLimit)
	v.snapshot()
	w, err := v.webhook(a, programID, id)
	if err != nil {
		return list, err
	}
	for r := range v.each("SELECT "+deliveryCols+deliveryTables+` WHERE d.webhook_id=?2 ORDER BY d.event_id DESC
		LIMIT ?3`, w.PayloadVersion, w.key, min(q.Limit.Or(50), max)) {
		v.seeEpoch(r.int())
		list = append(list, v.scanDelivery(r, w.ID))
	}
	return list, v.failed
}

// delivery returns the entry of an event in a webhook's log.
func (tx *Tx) delivery(w webhook, eventKey int64) (d Delivery, err error) {
	err = tx.find("delivery", func(r *rows) {
		r.int() // the epoch, which a write knows
		d = tx.scanDelivery(r, w.ID)
	}, "SELECT "+deliveryCols+deliveryTables+" WHERE d.webhook_id=?2 AND d.event_id=?3", w.PayloadVersion, w.key, eventKey)
	tx.Touches(d.CardInstanceID.V)
	return d, err
}

const pingMessage = "This is a test delivery; nothing happened in the shop."

// TestWebhook queues one test.ping. It is sent to an inactive webhook too, and is
// not retried.
func (tx *Tx) TestWebhook(a Access, programID, id string) (d Delivery, err error) {
	w, err := tx.webhook(a, programID, id)
	if err != nil {
		return d, err
	}
	if w.draft {
		return d, errDraft
	}
	sh := tx.shop(a.Shop)
	env := &event.Envelope{
		Event:      event.TestPing,
		OccurredAt: tx.Now.String(),
		ShopID:     sh.ID,
		ShopName:   sh.Name,
		Data:       event.Data{"message", pingMessage, "sample", true},
	}
	var p1, p2 []byte
	if w.PayloadVersion == event.V2 {
		p2 = event.AppendV2(nil, env)
	} else {
		p1 = event.AppendV1(nil, env)
	}
	eventKey := tx.recordEvent(a.Shop, event.TestPing, Null[int64]{}, p1, p2)
	tx.exec("INSERT INTO deliveries (webhook_id, event_id, special, due_at) VALUES (?,?,?,?)", w.key, eventKey, specialTest, tx.Now)
	tx.notifyDue(w.key)
	tx.audit(a.Shop, "webhook.test", KindWebhook, w.key)
	return tx.delivery(w, eventKey)
}

// Redeliver queues an entry of the log again, with the same event_id and a new
// count of attempts. A pending delivery is a conflict, an inactive webhook
// unprocessable.
func (tx *Tx) Redeliver(a Access, programID, id, deliveryID string) (d Delivery, err error) {
	w, err := tx.webhook(a, programID, id)
	if err != nil {
		return d, err
	}
	eventKey, _ := tx.DeliveryKey(w.key, deliveryID) // no event has the key 0
	pending := false
	err = tx.find("delivery", into(&pending), "SELECT outcome IS NULL FROM deliveries WHERE webhook_id=? AND event_id=?", w.key, eventKey)
	switch {
	case err != nil:
		return d, err
	case pending:
		return d, refuse(Conflict, "The delivery is still pending.")
	case !w.Active:
		return d, refuse(Unprocessable, "The webhook is inactive; a PATCH with active true enables it.")
	}
	tx.exec(`UPDATE deliveries SET outcome=NULL, due_at=?, attempts=0, response_status=NULL, last_error=NULL, duration_ms=0,
		request_headers=NULL, delivered_at=NULL WHERE webhook_id=? AND event_id=?`, tx.Now, w.key, eventKey)
	tx.notifyDue(w.key)
	tx.audit(a.Shop, "webhook.redeliver", KindWebhook, w.key, `{"delivery_id":"`+deliveryID+`"}`)
	return tx.delivery(w, eventKey)
}
