package seed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// everyField is a seed with the fields that those of testdata/seeds do not use.
const everyField = `{
  "now": "2026-05-18T12:00:00+02:00",
  "shops": [
    {"locations": [{"ref": "front", "name": "Front"}]},
    {
      "ref": "second", "name": "Second", "mode": "live", "at": "2026-01-01T00:00:00Z", "subscription_state": "past_due",
      "locations": [{"ref": "north", "name": "North"}, {"ref": "south", "name": "South"}],
      "programs": [
        {"ref": "scoped", "type": "private", "name": "Scoped", "total_stamps": 4, "icon_key": "star", "min_spend_cents": 300,
         "location_scope": "selected_locations", "scoped_location_refs": ["south"],
         "prizes": [{"ref": "second-option", "threshold": 4, "name": "B", "ordinal": 2},
                    {"ref": "first-option", "threshold": 3, "name": "A", "ordinal": 1}]},
        {"ref": "draft", "type": "discount", "name": "Draft", "discount_percent": 12.5, "draft": true}
      ],
      "keys": [{"ref": "agent", "class": "mcp", "name": "Agent"},
               {"ref": "till-key", "scopes": ["cards:read", "cards:read"],
                "location_refs": ["south", "north"], "expires_at": "2026-06-01T00:00:00Z"}],
      "cards": [
        {"ref": "counter", "program": "scoped", "holder_name": "Ann", "at_location": "south",
         "at": "2026-05-01T08:00:00Z", "expires_in": "10d", "installed": "google"},
        {"ref": "invited", "program": "scoped", "holder_name": null, "expires_at": "2026-07-01T00:00:00Z"},
        {"ref": "first-seen", "program": "scoped"},
        {"ref": "locked", "program": "scoped", "ago": "1d", "locked": true}
      ],
      "activity": [
        {"ago": "2h", "location": "south", "card": "first-seen", "stamp": 4, "spend_cents": 300, "metadata": {"till": 7}},
        {"ref": "taken", "ago": "1h30m", "location": "south", "card": "first-seen", "redeem": "first-option"},
        {"ago": "1h30m", "location": "south", "card": "first-seen", "reverse": "taken"},
        {"ago": "0s", "location": "south", "card": "first-seen", "redeem": "B"}
      ],
      "webhooks": [{"ref": "hook", "program": "draft", "url": "https://example.com/in", "events": ["*"],
        "program_refs": ["draft", "scoped"], "location_refs": ["north"],
        "payload_version": "v1", "active": false}]
    }
  ]
}`

// everyEffect is what everyField leaves in the store, as effects returns it.
var everyEffect = []string{
	"shop live past_due 2026-01-01T00:00:00.000Z",
	"scoped true true true A,B",
	"draft false false",
	"hook v1 false true true 2026-05-18T10:00:00.000Z",
	"counter active 0 made=2026-05-01T08:00:00.000Z expires=2026-05-28T10:00:00.000Z installed=2026-05-01T08:00:00.000Z",
	"invited invited 0 made=2026-05-18T10:00:00.000Z expires=2026-07-01T00:00:00.000Z installed=-",
	"first-seen active 4 made=2026-05-18T08:00:00.000Z expires=- installed=-",
	"locked locked 0 made=2026-05-17T10:00:00.000Z expires=- installed=-",
	"2026-05-18T08:00:00.000Z stamp prize=false",
	"2026-05-18T08:30:00.000Z redemption prize=true",
	"2026-05-18T08:30:00.000Z reversal prize=true",
	"2026-05-18T10:00:00.000Z redemption prize=true",
	"key api tsk_live_ [cards:read] 2 2026-06-01T00:00:00.000Z",
	"key mcp tmk_live_ [locations:read programs:read cards:read transactions:read analytics:read webhooks:read] 0 -",
}

// effects returns what the second shop of everyField has, one line for each object. id returns the id
// of a ref.
func effects(v *store.View, shop int64, id func(ref string) string) (lines []string, err error) {
	a := store.Access{Shop: shop}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	own, _, err := v.OwnShop(a)
	if err != nil {
		return nil, err
	}
	add("shop %s %s %s", own.Mode, own.SubscriptionState, own.CreatedAt)
	p, err := v.Program(a, id("scoped"))
	if err != nil {
		return nil, err
	}
	add(
		"scoped %t %t %t %s,%s",
		p.Active,
		p.HasInstalledCards,
		slices.Equal(p.ScopedLocationIDs, []string{id("south")}),
		p.Prizes[0].Name,
		p.Prizes[1].Name,
	)
	if p, err = v.Program(a, id("draft")); err != nil {
		return nil, err
	}
	add("draft %t %v", p.Active, p.PublishedAt.Valid)
	w, err := v.Webhook(a, id("draft"), id("hook"))
	if err != nil {
		return nil, err
	}
	add(
		"hook %s %t %t %t %s",
		w.PayloadVersion,
		w.Active,
		slices.Equal(w.ProgramIDs, []string{id("draft"), id("scoped")}),
		slices.Equal(w.LocationIDs, []string{id("north")}),
		w.CreatedAt,
	)
	for _, ref := range []string{"counter", "invited", "first-seen", "locked"} {
		c, err := v.Card(a, id(ref))
		if err != nil {
			return nil, err
		}
		add("%s %s %d made=%s expires=%s installed=%s", ref, c.Status, c.StampsCount, c.CreatedAt, some(c.ExpiresAt), some(c.InstalledAt))
	}
	ledger, err := ledgerOf(v, a, id("first-seen"))
	if err != nil {
		return nil, err
	}
	for _, x := range ledger {
		add("%s %s prize=%t", x.CreatedAt, x.Type, x.PrizeID.Valid)
	}
	keys, err := v.KeyInfos(shop)
	for _, k := range keys {
		// The rest of the prefix is random.
		add("key %s %s %v %d %s", k.Class, k.Prefix[:9], k.Scopes, len(k.LocationIDs), some(k.ExpiresAt))
	}
	return lines, err
}

// TestEveryField checks the effect of each field that only seeds have.
func TestEveryField(t *testing.T) {
	s := require.Must(Parse("every.json", []byte(everyField)))
	st, ready := apply(t, s)
	id := func(ref string) string {
		if ready.Refs[ref] == "" {
			t.Errorf("the ready line has no %s", ref)
		}
		return ready.Refs[ref]
	}
	if len(ready.ProgramIDs) != 0 || len(ready.LocationIDs) != 1 || ready.LocationIDs[0] != id("front") {
		t.Errorf("%+v", ready)
	}
	shop := require.Must(st.ResolveShop(id("second")))
	var got []string
	view(t, st, func(v *store.View) (err error) {
		got, err = effects(v, shop, id)
		return err
	})
	if !slices.Equal(got, everyEffect) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(everyEffect, "\n"))
	}
	check(t, st)
}
