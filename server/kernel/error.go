package kernel

import (
	"encoding/json"
	"errors"
	"net/http"
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
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Refuse returns a refusal. The face determines its status by the code.
func Refuse(code store.Code, message string) *Error {
	return &Error{Code: code, Message: message}
}

// refuseAs returns a refusal with a status other than that of its code.
func refuseAs(status int, code store.Code, message string) *Error {
	return &Error{Status: status, Code: code, Message: message}
}

// Statuses are the HTTP statuses of all codes on the REST API.
var Statuses = map[store.Code]int{
	store.BadRequest:               http.StatusBadRequest,
	store.ValidationFailed:         http.StatusBadRequest,
	store.BusinessAPIRequired:      http.StatusUnauthorized,
	store.MCPAccessRequired:        http.StatusUnauthorized,
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

	// Codes of the till API and the holder's page only.
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

// StatusOf returns the HTTP status of a code on the REST API; 500 for a code that
// is not in Statuses.
func StatusOf(code store.Code) int {
	if status, ok := Statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

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
		return &Error{Status: status(refused.Code), Code: refused.Code, Message: refused.Message, Details: refused.Details}
	}
	return &Error{Status: http.StatusInternalServerError, Code: store.InternalError,
		Message: "Something went wrong on the server. Retry with the same Idempotency-Key."}
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
