package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// Me describes a key and its shop.
type Me struct {
	Shop         MeShop       `json:"shop"`
	Entitlements Entitlements `json:"entitlements"`
	APIKey       MeKey        `json:"api_key"`
}

// MeShop is the shop part of Me.
type MeShop struct {
	ID                string            `json:"id"`
	APIAddon          bool              `json:"api_addon"`
	IncludedLocations int64             `json:"included_locations"`
	BillableLocations int64             `json:"billable_locations" doc:"Locations that were not deleted."`
	MaxLocations      store.Null[int64] `json:"max_locations"`
	MaxCards          store.Null[int64] `json:"max_cards"`
}

// Entitlements are what the shop's plan allows.
type Entitlements struct {
	APIAccess        bool                   `json:"api_access"`
	WebhooksAdvanced bool                   `json:"webhooks_advanced" doc:"Equals api_access and gates nothing."`
	MCPAccess        bool                   `json:"mcp_access"`
	Source           EntitlementSource      `json:"source"`
	GrantExpiresAt   store.Null[store.Time] `json:"grant_expires_at"`
}

// EntitlementSource says whether an entitlement comes from an add-on or a grant.
type EntitlementSource struct {
	APIAccess store.Null[string] `json:"api_access" enum:"addon,grant"`
}

// MeKey is the key part of Me.
type MeKey struct {
	ID          string   `json:"id"`
	Scopes      []string `json:"scopes"`
	LocationIDs []string `json:"location_ids" doc:"The key's location restriction; empty means every location."`
}

// GetMe describes the key that calls it.
var GetMe = declare(kernel.Operation{
	ID:               "getMe",
	Group:            "Identity",
	Title:            "Inspect the key",
	Doc:              "The key's own scopes and location restriction: the way to diagnose a 403. Needs no scope.",
	Callers:          kernel.Callers{APIKey: kernel.AnyKey},
	WithoutLocations: true,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (me Me, err error) {
		sh, locations, err := v.OwnShop(c.Access)
		if err != nil {
			return me, err
		}
		source := c.Key.APIAccess(c.Now())
		return Me{
			Shop:         MeShop{sh.ID, sh.APIAddon, sh.IncludedLocations, locations, sh.MaxLocations, sh.MaxCards},
			Entitlements: Entitlements{source.Valid, source.Valid, c.Key.MCPAccess, EntitlementSource{source}, c.Key.GrantExpiresAt},
			APIKey:       MeKey{c.Key.KeyID, c.Key.Scopes, c.Key.LocationIDs},
		}, nil
	}),
})
