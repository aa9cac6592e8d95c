package command

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// The columns of tables: fields of answers and names in computed, with their headings before them where
// these are others.
var (
	shopColumns = []string{
		"ID=id", "name", "mode", "timezone", "subscription=subscription_state", "API add-on=api_addon", "public URL=public_url",
	}
	listedShops     = append(slices.Clip(shopColumns), "state=shop state")
	locationColumns = []string{"ID=id", "name", "city", "active", "PIN required=require_staff_pin"}
	settingColumns  = append(slices.Clip(locationColumns), "sign-in required=require_staff")
	staffColumns    = []string{"ID=id", "name", "locations=staff locations", "state=person state"}
	deviceColumns   = []string{"ID=id", "prefix", "name", "location=location_id", "state=device state", "card IDs=accepts_card_ids"}
	keyColumns      = []string{"ID=id", "prefix", "class", "name", "state=key state", "scopes=key scopes", "locations=key locations"}
	keyInfoColumns  = append(slices.Clip(keyColumns), "calls today", "in 30 days")
	programColumns  = []string{"ID=id", "name", "type", "rule", "state=program state"}
	prizeColumns    = []string{"prize=id", "stamps=threshold", "name", "description"}
	foundColumns    = []string{
		"ID=id", "name=holder_name", "email=holder_email", "reference=external_ref", "program=program_name", "status",
		"stamps=stamps of", "balance", "prize due", "last seen=last_seen_at",
	}
	cardColumns = []string{
		"ID=id", "name=holder_name", "email=holder_email", "reference=external_ref", "program=program_name", "status",
		"balance=balance only", "stamps=stamps only", "expires=expires_at", "installed=installed_at", "issued=created_at",
	}
	statusColumns  = []string{"ID=id", "name=holder_name", "status"}
	webhookColumns = []string{
		"ID=id", "URL=url", "events", "state=webhook state",
		"delivered=health.delivered", "failed=health.failed", "pending=health.pending",
	}
	deliveryColumns    = []string{"at=created_at", "event", "state", "status=response_status", "attempts", "error=last_error", "ID=id"}
	transactionColumns = []string{
		"at=created_at", "type", "stamps=stamps changed", "amount", "card=card_id", "location=location_name", "taken back", "ID=id",
	}
	userColumns = []string{"ID=id", "email", "name", "operator", "state=person state", "second factor=totp", "last sign-in"}
)

// The lists in answers that commands print.
var (
	prizeList  = list{"prizes", prizeColumns}
	cardPrizes = list{"prizes", []string{"prize=name", "state=prize state"}}
	cardLedger = list{"transactions", []string{
		"at=created_at", "type", "stamps=stamps changed", "amount", "location=location_name", "taken back", "ID=id",
	}}
	invitationList = list{"invitations", []string{"invited=email", "role", "shop", "valid until=expires_at"}}
)

// overviewColumns are the columns of a card in an overview.
func overviewColumns() (columns []string) {
	for _, column := range cardColumns {
		heading, path := headingOf(column)
		columns = append(columns, heading+"=card."+path)
	}
	return append(columns, "short_code")
}

// cents is the format of an amount in the smallest units of the shop's currency, which the rows
// of tables do not name.
const cents = "%s cents"

// computed returns what columns say of a row in words.
var computed = map[string]func(r row) string{
	"actor":               actor,
	"amount":              formatted(cents, "value_delta", "-"),
	"balance":             formatted(cents, "current_value", "-"),
	"balance only":        formatted(cents, "current_value", ""),
	"calls today":         calls("calls_today"),
	"completed":           rounded("%.0f %%", "completion_rate", 100, 0),
	"days between stamps": rounded("%.1f", "avg_days_between_stamps", 1, 1),
	"device state":        either("revoked_at", "revoked", "valid"),
	"form":                either("enroll", "on", "off"),
	"form address":        formatted("/join/%s", "enroll_slug", "-"),
	"in 30 days":          calls("calls_30d"),
	"key locations":       keyLocations,
	"key scopes":          keyScopes,
	"key state":           keyState,
	"last sign-in":        formatted("%s", "last_sign_in_at", "never"),
	"person state":        either("disabled_at", "disabled", "enabled"),
	"prize due":           either("prize_due", "yes", "no"),
	"prize state":         prizeState,
	"program state":       programState,
	"rule":                programRule,
	"shop state":          shopState,
	"staff locations":     staffLocations,
	"stamps changed":      rounded("%+.0f", "stamps_delta", 1, 0),
	"stamps for it":       formatted("%s stamps", "threshold", ""),
	"stamps of":           stampsOf,
	"stamps only":         stampsOnly,
	"taken back":          either("reversed_at", "yes", "no"),
	"webhook state":       func(r row) string { return operation.WebhookState(r["active"] == true, r["draft"] == true) },
}

