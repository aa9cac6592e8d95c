package store

import (
	"errors"
	"fmt"
	"time"
)

// Code is the reason for which an operation was refused, as answers name it.
type Code string

// The codes of all faces.
const (
	BadRequest               Code = "bad_request"
	BusinessAPIRequired      Code = "business_api_required"
	CardExpired              Code = "card_expired"
	CardLocked               Code = "card_locked"
	Conflict                 Code = "conflict"
	IdempotencyConflict      Code = "idempotency_conflict"
	InternalError            Code = "internal_error"
	LocationDisabled         Code = "location_disabled"
	MCPAccessRequired        Code = "mcp_access_required"
	LocationScopeUnsupported Code = "location_scope_unsupported"
	NotFound                 Code = "not_found"
	ProgramHasInstalledCards Code = "program_has_installed_cards"
	RateLimited              Code = "rate_limited"
	SubscriptionSuspended    Code = "subscription_suspended"
	Unauthenticated          Code = "unauthenticated"
	Unavailable              Code = "unavailable"
	Unauthorized             Code = "unauthorized"
	Unprocessable            Code = "unprocessable_entity"
	ValidationFailed         Code = "validation_failed"
)

// The codes of the till and the holder's page.
const (
	AmountBelowMinStamp         Code = "amount_below_min_stamp"
	CannotReverseCompletedCycle Code = "cannot_reverse_completed_cycle"
	CardFullNoRepeat            Code = "card_full_no_repeat"
	CardSuspended               Code = "card_suspended"
	Gone                        Code = "gone"
	InvalidCredentials          Code = "invalid_credentials"
	PrepaidInsufficientBalance  Code = "prepaid_insufficient_balance"
	SpendNotEnabled             Code = "spend_not_enabled"
	SpendRequired               Code = "spend_required"
	ThresholdAlreadyClaimed     Code = "threshold_already_claimed"
)

// The codes of persons who sign in.
const (
	LinkExpired   Code = "link_expired"
	ProofRequired Code = "proof_required"
	TOTPInvalid   Code = "totp_invalid"
	TOTPRequired  Code = "totp_required"
)

// Detail says what is wrong with one field of a request.
type Detail struct {
	Field   string `json:"field" doc:"Dotted path of the body's field, or the name of the query parameter or header; empty when the body as a whole is at fault."`
	Code    string `json:"code" enum:"required,unknown_field,invalid_type,invalid_format,invalid_value,too_short,too_long,too_small,too_large,too_many,must_be_future,not_allowed,not_public,unresolvable,mutually_exclusive" doc:"Stable; switch on it."`
	Message string `json:"message" doc:"For people; may change."`
}

// Error is a refusal whose reason the caller may read. Every other error of the
// store is a fault of the file or of the program.
type Error struct {
	Code    Code
	Message string
	Details []Detail
	// RetryAfter is when it may be tried again, from now; 0: not known.
	RetryAfter time.Duration
	// MovedTo is the public URL of the server to which the shop has moved; empty: it has not.
	MovedTo string
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// MaxDetails is the maximum number of details in one refusal.
const MaxDetails = 100

// Invalid returns the refusal of a request with invalid fields.
func Invalid(details ...Detail) *Error {
	return &Error{
		Code:    ValidationFailed,
		Message: "One or more fields are invalid; see details.",
		Details: details[:min(len(details), MaxDetails)],
	}
}

// InvalidField returns the refusal of a request with one invalid field.
func InvalidField(field, code, message string) *Error { return Invalid(Detail{field, code, message}) }

// ErrUnknownCode refuses a card's id or code at a till that names no card of the shop.
var ErrUnknownCode = notFound("card")

func notFound(what string) *Error { return refuse(NotFound, "No such %s.", what) }

// AsError returns the refusal in err, if it is one.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
