package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// GetProgramStats returns the statistics of a program.
var GetProgramStats = declare(kernel.Operation{
	ID:    "getProgramStats",
	Group: analytics,
	Title: "Read a program's statistics",
	Doc: "Every figure is computed by itself and null where that failed: null means unavailable, never zero. A " +
		"location-restricted key is refused.",
	Callers: assisted(readers("analytics")),
	Codes:   codes{store.NotFound, store.LocationScopeUnsupported},
	Read:    byID((*store.View).ProgramStats),
})

// GetAnalyticsSummary returns the main figures of the shop.
var GetAnalyticsSummary = declare(kernel.Operation{
	ID:      "getAnalyticsSummary",
	Group:   analytics,
	Title:   "Read the shop's summary",
	Callers: assisted(readers("analytics")),
	Codes:   codes{store.LocationScopeUnsupported},
	Read:    ofCaller((*store.View).Summary),
})

// GetHeatmap returns the activity of each day.
var GetHeatmap = declare(kernel.Operation{
	ID:    "getHeatmap",
	Group: analytics,
	Title: "Read the activity of each day",
	Doc: "Rows of the ledger that are neither reversed nor reversals or expiries, by day of the shop's calendar. For a " +
		"location-restricted key it is computed from its own locations.",
	Callers: assisted(readers("analytics")),
	Read:    query((*store.View).Heatmap),
})

// GetCardTypes returns how many cards there are of each type.
var GetCardTypes = declare(kernel.Operation{
	ID:      "getCardTypes",
	Group:   analytics,
	Title:   "Read the distribution of card types",
	Doc:     "All five types, also those without cards.",
	Callers: assisted(readers("analytics")),
	Codes:   codes{store.LocationScopeUnsupported},
	Read:    ofCaller((*store.View).Distribution),
})

// GetCardTypeStats returns the figures of one card type.
var GetCardTypeStats = declare(kernel.Operation{
	ID:    "getCardTypeStats",
	Group: analytics,
	Title: "Read the figures of a card type",
	Doc: "`kpis` of stamp types: active_cards, stamps_awarded, prizes_redeemed, completion_rate; of discount: active_cards, " +
		"uses; of access: active_cards, entries; of prepaid: active_cards, balance_cents, topped_up_cents, spent_cents.",
	Callers: assisted(readers("analytics")),
	Codes:   codes{store.NotFound, store.LocationScopeUnsupported},
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (store.CardStats, error) {
		return v.CardStats(c.Access, c.Param("type"))
	}),
})
