package punchtest

import "time"

// A text that the API gives as null is empty here, and such a time is zero: the
// API has no empty ones. Numbers are pointers where null is not 0. Times are in
// UTC and of milliseconds.

// Card is a card as single reads and tills show it.
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

// IssuedCard is a card as issuing it answers: with the link by which the holder
// installs it. [Server.Card] has the rest.
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
}

// CardFields are what a card is issued with. All are optional.
type CardFields struct {
	ExternalRef string    `json:"external_ref,omitempty"` // 1 to 255 characters; one live card per program
	HolderName  string    `json:"holder_name,omitempty"`  // 1 to 200 characters
	HolderEmail string    `json:"holder_email,omitempty"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"`  // in the future; not at the counter
	SendEmail   bool      `json:"send_email,omitempty"` // see [Server.Emails]; not at the counter
}

// Transaction is a row of the ledger.
type Transaction struct {
	ID           string    `json:"id"`
	CardID       string    `json:"card_id"`
	ProgramID    string    `json:"program_id"`
	Type         string    `json:"type"` // stamp, redemption, reversal, expiry, topup, spend, discount, access
	LocationID   string    `json:"location_id"`
	LocationName string    `json:"location_name"`
	StampsDelta  *int      `json:"stamps_delta"` // nil where the row is not about stamps
	ValueDelta   *int64    `json:"value_delta"`  // cents; nil where it is not about money
	PrizeID      string    `json:"prize_id"`
	ReversedAt   time.Time `json:"reversed_at"`
	CreatedAt    time.Time `json:"created_at"`
}

// Prize is a step of a stamp program's ladder. Lookups at a till also tell how
// it stands on the card.
type Prize struct {
	ID          string `json:"id"`
	ProgramID   string `json:"program_id"`
	Threshold   int    `json:"threshold"` // stamps
	Name        string `json:"name"`
	Description string `json:"description"`
	Ordinal     int    `json:"ordinal"`
	Available   bool   `json:"available"` // reached, and nothing taken at this threshold
	Claimed     bool   `json:"claimed"`   // this option was taken
}

// Location is a site of a shop.
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

// list is how the API wraps a list.
type list[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"`
}
