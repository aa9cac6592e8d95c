package store

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Class says what a column of texts or bytes holds.
type Class int

const (
	// Fixed is what the program makes, or of which it allows only some values.
	Fixed Class = iota + 1
	// Secret is a secret, or a hash or a check value of one.
	Secret
	// Chosen is what people of a shop, their programs and receivers of webhooks choose.
	Chosen
	// Account is about a person with an account, or about the person's browser.
	Account
	// Holder is about the holder of a card. An overflow card inherits it, and erasing the
	// card sets it to null.
	Holder
	// OneCard is about the holder too, or leads to the card. No other card inherits it, and
	// erasing the card sets it to null.
	OneCard
	// HolderRow is about the holder of a chain, in a table that has nothing else. Erasing the chain
	// deletes its rows.
	HolderRow
	// HolderPhone names a phone of the holder, in a table of phones. Erasing the chain keeps the row until the phone
	// has read that its pass has ended, or for 30 days.
	HolderPhone
	// Copied holds what other columns hold about a holder. EraseCard has code of its own for
	// its rows.
	Copied
)

// Sight says what viewers see of a column in answers.
type Sight int

const (
	Whole  Sight = iota // as it is
	Masked              // an address or a phone number without most of its characters; other texts as they are
	Hidden              // null, or {} for JSON
	Unseen              // nobody sees it: the program alone reads it, in the place of another column
)

// declaration lists columns of one class that viewers see alike. Each line of tables is the name of a table, a colon and
// the names of its columns with blanks between them.
type declaration struct {
	class  Class
	sight  Sight
	tables string
}

// declared has every column of texts and bytes, and those integers that are about a holder.
// What is about a holder is in cards, or in a table that has card_id.
var declared = []declaration{
	{Fixed, Whole, `
		meta: public_url
		shops: mode timezone subscription_state currency language country_code closed moved_to public_url
		keys: class prefix scopes
		locations: country_code
		devices: prefix
		programs: type location_scope brand_color_hex bg_color_hex text_color_hex logo_hash
		enrolments: name_field email_field phone_field
		logos: hash content_type bytes
		cards: source platform
		imports: state options hash
		import_notes: field code message
		card_runs: action state roots
		card_run_refusals: message
		transactions: type
		audit: actor_type action detail
		users: language
		memberships: role
		links: kind role
		sign_in_failures: failed_at
		webhooks: events program_ids location_ids http_method payload_version
		events: name
		deliveries: outcome
		mails: quota
		lost_mails: language
		push_subscriptions: notify language
		apple_wallets: pass_type team organization
		google_wallets: issuer_id client_email
	`},
	{Fixed, Hidden, `
		deliveries: request_headers
		push_subscriptions: told outcome
		apple_passes: hash
		apple_devices: told outcome
		apple_wallets: certificate_der request_der
		google_classes: told
		google_objects: told outcome
		google_nonces: nonce
	`},
	{Secret, Hidden, `
		meta: id_secret id_check
		keys: hash
		locations: staff_pin
		devices: hash
		staff: pin
		pairings: hash code_hash
		idempotency: key_hash fingerprint
		users: password totp_secret totp_offered
		sessions: hash
		links: hash
		link_mails: token
		recovery_codes: hash
		sign_in_failures: subject
		webhooks: bearer_token secret custom_headers
		push_subscriptions: public_key auth
		apple_devices: push_token
		apple_wallets: private_key request_key
		google_wallets: account
	`},
	{Chosen, Whole, `
		shops: name
		keys: name
		locations: name address city postal_code
		devices: name
		staff: name
		pairings: name
		programs: name name_localizations description description_localizations category icon_key logo_url access_image_url
		enrolments: slug
		consents: text privacy_url
		prizes: name name_localizations description description_localizations
		cards: client_reference
		imports: file_name columns
		card_runs: fields
		transactions: client_reference
		webhooks: url description
		deliveries: last_error
	`},
	{Account, Whole, `
		audit: actor_name
		users: email email_key name
		sessions: address agent
		links: email email_key
	`},
	{Holder, Whole, "cards: holder_name"},
	{Holder, Masked, "cards: external_ref holder_email"},
	{Holder, Unseen, "cards: email_key"},
	{OneCard, Hidden, "cards: install_hash install_expires_at short_code"},
	{OneCard, Hidden, "cards: consent_version consent_at"}, // what was agreed to is shown instead
	{OneCard, Whole, "transactions: metadata"},
	{HolderRow, Masked, "contacts: phone"},
	{HolderRow, Hidden, `
		contacts: birthday note correction
		foreign_codes: barcode
		push_subscriptions: endpoint
	`},
	{HolderRow, Unseen, `
		contacts: phone_key
		foreign_codes: short_form
	`},
	{HolderRow, Whole, "contacts: member_since correction_at erasure_at"},
	{HolderPhone, Hidden, "apple_devices: device"},
	{Copied, Hidden, `
		name_words: word
		import_parts: packed
		idempotency: body
		events: payload_v1 payload_v2
		mails: token
		sent_mails: address
		lost_mails: email token
	`},
}

// Column is a column of a table.
type Column struct {
	Table, Name string
	Class       Class
	Sight       Sight
}

