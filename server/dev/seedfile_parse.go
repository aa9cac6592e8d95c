package dev

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/server/wire"
)

// seedKind is what one kind of object in a seed consists of: the fields of a
// struct, which the wire package reads and describes, and lists of objects,
// which it does not know. Reading and the schema both come from it.
type seedKind struct {
	name   string
	doc    string
	fields reflect.Type
	lists  []seedList
	// hidden are fields of the struct that a seed does not have, and what it
	// has instead: the public ids of a seed are not known before it is applied.
	hidden map[string]string
	// docs describe fields whose struct has no words for them.
	docs map[string]string
}

type seedList struct {
	name     string
	of       *seedKind
	required bool // and not empty
	max      int
	doc      string
}

// seedKinds are all kinds of objects, from the file itself down.
var seedKinds = func() (k struct {
	top, shop, location, program, prize, key, card, webhook, activity *seedKind
}) {
	k.location = &seedKind{name: "location", fields: reflect.TypeFor[locationFields](), doc: "A site with a till. Fields without a default of their own have that of a made-up address.",
		docs: map[string]string{"name": "Default Main street.", "address": "Street and number.", "city": "Town.", "postal_code": "As it is written in the country.",
			"lat": "Degrees north. Default 0.", "lon": "Degrees east. Default 0.", "require_staff_pin": "Whether tills ask for the staff PIN before each write. Default false."}}
	k.prize = &seedKind{name: "prize", fields: reflect.TypeFor[prizeFields](), doc: "One option of a stamp program's ladder.", docs: map[string]string{"name": "What the holder gets."}}
	k.program = &seedKind{name: "program", fields: reflect.TypeFor[programFields](), doc: "A card template.",
		lists:  []seedList{{name: "prizes", of: k.prize, max: 100, doc: "The ladder, stamp programs only: at most 3 thresholds of at most 3 options each."}},
		hidden: map[string]string{"scoped_location_ids": "scoped_location_refs"},
		docs: map[string]string{"name": "As it is on the card.", "type": "standard and private are the stamp programs.", "logo_url": "A picture's address.",
			"default_expire_after_days": "Days after which a card without an expiry of its own expires. Default: never."}}
	k.key = &seedKind{name: "key", fields: reflect.TypeFor[keyFields](), doc: "A further key of the shop. Shops have at most 10 API keys and 5 MCP keys; in the first shop two and one of them are the demo keys.",
		hidden: map[string]string{"location_ids": "location_refs"},
		docs:   map[string]string{"class": "api for the REST API, which is the default, or mcp.", "name": "Default Key.", "scopes": "Default: all.", "expires_at": "After the shop was made. Default: never."}}
	k.card = &seedKind{name: "card", fields: reflect.TypeFor[cardFields](), hidden: map[string]string{"send_email": ""},
		docs: map[string]string{"holder_name": "The person's name.", "holder_email": "The person's address; nothing is sent there."},
		doc:  "A person's card. Without at and ago it was issued at the instant of its first activity, or at the start if it has none."}
	k.webhook = &seedKind{name: "webhook", fields: reflect.TypeFor[webhookFields](), hidden: map[string]string{"program_ids": "program_refs", "location_ids": "location_refs"},
		doc: "A subscription, made at the start after everything else: it gets what happens from then on. Its secret is random; make a new one by PATCH with rotate_secret."}
	k.activity = &seedKind{name: "activity", fields: reflect.TypeFor[activityFields](),
		doc: "What happened at a till: at or ago, and exactly one of stamp, redeem, top_up, spend, use and reverse. The rules of the till hold; what it would refuse is an error of the file."}
	k.shop = &seedKind{name: "shop", fields: reflect.TypeFor[shopFields](), lists: []seedList{
		{name: "locations", of: k.location, required: true, max: 1000, doc: "The first one is that of the demo till and of the restricted demo key."},
		{name: "programs", of: k.program, max: 1000, doc: "In the order in which they were made."},
		{name: "keys", of: k.key, max: 100, doc: "Besides the demo keys of the first shop."},
		{name: "cards", of: k.card, max: 100_000, doc: "In any order."},
		{name: "webhooks", of: k.webhook, max: 1000, doc: "At most 50 of a shop."},
		{name: "activity", of: k.activity, max: 1_000_000, doc: "In any order; of one instant in that of the file."},
	}, doc: "A shop. Its locations, programs and keys were made when it was: at the instant of at or ago, by default that of its first card or activity, or the start if it has none.", docs: map[string]string{"name": "Default My shop.", "mode": "Default test.", "timezone": "An IANA name, in which statistics count days and hours. Default UTC.",
		"subscription_state": "suspended and cancelled refuse requests, not the activity of this file. Default active.", "api_addon": "Whether the REST API is open to the shop. Default true.",
		"mcp_access": "Default true.", "grant_expires_at": "Until when the REST API is open without the add-on.", "included_locations": "Default 1.",
		"max_locations": "Default: no limit.", "max_cards": "Live cards at most. Default: no limit."}}
	k.top = &seedKind{name: "seed", fields: reflect.TypeFor[topFields](), lists: []seedList{
		{name: "shops", of: k.shop, required: true, max: 100, doc: "The first one has the demo credentials of the ready line, and so mode test."},
	}}
	return k
}()

