package punchtest

import "time"

// In the structs below a null text is empty and a null time is zero; the API has no
// empty texts. Numbers are pointers if null differs from 0. Times are in UTC and
// whole milliseconds.

// Card is a card, as reads of one card and tills return it.
type Card struct {
	ID           string          `json:"id"`
	ProgramID    string          `json:"program_id"`
	ProgramName  string          `json:"program_name"`
	ProgramType  string          `json:"program_type"` // standard, private, discount, access, prepaid
	ExternalRef  string          `json:"external_ref"` // the caller's own id for the person
	HolderName   string          `json:"holder_name"`
	HolderEmail  string          `json:"holder_email"`
	Status       string          `json:"status"` // invited, active, locked, expired, archived
	StampsCount  int             `json:"stamps_count"`
	CurrentValue *int64          `json:"current_value"` // cents; nil unless prepaid
	ExpiresAt    time.Time       `json:"expires_at"`
	InstalledAt  time.Time       `json:"installed_at"`
	CreatedAt    time.Time       `json:"created_at"`
	AllLocations bool            `json:"all_locations"`
	Locations    []NamedLocation `json:"locations"` // where it works, by name
}

// NamedLocation is a location by id and name.
type NamedLocation struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// IssuedCard is a card as issuing returns it, with the link by which the holder
// installs it. [Server.Card] returns the other fields.
type IssuedCard struct {
	ID                  string    `json:"id"`
	ProgramID           string    `json:"program_id"`
	ExternalRef         string    `json:"external_ref"`
	HolderName          string    `json:"holder_name"`
	HolderEmail         string    `json:"holder_email"`
	ExpiresAt           time.Time `json:"expires_at"`
	InstallURL          string    `json:"install_url"`
	InstallURLExpiresAt time.Time `json:"install_url_expires_at"`
	InstallQRSVG        string    `json:"install_qr_svg"` // markup
	HeldCode            string    `json:"held_code"`      // of a card that a till issued: names it in writes for eight days
	ShortCode           string    `json:"short_code"`     // of such a card too
}

// CardFields are the fields of a new card. All are optional.
type CardFields struct {
	ExternalRef string    `json:"external_ref,omitempty"` // 1 to 255 characters; one live card per program
	HolderName  string    `json:"holder_name,omitempty"`  // 1 to 200 characters
	HolderEmail string    `json:"holder_email,omitempty"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"`  // in the future; not at the counter
	SendEmail   bool      `json:"send_email,omitempty"` // see [Server.Emails]; not at a till
}

// Transaction is a row of the ledger.
type Transaction struct {
	ID           string    `json:"id"`
	CardID       string    `json:"card_id"`
	ProgramID    string    `json:"program_id"`
	Type         string    `json:"type"` // stamp, redemption, reversal, expiry, topup, spend, discount, access
	LocationID   string    `json:"location_id"`
	LocationName string    `json:"location_name"`
	StampsDelta  *int      `json:"stamps_delta"` // nil unless the row is about stamps
	ValueDelta   *int64    `json:"value_delta"`  // cents; nil unless the row is about money
	PrizeID      string    `json:"prize_id"`
	ReversedAt   time.Time `json:"reversed_at"`
	CreatedAt    time.Time `json:"created_at"`

	// Tills alone have these. A stamp that a till sent late has occurred_at.
	Staff           *NamedStaff `json:"staff"` // who was signed in; nil: nobody
	OccurredAt      time.Time   `json:"occurred_at"`
	ClientReference string      `json:"client_reference"`
}

// NamedStaff is a member of staff by id and name.
type NamedStaff struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Prize is a prize of a stamp program. A lookup at a till also sets Available and
// Claimed.
type Prize struct {
	ID          string `json:"id"`
	ProgramID   string `json:"program_id"`
	Threshold   int    `json:"threshold"` // stamps
	Name        string `json:"name"`
	Description string `json:"description"`
	Ordinal     int    `json:"ordinal"`
	Available   bool   `json:"available"` // the threshold is reached and none of its prizes was redeemed
	Claimed     bool   `json:"claimed"`   // this prize was redeemed
}

// Location is a location of a shop.
type Location struct {
	ID              string    `json:"id"`
	Name            string    `json:"name"`
	Address         string    `json:"address"`
	City            string    `json:"city"`
	PostalCode      string    `json:"postal_code"`
	CountryCode     string    `json:"country_code"`
	Lat             float64   `json:"lat"`
	Lon             float64   `json:"lon"`
	RequireStaffPIN bool      `json:"require_staff_pin"`
	Active          bool      `json:"active"`
	DisabledAt      time.Time `json:"disabled_at"`
	CreatedAt       time.Time `json:"created_at"`
	UpdatedAt       time.Time `json:"updated_at"`
}

// Email is a message that the server would have sent.
type Email struct {
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
	CardID  string    `json:"card_id"`
	At      time.Time `json:"at"`
}

// list is a list in an answer.
type list[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"`
}
