package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"punchcard/store/money"
)

// exportTable is a file of an export, whose rows and columns are those of a query.
type exportTable struct {
	name    string
	columns string // each with the name that it has in the file
	from    string // the rest of the query, for the shop ?1
}

// exportType says how a column is written.
type exportType int

// The types of columns.
const (
	asText exportType = iota
	asNumber
	asReal
	asBool
	asTime
	asDay
	asAmount
	asJSON
	asIDs   // the keys of locations with commas between them
	asAnyID // a Kind, a comma and a key
	// asID plus a Kind is the id of that kind.
	asID
)

// columnsOfType names the columns of each type. Columns that are not listed are texts.
var columnsOfType = map[exportType]string{
	asNumber: "total_stamps stamps_expire_after_days welcome_stamps max_stamps_per_day default_expire_after_days threshold ordinal " +
		"redemptions stamps opening_stamps consent_version",
	asReal: "discount_percent lat lon",
	asBool: "repeat_after_reset visible_in_catalog border_enabled has_installed_cards require_staff_pin require_staff locked",
	asTime: "at created_at updated_at published_at suspended_at disabled_at deleted_at archived_at activated_at installed_at expires_at " +
		"consent_at correction_at erasure_at occurred_at reversed_at expired_at",
	asDay:    "last_visit",
	asAmount: "initial_balance min_spend balance amount",
	asJSON:   "name_localizations description_localizations metadata detail",
	asIDs:    "location_ids",
	asAnyID:  "actor_id target_id",

	asID + exportType(KindProgram):     "program program_id",
	asID + exportType(KindPrize):       "prize_id",
	asID + exportType(KindCard):        "card_id instance_id",
	asID + exportType(KindTransaction): "transaction_id reverses_id overflow_of_id",
	asID + exportType(KindLocation):    "location_id first_location_id",
	asID + exportType(KindDevice):      "device_id",
	asID + exportType(KindStaff):       "staff_id",
}

// typeOf returns the type of the column of a name.
func typeOf(column string) exportType {
	for as, names := range columnsOfType {
		if slices.Contains(strings.Fields(names), column) {
			return as
		}
	}
	return asText
}

// cell is a value as it is written. The zero cell is null, which is an empty cell, and null in JSON.
type cell struct {
	text   string
	quoted bool // it is a text: in JSON it has quotes
}

// readCell reads a column of a row.
func (g IDs) readCell(r *rows, as exportType, currency string) cell {
	if r.db().Null() {
		return cell{}
	}
	kind, key := Kind(as-asID), int64(0)
	switch as {
	case asText:
		return cell{text: r.str(), quoted: true}
	case asJSON:
		return cell{text: r.str()}
	case asNumber:
		return cell{text: strconv.FormatInt(r.int(), 10)}
	case asReal:
		return cell{text: strconv.FormatFloat(r.float(), 'f', -1, 64)}
	case asBool:
		return cell{text: strconv.FormatBool(r.bool())}
	case asTime:
		return cell{text: r.time().String(), quoted: true}
	case asDay:
		return cell{text: Date(r.int()), quoted: true}
	case asAmount:
		return cell{text: money.Decimal(r.int(), currency)}
	case asIDs:
		return cell{text: jsonText(g.idsOf(KindLocation, r.keys(), []string{}))}
	case asAnyID:
		both := r.keys()
		kind, key = Kind(both[0]), both[1]
	default:
		key = r.int()
	}
	if key == 0 || kind == 0 {
		return cell{}
	}
	return cell{text: g.ID(kind, key), quoted: true}
}

// personalColumns returns the columns of a class of a table that personal.go declares, but for those
// that the program alone reads.
func personalColumns(table, alias string, class Class) string {
	var all []string
	for _, c := range ColumnsOf(class) {
		if c.Table == table && c.Sight != Unseen {
			all = append(all, alias+"."+c.Name)
		}
	}
	return strings.Join(all, ", ")
}

