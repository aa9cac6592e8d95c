package api

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

var analytics = []kernel.Route{
	get("/programs/:id/stats", "getProgramStats", "Analytics", "analytics:read", "Read a program's statistics",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.ProgramStats, error) {
			return v.ProgramStats(c.Access, c.Param("id"))
		}), codes(store.NotFound, store.LocationScopeUnsupported), doc("Every figure is computed by itself and null where that failed: null means unavailable, never zero. A location-restricted key is refused.")),
	get("/analytics/summary", "getAnalyticsSummary", "Analytics", "analytics:read", "Read the shop's summary",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.AnalyticsSummary, error) {
			return v.Summary(c.Access)
		}), codes(store.LocationScopeUnsupported)),
	get("/analytics/heatmap", "getHeatmap", "Analytics", "analytics:read", "Read the activity of each day",
		kernel.Read(func(v *store.View, c *kernel.Call, q store.HeatmapQuery) (store.ActivityHeatmap, error) {
			return v.Heatmap(c.Access, q)
		}), doc("Rows of the ledger that are neither reversed nor reversals or expiries, by day of the shop's calendar. For a location-restricted key it is computed from its own locations.")),
	get("/analytics/card-types", "getCardTypes", "Analytics", "analytics:read", "Read the distribution of card types",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.CardTypeDistribution, error) {
			return v.Distribution(c.Access)
		}), codes(store.LocationScopeUnsupported), doc("All five types, also those without cards.")),
	get("/analytics/card-types/:type", "getCardTypeStats", "Analytics", "analytics:read", "Read the figures of a card type",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.CardStats, error) {
			return v.CardStats(c.Access, c.Param("type"))
		}), codes(store.NotFound, store.LocationScopeUnsupported), doc("`kpis` of stamp types: active_cards, stamps_awarded, prizes_redeemed, completion_rate; of discount: active_cards, uses; of access: active_cards, entries; of prepaid: active_cards, balance_cents, topped_up_cents, spent_cents.")),
}
