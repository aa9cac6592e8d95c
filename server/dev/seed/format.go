package seed

import (
	"punchcard/server/wire"
	"punchcard/store"
)

// The structs below are the format of a seed file, which the package wire reads and
// describes. An omit tag leaves out fields of an embedded struct: those that take ids,
// which are not known before the seed is applied, and those that have no effect here.

// object is an object of a seed file below its root: a pointer to one of these
// structs.
type object interface {
	self() *entry
	name() string // the object's ref; empty if it has none
	link(*linker) // checks and resolves the refs
	// write writes the object into a store and returns its public id.
	write(*application, *store.Tx) (string, error)
}

// entry has what all objects have in common. The doc tag of an embedded entry
// describes the type of object.
type entry struct {
	n    int    // the object's number in the file
	path string // such as shops.0.cards.3
	shop *shop  // that it belongs to, which is itself for a shop
}

func (e *entry) self() *entry { return e }

// link and write do nothing. Most types of objects have methods of their own.
func (e *entry) link(*linker)                                  {}
func (e *entry) write(*application, *store.Tx) (string, error) { return "", nil }

// name returns the ref.
func (r requiredRef) name() string { return r.Ref.V }
func (r optionalRef) name() string { return r.Ref.V }

type requiredRef struct {
	Ref store.Opt[string] `json:"ref" req:"true" min:"1" max:"64" pattern:"^[A-Za-z0-9_.-]+$" words:"must be 1 to 64 letters from A to Z, digits, underscores, periods and hyphens" doc:"The entry's name in this file: others refer to it by this, and the ready line maps it to the public id. Once in the whole file."`
}

type optionalRef struct {
	Ref store.Opt[string] `json:"ref" min:"1" max:"64" pattern:"^[A-Za-z0-9_.-]+$" words:"must be 1 to 64 letters from A to Z, digits, underscores, periods and hyphens" doc:"The entry's name in this file; the ready line maps it to the public id. Once in the whole file."`
}

// when is an instant, given in one of two ways.
type when struct {
	At  store.Opt[store.Time] `json:"at" doc:"The instant, from 1990 to the start."`
	Ago store.Opt[string]     `json:"ago" min:"2" max:"30" pattern:"^([0-9]{1,5}d)?([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$" words:"must be a duration such as 72h, 21d or 3d4h30m" doc:"Instead of at: how long before the start, such as 72h, 21d or 3d4h30m; a day has 24 hours."`
}

// root is the file itself.
type root struct {
	Schema store.Opt[string]     `json:"$schema" max:"2048" doc:"The address of this schema, for editors."`
	Now    store.Opt[store.Time] `json:"now" doc:"The start: where the clock stands at first, unless the command line sets it. Default: the real time."`
	Shops  store.Opt[[]*shop]    `json:"shops" req:"true" min:"1" max:"100" doc:"The first one has the demo credentials of the ready line, and so mode test."`
}

type shop struct {
	entry `json:"-" doc:"A shop. Its locations, programs and keys were made when it was: at the instant of at or ago, by default that of its first card or activity, or the start if it has none."`
	optionalRef
	when
	store.ShopFields
	Locations store.Opt[[]*location] `json:"locations" req:"true" min:"1" max:"1000" doc:"The first one is that of the demo till and of the restricted demo key."`
	Programs  store.Opt[[]*program]  `json:"programs" max:"1000" doc:"In the order in which they were made."`
	Keys      store.Opt[[]*key]      `json:"keys" max:"100" doc:"Besides the demo keys of the first shop."`
	Cards     store.Opt[[]*card]     `json:"cards" max:"100000" doc:"In any order."`
	Webhooks  store.Opt[[]*webhook]  `json:"webhooks" max:"1000" doc:"At most 50 of a shop."`
	Activity  store.Opt[[]*activity] `json:"activity" max:"1000000" doc:"In any order; of one instant in that of the file."`
}

type location struct {
	entry `json:"-" doc:"Where a till stands. Fields without a default of their own have that of a made-up address."`
	requiredRef
	store.LocationPatch
	store.StaffDemand
	StaffPIN store.Opt[string] `json:"staff_pin" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits. Giving one switches require_staff_pin on, unless that is false here. It binds tills, not the activity of this file."`
}

