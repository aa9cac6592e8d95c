package kernel

import (
	"encoding/json"
	"errors"
	"net/http"

	"punchcard/server/wire"
	"punchcard/store"
)

// Statuses maps the codes of spec section Errors to the HTTP status that the
// REST API answers with, where the spec gives no choice or contract section 1
// and 4 decided one.
var Statuses = map[store.Code]int{
	store.BadRequest:               http.StatusBadRequest,
	store.ValidationFailed:         http.StatusBadRequest,
	store.BusinessAPIRequired:      http.StatusUnauthorized,
	store.Unauthenticated:          http.StatusUnauthorized,
	store.LocationDisabled:         http.StatusPaymentRequired,
	store.SubscriptionSuspended:    http.StatusPaymentRequired,
	store.Unauthorized:             http.StatusForbidden,
	store.LocationScopeUnsupported: http.StatusForbidden,
	store.NotFound:                 http.StatusNotFound,
	store.CardExpired:              http.StatusConflict,
	store.CardLocked:               http.StatusConflict,
	store.Conflict:                 http.StatusConflict,
	store.IdempotencyConflict:      http.StatusConflict,
	store.ProgramHasInstalledCards: http.StatusConflict,
	store.Unprocessable:            http.StatusUnprocessableEntity,
	store.RateLimited:              http.StatusTooManyRequests,
	store.InternalError:            http.StatusInternalServerError,

	// Platform codes, of the till and the holder's page.
	store.AmountBelowMinStamp:         http.StatusBadRequest,
	store.CannotReverseCompletedCycle: http.StatusUnprocessableEntity,
	store.CardFullNoRepeat:            http.StatusUnprocessableEntity,
	store.CardSuspended:               http.StatusUnprocessableEntity,
	store.Gone:                        http.StatusGone,
	store.InvalidCredentials:          http.StatusUnauthorized,
	store.PrepaidInsufficientBalance:  http.StatusUnprocessableEntity,
	store.SpendNotEnabled:             http.StatusBadRequest,
	store.SpendRequired:               http.StatusUnprocessableEntity,
	store.ThresholdAlreadyClaimed:     http.StatusUnprocessableEntity,
}

// Problem is a refusal with its HTTP status.
type Problem struct {
	Status  int            `json:"-"`
	Code    store.Code     `json:"code"`
	Message string         `json:"message"`
	Details []store.Detail `json:"details,omitempty"`
}

func (p *Problem) Error() string { return string(p.Code) + ": " + p.Message }

// problem turns any error into what the caller is told. A fault of the server
// keeps its cause to itself.
func problem(err error) *Problem {
	return problemFor(err, func(c store.Code) int { return Statuses[c] })
}

// problemFor is problem on a face with statuses of its own.
func problemFor(err error, status func(store.Code) int) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	if e, ok := store.AsError(err); ok {
		return &Problem{Status: status(e.Code), Code: e.Code, Message: e.Message, Details: e.Details}
	}
	return &Problem{Status: http.StatusInternalServerError, Code: store.InternalError,
		Message: "Something went wrong on the server. Retry with the same Idempotency-Key."}
}

func fail(status int, code store.Code, message string) *Problem {
	return &Problem{Status: status, Code: code, Message: message}
}

// ErrorBody is the JSON shape of every error (spec section Errors).
type ErrorBody struct {
	Error ErrorObject `json:"error"`
}

// ErrorObject is the error itself.
type ErrorObject struct {
	Code      string         `json:"code" doc:"Switch on this, never on message."`
	Message   string         `json:"message" doc:"For people; may change."`
	RequestID string         `json:"request_id" doc:"Equals the X-Request-Id response header."`
	Details   []store.Detail `json:"details,omitempty" doc:"On validation_failed: every offending field."`
}

// render writes the error's body for one request.
func (p *Problem) render(requestID string) []byte {
	return wire.Append(nil, &ErrorBody{ErrorObject{string(p.Code), p.Message, requestID, p.Details}})
}

// remembered is the form in which a refusal is kept: a replay adds its own
// request id.
func (p *Problem) remembered() store.Remembered {
	return store.Remembered{Status: p.Status, Body: wire.Append(nil, p)}
}

func recallProblem(m *store.Remembered) *Problem {
	p := &Problem{}
	if err := json.Unmarshal(m.Body, p); err != nil {
		return problem(err)
	}
	p.Status = m.Status
	return p
}