// ColumnsOf returns the columns of some classes, in the order of their declaration.
func ColumnsOf(classes ...Class) (all []Column) {
	for _, d := range declared {
		if !slices.Contains(classes, d.class) {
			continue
		}
		for line := range strings.Lines(d.tables) {
			table, names, _ := strings.Cut(strings.TrimSpace(line), ":")
			for name := range strings.FieldsSeq(names) {
				all = append(all, Column{table, name, d.class, d.sight})
			}
		}
	}
	return all
}

// sights has what viewers see of fields of answers, by the names of columns. No answer has
// what is Secret, HolderPhone or Copied, whose names other fields may have.
var sights = sync.OnceValue(func() map[string]Sight {
	all := map[string]Sight{}
	for _, c := range ColumnsOf(Fixed, Chosen, Account, Holder, OneCard, HolderRow) {
		all[c.Name] = max(all[c.Name], c.Sight)
	}
	return all
})

// ViewersSee returns what viewers see of a field of an answer, which has the name of its
// column.
func ViewersSee(field string) Sight { return sights()[field] }

// unlogged has the names of the columns that are about people or are secrets.
var unlogged = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, c := range ColumnsOf(Secret, Account, Holder, OneCard, HolderRow, HolderPhone, Copied) {
		all[c.Name] = true
	}
	return all
})

// IsLogged reports whether the log may show an attribute of a name: not one with the name of a
// column that is about people or is a secret.
func IsLogged(name string) bool { return !unlogged()[name] }

// heldBeside is an expression for a JSON object of the columns of a table, by its alias, that are
// about a holder and that answers show, but for those for which a struct has a field. It is NULL if
// there is none.
func heldBeside(alias, table string, fields reflect.Type) string {
	shown := map[string]bool{}
	for _, f := range reflect.VisibleFields(fields) {
		shown[f.Tag.Get("json")] = true
	}
	var members []string
	for _, c := range ColumnsOf(Holder, OneCard) {
		if c.Table == table && c.Sight < Hidden && !shown[c.Name] {
			members = append(members, "'"+c.Name+"', "+alias+"."+c.Name)
		}
	}
	if members == nil {
		return "NULL"
	}
	return "json_object(" + strings.Join(members, ", ") + ")"
}

// heldByChain is an expression for a JSON object of what the tables of the classes HolderRow and HolderPhone have about
// the chain of the root ?1: the columns of contacts, and the rows of each other table under its name.
func heldByChain() string {
	var members, tables []string
	object := map[string]string{} // members of a row, by the table
	for _, c := range ColumnsOf(HolderRow, HolderPhone) {
		switch {
		case c.Sight == Unseen:
		case c.Table == "contacts":
			value := c.Name
			if typeOf(c.Name) == asTime { // in JSON as Time is
				value = strings.ReplaceAll("strftime('%Y-%m-%dT%H:%M:%S', ?/1000, 'unixepoch')||printf('.%03dZ', ?%1000)", "?", c.Name)
			}
			members = append(members, "'"+c.Name+"', (SELECT "+value+" FROM contacts WHERE card_id=?1)")
		default:
			if object[c.Table] == "" {
				tables = append(tables, c.Table)
			}
			object[c.Table] += ", '" + c.Name + "', " + c.Name
		}
	}
	for _, t := range tables {
		members = append(members, "'"+t+"', json((SELECT json_group_array(json_object("+object[t][2:]+")) FROM "+t+
			" WHERE card_id=?1))")
	}
	return "json_object(" + strings.Join(members, ", ") + ")"
}

// inherited returns the columns of cards that an overflow card inherits from its parent.
func inherited() string {
	var names []string
	for _, c := range ColumnsOf(Holder) {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// personalTable is a table with columns that erasing a card sets to null, or one whose rows it
// deletes, which has no columns here.
type personalTable struct {
	name, key string // key is the column that names the card
	columns   []string
}

// personalTables returns these tables.
func personalTables() (all []personalTable) {
	for _, c := range ColumnsOf(Holder, OneCard, HolderRow) {
		i := slices.IndexFunc(all, func(t personalTable) bool { return t.name == c.Table })
		if i < 0 {
			key := "card_id"
			if c.Table == "cards" {
				key = "id"
			}
			i, all = len(all), append(all, personalTable{name: c.Table, key: key})
		}
		if c.Class != HolderRow {
			all[i].columns = append(all[i].columns, c.Name)
		}
	}
	return all
}

// isPersonal is the condition that a row has personal data.
func (t personalTable) isPersonal() string {
	if t.columns == nil {
		return "TRUE"
	}
	return "(" + strings.Join(t.columns, " IS NOT NULL OR ") + " IS NOT NULL)"
}

// eraseSQL is the statement that removes the personal data from the rows of the chain ?1.
func (t personalTable) eraseSQL() string {
	rows := " WHERE " + t.isPersonal() + " AND " + t.key + " IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1)"
	if t.columns == nil {
		return "DELETE FROM " + t.name + rows
	}
	return "UPDATE " + t.name + " SET " + strings.Join(t.columns, "=NULL, ") + "=NULL" + rows
}

// stillPersonalSQL selects the erased cards that have personal data in any table.
func stillPersonalSQL() string {
	var conditions []string
	for _, t := range personalTables() {
		conditions = append(conditions, "EXISTS (SELECT 1 FROM "+t.name+" WHERE "+t.key+"=c.id AND "+t.isPersonal()+")")
	}
	return "SELECT id FROM cards c WHERE deleted_at IS NOT NULL AND (" + strings.Join(conditions, " OR ") + ")"
}
