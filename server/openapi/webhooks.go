package openapi

import (
	"net/http"
	"slices"
	"strings"

	"punchcard/server/wire"
	"punchcard/store/event"
)

// Webhook describes the request by which an event is delivered. The fields are in the
// order of their names in JSON.
type Webhook struct {
	Description string                `json:"description"`
	ID          string                `json:"operationId"`
	Parameters  []wire.Parameter      `json:"parameters"`
	RequestBody *requestBody          `json:"requestBody"`
	Responses   map[string]*response  `json:"responses"`
	Security    []map[string][]string `json:"security"` // empty: deliveries are signed instead
	Summary     string                `json:"summary"`
	Tags        []string              `json:"tags"`

	Event event.Info       `json:"-"`
	Data  *wire.JSONSchema `json:"-"`
}

// webhookMethod is the method of all deliveries, as a key of a path item.
const webhookMethod = "post"

// addWebhooks adds the events to the document: the request of each, and the schemas of
// its data and of both versions of its envelope. The request_payload of a delivery is
// then one of these envelopes.
func (d *Document) addWebhooks() {
	d.Webhooks = map[string]map[string]*Webhook{}
	for name, s := range contextSchemas() {
		d.component(name, s)
	}
	var v1, v2 []*wire.JSONSchema
	for _, in := range event.All() {
		name := typeName(in.Name)
		data := d.component(name+"Data", dataSchema(&in))
		v1 = append(v1, d.component(name+"V1", d.envelopeV1(&in, data)))
		v2 = append(v2, d.component(name+"V2", d.envelopeV2(&in, data)))
		body := &wire.JSONSchema{OneOf: []*wire.JSONSchema{v2[len(v2)-1], v1[len(v1)-1]}}
		w := &Webhook{
			Description: describeEvent(&in), ID: "on" + name, Summary: string(in.Name), Tags: []string{"Webhooks"},
			Parameters: deliveryHeaders, Security: []map[string][]string{},
			RequestBody: &requestBody{
				inJSON(body),
				"The envelope, in the payload version of the webhook. Clients must tolerate new fields.",
				true,
			},
			Responses: deliveryResponses,
			Event:     in, Data: data.Target,
		}
		d.Webhooks[string(in.Name)] = map[string]*Webhook{webhookMethod: w}
		d.Events = append(d.Events, w)
	}
	d.component("EnvelopeV1", union(v1, "The envelope of a webhook with payload version v1, told apart by `event`."))
	d.component("EnvelopeV2", union(v2, "The envelope of a webhook with payload version v2, told apart by `event`."))
	all := d.component("Envelope", &wire.JSONSchema{Type: wire.Types{"object"},
		OneOf: []*wire.JSONSchema{d.refer("EnvelopeV2"), d.refer("EnvelopeV1")},
		Description: "The body of a delivery. Later versions of the server may send further events to webhooks that subscribe by " +
			"wildcards."})
	if delivery := d.Components.Schemas["Delivery"]; delivery != nil {
		payload := *all
		payload.Description = delivery.Properties["request_payload"].Description
		delivery.Properties["request_payload"] = &payload
	}
}

// component adds a schema to the components, and returns a reference to it.
func (d *Document) component(name string, s *wire.JSONSchema) *wire.JSONSchema {
	if d.registry.Schemas[name] != nil {
		panic("openapi: two schemas have the name " + name)
	}
	s.Name = name
	d.registry.Schemas[name] = s
	return d.refer(name)
}

// refer returns a reference to a component.
func (d *Document) refer(name string) *wire.JSONSchema {
	return &wire.JSONSchema{Ref: "#/components/schemas/" + name, Target: d.registry.Schemas[name]}
}

// union returns a schema of the envelopes of one version.
func union(envelopes []*wire.JSONSchema, doc string) *wire.JSONSchema {
	by := &wire.Discriminator{Mapping: map[string]string{}, PropertyName: "event"}
	for _, e := range envelopes {
		by.Mapping[e.Target.Properties["event"].Enum[0].(string)] = e.Ref
	}
	return &wire.JSONSchema{Type: wire.Types{"object"}, OneOf: envelopes, Discriminator: by, Description: doc}
}

