package operation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestCreateChosenKey checks that a person who makes a key must choose everything, since no
// field has a default, and that the list says who made the key and which one replaces it.
func TestCreateChosenKey(t *testing.T) {
	h := openHarness(t)
	ada := h.withRole(kernel.Owner)
	some := []string{"cards:read"}
	whole := operation.ChosenKeyFields{
		Class:       store.Given("mcp"),
		Name:        store.Given("Till export"),
		Scopes:      store.Given(some),
		Locations:   store.Given("some"),
		LocationIDs: store.Given(h.LocationIDs[:1]),
		Expires:     store.Given("90"),
	}
	for field, change := range map[string]func(*operation.ChosenKeyFields){
		"class":        func(f *operation.ChosenKeyFields) { f.Class.Set = false },
		"name":         func(f *operation.ChosenKeyFields) { f.Name.Set = false },
		"scopes":       func(f *operation.ChosenKeyFields) { f.Scopes = store.Given([]string{}) },
		"scopes.0":     func(f *operation.ChosenKeyFields) { f.Scopes = store.Given([]string{"cards:eat"}) },
		"locations":    func(f *operation.ChosenKeyFields) { f.Locations.Set = false },
		"location_ids": func(f *operation.ChosenKeyFields) { f.LocationIDs = store.Given([]string{}) },
		"expires":      func(f *operation.ChosenKeyFields) { f.Expires.Set = false },
	} {
		f := whole
		change(&f)
		_, err := h.try(ada, operation.CreateChosenKey, "", f)
		if got, _, _ := strings.Cut(details(err), " "); got != field || strings.Contains(details(err), ",") {
			t.Errorf("without %s: %v", field, err)
		}
	}
	k := must[operation.CreatedKey](h, ada, operation.CreateChosenKey, "", whole)
	if !slices.Equal(k.Scopes, some) || !slices.Equal(k.LocationIDs, h.LocationIDs[:1]) ||
		k.ExpiresAt.V != k.CreatedAt.Add(90*24*time.Hour) ||
		k.Secret == "" {
		t.Fatal(k)
	}
	whole.Locations, whole.Expires = store.Given("all"), store.Given("never") // location_ids is left over from the form
	if k := must[operation.CreatedKey](h, ada, operation.CreateChosenKey, "", whole); len(k.LocationIDs) > 0 || k.ExpiresAt.Valid {
		t.Error(k)
	}
	by := h.signedIn("owner", nil)
	listed := func() *store.KeyInfo {
		list := must[operation.List[store.KeyInfo]](h, by, operation.ListKeyInfos, "", nil)
		i := slices.IndexFunc(list.Data, func(i store.KeyInfo) bool { return i.ID == k.ID })
		return &list.Data[i]
	}
	if got := listed(); !got.Restricted || got.CreatedBy.V.Type != "user" || got.Successor.Valid {
		t.Errorf("%+v", got)
	}
	next := must[operation.CreatedKey](h, by, operation.RotateKey, k.ID, nil)
	if got := listed(); got.Successor.V != next.ID {
		t.Errorf("%+v, not replaced by %s", got, next.ID)
	}
}

// TestListActivity checks that the audit log is filtered, as TestActivity of the store does with each filter, and
// that its rows and the list of actors have names.
func TestListActivity(t *testing.T) {
	h := openHarness(t)
	ada := h.withRole(kernel.Manager)
	h.ok(ada, operation.DisableLocation, h.LocationIDs[0], nil)
	key := h.key()
	h.ok(kernel.KeyCaller(key), operation.EnableLocation, h.LocationIDs[0], nil)
	for want, filter := range map[string]store.AuditFilter{
		"location.disable": {
			Action: store.Given("location."), From: store.Given(h.st.Now().Add(-time.Minute)), ActorType: store.Given("user"),
		},
		"location.enable": {ActorID: store.Given(key.KeyID)},
	} {
		rows := must[store.Page[store.Activity]](h, ada, operation.ListActivity, "", filter).Data
		if len(rows) != 1 || rows[0].Action != want || rows[0].Target.Kind != store.KindLocation || !rows[0].Target.Name.Valid ||
			rows[0].Target.ID.V != h.LocationIDs[0] {
			t.Errorf("%s: %+v", want, rows)
		}
	}
	actors := must[operation.List[store.Named]](h, ada, operation.ListActivityActors, "", nil).Data
	if !slices.ContainsFunc(actors, func(n store.Named) bool { return n.ID.V == key.KeyID && n.Name.Valid }) {
		t.Error(actors)
	}
}
