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

// declaration has the columns of a table that are of one class. Names of columns are
// separated by blanks.
type declaration struct {
	table string
	class Class
	sight Sight
	names string
}

// declared has every column of texts and bytes, and those integers that are about a holder.
// What is about a holder is in cards, or in a table that has card_id.
var declared = []declaration{
	{"meta", Secret, Hidden, "id_secret id_check"},
	{"meta", Fixed, Whole, "public_url"},
	{"shops", Chosen, Whole, "name"},
	{"shops", Fixed, Whole, "mode timezone subscription_state currency language country_code closed moved_to public_url"},
	{"keys", Chosen, Whole, "name"},
	{"keys", Fixed, Whole, "class prefix scopes"},
	{"keys", Secret, Hidden, "hash"},
	{"locations", Chosen, Whole, "name address city postal_code"},
	{"locations", Fixed, Whole, "country_code"},
	{"locations", Secret, Hidden, "staff_pin"},
	{"devices", Chosen, Whole, "name"},
	{"devices", Fixed, Whole, "prefix"},
	{"devices", Secret, Hidden, "hash"},
	{"staff", Chosen, Whole, "name"},
	{"staff", Secret, Hidden, "pin"},
	{"pairings", Chosen, Whole, "name"},
	{"pairings", Secret, Hidden, "hash code_hash"},
	{
		"programs",
		Chosen,
		Whole,
		"name name_localizations description description_localizations category icon_key logo_url access_image_url",
	},
	{"programs", Fixed, Whole, "type location_scope brand_color_hex bg_color_hex text_color_hex logo_hash"},
	{"enrolments", Chosen, Whole, "slug"},
	{"enrolments", Fixed, Whole, "name_field email_field phone_field"},
	{"consents", Chosen, Whole, "text privacy_url"},
	{"logos", Fixed, Whole, "hash content_type bytes"},
	{"prizes", Chosen, Whole, "name name_localizations description description_localizations"},
	{"cards", Holder, Whole, "holder_name"},
	{"cards", Holder, Masked, "external_ref holder_email"},
	{"cards", Holder, Unseen, "email_key"},
	{"cards", OneCard, Hidden, "install_hash install_expires_at short_code"},
	{"cards", OneCard, Hidden, "consent_version consent_at"}, // what was agreed to is shown instead
	{"cards", Chosen, Whole, "client_reference"},
	{"cards", Fixed, Whole, "source platform"},
	{"name_words", Copied, Hidden, "word"},
	{"contacts", HolderRow, Masked, "phone"},
	{"contacts", HolderRow, Hidden, "birthday note correction"},
	{"contacts", HolderRow, Unseen, "phone_key"},
	{"contacts", HolderRow, Whole, "member_since correction_at erasure_at"},
	{"foreign_codes", HolderRow, Hidden, "barcode"},
	{"foreign_codes", HolderRow, Unseen, "short_form"},
	{"imports", Chosen, Whole, "file_name columns"},
	{"imports", Fixed, Whole, "state options hash"},
	{"import_parts", Copied, Hidden, "packed"},
	{"import_notes", Fixed, Whole, "field code message"},
	{"card_runs", Fixed, Whole, "action state roots"},
	{"card_runs", Chosen, Whole, "fields"},
	{"card_run_refusals", Fixed, Whole, "message"},
	{"transactions", OneCard, Whole, "metadata"},
	{"transactions", Chosen, Whole, "client_reference"},
	{"transactions", Fixed, Whole, "type"},
	{"idempotency", Secret, Hidden, "key_hash fingerprint"},
	{"idempotency", Copied, Hidden, "body"},
	{"audit", Fixed, Whole, "actor_type action detail"},
	{"audit", Account, Whole, "actor_name"},
	{"users", Account, Whole, "email email_key name"},
	{"users", Fixed, Whole, "language"},
	{"users", Secret, Hidden, "password totp_secret totp_offered"},
	{"memberships", Fixed, Whole, "role"},
	{"sessions", Secret, Hidden, "hash"},
	{"sessions", Account, Whole, "address agent"},
	{"links", Fixed, Whole, "kind role"},
	{"links", Secret, Hidden, "hash"},
	{"links", Account, Whole, "email email_key"},
	{"link_mails", Secret, Hidden, "token"},
	{"recovery_codes", Secret, Hidden, "hash"},
	{"sign_in_failures", Secret, Hidden, "subject"},
	{"sign_in_failures", Fixed, Whole, "failed_at"},
	{"webhooks", Chosen, Whole, "url description"},
	{"webhooks", Fixed, Whole, "events program_ids location_ids http_method payload_version"},
	{"webhooks", Secret, Hidden, "bearer_token secret custom_headers"},
	{"events", Fixed, Whole, "name"},
	{"events", Copied, Hidden, "payload_v1 payload_v2"},
	{"deliveries", Fixed, Whole, "outcome"},
	{"deliveries", Fixed, Hidden, "request_headers"},
	{"deliveries", Chosen, Whole, "last_error"},
	{"mails", Copied, Hidden, "token"},
	{"mails", Fixed, Whole, "quota"},
	{"sent_mails", Copied, Hidden, "address"},
	{"lost_mails", Copied, Hidden, "email token"},
	{"lost_mails", Fixed, Whole, "language"},
	{"push_subscriptions", HolderRow, Hidden, "endpoint"},
	{"push_subscriptions", Secret, Hidden, "public_key auth"},
	{"push_subscriptions", Fixed, Whole, "notify language"},
	{"push_subscriptions", Fixed, Hidden, "told outcome"},
	{"apple_passes", Fixed, Hidden, "hash"},
	{"apple_devices", HolderPhone, Hidden, "device"},
	{"apple_devices", Secret, Hidden, "push_token"},
	{"apple_devices", Fixed, Hidden, "told outcome"},
	{"apple_wallets", Fixed, Whole, "pass_type team organization"},
	{"apple_wallets", Fixed, Hidden, "certificate_der request_der"},
	{"apple_wallets", Secret, Hidden, "private_key request_key"},
	{"google_wallets", Fixed, Whole, "issuer_id client_email"},
	{"google_wallets", Secret, Hidden, "account"},
	{"google_classes", Fixed, Hidden, "told"},
	{"google_objects", Fixed, Hidden, "told outcome"},
	{"google_nonces", Fixed, Hidden, "nonce"},
}