// seedLimits are the bounds that are settings of a deployment: in a seed their
// defaults hold whatever the deployment allows, so that it is the same content
// everywhere.
var seedLimits = wire.Limits{"prize_name": 200, "prize_description": 2000, "localization": 500}

// seedParser reads objects and notes what is wrong with them.
type seedParser struct{ mistakes }

// object reads the fields of one object into the struct that dst points to,
// and returns the items of its lists.
func (p *seedParser) object(k *seedKind, path string, raw []byte, dst any) (lists map[string][][]byte) {
	lists = map[string][][]byte{}
	if p.full() {
		return lists
	}
	if raw = bytes.TrimLeft(raw, " \t\r\n"); raw[0] != '{' {
		p.add(path, "must be an object")
		return lists
	}
	// The wire package reads what is left when the lists are taken out.
	fields := []byte{'{'}
	seen := map[string]bool{}
	for _, m := range members(raw) {
		instead, hidden := k.hidden[m.name]
		i := slices.IndexFunc(k.lists, func(l seedList) bool { return l.name == m.name })
		switch {
		case hidden && instead != "":
			p.add(join(path, m.name), "is not a field of a seed; give "+instead)
		case hidden:
			p.add(join(path, m.name), "is not a field of a seed")
		case i >= 0:
			lists[m.name] = p.list(k.lists[i], join(path, m.name), m.value)
			seen[m.name] = m.value[0] != 'n'
		default:
			if len(fields) > 1 {
				fields = append(fields, ',')
			}
			fields = append(append(wire.AppendString(fields, m.name), ':'), m.value...)
		}
	}
	for _, d := range wire.DecodeBody(append(fields, '}'), dst, wire.Create, seedLimits) {
		p.add(join(path, d.Field), d.Message)
	}
	for _, l := range k.lists {
		if l.required && !seen[l.name] {
			p.add(join(path, l.name), "is required")
		}
	}
	return lists
}

// list splits an array into its items. As in the REST API null equals absence.
func (p *seedParser) list(l seedList, path string, raw []byte) (items [][]byte) {
	if raw[0] == 'n' {
		return nil
	}
	if raw[0] != '[' {
		p.add(path, "must be an array of objects")
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	dec.ReadToken()
	for dec.PeekKind() != jsontext.KindEndArray && len(items) <= l.max {
		v, err := dec.ReadValue()
		if err != nil { // cannot be: the file was checked
			break
		}
		end := int(dec.InputOffset())
		items = append(items, raw[end-len(v):end])
	}
	switch {
	case len(items) > l.max:
		p.add(path, fmt.Sprintf("must have at most %d items", l.max))
		return nil
	case l.required && len(items) == 0:
		p.add(path, "must have at least 1 item")
	}
	return items
}

// member is one of an object's, in the order of the file.
type member struct {
	name  string
	at    int // offset of the name in the object
	start int // of the value
	value []byte
}

// members splits an object, already checked.
func members(raw []byte) (list []member) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	dec.ReadToken()
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil { // cannot be: the file was checked
			return list
		}
		m := member{name: name.String()}
		m.at = int(dec.InputOffset()) - 1 // its closing quote; a string has one line
		v, err := dec.ReadValue()
		if err != nil {
			return list
		}
		m.start = int(dec.InputOffset()) - len(v)
		m.value = raw[m.start:dec.InputOffset()]
		list = append(list, m)
	}
	return list
}

func join(path, field string) string {
	switch {
	case path == "":
		return field
	case field == "":
		return path
	}
	return path + "." + field
}
