package openapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"punchcard/server/kernel"
	"punchcard/store"
)

// errorTexts says when the server answers with each code.
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

// refusal is an error with which an operation may answer.
type refusal struct {
	Status int
	Code   store.Code
	When   string
}

// refuse appends the refusals of codes, with the face's status and text, unless list
// has them.
func (d *Document) refuse(list []refusal, codes ...store.Code) []refusal {
	for _, c := range codes {
		e := refusal{d.about.Status(c), c, cmp.Or(d.about.When[c], errorTexts[c])}
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

func byStatus(a, b refusal) int { return a.Status - b.Status }

// refusals lists the errors of a route by ascending status. Those of one
// status are in the order of the checks.
func (d *Document) refusals(r *kernel.Route) []refusal {
	list := d.refuse(nil, store.ValidationFailed)
	list = d.refuse(list, d.about.Guard(r)...)
	list = d.refuse(list, r.Codes...)
	if r.Writes() {
		list = d.refuse(list, store.IdempotencyConflict)
	}
	list = append(list, refusal{http.StatusMethodNotAllowed, store.BadRequest, "The path does not take this method; the header `Allow` lists those that it takes."})
	if r.Writes() && r.Method != http.MethodDelete {
		list = append(d.refuse(list, store.BadRequest),
			refusal{http.StatusRequestEntityTooLarge, store.BadRequest, "The body is larger than 1 MiB."},
			refusal{http.StatusUnsupportedMediaType, store.BadRequest, "The Content-Type is not JSON."})
	}
	slices.SortStableFunc(list, byStatus)
	return list
}

// AllErrors lists the errors of all faces by ascending status.
func (d *Document) AllErrors() []refusal {
	list := d.refuse(nil, slices.Sorted(maps.Keys(errorTexts))...)
	slices.SortStableFunc(list, byStatus)
	return list
}

// codes returns the codes of all operations, sorted.
func (d *Document) codes() (list []any) {
	var all []string
	for _, o := range d.Operations {
		for _, e := range o.Errors {
			all = append(all, string(e.Code))
		}
	}
	slices.Sort(all)
	for _, c := range slices.Compact(all) {
		list = append(list, c)
	}
	return list
}