// Column is a column of a table.
type Column struct {
	Table, Name string
	Sight       Sight
}

// ColumnsOf returns the columns of some classes, in the order of their declaration.
func ColumnsOf(classes ...Class) (all []Column) {
	for _, d := range declared {
		if slices.Contains(classes, d.class) {
			for name := range strings.FieldsSeq(d.names) {
				all = append(all, Column{d.table, name, d.sight})
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
			members = append(members, "'"+c.Name+"', (SELECT "+c.Name+" FROM contacts WHERE card_id=?1)")
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
	return columns(names...)
}

// personalTable is a table with columns that erasing a card sets to null, or one whose rows it
// deletes, which has no columns here.
type personalTable struct {
	name, key string // key is the column that names the card
	columns   []string
}

// personalTables returns these tables.
func personalTables() (all []personalTable) {
	for _, c := range ColumnsOf(HolderRow) {
		if !slices.ContainsFunc(all, func(t personalTable) bool { return t.name == c.Table }) {
			all = append(all, personalTable{name: c.Table, key: "card_id"})
		}
	}
	for _, c := range ColumnsOf(Holder, OneCard) {
		i := slices.IndexFunc(all, func(t personalTable) bool { return t.name == c.Table })
		if i < 0 {
			key := "card_id"
			if c.Table == "cards" {
				key = "id"
			}
			i, all = len(all), append(all, personalTable{name: c.Table, key: key})
		}
		all[i].columns = append(all[i].columns, c.Name)
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
