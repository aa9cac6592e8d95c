package openapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"punchcard/server/wire"
	"punchcard/store"
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
	for t, doc := range contextDocs {
		d.schema(t, wire.Create).Target.Description = doc
	}
	d.registry.Schemas["EventCard"].Properties["holder"].Name = "EventHolder"
	fields := wire.Schema(reflect.TypeFor[eventData](), wire.Create, nil, &wire.Registry{}).Target.Properties
	var v1, v2 []*wire.JSONSchema
	for _, in := range event.All() {
		name := typeName(in.Name)
		data := d.component(name+"Data", dataSchema(&in, fields))
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
	s := newEnvelope(in, "1")
	if in.Has("program") {
		s.add("program_id", text("The event's program."))
	}
	return s.add("shop_id", text("The shop.")).add("occurred_at", instant()).add("data", data).JSONSchema
}

// envelopeV2 returns the schema of an event's v2 envelope.
func (d *Document) envelopeV2(in *event.Info, data *wire.JSONSchema) *wire.JSONSchema {
	s := newEnvelope(in, "2")
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

// newEnvelope returns the schema of an envelope with the first fields of both versions.
func newEnvelope(in *event.Info, version string) object {
	return newObject("The envelope of "+string(in.Name)+", version "+version+".").
		add("event", oneOfTexts("", string(in.Name))).
		add("event_id", text("The key to recognise repeats by: the same in every attempt and redelivery, "+
			"another one for each webhook."))
}

// The objects of v2 envelopes.
type (
	eventShop struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	eventLocation eventShop
	eventProgram  struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Type string `json:"type" enum:"standard,private,discount,access,prepaid"`
	}
	eventCard struct {
		ID          string             `json:"id"`
		ExternalRef store.Null[string] `json:"external_ref" doc:"The caller's own id for the person. Join on it."`
		State       string             `json:"state" enum:"active,locked,invited,archived,expired,deleted" doc:"The card's status."`
		Holder      struct {
			Name  store.Null[string] `json:"name" doc:"A label to show."`
			Email store.Null[string] `json:"email"`
		} `json:"holder" doc:"The card's holder, as far as the shop knows."`
	}
	eventTransaction struct {
		ID       string                      `json:"id"`
		Type     string                      `json:"type" enum:"stamp,redemption,reversal,expiry,topup,spend,discount,access,adjustment"`
		Metadata store.Null[json.RawMessage] `json:"metadata" doc:"What the device gave, as it is."`
	}
	eventActor struct {
		Type string             `json:"type" enum:"api_key,device,user,holder,system"`
		ID   store.Null[string] `json:"id"`
	}
)

// contextDocs are the descriptions of the objects of v2 envelopes.
var contextDocs = map[reflect.Type]string{
	reflect.TypeFor[eventShop]():        "The shop.",
	reflect.TypeFor[eventLocation]():    "Where the event happened, or the location that it is about.",
	reflect.TypeFor[eventProgram]():     "The program of the event.",
	reflect.TypeFor[eventCard]():        "The card, as it is after the change.",
	reflect.TypeFor[eventTransaction](): "The row of the ledger.",
	reflect.TypeFor[eventActor]():       "Who made the change.",
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

// object is a schema of an object whose fields are all required.
type object struct{ *wire.JSONSchema }

func newObject(doc string) object {
	return object{&wire.JSONSchema{Type: wire.Types{"object"}, Description: doc, Properties: map[string]*wire.JSONSchema{}}}
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

// dataSchema returns the schema of an event's data. fields are those of eventData.
func dataSchema(in *event.Info, fields map[string]*wire.JSONSchema) *wire.JSONSchema {
	s := newObject("What " + string(in.Name) + " says.")
	for _, f := range in.Fields {
		field := cmp.Or(fields[string(in.Name)+"."+f], fields[f])
		if field == nil {
			panic("openapi: the data of " + string(in.Name) + " has a field without a schema: " + f)
		}
		s.add(f, field)
	}
	return s.JSONSchema
}

// eventData is a list of all fields that the data of events may have. Where a name means different things, the name of the
// event stands before it.
type eventData struct {
	Card        string             `json:"card_instance_id" doc:"The card."`
	Parent      store.Null[string] `json:"parent_card_instance_id" doc:"The card whose overflow made this one; null for others."`
	Source      string             `json:"source" enum:"api,counter,web_enrollment,overflow,import" doc:"How the card was made."`
	Platform    string             `json:"platform" enum:"apple,google" doc:"The device family."`
	StampsDelta int64              `json:"stamps_delta" doc:"The stamps that were added."`
	StampsCount int64              `json:"stamps_count" doc:"The card's stamps after it."`
	Transaction string             `json:"transaction_id" doc:"The row of the ledger."`
	Prize       string             `json:"prize_id" doc:"The prize."`
	PrizeLabel  string             `json:"prize_label" doc:"Its name."`
	Type        string             `json:"tx_type" enum:"stamp,redemption,reversal,expiry,topup,spend,discount,access,adjustment" doc:"The type of the row."`
	Delta       int64              `json:"delta" doc:"By how many cents the balance changed."`
	Balance     int64              `json:"balance" doc:"The balance after it, in cents."`
	Original    string             `json:"original_transaction_id" doc:"The row that was reversed."`
	Reversal    string             `json:"reversal_transaction_id" doc:"The row that reverses it."`
	Reversed    int64              `json:"reversed_delta" doc:"The stamps or cents that came back, 0 where there are none."`
	ProgramType string             `json:"program_type" enum:"standard,private,discount,access,prepaid"`
	ExpiredAt   store.Time         `json:"expired_at"`
	StampsOfRow store.Null[int64]  `json:"transaction.created.stamps_delta" doc:"The stamps of the row."`
	ValueDelta  store.Null[int64]  `json:"value_delta" doc:"The cents of the row."`
	Program     string             `json:"program_id" doc:"The program."`
	Location    string             `json:"location_id" doc:"The location."`
	FromState   string             `json:"from_state" enum:"active,past_due,suspended,cancelled" doc:"The state before."`
	ToState     string             `json:"to_state" enum:"active,past_due,suspended,cancelled" doc:"The state from now on."`
	Reason      string             `json:"reason" doc:"Why, in the operator's words."`
	Message     string             `json:"message" doc:"A sentence for people."`
	Sample      bool               `json:"sample" doc:"Always true: nothing happened."`
}
