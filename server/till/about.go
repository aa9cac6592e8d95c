package till

import (
	"punchcard/server/kernel"
	"punchcard/server/openapi"
	"punchcard/store"
)

// About describes the till API for its OpenAPI document.
var About = openapi.About{
	Title: "Till API",
	Introduction: "What a shop's devices write to the ledger. A device belongs to one location.\n\n" +
		"`code` is a card's id or what its QR code holds, which may also be typed as the holder's page shows it; it stands for the whole chain of cards that overflowed from one another. " +
		"Where the location demands it, every write needs the staff PIN as `X-Staff-Pin`; five wrong ones in a row lock the device for a minute (429). " +
		"Every write takes an `Idempotency-Key`, scoped to the device: offline tills retry with it.",
	Key:      "A device token: `tdk_live_` or `tdk_test_` and 43 base64url characters.",
	KeyScope: "the device",
	StaffPIN: true,
	Guard: func(r *kernel.Route) []store.Code {
		if r.Writes() {
			return []store.Code{store.Unauthenticated, store.SubscriptionSuspended, store.LocationDisabled, store.InvalidCredentials, store.RateLimited, store.InternalError}
		}
		return []store.Code{store.Unauthenticated, store.InternalError}
	},
	Status: Status,
	When: map[store.Code]string{
		store.Unauthenticated:       "No, malformed, unknown or revoked device token, or a key of another class.",
		store.SubscriptionSuspended: "The shop's subscription is suspended or cancelled. The token is intact.",
		store.LocationDisabled:      "The device's location is disabled.",
		store.NotFound:              "No such resource in this shop or, for a transaction, at the device's location.",
		store.Conflict:              "The card is archived, the transaction was reversed already, or the external_ref has a live card in the program.",
		store.RateLimited:           "Five staff PINs in a row were wrong: the device is locked; `Retry-After` says how many seconds to wait.",
	},
}
