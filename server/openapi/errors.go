package openapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"punchcard/server/kernel"
	"punchcard/store"
)

// errorTexts says of each code when it is answered.
var errorTexts = map[store.Code]string{
	store.BadRequest:               "The request cannot be satisfied as written, or its body could not be read to its end.",
	store.ValidationFailed:         "Body, query, path or header failed validation; `details` lists every offending field.",
	store.Unauthenticated:          "No, malformed, unknown, revoked or expired key, or one of the wrong class (`tmk_`).",
	store.BusinessAPIRequired:      "The shop has no active Business API add-on and no grant. The key is intact.",
	store.SubscriptionSuspended:    "The shop's subscription is suspended or cancelled. The key is intact.",
	store.LocationDisabled:         "Every location of a restricted key is disabled.",
	store.Unauthorized:             "The key lacks the scope, or its location restriction excludes the target.",
	store.LocationScopeUnsupported: "A restricted key called an endpoint that is not derived from transactions.",
	store.NotFound:                 "No such resource in this shop, or none that a restricted key may see.",
	store.Conflict:                 "The write conflicts with the current state: a duplicate, or a transition that is not allowed.",
	store.CardLocked:               "The card is installed on a device.",
	store.CardExpired:              "The card's expires_at has passed.",
	store.ProgramHasInstalledCards: "A card of the program is installed; template and ladder are frozen.",
	store.IdempotencyConflict:      "The Idempotency-Key was used for another request, or one that is still running. Do not retry with the same key.",
	store.Unprocessable:            "The domain rejects the request; the message names the rule.",
	store.RateLimited:              "The key's requests for this minute are used up; `Retry-After` says how many seconds to wait.",
	store.InternalError:            "Unhandled failure. Retry with the same Idempotency-Key.",

	store.AmountBelowMinStamp:         "The purchase is below what a stamp demands.",
	store.CannotReverseCompletedCycle: "The transaction belongs to a completed cycle.",
	store.CardFullNoRepeat:            "The card is full and the program does not repeat.",
	store.CardSuspended:               "The program is suspended, or the card is locked.",
	store.InvalidCredentials:          "The staff PIN is missing, wrong, or not set.",
	store.PrepaidInsufficientBalance:  "The balance would fall below zero.",
	store.SpendNotEnabled:             "spend_cents is given though the program demands no purchase.",
	store.SpendRequired:               "The program demands a purchase: spend_cents is missing.",
	store.ThresholdAlreadyClaimed:     "A prize of this threshold was redeemed in this cycle.",
}

// errorTable lists errors by HTTP status.
type errorTable []errorRow

type errorRow struct {
	Status int
	Codes  []errorCode
}

type errorCode struct {
	Code store.Code
	When string
}

// add adds a code, unless its status has it already.
func (t *errorTable) add(status int, code store.Code, when string) {
	at := slices.IndexFunc(*t, func(r errorRow) bool { return r.Status >= status })
	if at < 0 {
		at = len(*t)
	}
	if at == len(*t) || (*t)[at].Status != status {
		*t = slices.Insert(*t, at, errorRow{Status: status})
	}
	row := &(*t)[at]
	if !slices.ContainsFunc(row.Codes, func(c errorCode) bool { return c.Code == code }) {
		row.Codes = append(row.Codes, errorCode{code, when})
	}
}

// addUsual adds codes with the face's status and text.
func (d *Document) addUsual(t *errorTable, codes ...store.Code) {
	for _, c := range codes {
		t.add(d.about.Status(c), c, cmp.Or(d.about.When[c], errorTexts[c]))
	}
}

// errors lists the errors of a route. The codes of one status are in the order
// of the checks.
func (d *Document) errors(r *kernel.Route) (t errorTable) {
	d.addUsual(&t, store.ValidationFailed)
	d.addUsual(&t, d.about.Guard(r)...)
	d.addUsual(&t, r.Codes...)
	if r.Writes() {
		d.addUsual(&t, store.IdempotencyConflict)
	}
	hasBody := r.Writes() && r.Method != http.MethodDelete
	if hasBody {
		d.addUsual(&t, store.BadRequest)
	}
	t.add(http.StatusMethodNotAllowed, store.BadRequest, "The path does not take this method; the header `Allow` lists those that it takes.")
	if hasBody {
		t.add(http.StatusRequestEntityTooLarge, store.BadRequest, "The body is larger than 1 MiB.")
		t.add(http.StatusUnsupportedMediaType, store.BadRequest, "The Content-Type is not JSON.")
	}
	return t
}

// AllErrors lists the errors of all faces.
func (d *Document) AllErrors() (t errorTable) {
	d.addUsual(&t, slices.Sorted(maps.Keys(errorTexts))...)
	return t
}

// codes are the codes of all operations, sorted.
func (d *Document) codes() (list []any) {
	seen := map[store.Code]bool{}
	for _, o := range d.Operations {
		for _, row := range o.Errors {
			for _, c := range row.Codes {
				seen[c.Code] = true
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, string(c))
	}
	return list
}
