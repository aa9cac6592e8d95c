package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// deliveries are the events that a receiver got, in the order in which each first arrived.
type deliveries struct {
	receiver receiver
	folder   string
	list     []*event
	byID     map[string]*event
}

// event is what a receiver got under one event id.
type event struct {
	envelope
	program  string
	location string
	sequence int64
	sum      [sha256.Size]byte // of the first body
	requests int
	accepted bool
}

// envelope is the body of a delivery, of version 1 or 2.
type envelope struct {
	Event       string    `json:"event"`
	ID          string    `json:"event_id"`
	Version     string    `json:"payload_version"`
	ProgramID   string    `json:"program_id"`
	ShopID      string    `json:"shop_id"`
	Occurred    time.Time `json:"occurred_at"`
	Shop        *thing    `json:"shop"`
	Location    *thing    `json:"location"`
	Program     *thing    `json:"program"`
	Card        *thing    `json:"card"`
	Transaction *thing    `json:"transaction"`
	Data        eventData `json:"data"`
}

// thing is what an event of version 2 says of a shop, location, program, card or row.
type thing struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// eventData is the data of an event, with the fields of all events.
type eventData struct {
	Instance string  `json:"card_instance_id"`
	Row      string  `json:"transaction_id"`
	Stamps   *int64  `json:"stamps_delta"`
	Count    *int64  `json:"stamps_count"`
	Value    *int64  `json:"value_delta"`
	Prize    *string `json:"prize_id"`
	Type     string  `json:"tx_type"`
	Delta    *int64  `json:"delta"`
	Balance  *int64  `json:"balance"`
	Original string  `json:"original_transaction_id"`
	Reversal string  `json:"reversal_transaction_id"`
	Reversed *int64  `json:"reversed_delta"`
}

// request is a request to a receiver.
type request struct {
	At      time.Time         `json:"at"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Answer  int               `json:"answer"`
}

// header returns a header, whatever the case of its name.
func (q *request) header(name string) string {
	if v, ok := q.Headers[name]; ok {
		return v
	}
	for k, v := range q.Headers {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// readDeliveries reads the logs of all receivers and checks what each request shows by itself.
func (y *year) readDeliveries(r *report) (all []*deliveries, err error) {
	for _, w := range y.Receivers {
		d := &deliveries{receiver: w, folder: y.folder, byID: map[string]*event{}}
		if err := lines(d.folder, w.File, func(q request) { d.add(r, &q) }); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// add adds a request.
func (d *deliveries) add(r *report, q *request) {
	const kind = "requests to receivers"
	r.count(kind, 1)
	w := d.receiver
	if wrong := w.checkSignatures(q); wrong != "" {
		r.differ("signatures", "%s, event %s: %s", w.Name, q.header("Webhook-Id"), wrong)
	}
	r.count("signatures", 2)
	var e envelope
	if err := json.Unmarshal([]byte(q.Body), &e); err != nil {
		r.differ(kind, "%s: a body that is no event: %v", w.Name, err)
		return
	}
	if e.Event == "test.ping" {
		return
	}
	sum := sha256.Sum256([]byte(q.Body))
	sequence, err := strconv.ParseInt(q.header("X-Service-Sequence"), 10, 64)
	if err != nil {
		r.differ(kind, "%s, event %s: no X-Service-Sequence", w.Name, e.ID)
	}
	known := d.byID[e.ID]
	if known == nil {
		known = &event{envelope: e, program: e.ProgramID, sequence: sequence, sum: sum}
		d.byID[e.ID], d.list = known, append(d.list, known)
		shop := e.ShopID
		if w.Version == 2 && e.Shop != nil {
			shop = e.Shop.ID
		}
		if e.Program != nil {
			known.program = e.Program.ID
		}
		if e.Location != nil {
			known.location = e.Location.ID
		}
		if shop != w.Shop {
			r.differ(kind, "%s, event %s: it is of the shop %q", w.Name, e.ID, shop)
		}
		if (e.Version == "v2") != (w.Version == 2) {
			r.differ(kind, "%s, event %s: it has the version %q", w.Name, e.ID, e.Version)
		}
	} else if known.sequence != sequence || known.sum != sum && !d.erasedSince(e.ID, q.Body) {
		r.differ(kind, "%s, event %s: a later request differs from the first", w.Name, e.ID)
	}
	known.requests++
	known.accepted = known.accepted || q.Answer >= 200 && q.Answer < 300
}

// erasedSince reports whether a body differs from the first one of the event only in that the person's
// data is null now.
func (d *deliveries) erasedSince(id, body string) bool {
	var first string
	err := lines(d.folder, d.receiver.File, func(q request) {
		if first == "" && q.header("Webhook-Id") == id {
			first = q.Body
		}
	})
	var was, is map[string]any
	if err = errors.Join(err, json.Unmarshal([]byte(first), &was), json.Unmarshal([]byte(body), &is)); err != nil {
		return false
	}
	erase(was)
	return reflect.DeepEqual(was, is)
}

// erase sets the fields of a person to null.
func erase(body map[string]any) {
	if card, ok := body["card"].(map[string]any); ok {
		card["external_ref"] = nil
		card["holder"] = map[string]any{"name": nil, "email": nil}
	}
	if txn, ok := body["transaction"].(map[string]any); ok {
		txn["metadata"] = nil
	}
}