// either returns the function that returns the first text if a field is neither null nor false, and the
// second otherwise.
func either(field, yes, no string) func(row) string {
	return func(r row) string {
		if v := r[field]; v == nil || v == false {
			return no
		}
		return yes
	}
}

// formatted returns the function that returns a field by a format, and another text for null.
func formatted(format, field, none string) func(row) string {
	return func(r row) string {
		if r[field] == nil {
			return none
		}
		return fmt.Sprintf(format, r.value(field))
	}
}

// rounded returns the function that returns a number by a format, times a factor and rounded to a number
// of decimals, and a dash for null.
func rounded(format, field string, factor float64, decimals int) func(row) string {
	return func(r row) string {
		n, err := strconv.ParseFloat(r.value(field), 64)
		if err != nil {
			return "-"
		}
		return fmt.Sprintf(format, web.Round(n*factor, decimals))
	}
}

// calls returns the function that returns a number of calls, which are counted of MCP keys alone.
func calls(field string) func(row) string {
	return func(r row) string {
		if r["class"] == "mcp" {
			return r.value(field)
		}
		return "-"
	}
}

// actor returns who has made a row of the audit log.
func actor(r row) string {
	by := r.object("actor")
	return strings.TrimSpace(by.value("type") + " " + cmp.Or(by.value("id"), by.value("name")))
}

// keyLocations returns how many locations a key is for.
func keyLocations(r row) string {
	if n := r.count("location_ids"); n > 0 {
		return fmt.Sprint(n)
	}
	return "all"
}

// staffLocations returns the ids of the locations where a member of staff works.
func staffLocations(r row) string {
	return cmp.Or(strings.ReplaceAll(r.value("location_ids"), " ", ", "), "all")
}

// keyScopes returns how many scopes a key has.
func keyScopes(r row) string {
	if n := r.count("scopes"); n < len(store.Scopes) {
		return fmt.Sprint(n)
	}
	return "all"
}

// keyState returns whether a key works.
func keyState(r row) string {
	switch {
	case r["revoked_at"] != nil:
		return "revoked"
	case r.past("expires_at"), r.past("retires_at"):
		return "expired"
	case r["retires_at"] != nil:
		return "until " + r.value("retires_at")
	case r["disabled_by_plan_at"] != nil:
		return "suspended"
	}
	return "valid"
}

// prizeState returns whether a card's prize is due.
func prizeState(r row) string {
	switch {
	case r["claimed"] == true:
		return "redeemed"
	case r["available"] == true:
		return "due"
	}
	return "at " + r.value("threshold") + " stamps"
}

// programRule says in a few words what a program gives.
func programRule(r row) string {
	switch {
	case r["total_stamps"] != nil:
		return r.value("total_stamps") + " stamps"
	case r["discount_percent"] != nil:
		return r.value("discount_percent") + " %"
	case r["initial_balance_cents"] != nil:
		return fmt.Sprintf(cents, r.value("initial_balance_cents")) + " at first"
	}
	return "-"
}

// programState returns the state of a program in a word.
func programState(r row) string {
	return operation.ProgramState(store.Program{
		SuspendedAt: store.Null[store.Time]{Valid: r["suspended_at"] != nil},
		PublishedAt: store.Null[store.Time]{Valid: r["published_at"] != nil},
	})
}

// stampsOf returns how many of the stamps of a full card there are; a dash for other cards.
func stampsOf(r row) string {
	if r["total_stamps"] == nil {
		return "-"
	}
	return r.value("stamps_count") + " of " + r.value("total_stamps")
}

// stampsOnly returns the stamps of a card that collects them; nothing for others.
func stampsOnly(r row) string {
	if r["current_value"] == nil && store.CollectsStamps(r.value("program_type")) {
		return r.value("stamps_count")
	}
	return ""
}

// shopState says whether a shop is open or where it has moved.
func shopState(r row) string {
	if r["closed"] == nil {
		return "open"
	}
	return map[string]string{store.ShopMoving: "moves to ", store.ShopMoved: "moved to "}[r.value("closed")] + r.value("moved_to")
}
