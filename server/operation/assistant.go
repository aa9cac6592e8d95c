package operation

import (
	"slices"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// The operations of this file are for assistants, whose keys have the scopes of the REST
// API. Persons may invoke those that only read, too.

// assistant returns the callers of an operation for MCP keys with a scope, and for persons
// with at least a role.
func assistant(scope string, role kernel.Role) kernel.Callers {
	return kernel.Callers{MCPKey: scope, Person: role}
}

// Overview is what an assistant is told first.
type Overview struct {
	Shop      OverviewShop       `json:"shop"`
	Now       store.Time         `json:"now"`
	Today     string             `json:"today" format:"date" doc:"By the shop's calendar."`
	Weekday   string             `json:"weekday"`
	Key       MeKey              `json:"key"`
	Locations []OverviewLocation `json:"locations" doc:"Empty without the scope locations:read."`
	Programs  []OverviewProgram  `json:"programs" doc:"Empty without the scope programs:read; at most 50."`
	// Figures are nil without the scope analytics:read, and for a restricted key.
	Figures *OverviewFigures `json:"figures"`
}

// OverviewShop is the shop of an Overview.
type OverviewShop struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Mode     string `json:"mode" enum:"live,test"`
	Timezone string `json:"timezone"`
	Currency string `json:"currency"`
	Language string `json:"language"`
}

// OverviewLocation is a location of an Overview.
type OverviewLocation struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	City   string `json:"city"`
	Active bool   `json:"active"`
}

// OverviewProgram is a program of an Overview.
type OverviewProgram struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Type  string `json:"type"`
	State string `json:"state" enum:"draft,published,suspended"`
}

// OverviewFigures are the figures of an Overview.
type OverviewFigures struct {
	Summary    store.AnalyticsSummary `json:"summary"`
	Today      store.DayTotals        `json:"today" doc:"So far."`
	WeekBefore store.DayTotals        `json:"week_before" doc:"Of the same weekday a week before, up to the same time of day."`
	Attention  []store.Attention      `json:"attention"`
}

// ProgramState returns the state of a program in a word.
func ProgramState(p store.Program) string {
	switch {
	case p.SuspendedAt.Valid:
		return "suspended"
	case p.PublishedAt.Valid:
		return "published"
	}
	return "draft"
}

// WebhookState returns the state of a webhook in a word. A draft is inactive, and stays a
// draft until a person activates it.
func WebhookState(active, draft bool) string {
	switch {
	case draft:
		return "draft"
	case active:
		return "active"
	}
	return "inactive"
}

// overviewItems is the most locations and programs of an Overview.
const overviewItems = 50

// GetOverview returns what an assistant has to know before it asks for anything else: as
// much of it as its key may read.
var GetOverview = declare(kernel.Operation{
	ID:               "getOverview",
	Group:            "Assistants",
	Title:            "Read an overview of the shop",
	Callers:          kernel.Callers{MCPKey: kernel.AnyKey},
	WithoutLocations: true,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (o Overview, err error) {
		sh, _, err := v.OwnShop(c.Access)
		if err != nil {
			return o, err
		}
		now := c.Now().Std().In(store.Zone(sh.Timezone))
		o = Overview{
			Shop:      OverviewShop{sh.ID, sh.Name, sh.Mode, sh.Timezone, sh.Currency, sh.Language},
			Now:       c.Now(),
			Today:     now.Format(time.DateOnly),
			Weekday:   now.Weekday().String(),
			Key:       MeKey{c.Key.KeyID, c.Key.Scopes, c.Key.LocationIDs},
			Locations: []OverviewLocation{},
			Programs:  []OverviewProgram{},
		}
		some := store.PageQuery{Limit: store.Given[int64](overviewItems)}
		if slices.Contains(c.Key.Scopes, "locations:read") {
			page, err := v.Locations(c.Access, some)
			if err != nil {
				return o, err
			}
			for _, l := range page.Data {
				o.Locations = append(o.Locations, OverviewLocation{l.ID, l.Name, l.City, l.Active})
			}
		}
		if slices.Contains(c.Key.Scopes, "programs:read") {
			page, err := v.Programs(c.Access, store.ProgramFilter{PageQuery: some})
			if err != nil {
				return o, err
			}
			for _, p := range page.Data {
				o.Programs = append(o.Programs, OverviewProgram{p.ID, p.Name, p.Type, ProgramState(p)})
			}
		}
		if !slices.Contains(c.Key.Scopes, "analytics:read") || c.Access.Restricted {
			return o, nil
		}
		summary, err := v.Summary(c.Access)
		if err != nil {
			return o, err
		}
		today, err := v.Today(c.Access.Shop)
		o.Figures = &OverviewFigures{summary, today.Today, today.Before, today.Attention}
		return o, err
	}),
})

// FindCards finds cards, also by when they were last seen and by the prizes that are due.
var FindCards = declare(kernel.Operation{
	ID:      "findCards",
	Group:   cards,
	Title:   "Find cards",
	Callers: assistant("cards:read", kernel.NoRole),
	Codes:   codes{store.LocationScopeUnsupported},
	Read:    query((*store.View).FindCards),
})

