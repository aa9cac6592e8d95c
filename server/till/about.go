package till

import (
	"punchcard/server/kernel"
	"punchcard/server/openapi"
	"punchcard/store"
)

// About describes the till API for its OpenAPI document.
var About = openapi.About{
	Title:      "Till API",
	Prefix:     Prefix,
	Docs:       "/till/docs",
	OtherTitle: "Loyalty Card Integration API",
	OtherDocs:  "../docs",
	Authentication: []string{"Every request carries the token of a device as a bearer token. Devices are made at the command line " +
		"(`punchcard device create`) or by pairing in the dashboard, and tokens begin with `tdk_live_` or `tdk_test_`. " +
		"A device belongs to one location of one shop.",
		"Where the location demands it, writes also carry the staff PIN as `X-Staff-Pin`, or the token of a member of staff who has " +
			"signed in as `X-Staff-Session`."},
	SampleKey: "tdk_live_…",
	Sections: map[string]string{
		"Device": "What the device is, and what it has written.",
		"Staff":  "Members of staff who sign in at the till.",
		"Cards":  "Cards that are presented, searched for or issued at the counter.",
		"Ledger": "What a till writes: stamps, redemptions, top-ups, spends, uses and reversals.",
	},
	Introduction: "What a shop's devices write to the ledger. A device belongs to one location.\n\n" +
		"`code` is what a card's QR code holds or its short code, the eight characters that the holder's page shows; it stands for the " +
		"whole chain of cards that overflowed from one another. " +
		"A card's id does in lookups, and in writes of devices made for it (`accepts_card_ids`; 422 on others). Ten unknown short codes " +
		"within a minute lock the device's short codes for a minute (429). " +
		"Where the location demands it, every write needs the staff PIN as `X-Staff-Pin`; five wrong ones in a row lock the device for a " +
		"minute, ten within 15 minutes the location's PIN entry for five minutes (429). " +
		"In place of it a write may carry `X-Staff-Session`, the token of a member of staff who has signed in (`POST /session`); its " +
		"rows name the person. " +
		"Every write takes an `Idempotency-Key`, scoped to the device, for retries within a day. A write to the ledger and the issue of " +
		"a card also take a `client_reference` in their body, with which they are made once for ever: offline tills retry with them.",
	RateLimits: true,
	Key:        "A device token: `tdk_live_` or `tdk_test_` and 43 base64url characters.",
	KeyScope:   "the device",
	StaffPIN:   true,
	Guard: func(r *kernel.Route) []store.Code {
		if r.Writes() {
			return []store.Code{
				store.Unauthenticated, store.SubscriptionSuspended, store.LocationDisabled, store.InvalidCredentials, store.RateLimited,
				store.Gone, store.InternalError, store.Unavailable,
			}
		}
		return []store.Code{store.Unauthenticated, store.RateLimited, store.Gone, store.InternalError}
	},
	Status: Status,
	Examples: map[string]map[string]any{
		"openStaffSession":   {"pin": "4711"},
		"issueCardAtCounter": {"holder_name": "Ada Lovelace"},
		"setHolder":          {"holder_name": "Ada Lovelace"},
		"stampCard":          {"count": 1},
		"topUpCard":          {"amount_cents": 2000},
		"spendFromCard":      {"amount_cents": 350},
	},
	When: map[store.Code]string{
		store.Unauthenticated:       "No, malformed, unknown or revoked device token, or a key of another class.",
		store.SubscriptionSuspended: "The shop's subscription is suspended or cancelled. The token is intact.",
		store.LocationDisabled:      "The device's location is disabled.",
		store.NotFound:              "No such resource in this shop or, for a transaction, at the device's location.",
		store.Conflict: "The card is archived, or has a holder or five codes of earlier cards already; the code is another card's; the " +
			"transaction was reversed already; or the external_ref has a live card in the program.",
		store.RateLimited: "The device's requests for this minute are used up, or wrong staff PINs or unknown short codes have " +
			"locked it or its location; `Retry-After` says how many seconds to wait.",
	},
}
