package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// GetProgramStats returns the statistics of a program.
var GetProgramStats = kernel.Read(
	assisted(analytics.reads("getProgramStats", "Read a program's statistics",
		"Every figure is computed by itself and null where that failed: null means unavailable, never zero. A location-restricted key is refused.",
		store.NotFound, store.LocationScopeUnsupported)),
	byID((*store.View).ProgramStats))

// GetAnalyticsSummary returns the main figures of the shop.
var GetAnalyticsSummary = kernel.Read(assisted(analytics.reads("getAnalyticsSummary", "Read the shop's summary", "", store.LocationScopeUnsupported)),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.AnalyticsSummary, error) {
		return v.Summary(c.Access)
	})

// GetHeatmap returns the activity of each day.
var GetHeatmap = kernel.Read(
	assisted(analytics.reads("getHeatmap", "Read the activity of each day",
		"Rows of the ledger that are neither reversed nor reversals or expiries, by day of the shop's calendar. For a location-restricted key it is computed from its own locations.")),
	func(v *store.View, c *kernel.Call, q store.HeatmapQuery) (store.ActivityHeatmap, error) {
		return v.Heatmap(c.Access, q)
	})

// GetCardTypes returns how many cards there are of each type.
var GetCardTypes = kernel.Read(
	assisted(analytics.reads("getCardTypes", "Read the distribution of card types",
		"All five types, also those without cards.",
		store.LocationScopeUnsupported)),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.CardTypeDistribution, error) {
		return v.Distribution(c.Access)
	})

// GetCardTypeStats returns the figures of one card type.
var GetCardTypeStats = kernel.Read(
	assisted(analytics.reads("getCardTypeStats", "Read the figures of a card type",
		"`kpis` of stamp types: active_cards, stamps_awarded, prizes_redeemed, completion_rate; of discount: active_cards, uses; of access: active_cards, entries; of prepaid: active_cards, balance_cents, topped_up_cents, spent_cents.",
		store.NotFound, store.LocationScopeUnsupported)),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.CardStats, error) {
		return v.CardStats(c.Access, c.Param("type"))
	})