type program struct {
	entry `json:"-" doc:"A card template."`
	requiredRef
	store.ProgramFields `omit:"scoped_location_ids"`
	ScopedLocationRefs  store.Opt[[]string] `json:"scoped_location_refs" max:"1000" doc:"Required and not empty with selected_locations."`
	MinSpendCents       store.Opt[int64]    `json:"min_spend_cents" min:"1" max:"100000000" doc:"Stamp programs: what a stamp's purchase must cost at least."`
	MaxStampsPerDay     store.Opt[int64]    `json:"max_stamps_per_day" min:"1" max:"1000" doc:"Stamp programs: stamps that a card may get on a day of the shop's calendar. Default: no limit."`
	WelcomeStamps       store.Opt[int64]    `json:"welcome_stamps" min:"0" max:"999" doc:"Stamp programs: stamps with which a card begins, below every threshold and total_stamps. Default 0."`
	Draft               store.Opt[bool]     `json:"draft" doc:"True leaves the program unpublished; it can have no cards. Default false."`
	Prizes              store.Opt[[]*prize] `json:"prizes" max:"100" doc:"The ladder, stamp programs only: at most 3 thresholds of at most 3 options each."`
}

type prize struct {
	entry `json:"-" doc:"One option of a stamp program's ladder."`
	optionalRef
	store.PrizeFields
}

type key struct {
	entry `json:"-" doc:"A further key of the shop. Shops have at most 10 API keys and 5 MCP keys; in the first shop two and one of them are the demo keys."`
	requiredRef
	store.KeyFields `omit:"location_ids"`
	LocationRefs    store.Opt[[]string] `json:"location_refs" min:"1" max:"1000" doc:"The only locations that the key reaches. Default: no restriction."`
	Secret          store.Opt[string]   `json:"key" pattern:"^t[sm]k_(live|test)_[A-Za-z0-9_-]{43}$" words:"must be tsk_ or tmk_, then live_ or test_, then 43 characters of the base64url alphabet" doc:"The whole secret, tsk_ for class api and tmk_ for class mcp, live or test as the shop is. Default: made at random and shown nowhere."`
}

type card struct {
	entry `json:"-" doc:"A person's card. Without at and ago it was issued at the instant of its first activity, or at the start if it has none."`
	requiredRef
	Program store.Opt[string] `json:"program" req:"true" min:"1" max:"64" doc:"The ref of a program of the same shop that is no draft."`
	when
	store.CardFields `omit:"send_email"`
	ExpiresIn        store.Opt[string] `json:"expires_in" min:"2" max:"30" pattern:"^([0-9]{1,5}d)?([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$" words:"must be a duration such as 72h, 21d or 3d4h30m" doc:"Instead of expires_at: how long after the start, such as 720h or 30d."`
	AtLocation       store.Opt[string] `json:"at_location" min:"1" max:"64" doc:"The ref of the location at whose counter the card was issued, active at once. Default: it was issued over the API, as an invitation."`
	Installed        store.Opt[string] `json:"installed" enum:"apple,google" doc:"The device family on which the card is installed, as soon as it is issued. Default: it is not."`
	Locked           store.Opt[bool]   `json:"locked" doc:"True locks the card at the start, after all activity. Default false."`

	counter *location `json:"-"` // nil if the card was issued over the API
}

type webhook struct {
	entry `json:"-" doc:"A subscription, made at the start after everything else: it gets what happens from then on. Its secret is random; make a new one by PATCH with rotate_secret."`
	requiredRef
	Program             store.Opt[string] `json:"program" req:"true" min:"1" max:"64" doc:"The ref of the program in whose path the webhook is addressed."`
	store.WebhookFields `omit:"program_ids,location_ids"`
	ProgramRefs         store.Opt[[]string] `json:"program_refs" max:"1000" doc:"Only events of these programs. Default: of all."`
	LocationRefs        store.Opt[[]string] `json:"location_refs" max:"1000" doc:"Only events at these locations. Default: at all."`
}

