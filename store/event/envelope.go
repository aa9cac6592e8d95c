package event

import (
	"bytes"
	"fmt"
)

// The payload versions. A webhook keeps the one it was created with.
const (
	V1 = "v1"
	V2 = "v2"
)

// Envelope is one event with all that either version contains, except event_id.
// That differs for each webhook, and [Splice] inserts it when the event is sent.
type Envelope struct {
	Event      Name
	OccurredAt string // ISO 8601 UTC date-time, already formatted
	ShopID     string
	ShopName   string
	// A nil object is null in the payload. So is an object that the event never
	// has, whatever is set here.
	Location    *Location
	Program     *Program
	Card        *Card
	Transaction *Transaction
	Actor       *Actor
	Data        Data
}

// Location is the location in a v2 envelope.
type Location struct{ ID, Name string }

// Program is the program in a v2 envelope; v1 contains its id only.
type Program struct{ ID, Name, Type string }

// Card is the card in a v2 envelope. State is its status after the change. A nil
// string is null.
type Card struct {
	ID          string
	ExternalRef *string
	State       string
	HolderName  *string
	HolderEmail *string
}

// Transaction is the ledger row in a v2 envelope. Metadata is a valid JSON value,
// which is written without surrounding blanks. Empty metadata is null.
type Transaction struct {
	ID, Type string
	Metadata []byte
}

// Actor is who made the change. A nil ID is null.
type Actor struct {
	Type string
	ID   *string
}

// AppendV1 appends the v1 body with an empty event_id: event, event_id,
// program_id (absent if there is none), shop_id, occurred_at, data. It panics if
// Data belongs to another event.
func AppendV1(b []byte, env *Envelope) []byte {
	e := *env
	e.normalise()
	b = head(b, e.Event)
	if e.Program != nil {
		b = field(b, `,"program_id":`, e.Program.ID)
	}
	b = field(b, `,"shop_id":`, e.ShopID)
	b = field(b, `,"occurred_at":`, e.OccurredAt)
	b = append(b, `,"data":`...)
	return append(e.Data.appendTo(b), '}')
}

// AppendV2 appends the v2 body with an empty event_id. All keys are present, in a
// fixed order. It panics if Data belongs to another event.
func AppendV2(b []byte, env *Envelope) []byte {
	e := *env
	e.normalise()
	b = head(b, e.Event)
	b = append(b, versionV2...)
	b = field(b, `,"occurred_at":`, e.OccurredAt)
	b = field(b, `,"shop":{"id":`, e.ShopID)
	b = field(b, `,"name":`, e.ShopName)
	b = append(b, `},"location":`...)
	b = e.Location.appendTo(b)
	b = append(b, `,"program":`...)
	b = e.Program.appendTo(b)
	b = append(b, `,"card":`...)
	b = e.Card.appendTo(b)
	b = append(b, `,"transaction":`...)
	b = e.Transaction.appendTo(b)
	b = append(b, `,"actor":`...)
	b = e.Actor.appendTo(b)
	b = append(b, `,"data":`...)
	return append(e.Data.appendTo(b), '}')
}

// versionV2 follows the event_id in every v2 body and in no v1 body.
const versionV2 = `,"payload_version":"v2"`

// normalise removes the objects that the event never has: shop-wide events of
// cards have no location, events without a transaction id in data have no
// transaction, and test.ping has nothing but data.
func (e *Envelope) normalise() {
	in, ok := byName[e.Event]
	if !ok || !e.Data.fits(in) {
		panic(fmt.Sprintf("event: %q with data %v", e.Event, e.Data))
	}
	if !in.location {
		e.Location = nil
	}
	if !in.program {
		e.Program = nil
	}
	if !in.card {
		e.Card = nil
	}
	if !in.transaction {
		e.Transaction = nil
	}
	if !in.actor {
		e.Actor = nil
	}
	if e.Event == CardDeleted && e.Card != nil {
		// This event must not contain the erased data.
		e.Card = &Card{ID: e.Card.ID, State: "deleted"}
	}
}

// head appends the beginning of both versions, up to the empty event_id.
func head(b []byte, n Name) []byte {
	b = append(b, eventKey...)
	b = append(b, n...)
	return append(b, eventIDKey+`"`...)
}

func (l *Location) appendTo(b []byte) []byte {
	if l == nil {
		return append(b, "null"...)
	}
	b = field(b, `{"id":`, l.ID)
	return append(field(b, `,"name":`, l.Name), '}')
}

func (p *Program) appendTo(b []byte) []byte {
	if p == nil {
		return append(b, "null"...)
	}
	b = field(b, `{"id":`, p.ID)
	b = field(b, `,"name":`, p.Name)
	return append(field(b, `,"type":`, p.Type), '}')
}

func (c *Card) appendTo(b []byte) []byte {
	if c == nil {
		return append(b, "null"...)
	}
	b = field(b, `{"id":`, c.ID)
	b = nullable(b, `,"external_ref":`, c.ExternalRef)
	b = field(b, `,"state":`, c.State)
	b = nullable(b, `,"holder":{"name":`, c.HolderName)
	return append(nullable(b, `,"email":`, c.HolderEmail), `}}`...)
}

func (t *Transaction) appendTo(b []byte) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	b = field(b, `{"id":`, t.ID)
	b = field(b, `,"type":`, t.Type)
	b = append(b, `,"metadata":`...)
	meta := bytes.TrimSpace(t.Metadata)
	if len(meta) == 0 {
		return append(b, "null}"...)
	}
	return append(append(b, meta...), '}')
}

func (a *Actor) appendTo(b []byte) []byte {
	if a == nil {
		return append(b, "null"...)
	}
	b = field(b, `{"type":`, a.Type)
	return append(nullable(b, `,"id":`, a.ID), '}')
}
