package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// deliveries are the events that a receiver got, in the order in which each first arrived.
type deliveries struct {
	receiver receiver
	path     string
	list     []*event
	byID     map[string]*event
}

// event is what a receiver got under one event id.
type event struct {
	id       string
	name     string
	occurred time.Time
	program  string
	location string
	card     *cardContext
	txn      *txnContext
	data     eventData
	sequence int64
	sum      [sha256.Size]byte
	offset   int64 // of the first request, in the file
	length   int
	requests int
	accepted bool
}

// envelope is the body of a delivery, of version 1 or 2.
type envelope struct {
	Event     string    `json:"event"`
	ID        string    `json:"event_id"`
	Version   string    `json:"payload_version"`
	ProgramID string    `json:"program_id"`
	ShopID    string    `json:"shop_id"`
	Occurred  time.Time `json:"occurred_at"`
	Shop      *struct {
		ID string `json:"id"`
	} `json:"shop"`
	Location *struct {
		ID string `json:"id"`
	} `json:"location"`
	Program *struct {
		ID string `json:"id"`
	} `json:"program"`
	Card        *cardContext `json:"card"`
	Transaction *txnContext  `json:"transaction"`
	Data        eventData    `json:"data"`
}

type cardContext struct {
	ID  string  `json:"id"`
	Ref *string `json:"external_ref"`
}

type txnContext struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// eventData is the data of an event, with the fields of all events.
type eventData struct {
	Instance string  `json:"card_instance_id"`
	Parent   *string `json:"parent_card_instance_id"`
	Source   string  `json:"source"`
	Platform string  `json:"platform"`
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
	Location string  `json:"location_id"`
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
		d := &deliveries{receiver: w, path: filepath.Join(y.folder, w.File), byID: map[string]*event{}}
		if err := d.read(r); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// read reads the log of a receiver.
func (d *deliveries) read(r *report) error {
	file, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	offset := int64(0)
	for {
		line, err := readLine(in)
		if err != nil && err != io.EOF {
			return err
		}
		if len(line) > 0 {
			var q request
			if err := json.Unmarshal(line, &q); err != nil {
				return fmt.Errorf("%s at byte %d: %w", d.path, offset, err)
			}
			d.add(r, &q, offset, len(line))
		}
		offset += int64(len(line)) + 1
		if err == io.EOF {
			return nil
		}
	}
}

// add adds a request.
func (d *deliveries) add(r *report, q *request, offset int64, length int) {
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
		known = &event{id: e.ID, name: e.Event, occurred: e.Occurred, program: e.ProgramID, card: e.Card, txn: e.Transaction, data: e.Data,
			sequence: sequence, sum: sum, offset: offset, length: length}
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
	} else if known.sequence != sequence || known.sum != sum && !d.erasedSince(known, q.Body) {
		r.differ(kind, "%s, event %s: a later request differs from the first", w.Name, e.ID)
	}
	known.requests++
	known.accepted = known.accepted || q.Answer >= 200 && q.Answer < 300
}

// erasedSince reports whether a body differs from the first one of the event only in that the person's
// data is null now.
func (d *deliveries) erasedSince(first *event, body string) bool {
	file, err := os.Open(d.path)
	if err != nil {
		return false
	}
	defer file.Close()
	line := make([]byte, first.length)
	if _, err := file.ReadAt(line, first.offset); err != nil {
		return false
	}
	var q request
	var was, is map[string]any
	if json.Unmarshal(line, &q) != nil || json.Unmarshal([]byte(q.Body), &was) != nil || json.Unmarshal([]byte(body), &is) != nil {
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
