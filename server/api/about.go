package api

import (
	"punchcard/server/kernel"
	"punchcard/server/openapi"
	"punchcard/store"
)

// About describes the REST API for its OpenAPI document.
var About = openapi.About{
	Title:      "Loyalty Card Integration API",
	Prefix:     Prefix,
	Docs:       "/docs",
	OtherTitle: "Till API",
	OtherDocs:  "till/docs",
	Webhooks:   true,
	Introduction: "Issue and update cards, read the ledger, manage programs, prizes and locations of one shop.\n\n" +
		"Ids and cursors are opaque. Times are UTC with three decimals: `2026-01-02T03:04:05.678Z`; times in a request are " +
		"RFC 3339 with an offset. " +
		"Lists are newest first; page until `next_cursor` is null. In a POST, null equals absence; in a PATCH it clears a nullable " +
		"field. Names, references and addresses are one line: with a visible character, and without control, " +
		"line-break and bidirectional formatting characters. " +
		"Every GET answers HEAD too. " +
		"Clients must tolerate new fields.\n\n" +
		"Every write takes an `Idempotency-Key`: a repeat with the same key and body gets the first answer again " +
		"(`Idempotent-Replayed: true`) for 24 hours; on 429 and 5xx retry with the same key.",
	Authentication: []string{
		"Every request carries a key of the shop as a bearer token. Keys are made at the command line " +
			"(`punchcard key create`) or in the dashboard, shown once, and begin with `tsk_live_` or `tsk_test_`. " +
			"A key sees one shop, never another's data. Give each integration a key of its own, and keep keys out of browsers and logs.",
	},
	SampleKey: "tsk_live_…",
	Sections: map[string]string{
		"Identity":     "What a key is and may do.",
		"Locations":    "Where the shop has its tills. They are made in the dashboard.",
		"Programs":     "The templates of cards, their publication and their suspension.",
		"Prizes":       "The ladder of a program: what its holders get at how many stamps.",
		"Cards":        "The cards of holders: issue them, read them and change what is not yet on a device.",
		"Transactions": "The ledger, which only tills write.",
		"Webhooks":     "Subscriptions to events, the log of their deliveries, and the events themselves.",
		"Analytics":    "Figures of the shop and of its programs. A figure that is null is unavailable, not zero.",
	},
	Key:        "A key of the shop: `tsk_live_` or `tsk_test_` and 43 base64url characters.",
	KeyScope:   "the key and its rotation successors",
	RateLimits: true,
	Guard: func(r *kernel.Route) []store.Code {
		codes := []store.Code{
			store.Unauthenticated,
			store.BusinessAPIRequired,
			store.SubscriptionSuspended,
			store.Unauthorized,
			store.RateLimited,
			store.Gone,
			store.InternalError,
		}
		if !r.WithoutLocations {
			codes = append(codes, store.LocationDisabled)
		}
		if r.Writes() {
			codes = append(codes, store.Unavailable)
		}
		return codes
	},
	Status: kernel.StatusOf,
	Examples: map[string]map[string]any{
		"createProgram":  {"name": "Coffee card", "total_stamps": 10, "icon_key": "coffee"},
		"updateProgram":  {"name": "Coffee and cake card"},
		"createPrize":    {"name": "Free coffee", "threshold": 10},
		"updatePrize":    {"name": "Free coffee, any size"},
		"issueCard":      {"external_ref": "crm-4711", "holder_name": "Ada Lovelace"},
		"updateCard":     {"holder_name": "Ada King"},
		"updateContact":  {"phone": "+390612345678", "birthday": "12-10"},
		"updateLocation": {"name": "Harbour Street"},
		"createWebhook":  {"url": "https://example.com/hooks/loyalty", "events": []string{"card.*", "prize.redeemed"}},
		"updateWebhook":  {"active": true},
	},
}
