package operation_test

import (
	"slices"
	"testing"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestCreateChosenKey checks that a person who makes a key must choose everything, since no
// field has a default, and that the list says who made the key and which one replaces it.
func TestCreateChosenKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	ada := s.person(kernel.Owner)
	some := []string{"cards:read"}
	whole := operation.ChosenKeyFields{Class: store.Given("mcp"), Name: store.Given("Till export"), Scopes: store.Given(some), Locations: store.Given("some"),
		LocationIDs: store.Given(s.LocationIDs[:1]), Expires: store.Given("90")}
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
		_, err := kernel.Do[operation.CreatedKey](t.Context(), s.Kernel, ada, operation.CreateChosenKey, kernel.Args{Fields: f})
		if refusal := kernel.AsError(err, kernel.StatusOf); err == nil || len(refusal.Details) != 1 || refusal.Details[0].Field != field {
			t.Errorf("without %s: %v", field, err)
		}
	}
	k, err := kernel.Do[operation.CreatedKey](t.Context(), s.Kernel, ada, operation.CreateChosenKey, kernel.Args{Fields: whole})
	if err != nil || !slices.Equal(k.Scopes, some) || !slices.Equal(k.LocationIDs, s.LocationIDs[:1]) || k.ExpiresAt.V != k.CreatedAt.Add(90*24*time.Hour) || k.Secret == "" {
		t.Fatal(k, err)
	}
	whole.Locations, whole.Expires = store.Given("all"), store.Given("never") // location_ids is left over from the form
	if k, err := kernel.Do[operation.CreatedKey](t.Context(), s.Kernel, ada, operation.CreateChosenKey, kernel.Args{Fields: whole}); err != nil || len(k.LocationIDs) > 0 || k.ExpiresAt.Valid {
		t.Error(k, err)
	}
	by := s.signedIn("owner", nil)
	listed := func() *store.KeyInfo {
		list, err := kernel.Do[operation.List[store.KeyInfo]](t.Context(), s.Kernel, by, operation.ListKeyInfos, kernel.Args{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Data, func(i store.KeyInfo) bool { return i.ID == k.ID })
		return &list.Data[i]
	}
	if got := listed(); !got.Restricted || got.CreatedBy.V.Type != "user" || got.Successor.Valid {
		t.Errorf("%+v", got)
	}
	next, err := kernel.Do[operation.CreatedKey](t.Context(), s.Kernel, by, operation.RotateKey, kernel.Args{Params: map[string]string{"id": k.ID}})
	if err != nil {
		t.Fatal(err)
	}
	if got := listed(); got.Successor.V != next.ID {
		t.Errorf("%+v, not replaced by %s", got, next.ID)
	}
}

// TestListActivity checks the filters of the audit log, and that its rows and the list of
// actors have names.
func TestListActivity(t *testing.T) {
	t.Parallel()
	s := open(t)
	ada := s.person(kernel.Manager)
	location := map[string]string{"id": s.LocationIDs[0]}
	if _, err := s.Invoke(t.Context(), ada, operation.DisableLocation, kernel.Args{Params: location}); err != nil {
		t.Fatal(err)
	}
	key := kernel.KeyCaller(s.key)
	key.Epoch = 0
	if _, err := s.Invoke(t.Context(), key, operation.EnableLocation, kernel.Args{Params: location}); err != nil {
		t.Fatal(err)
	}
	now := s.st.Now()
	for name, c := range map[string]struct {
		store.AuditFilter
		want []string
	}{
		"action":     {store.AuditFilter{Action: store.Given("location.disable")}, []string{"location.disable"}},
		"prefix":     {store.AuditFilter{Action: store.Given("location."), From: store.Given(now.Add(-time.Minute)), ActorType: store.Given("user")}, []string{"location.disable"}},
		"key":        {store.AuditFilter{ActorID: store.Given(s.key.KeyID)}, []string{"location.enable"}},
		"nobody":     {store.AuditFilter{ActorID: store.Given("usr_none")}, nil},
		"later":      {store.AuditFilter{From: store.Given(now.Add(time.Hour))}, nil},
		"before all": {store.AuditFilter{To: store.Given(store.Time(1))}, nil},
		"a part":     {store.AuditFilter{Action: store.Given("location.en")}, nil},
	} {
		p, err := kernel.Do[store.Page[store.Activity]](t.Context(), s.Kernel, ada, operation.ListActivity, kernel.Args{Fields: operation.ActivityQuery{AuditFilter: c.AuditFilter}})
		var got []string
		for _, row := range p.Data {
			got = append(got, row.Action)
			if row.Target.Kind != store.KindLocation || !row.Target.Name.Valid || row.Target.ID.V != s.LocationIDs[0] {
				t.Errorf("%s: %+v", name, row)
			}
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %v, want %v", name, got, err, c.want)
		}
	}
	actors, err := kernel.Do[operation.List[store.Named]](t.Context(), s.Kernel, ada, operation.ListActivityActors, kernel.Args{})
	if err != nil || !slices.ContainsFunc(actors.Data, func(n store.Named) bool { return n.ID.V == s.key.KeyID && n.Name.Valid }) {
		t.Error(actors, err)
	}
}
