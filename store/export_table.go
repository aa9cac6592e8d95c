package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"punchcard/store/money"
)

// exportTable is a file of an export. The rows of its query are those of the file.
type exportTable struct {
	name    string
	columns []exportColumn
	from    string // the rest of the query, for the shop ?1
}

// exportColumn is a column of a file. Null is an empty cell, and null in JSON.
type exportColumn struct {
	name string
	as   exportType
	sql  string
}

// exportType says how a column is written.
type exportType int

// The types of columns. The sql of an asAnyID is a Kind and a key.
const (
	asText exportType = iota
	asNumber
	asReal
	asBool
	asTime
	asDay
	asAmount
	asJSON
	asAnyID
	asLocations // the sql is the keys of locations with commas between them
	// asID plus a Kind is the id of that kind.
	asID
)

// asIDOf is the type of a column of the keys of a kind, which are written as ids.
func asIDOf(kind Kind) exportType { return asID + exportType(kind) }

// query returns the query of the table's rows.
func (t exportTable) query() string {
	var cols []string
	for _, c := range t.columns {
		cols = append(cols, c.sql)
	}
	return "SELECT " + columns(cols...) + " FROM " + t.from
}

// cell is a value as it is written. The zero cell is null.
type cell struct {
	text   string
	quoted bool // it is a text: in JSON it has quotes
}

// readCell reads a column of a row.
func (g IDs) readCell(r *rows, as exportType, currency string) cell {
	kind := Kind(as - asID)
	if as == asAnyID {
		kind = Kind(r.int())
	}
	if as == asLocations {
		list, _ := json.Marshal(g.idsOf(KindLocation, r.keys(), []string{}))
		return cell{text: string(list)}
	}
	if r.db().Null() {
		return cell{}
	}
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
	default:
		key := r.int()
		if key == 0 || kind == 0 {
			return cell{}
		}
		return cell{text: g.ID(kind, key), quoted: true}
	}
}

// same returns columns whose names are those of the columns of a table, by its alias.
func same(alias string, as exportType, names string) (all []exportColumn) {
	for name := range strings.FieldsSeq(names) {
		all = append(all, exportColumn{name, as, alias + "." + name})
	}
	return all
}

// personalColumns returns the columns of a class of a table that personal.go declares, but for those
// that the program alone reads.
func personalColumns(table, alias string, class Class) (all []exportColumn) {
	for _, c := range ColumnsOf(class) {
		if c.Table == table && c.Sight != Unseen {
			all = append(all, same(alias, asText, c.Name)...)
		}
	}
	return all
}

