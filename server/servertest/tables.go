package servertest

// CardTable is the table for Shaped of a card in lists.
const CardTable = `
	id id
	program_id id
	program_name string
	program_type string
	external_ref string|null
	holder_name string|null
	holder_email string|null
	status string
	stamps_count integer
	current_value integer|null
	expires_at date-time|null
	installed_at date-time|null
	created_at date-time`

// CardDetailTable is the table of a card that is read alone or at a till.
const CardDetailTable = CardTable + `
	all_locations boolean
	locations list`

// IssuedCardTable is the table of an issued card.
const IssuedCardTable = `
	id id
	program_id id
	external_ref string|null
	holder_name string|null
	holder_email string|null
	expires_at date-time|null
	install_url string
	install_url_expires_at date-time
	install_qr_svg string`

// TillTransactionTable is the table of a transaction on the till API.
const TillTransactionTable = TransactionTable + `
	staff object|null
	occurred_at date-time|null
	client_reference string|null`

// TransactionTable is the table of a transaction.
const TransactionTable = `
	id id
	card_id id
	program_id id
	type string
	location_id id
	location_name string
	stamps_delta integer|null
	value_delta integer|null
	prize_id id|null
	reversed_at date-time|null
	created_at date-time`

// ProgramTable is the table of a program in lists.
const ProgramTable = `
	id id
	name string
	description string
	category string
	type string
	active boolean
	published_at date-time|null
	suspended_at date-time|null
	total_stamps integer|null
	repeat_after_reset boolean
	discount_percent number|null
	initial_balance_cents integer|null
	default_expire_after_days integer|null
	logo_url string|null
	access_image_url string|null
	brand_color_hex color
	bg_color_hex color
	text_color_hex color
	icon_key string|null
	location_scope string
	scoped_location_ids string[]
	created_at date-time
	updated_at date-time`

// ProgramDetailTable is the table of a program that is read alone.
const ProgramDetailTable = ProgramTable + `
	prizes list
	has_installed_cards boolean`

// PrizeTable is the table of a prize.
const PrizeTable = `
	id id
	program_id id
	threshold integer
	name string
	description string
	ordinal integer
	created_at date-time
	updated_at date-time`

// LocationTable is the table of a location.
const LocationTable = `
	id id
	name string
	address string
	city string
	postal_code string
	country_code string
	lat number
	lon number
	require_staff_pin boolean
	active boolean
	disabled_at date-time|null
	created_at date-time
	updated_at date-time`