type activity struct {
	entry `json:"-" doc:"What happened at a till: at or ago, and exactly one of stamp, redeem, top_up, spend, use and reverse. The rules of the till hold; what it would refuse is an error of the file."`
	optionalRef
	when
	Location   store.Opt[string] `json:"location" min:"1" max:"64" doc:"The ref of the location it happened at. Default: that of the reversed activity, or the shop's only location."`
	Card       store.Opt[string] `json:"card" min:"1" max:"64" doc:"The ref of the card that was presented. Required but for a reversal, where it follows from the reversed activity."`
	Stamp      store.Opt[int64]  `json:"stamp" min:"1" max:"100" doc:"So many stamps were given."`
	SpendCents store.Opt[int64]  `json:"spend_cents" min:"1" max:"100000000" doc:"With stamp: what was bought. Required where the program has min_spend_cents, else not allowed."`
	Redeem     store.Opt[string] `json:"redeem" min:"1" doc:"A prize of the card's program was redeemed: its ref, or its name where that is the only one of the name."`
	TopUp      store.Opt[int64]  `json:"top_up" min:"1" max:"100000000" doc:"A prepaid card was topped up by so many cents."`
	Spend      store.Opt[int64]  `json:"spend" min:"1" max:"100000000" doc:"So many cents of a prepaid card were spent."`
	Use        store.Opt[bool]   `json:"use" doc:"True: an access or discount card was used."`
	Reverse    store.Opt[string] `json:"reverse" min:"1" max:"64" doc:"An earlier activity was taken back: its ref."`
	store.Metadata

	action   string    `json:"-"` // the name of the field that is given, such as stamp
	location *location `json:"-"`
	card     *card     `json:"-"` // nil for a reversal without a card
	prize    *prize    `json:"-"` // nil unless it is a redemption
	reverses *activity `json:"-"` // nil unless it is a reversal
}

// omitted are the messages for omitted fields, by their paths without the numbers.
var omitted = map[string]string{
	"shops.programs.scoped_location_ids": "is not a field of a seed; give scoped_location_refs",
	"shops.keys.location_ids":            "is not a field of a seed; give location_refs",
	"shops.cards.send_email":             "is not a field of a seed",
	"shops.webhooks.program_ids":         "is not a field of a seed; give program_refs",
	"shops.webhooks.location_ids":        "is not a field of a seed; give location_refs",
}

// docs describes the fields of the store's structs that have no doc tag.
var docs = map[string]string{
	"shop.name":                         "Default My shop.",
	"shop.mode":                         "Default test.",
	"shop.timezone":                     "An IANA name, in which statistics count days and hours. Default UTC.",
	"shop.subscription_state":           "suspended and cancelled refuse requests, not the activity of this file. Default active.",
	"shop.api_addon":                    "Whether the REST API is open to the shop. Default true.",
	"shop.mcp_access":                   "Default true.",
	"shop.grant_expires_at":             "Until when the REST API is open without the add-on.",
	"shop.included_locations":           "Default 1.",
	"shop.max_locations":                "Default: no limit.",
	"shop.max_cards":                    "Live cards at most. Default: no limit.",
	"location.name":                     "Default Main street.",
	"location.address":                  "Street and number.",
	"location.city":                     "Town.",
	"location.postal_code":              "As it is written in the country.",
	"location.lat":                      "Degrees north. Default 0.",
	"location.lon":                      "Degrees east. Default 0.",
	"location.require_staff_pin":        "Whether tills ask for the staff PIN before each write. Default false.",
	"program.name":                      "As it is on the card.",
	"program.type":                      "standard and private are the stamp programs.",
	"program.logo_url":                  "A picture's address.",
	"program.default_expire_after_days": "Days after which a card without an expiry of its own expires. Default: never.",
	"prize.name":                        "What the holder gets.",
	"key.class":                         "api for the REST API, which is the default, or mcp.",
	"key.name":                          "Default Key.",
	"key.scopes":                        "Default: all.",
	"key.expires_at":                    "After the shop was made. Default: never.",
	"card.holder_name":                  "The person's name.",
	"card.holder_email":                 "The person's address; nothing is sent there.",
}

// limits are the bounds of fields that a deployment can change. A seed always has
// their defaults, so that it is valid everywhere or nowhere.
var limits = wire.Limits{"prize_name": 200, "prize_description": 2000, "localization": 500}