// typeName returns the event's name in the form of a type: CardAdded for card.added.
func typeName(n event.Name) (name string) {
	for word := range strings.FieldsFuncSeq(string(n), func(c rune) bool { return c == '.' || c == '_' }) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// describeEvent returns the text of an event, with the rules of its subscriptions.
func describeEvent(in *event.Info) string {
	text := in.Doc
	if !in.Sends {
		text += " It can be subscribed to, but is not sent yet."
	}
	if in.ShopWide {
		text += " It is shop-wide: `include_shop_wide_events` decides whether a webhook of some locations gets it."
	}
	if in.Programless && in.Name != event.TestPing {
		text += " It has no program, so a webhook of some programs does not get it."
	}
	return text
}

// envelopeV1 returns the schema of an event's v1 envelope, with its fields in the order
// of the bytes.
func (d *Document) envelopeV1(in *event.Info, data *wire.JSONSchema) *wire.JSONSchema {
	s := newObject("The envelope of "+string(in.Name)+", version 1.", head(in)...)
	if in.Has("program") {
		s.add("program_id", text("The event's program."))
	}
	return s.add("shop_id", text("The shop.")).add("occurred_at", instant()).add("data", data).JSONSchema
}

// envelopeV2 returns the schema of an event's v2 envelope.
func (d *Document) envelopeV2(in *event.Info, data *wire.JSONSchema) *wire.JSONSchema {
	s := newObject("The envelope of "+string(in.Name)+", version 2.", head(in)...)
	s.add("payload_version", oneOfTexts("", event.V2))
	s.add("occurred_at", instant()).add("shop", d.refer("EventShop"))
	for _, name := range []string{"location", "program", "card", "transaction", "actor"} {
		object := d.refer("Event" + strings.ToUpper(name[:1]) + name[1:])
		switch {
		case !in.Has(name):
			object = null()
		case name == "location" && !in.Programless:
			// A card may be made or expire at no location.
			object = orNull(object)
		}
		s.add(name, object)
	}
	return s.add("data", data).JSONSchema
}

// head returns the first fields of both versions.
func head(in *event.Info) []named {
	return []named{
		{"event", oneOfTexts("", string(in.Name))},
		{"event_id", text("The key to recognise repeats by: the same in every attempt and redelivery, another one for each webhook.")},
	}
}

// contextSchemas are the objects of v2 envelopes, by name.
func contextSchemas() map[string]*wire.JSONSchema {
	maybe := func(doc string) *wire.JSONSchema { return nullable(text(doc)) }
	with := func(doc string) object { return newObject(doc, named{"id", text("")}) }
	withName := func(doc string) object { return with(doc).add("name", text("")) }
	holder := newObject("The card's holder, as far as the shop knows.", named{"name", maybe("A label to show.")}, named{"email", maybe("")})
	holder.Name = "EventHolder"
	state := oneOfTexts("The card's status.", "active", "locked", "invited", "archived", "expired", "deleted")
	metadata := &wire.JSONSchema{Type: wire.Types{"object", "null"}, Description: "What the device gave, as it is."}
	actor := newObject("Who made the change.", named{"type", oneOfTexts("", "api_key", "device", "user", "holder", "system")})
	return map[string]*wire.JSONSchema{
		"EventShop":     withName("The shop.").JSONSchema,
		"EventLocation": withName("Where the event happened, or the location that it is about.").JSONSchema,
		"EventProgram":  withName("The program of the event.").add("type", programTypes()).JSONSchema,
		"EventCard": with("The card, as it is after the change.").
			add("external_ref", maybe("The caller's own id for the person. Join on it.")).
			add("state", state).add("holder", holder.JSONSchema).JSONSchema,
		"EventTransaction": with("The row of the ledger.").add("type", transactionType("")).add("metadata", metadata).JSONSchema,
		"EventActor":       actor.add("id", maybe("")).JSONSchema,
	}
}

// deliveryHeaders are the headers of a delivery, besides those of HTTP itself. They are
// repeated in each event, since some generators leave out components that only webhooks refer
// to.
var deliveryHeaders = []wire.Parameter{
	deliveryHeader(
		"X-Service-Signature",
		"The time of the attempt in Unix seconds, and the HMAC-SHA256 of that time, a dot and the body, in hex. The key is the "+
			"whole secret.",
		"^t=[0-9]+,v1=[0-9a-f]{64}$",
		"t=1767323045,v1="+strings.Repeat("5f", 32),
	),
	deliveryHeader(
		"X-Service-Sequence",
		"A counter of the shop's events in their order, which skips ahead when a backup is restored. Of two events the one with "+
			"the higher number is the later.",
		"^[0-9]+$",
		"4711",
	),
	deliveryHeader(
		"webhook-id",
		"The `event_id`. This header and the next two are those of Standard Webhooks.",
		"",
		"evt_0a1b2c3d4e5f6g7h8j9k0m1n2p",
	),
	deliveryHeader("webhook-timestamp", "The time of the attempt in Unix seconds.",
		"^[0-9]+$", "1767323045"),
	deliveryHeader("webhook-signature", "The signature of Standard Webhooks, with the same secret.",
		"^v1,", "v1,"+strings.Repeat("X19f", 10)+"X18="),
}

func deliveryHeader(name, doc, pattern, example string) wire.Parameter {
	return wire.Parameter{Name: name, In: "header", Required: true, Description: doc, Example: example,
		Schema: &wire.JSONSchema{Type: wire.Types{"string"}, Pattern: pattern}}
}

// deliveryResponses are the answers that a receiver may give, and what they do.
var deliveryResponses = map[string]*response{
	"2XX": {Description: "The event was received. The body of the answer is read and forgotten."},
	"410": {Description: http.StatusText(http.StatusGone) + ": the receiver wants no more. The webhook is disabled at once."},
	"default": {
		Description: "Any other answer, a redirect too, is a failure. The event is sent again after 5, 10, 20 and 40 seconds, or " +
			"later if `Retry-After` says so. After 15 events in a row that failed for good the webhook is disabled.",
	},
}

func transactionType(doc string) *wire.JSONSchema {
	return oneOfTexts(doc, "stamp", "redemption", "reversal", "expiry", "topup", "spend", "discount", "access", "adjustment")
}

func programTypes() *wire.JSONSchema {
	return oneOfTexts("", "standard", "private", "discount", "access", "prepaid")
}

// named is a field of an object.
type named struct {
	name   string
	schema *wire.JSONSchema
}

// object is a schema of an object whose fields are all required.
type object struct{ *wire.JSONSchema }

func newObject(doc string, fields ...named) object {
	o := object{&wire.JSONSchema{Type: wire.Types{"object"}, Description: doc, Properties: map[string]*wire.JSONSchema{}}}
	for _, f := range fields {
		o.add(f.name, f.schema)
	}
	return o
}

func (o object) add(name string, s *wire.JSONSchema) object {
	o.Properties[name] = s
	o.Order, o.Required = append(o.Order, name), append(o.Required, name)
	return o
}

func text(doc string) *wire.JSONSchema {
	return &wire.JSONSchema{Type: wire.Types{"string"}, Description: doc}
}

func instant() *wire.JSONSchema {
	return &wire.JSONSchema{Type: wire.Types{"string"}, Format: "date-time"}
}

func oneOfTexts(doc string, values ...string) *wire.JSONSchema {
	s := text(doc)
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// orNull returns a schema that allows null and what a reference allows.
func orNull(ref *wire.JSONSchema) *wire.JSONSchema {
	return &wire.JSONSchema{AnyOf: []*wire.JSONSchema{ref, null()}}
}

func null() *wire.JSONSchema { return &wire.JSONSchema{Type: wire.Types{"null"}} }

// dataSchema returns the schema of an event's data.
func dataSchema(in *event.Info) *wire.JSONSchema {
	s := newObject("What " + string(in.Name) + " says.")
	for _, f := range in.Fields {
		field := dataFields[string(in.Name)+"."+f]
		if field == nil {
			field = dataFields[f]
		}
		if field == nil {
			panic("openapi: the data of " + string(in.Name) + " has a field without a schema: " + f)
		}
		own := *field
		own.Type = slices.Clone(field.Type)
		s.add(f, &own)
	}
	return s.JSONSchema
}

func integer(doc string) *wire.JSONSchema {
	return &wire.JSONSchema{Type: wire.Types{"integer"}, Format: "int64", Description: doc}
}

func nullable(s *wire.JSONSchema) *wire.JSONSchema {
	s.Type = append(s.Type, "null")
	return s
}

// states are the states of a shop's subscription.
var states = []string{"active", "past_due", "suspended", "cancelled"}

// dataFields are the fields of data by name, or by event and name where a name means
// different things.
var dataFields = map[string]*wire.JSONSchema{
	"card_instance_id":                 text("The card."),
	"parent_card_instance_id":          nullable(text("The card whose overflow made this one; null for others.")),
	"source":                           oneOfTexts("How the card was made.", "api", "counter", "web_enrollment", "overflow", "import"),
	"platform":                         oneOfTexts("The device family.", "apple", "google"),
	"stamps_delta":                     integer("The stamps that were added."),
	"stamps_count":                     integer("The card's stamps after it."),
	"transaction_id":                   text("The row of the ledger."),
	"prize_id":                         text("The prize."),
	"prize_label":                      text("Its name."),
	"tx_type":                          transactionType("The type of the row."),
	"delta":                            integer("By how many cents the balance changed."),
	"balance":                          integer("The balance after it, in cents."),
	"original_transaction_id":          text("The row that was reversed."),
	"reversal_transaction_id":          text("The row that reverses it."),
	"reversed_delta":                   integer("The stamps or cents that came back, 0 where there are none."),
	"program_type":                     programTypes(),
	"expired_at":                       instant(),
	"transaction.created.stamps_delta": nullable(integer("The stamps of the row.")),
	"value_delta":                      nullable(integer("The cents of the row.")),
	"program_id":                       text("The program."),
	"location_id":                      text("The location."),
	"from_state":                       oneOfTexts("The state before.", states...),
	"to_state":                         oneOfTexts("The state from now on.", states...),
	"reason":                           text("Why, in the operator's words."),
	"message":                          text("A sentence for people."),
	"sample":                           {Type: wire.Types{"boolean"}, Description: "Always true: nothing happened."},
}