// exportTables are the files of an export, in their order. No column is a secret.
func exportTables() []exportTable {
	return []exportTable{
		exportedCards(),
		{
			"programs",
			`p.id AS program_id, p.type, p.name, p.name_localizations, p.description, p.description_localizations, p.category,
				p.total_stamps, p.repeat_after_reset, p.stamps_expire_after_days, p.welcome_stamps, p.max_stamps_per_day,
				p.default_expire_after_days, p.discount_percent, p.initial_balance_cents AS initial_balance,
				p.min_spend_cents AS min_spend, p.logo_url, p.access_image_url, p.brand_color_hex, p.bg_color_hex, p.text_color_hex,
				p.icon_key, p.visible_in_catalog, p.border_enabled, p.location_scope, p.has_installed_cards, p.created_at,
				p.updated_at, p.published_at, p.suspended_at, p.deleted_at`,
			"programs p WHERE p.shop_id=?1 ORDER BY p.id",
		},
		{
			"prizes",
			`z.id AS prize_id, z.program_id, z.threshold, z.ordinal, z.name, z.name_localizations, z.description,
				z.description_localizations, z.redemptions, z.created_at, z.updated_at`,
			"programs p CROSS JOIN prizes z ON z.program_id=p.id WHERE p.shop_id=?1",
		},
		{ // also the rows of cards whose holders were erased
			"transactions",
			`t.id AS transaction_id, ifnull(c.root_id, c.id) AS card_id, t.card_id AS instance_id, t.program_id, t.location_id,
				t.device_id, t.staff_id, t.type, t.stamps_delta AS stamps, t.value_delta AS amount, t.prize_id, t.reverses_id,
				t.overflow_of AS overflow_of_id, t.created_at, t.occurred_at, t.reversed_at, t.expired_at, t.client_reference, t.metadata`,
			"transactions t CROSS JOIN cards c ON c.id=t.card_id WHERE t.shop_id=?1 ORDER BY t.id",
		},
		{
			"locations",
			`l.id AS location_id, l.name, l.address, l.city, l.postal_code, l.country_code, l.lat, l.lon, l.require_staff_pin,
				l.require_staff, l.created_at, l.updated_at, l.disabled_at`,
			"locations l WHERE l.shop_id=?1 ORDER BY l.id",
		},
		{
			"staff",
			"s.id AS staff_id, ifnull(" + staffLocations + ", '') AS location_ids, s.name, s.created_at, s.disabled_at",
			"staff s WHERE s.shop_id=?1",
		},
		{
			"audit",
			"a.created_at AS at, a.actor_type, " + actorKind() + "||','||a.actor_id AS actor_id, " + auditActorName + ` AS actor_name,
				a.action, a.target_kind||','||a.target_id AS target_id, a.detail`,
			"audit a WHERE a.shop_id=?1 ORDER BY a.id",
		},
	}
}

// actorKind is the Kind of the actor of a row of the audit log, 0 for one without an id.
func actorKind() string {
	var cases []string
	for kind, actor := range actorTypes {
		cases = append(cases, fmt.Sprintf("WHEN '%s' THEN %d", actor, kind))
	}
	slices.Sort(cases)
	return "CASE a.actor_type " + strings.Join(cases, " ") + " ELSE 0 END"
}

// exportedCards has a row for each chain whose holder was not erased. o is its oldest card that is
// not archived, or its first one.
func exportedCards() exportTable {
	const (
		live = "(SELECT min(id) FROM cards WHERE root_id=c.id AND archived_at IS NULL)"
		// The thresholds of the prizes that were redeemed in the open cycle of a card.
		claims = `(SELECT group_concat(threshold, ' ') FROM (SELECT threshold FROM claims x JOIN cards i ON i.id=x.card_id
			AND i.cycle=x.cycle WHERE i.id=%s ORDER BY threshold))`
	)
	columns := "c.id AS card_id, c.program_id AS program, p.name AS program_name, p.type AS program_type, c.short_code, " +
		personalColumns("cards", "c", Holder) + ", " + personalColumns("contacts", "k", HolderRow) +
		`, iif(o.archived_at IS NULL AND p.type IN ('standard', 'private'), o.stamps_count+ifnull((SELECT sum(stamps_count) FROM cards
			WHERE root_id=c.id AND id>o.id AND archived_at IS NULL), 0), NULL) AS stamps,
		iif(o.archived_at IS NULL, o.current_value, NULL) AS balance,
		iif(o.archived_at IS NULL, ` + fmt.Sprintf(claims, "o.id") + ", NULL) AS claimed, " +
		"(SELECT nullif(rtrim(group_concat(ifnull(" + fmt.Sprintf(claims, "n.id") + ", ''), ' " + nextCard + " '), ' " + nextCard +
		`'), '') FROM (SELECT id FROM cards WHERE root_id=c.id AND id>o.id AND archived_at IS NULL ORDER BY id) n) AS claimed_overflow,
		o.expires_at`
	const code = ", (SELECT barcode FROM foreign_codes WHERE card_id=c.id ORDER BY shop_id, barcode LIMIT 1 OFFSET %d) AS code%s"
	for n := range maxForeignCodes {
		suffix := ""
		if n > 0 {
			suffix = "_" + strconv.Itoa(n+1)
		}
		columns += fmt.Sprintf(code, n, suffix)
	}
	columns += ", " + strings.NewReplacer("c.", "o.", "?", "?2").Replace(statusSQL) + ` AS state,
		o.locked_at IS NOT NULL AS locked, c.created_at, nullif(c.last_seen_day, 0) AS last_visit, c.source, c.opening_stamps,
		c.initial_value AS initial_balance, c.first_location_id, c.activated_at, o.installed_at, o.platform, o.archived_at,
		c.consent_version, c.consent_at`
	return exportTable{
		"cards",
		columns,
		"cards c CROSS JOIN programs p ON p.id=c.program_id LEFT JOIN contacts k ON k.card_id=c.id " +
			"CROSS JOIN cards o ON o.id=iif(c.archived_at IS NULL, c.id, ifnull(" + live + `, c.id))
			WHERE c.shop_id=?1 AND c.deleted_at IS NULL AND c.root_id IS NULL ORDER BY c.id`,
	}
}