// CountTransactions lists the ledger of the shop, and says how many rows the filter selects.
var CountTransactions = declare(kernel.Operation{
	ID:      "countTransactions",
	Group:   transactions,
	Title:   "List and count the ledger",
	Callers: assistant("transactions:read", kernel.NoRole),
	Read:    query((*store.View).CountedTransactions),
})

// CheckIDs refuses the ids of a filter that name nothing.
var CheckIDs = declare(kernel.Operation{
	ID:      "checkIDs",
	Group:   "Assistants",
	Title:   "Check the ids of a filter",
	Callers: assistant(kernel.AnyKey, kernel.NoRole),
	Codes:   notFound,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, f store.IDFilter) (kernel.None, error) {
		return kernel.None{}, v.CheckIDs(c.Access, f)
	}),
})

// GetSeenCard returns a card with when it was last seen and the prizes that are due.
var GetSeenCard = declare(kernel.Operation{
	ID:      "getSeenCard",
	Group:   cards,
	Title:   "Read a card and its prizes that are due",
	Callers: assistant("cards:read", kernel.NoRole),
	Codes:   notFound,
	Read:    byID((*store.View).CardSeen),
})

// ComparePeriods compares two periods by the maintained sums.
var ComparePeriods = declare(kernel.Operation{
	ID:      "comparePeriods",
	Group:   analytics,
	Title:   "Compare two periods",
	Callers: assistant("analytics:read", kernel.Viewer),
	Codes:   notFound,
	Read:    query((*store.View).ComparePeriods),
})

// ListWebhookReports says how webhooks fare.
var ListWebhookReports = declare(kernel.Operation{
	ID:      "listWebhookReports",
	Group:   webhooks,
	Title:   "Read how webhooks fare",
	Callers: assistant("webhooks:read", kernel.Viewer),
	Codes:   notFound,
	Read:    query((*store.View).WebhookReports),
})

// ProgramChanges are the fields of UpdateProgramAndPrizes.
type ProgramChanges struct {
	store.ProgramFields
	AddPrizes    store.Opt[[]*store.PrizeFields] `json:"add_prizes" max:"100" doc:"In their order. Stamp programs only."`
	RemovePrizes store.Opt[[]string]             `json:"remove_prizes" max:"100" doc:"Ids of prizes that were never redeemed."`
}

// UpdateProgramAndPrizes changes a program and its prizes, or nothing at all.
var UpdateProgramAndPrizes = declare(kernel.Operation{
	ID:      "updateProgramAndPrizes",
	Group:   programs,
	Title:   "Update a program and its prizes",
	Callers: assistant("programs:write", kernel.NoRole),
	Codes:   codes{store.NotFound, store.Conflict, store.ProgramHasInstalledCards, store.Unprocessable},
	Mode:    wire.Patch,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f ProgramChanges) (d store.ProgramDetail, err error) {
		id := c.Param("id")
		for _, prize := range f.RemovePrizes.V {
			if err = tx.DeletePrize(c.Access, id, prize); err != nil {
				return d, err
			}
		}
		if d, err = tx.UpdateProgram(c.Access, id, f.ProgramFields); err != nil {
			return d, err
		}
		for _, z := range f.AddPrizes.V {
			if _, err = tx.AddPrize(c.Access, id, *z); err != nil {
				return d, err
			}
		}
		return tx.ProgramDetail(c.Access, id)
	}),
})

// DraftWebhook makes a webhook to which nothing is sent before a person has activated it.
var DraftWebhook = declare(kernel.Operation{
	ID:      "draftWebhook",
	Group:   webhooks,
	Title:   "Draft a webhook",
	Callers: assistant("webhooks:write", kernel.NoRole),
	Codes:   notFoundOrUnprocessable,
	Write:   withID((*store.Tx).DraftWebhook),
})

// PauseWebhook makes a webhook inactive.
var PauseWebhook = declare(kernel.Operation{
	ID:      "pauseWebhook",
	Group:   webhooks,
	Title:   "Pause a webhook",
	Callers: assistant("webhooks:write", kernel.NoRole),
	Codes:   notFound,
	Write:   change((*store.Tx).PauseWebhook),
})

// TestActiveWebhook sends test.ping to an active webhook.
var TestActiveWebhook = declare(kernel.Operation{
	ID:      "testActiveWebhook",
	Group:   webhooks,
	Title:   "Test an active webhook",
	Callers: assistant("webhooks:write", kernel.NoRole),
	Codes:   notFoundOrUnprocessable,
	Write:   change((*store.Tx).TestActiveWebhook),
})

// RedeliverToActive sends a delivery to an active webhook again.
var RedeliverToActive = declare(kernel.Operation{
	ID:      "redeliverToActive",
	Group:   webhooks,
	Title:   "Send a delivery to an active webhook again",
	Callers: assistant("webhooks:write", kernel.NoRole),
	Codes:   notFoundConflictOrUnprocessable,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.Delivery, error) {
		return tx.RedeliverToActive(c.Access, c.Param("id"), c.Param("deliveryId"))
	}),
})
