package kernel

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"punchcard/server/wire"
	"punchcard/store"
)

// Error is a refusal by a face or by Invoke. Refusals by the store are
// [store.Error].
type Error struct {
	// Status is the HTTP status; 0 means the status of Code on the face.
	Status     int            `json:"-"`
	Code       store.Code     `json:"code"`
	Message    string         `json:"message"`
	Details    []store.Detail `json:"details,omitempty"`
	RetryAfter time.Duration  `json:"-"` // 0: not set
	MovedTo    string         `json:"-"` // see [store.Error]
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// isFault reports whether the server could not do what it should have done.
func (e *Error) isFault() bool {
	return e.Status >= http.StatusInternalServerError && e.Code != store.Unavailable
}

// Refuse returns a refusal. The face determines its status by the code.
func Refuse(code store.Code, message string) *Error {
	return &Error{Code: code, Message: message}
}

// refuseAs returns a refusal with a status other than that of its code.
func refuseAs(status int, code store.Code, message string) *Error {
	return &Error{Status: status, Code: code, Message: message}
}

// Meaning says what a code means on the REST API.
type Meaning struct {
	Status int    // of HTTP
	When   string // when the server answers with the code; empty: the documents leave it out
}

// Codes are all codes of errors.
var Codes = map[store.Code]Meaning{
	store.BadRequest: {
		http.StatusBadRequest, "The request cannot be satisfied as written, or its body could not be read to its end.",
	},
	store.ValidationFailed: {
		http.StatusBadRequest, "Body, query, path or header failed validation; `details` lists every offending field.",
	},
	store.BusinessAPIRequired: {
		http.StatusUnauthorized, "The shop has no active Business API add-on and no grant. The key is intact.",
	},
	store.MCPAccessRequired: {http.StatusUnauthorized, ""},
	store.Unauthenticated: {
		http.StatusUnauthorized, "No, malformed, unknown, revoked or expired key, or one of the wrong class (`tmk_`).",
	},
	store.LocationDisabled:      {http.StatusPaymentRequired, "Every location of a restricted key is disabled."},
	store.SubscriptionSuspended: {http.StatusPaymentRequired, "The shop's subscription is suspended or cancelled. The key is intact."},
	store.Unavailable: {
		http.StatusServiceUnavailable, "The shop is being moved to another server; `Retry-After` says how many seconds to wait.",
	},
	store.Unauthorized:             {http.StatusForbidden, "The key lacks the scope, or its location restriction excludes the target."},
	store.LocationScopeUnsupported: {http.StatusForbidden, "A restricted key called an endpoint that is not derived from transactions."},
	store.NotFound:                 {http.StatusNotFound, "No such resource in this shop, or none that a restricted key may see."},
	store.Gone:                     {http.StatusGone, "The shop has moved to another server, whose address the message has."},
	store.CardExpired:              {http.StatusConflict, "The card's expires_at has passed."},
	store.CardLocked:               {http.StatusConflict, "The card is installed on a device."},
	store.Conflict: {
		http.StatusConflict, "The write conflicts with the current state: a duplicate, or a transition that is not allowed.",
	},
	store.IdempotencyConflict: {
		http.StatusConflict,
		"The Idempotency-Key was used for another request, or one that is still running. Do not retry with the same key.",
	},
	store.ProgramHasInstalledCards: {http.StatusConflict, "A card of the program is installed; template and ladder are frozen."},
	store.Unprocessable:            {http.StatusUnprocessableEntity, "The domain rejects the request; the message names the rule."},
	store.RateLimited: {
		http.StatusTooManyRequests, "The key's requests for this minute are used up; `Retry-After` says how many seconds to wait.",
	},
	store.InternalError: {http.StatusInternalServerError, "Unhandled failure. Retry with the same Idempotency-Key."},

	// Codes of the till API and the holder's page only.
	store.AmountBelowMinStamp:         {http.StatusBadRequest, "The purchase is below what a stamp demands."},
	store.CannotReverseCompletedCycle: {http.StatusUnprocessableEntity, "The transaction belongs to a completed cycle."},
	store.CardFullNoRepeat:            {http.StatusUnprocessableEntity, "The card is full and the program does not repeat."},
	store.CardSuspended:               {http.StatusUnprocessableEntity, "The program is suspended, or the card is locked."},
	store.InvalidCredentials: {
		http.StatusUnauthorized, "The staff PIN is missing, wrong, or not set, or the staff session has ended.",
	},
	store.PrepaidInsufficientBalance: {http.StatusUnprocessableEntity, "The balance would fall below zero."},
	store.SpendNotEnabled:            {http.StatusBadRequest, "spend_cents is given though the program demands no purchase."},
	store.SpendRequired:              {http.StatusUnprocessableEntity, "The program demands a purchase: spend_cents is missing."},
	store.LinkExpired:                {http.StatusGone, ""},
	store.ProofRequired:              {http.StatusForbidden, ""},
	store.TOTPInvalid:                {http.StatusUnprocessableEntity, ""},
	store.TOTPRequired:               {http.StatusUnauthorized, ""},
	store.ThresholdAlreadyClaimed:    {http.StatusUnprocessableEntity, "A prize of this threshold was redeemed in this cycle."},
}

// StatusOf returns the HTTP status of a code on the REST API; 500 for a code that
// is not in Codes.
func StatusOf(code store.Code) int { return cmp.Or(Codes[code].Status, http.StatusInternalServerError) }

// AsError returns the answer for an error, with the status of its code. For errors
// that are no refusals it is an internal error that does not show the cause.
func AsError(err error, status func(store.Code) int) *Error {
	var e *Error
	if errors.As(err, &e) {
		if e.Status == 0 {
			c := *e
			c.Status = status(e.Code)
			return &c
		}
		return e
	}
	if refused, ok := store.AsError(err); ok {
		return &Error{
			Status:     status(refused.Code),
			Code:       refused.Code,
			Message:    refused.Message,
			Details:    sentences(refused.Details),
			RetryAfter: refused.RetryAfter,
			MovedTo:    refused.MovedTo,
		}
	}
	return &Error{Status: http.StatusInternalServerError, Code: store.InternalError,
		Message: "Something went wrong on the server. Retry with the same Idempotency-Key."}
}

// sentences returns details with messages that are whole sentences.
func sentences(details []store.Detail) []store.Detail {
	list := slices.Clone(details)
	for i := range list {
		list[i].Message = wire.Sentence(list[i])
	}
	return list
}

// ErrorBody is the JSON body of every error.
type ErrorBody struct {
	Error ErrorObject `json:"error"`
}

// ErrorObject is the error in an ErrorBody.
type ErrorObject struct {
	Code      string         `json:"code" doc:"Switch on this, never on message."`
	Message   string         `json:"message" doc:"For people; may change."`
	RequestID string         `json:"request_id" doc:"Equals the X-Request-Id response header."`
	Details   []store.Detail `json:"details,omitempty" doc:"On validation_failed: every offending field."`
}

// render returns the JSON body for a request.
func (e *Error) render(requestID string) []byte {
	return wire.Append(nil, &ErrorBody{ErrorObject{string(e.Code), e.Message, requestID, e.Details}})
}

// remembered returns the error as it is stored for replays, without a request id.
func (e *Error) remembered() store.Remembered {
	return store.Remembered{Status: e.Status, Body: wire.Append(nil, e)}
}

// recallError returns the error that was stored by remembered.
func recallError(m *store.Remembered) *Error {
	e := &Error{}
	if err := json.Unmarshal(m.Body, e); err != nil {
		return AsError(err, StatusOf)
	}
	e.Status = m.Status
	return e
}
