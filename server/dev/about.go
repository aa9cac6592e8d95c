package dev

import (
	"reflect"

	"punchcard/server/kernel"
	"punchcard/server/openapi"
	"punchcard/store"
)

// About describes the control API for its OpenAPI document.
var About = openapi.About{
	Title:  "Control API of the fixture",
	Prefix: Prefix,
	Docs:   "/docs",
	Sections: map[string]string{
		stateGroup:    "The server as a whole: its state, its clock, its mail, its audit log.",
		journalGroup:  "What the server was asked, and what it answered.",
		faultGroup:    "Failures on demand.",
		receiverGroup: "Targets for webhooks in the server itself.",
		shopGroup:     "What an operator does for a shop, its keys and its people.",
		tillGroup:     "What an operator does for locations, tills and staff.",
		cardGroup:     "What an operator does for programs and cards.",
		phoneGroup:    "Phones in the server itself, which have passes of cards as real ones have.",
	},
	Introduction: "What a test asks of `punchcard dev`. It has no key, is not there under `serve`, and answers only requests whose " +
		"Host is loopback or allowed.\n\n" +
		"`shop_id` is the demo shop's unless it is given. The document leaves out the forms of the start page, the receivers' own " +
		"URLs, which take any POST, the pictures of passes, and `/dev/seed.schema.json`.",
	Open:   true,
	Guard:  func(*kernel.Route) []store.Code { return []store.Code{store.InternalError} },
	Status: kernel.StatusOf,
	When: map[store.Code]string{
		store.NotFound:      "The fixture has no such resource.",
		store.Unprocessable: "The resource does not allow it, or there are as many as there may be.",
		store.InternalError: "The server failed, or the fixture was reset meanwhile (503).",
	},
	Examples: map[string]map[string]any{
		"fillHistory":    {"days": 90},
		"moveClock":      {"advance": "26h"},
		"addFault":       {"method": "POST", "path": "/cards/*/stamps", "status": 503, "count": 2},
		"createReceiver": {"status": 200},
		"updateReceiver": {"status": 500},
		"replayReceiver": {"url": "http://127.0.0.1:3000/hooks", "order": "reversed", "copies": 2},
		"createShop":     {"name": "Second shop"},
		"updateShop":     {"subscription_state": "past_due"},
		"createKey":      {"scopes": []string{"cards:read"}},
		"limitKey":       {"rate_limit_per_minute": 2},
		"rotateKey":      {"grace_hours": 0},
		"createLocation": {"name": "Harbour Street"},
		"createStaff":    {"name": "Grace", "pin": "4711"},
		"updateStaff":    {"name": "Grace Hopper"},
		"setStaffPIN":    {"pin": "0815"},
		"enrollCard":     {"holder_name": "Ada Lovelace"},
	},
	Values: map[string]any{
		"listRequests.method": "POST", "listRequests.path": "/cards/*/stamps", "getReceiver.event": "stamp.assigned",
		"getReceiver.wait": 1, "getReceiver.timeout_ms": 10000,
		"method": "POST", "path": "/api/public/v1/cards", "query": "", "Response.status": 201, "truncated": false,
		"replayed": false, "fault": nil,
		"Hint.code": hintRepeated, "ListedHint.code": hintRepeated, "Hint.message": "This POST equals request 3.",
		"ListedHint.message": "This POST equals request 3.", "ListedHint.kind": kindREST,
		"Fault.id": "flt_1", "Fault.path": "/cards/*/stamps", "Fault.status": 503, "Fault.code": "internal_error",
		"Fault.delay_ms": 0, "Fault.count": 2, "Fault.remaining": 2, "when": faultBefore, "until_cleared": false,
		"content_type":      nil,
		"ReceiverState.id":  "rcv_0123456789abcdef0123456789abcdef",
		"ReceiverDetail.id": "rcv_0123456789abcdef0123456789abcdef", "ReceiverState.status": 200, "ReceiverDetail.status": 200,
		"ReceiverState.url":  "http://127.0.0.1:8080/dev/receiver/rcv_0123456789abcdef0123456789abcdef",
		"ReceiverDetail.url": "http://127.0.0.1:8080/dev/receiver/rcv_0123456789abcdef0123456789abcdef",
		"delay_ms":           0, "event": "stamp.assigned", "Received.body": "{}", "Replayed.status": 200, "error": nil, "copy": 1,
		"DeliveryEntry.status": 200, "success": true, "next_attempt_at": nil,
		"PhoneDetail.id": "phn_0123456789abcdef0123456789abcdef", "problem": nil, "notices": []any{"You have 4/10 stamps."},
		"serial_number": "1bvpwdw2164v69b3vjk5mmb7qw", "voided": false,
		"picture_url": "http://127.0.0.1:8080/dev/wallet/phones/phn_0123456789abcdef0123456789abcdef/passes/" +
			"1bvpwdw2164v69b3vjk5mmb7qw/picture",
		"PassField.key": "count", "PassField.place": "header", "PassField.label": "Stamps", "PassField.value": "4/10",
		"to": "ada@example.com", "subject": "Your card", "text": "Here is your card.", "delivered": 3, "failed": 0, "pending": 0,
	},
	Unions: map[reflect.Type][]reflect.Type{
		reflect.TypeFor[journalEntry](): {reflect.TypeFor[requestEntry](), reflect.TypeFor[deliveryEntry]()},
	},
}