// exportTables are the files of an export, in their order. No column is a secret.
func exportTables() []exportTable {
	return []exportTable{
		exportedCards(),
		{
			"programs",
			slices.Concat(
				[]exportColumn{{"program_id", asIDOf(KindProgram), "p.id"}},
				same("p", asText, "type name"),
				same("p", asJSON, "name_localizations"),
				same("p", asText, "description"),
				same("p", asJSON, "description_localizations"),
				same("p", asText, "category"),
				same("p", asNumber, "total_stamps"),
				same("p", asBool, "repeat_after_reset"),
				same("p", asNumber, "stamps_expire_after_days welcome_stamps max_stamps_per_day default_expire_after_days"),
				same("p", asReal, "discount_percent"),
				[]exportColumn{
					{"initial_balance", asAmount, "p.initial_balance_cents"},
					{"min_spend", asAmount, "p.min_spend_cents"},
				},
				same("p", asText, "logo_url access_image_url brand_color_hex bg_color_hex text_color_hex icon_key"),
				same("p", asBool, "visible_in_catalog border_enabled"),
				same("p", asText, "location_scope"),
				same("p", asBool, "has_installed_cards"),
				same("p", asTime, "created_at updated_at published_at suspended_at deleted_at"),
			),
			"programs p WHERE p.shop_id=?1 ORDER BY p.id",
		},
		{
			"prizes",
			slices.Concat(
				[]exportColumn{
					{"prize_id", asIDOf(KindPrize), "z.id"},
					{"program_id", asIDOf(KindProgram), "z.program_id"},
				},
				same("z", asNumber, "threshold ordinal"),
				same("z", asText, "name"),
				same("z", asJSON, "name_localizations"),
				same("z", asText, "description"),
				same("z", asJSON, "description_localizations"),
				same("z", asNumber, "redemptions"),
				same("z", asTime, "created_at updated_at"),
			),
			"programs p CROSS JOIN prizes z ON z.program_id=p.id WHERE p.shop_id=?1",
		},
		exportedTransactions(),
		{
			"locations",
			slices.Concat(
				[]exportColumn{{"location_id", asIDOf(KindLocation), "l.id"}},
				same("l", asText, "name address city postal_code country_code"),
				same("l", asReal, "lat lon"),
				same("l", asBool, "require_staff_pin require_staff"),
				same("l", asTime, "created_at updated_at disabled_at"),
			),
			"locations l WHERE l.shop_id=?1 ORDER BY l.id",
		},
		{
			"staff",
			slices.Concat(
				[]exportColumn{
					{"staff_id", asIDOf(KindStaff), "s.id"},
					{"location_ids", asLocations, staffLocations},
				},
				same("s", asText, "name"),
				same("s", asTime, "created_at disabled_at"),
			),
			"staff s WHERE s.shop_id=?1",
		},
		{
			"audit",
			[]exportColumn{
				{"at", asTime, "a.created_at"},
				{"actor_type", asText, "a.actor_type"},
				{"actor_id", asAnyID, actorKind() + ", a.actor_id"},
				{"actor_name", asText, auditActorName},
				{"action", asText, "a.action"},
				{"target_id", asAnyID, "a.target_kind, a.target_id"},
				{"detail", asJSON, "a.detail"},
			},
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
		live = "(SELECT min(id) FROM cards WHERE root_id=c.id AND archived_at IS NULL%s)"
		// The thresholds of the prizes that were redeemed in the open cycle of a card.
		claims = `(SELECT group_concat(threshold, ' ') FROM (SELECT threshold FROM claims x JOIN cards i ON i.id=x.card_id
			AND i.cycle=x.cycle WHERE i.id=%s ORDER BY threshold))`
	)
	open := func(sql string) string { return "iif(o.archived_at IS NULL, " + sql + ", NULL)" }
	all := slices.Concat(
		[]exportColumn{
			{"card_id", asIDOf(KindCard), "c.id"},
			{"program", asIDOf(KindProgram), "c.program_id"},
			{"program_name", asText, "p.name"},
			{"program_type", asText, "p.type"},
			{"short_code", asText, "c.short_code"},
		},
		personalColumns("cards", "c", Holder),
		personalColumns("contacts", "k", HolderRow),
		[]exportColumn{
			{"stamps", asNumber, open(`iif(p.type IN ('standard', 'private'), o.stamps_count+ifnull((SELECT sum(stamps_count) FROM cards
				WHERE root_id=c.id AND id>o.id AND archived_at IS NULL), 0), NULL)`)},
			{"balance", asAmount, open("o.current_value")},
			{"claimed", asText, open(fmt.Sprintf(claims, "o.id"))},
			{"claimed_overflow", asText, fmt.Sprintf(claims, fmt.Sprintf(live, " AND id>o.id"))},
			{"expires_at", asTime, "o.expires_at"},
		},
	)
	for n := range maxForeignCodes {
		name := "code"
		if n > 0 {
			name += "_" + strconv.Itoa(n+1)
		}
		all = append(all, exportColumn{name, asText, fmt.Sprintf(
			"(SELECT barcode FROM foreign_codes WHERE card_id=c.id ORDER BY shop_id, barcode LIMIT 1 OFFSET %d)", n)})
	}
	all = append(all, []exportColumn{
		{"state", asText, strings.ReplaceAll(strings.ReplaceAll(statusSQL, "c.", "o."), "?", "?2")},
		{"locked", asBool, "o.locked_at IS NOT NULL"},
		{"created_at", asTime, "c.created_at"},
		{"last_visit", asDay, "nullif(c.last_seen_day, 0)"},
		{"source", asText, "c.source"},
		{"opening_stamps", asNumber, "c.opening_stamps"},
		{"initial_balance", asAmount, "c.initial_value"},
		{"first_location_id", asIDOf(KindLocation), "c.first_location_id"},
		{"activated_at", asTime, "c.activated_at"},
		{"installed_at", asTime, "o.installed_at"},
		{"platform", asText, "o.platform"},
		{"archived_at", asTime, "o.archived_at"},
		{"consent_version", asNumber, "c.consent_version"},
		{"consent_at", asTime, "c.consent_at"},
	}...)
	return exportTable{"cards", all, "cards c CROSS JOIN programs p ON p.id=c.program_id LEFT JOIN contacts k ON k.card_id=c.id " +
		"CROSS JOIN cards o ON o.id=iif(c.archived_at IS NULL, c.id, ifnull(" + fmt.Sprintf(live, "") + `, c.id))
		WHERE c.shop_id=?1 AND c.deleted_at IS NULL AND c.root_id IS NULL ORDER BY c.id`}
}

// exportedTransactions has the rows of the ledger, also those of cards whose holders were erased.
func exportedTransactions() exportTable {
	return exportTable{
		"transactions",
		slices.Concat(
			[]exportColumn{
				{"transaction_id", asIDOf(KindTransaction), "t.id"},
				{"card_id", asIDOf(KindCard), "ifnull(c.root_id, c.id)"},
				{"instance_id", asIDOf(KindCard), "t.card_id"},
				{"program_id", asIDOf(KindProgram), "t.program_id"},
				{"location_id", asIDOf(KindLocation), "t.location_id"},
				{"device_id", asIDOf(KindDevice), "t.device_id"},
				{"staff_id", asIDOf(KindStaff), "t.staff_id"},
				{"type", asText, "t.type"},
				{"stamps", asNumber, "t.stamps_delta"},
				{"amount", asAmount, "t.value_delta"},
				{"prize_id", asIDOf(KindPrize), "t.prize_id"},
				{"reverses_id", asIDOf(KindTransaction), "t.reverses_id"},
				{"overflow_of_id", asIDOf(KindTransaction), "t.overflow_of"},
			},
			same("t", asTime, "created_at occurred_at reversed_at expired_at"),
			same("t", asText, "client_reference"),
			same("t", asJSON, "metadata"),
		),
		"transactions t CROSS JOIN cards c ON c.id=t.card_id WHERE t.shop_id=?1 ORDER BY t.id",
	}
}
