package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"punchcard/server/servertest"
)

// TestImport imports a list of a thousand members over unreliable connections while other clients
// read, and checks that another shop sees none of it.
func TestImport(t *testing.T) {
	t.Parallel()
	members := readMembers(t)
	p := startDev(t, "--db", filepath.Join(t.TempDir(), "shop.db")) // dev is as durable as serve on a named file
	p.clientsLeave = true
	var other struct {
		ShopID string `json:"shop_id"`
		APIKey string `json:"api_key"`
	}
	p.outside().Post("/dev/shops", `{"name":"Next door"}`).Want(201).Decode(&other)
	next := p.api(other.APIKey)
	theirs := issueCard(next, newProgram(next, `{"type":"prepaid","name":"Theirs","initial_balance_cents":0}`), map[string]string{"external_ref": "M-000001"})

	im := newImporter(t, p.api(p.ready.APIKey), p.ready.ProgramIDs, 20260131)
	over := make(chan struct{})
	var readers sync.WaitGroup
	var passes atomic.Int64
	for _, limit := range []int{7, 50, 100} {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for last := false; !last; {
				select {
				case <-over:
					last = true
				default:
				}
				before := im.existing()
				seen := map[string]bool{}
				for _, c := range listCards(im.api, limit) {
					if seen[c.ID] {
						t.Errorf("limit %d: %s is listed twice", limit, c.ID)
					}
					seen[c.ID] = true
				}
				for _, id := range before {
					if !seen[id] {
						t.Errorf("limit %d: %s existed before but is not listed", limit, id)
					}
				}
				passes.Add(1)
			}
		}()
	}
	im.run(members)
	close(over)
	readers.Wait()
	if passes.Load() < 6 {
		t.Errorf("only %d passes", passes.Load())
	}
	im.check(members)
	checkSearch(t, im, members)

	if all := listCards(next, 100); len(all) != 1 || all[0].ID != theirs.ID {
		t.Errorf("the other shop sees %d cards", len(all))
	}
	checkIsolation(t, next, p, im)
	checkRestrictedKey(t, p, im)
}

// checkSearch looks up members by reference and by email.
func checkSearch(t *testing.T, im *importer, members []member) {
	t.Helper()
	programs, household := map[string]map[string]bool{}, map[string]int{}
	for m, n := range first(expected(members)) {
		if programs[m.ref] == nil {
			programs[m.ref] = map[string]bool{}
		}
		programs[m.ref][m.program] = true
		household[strings.ToLower(m.email)] += n
	}
	var page struct{ Data []card }
	both := 0
	for ref, in := range programs {
		if len(in) > 1 && ref != "" {
			both++
		} else if len(ref) > 0 && ref[0] == 'M' {
			continue // all others are alike
		}
		im.api.Get("/cards?external_ref=" + url.QueryEscape(ref)).Decode(&page)
		if ref != "" && len(page.Data) != len(in) {
			t.Errorf("%q has %d cards, want %v", ref, len(page.Data), in)
		}
	}
	if both < 30 {
		t.Errorf("only %d members are in both programs", both)
	}
	families := 0
	for email, n := range household {
		if n < 3 || email == "" {
			continue
		}
		families++
		im.api.Get("/cards?limit=100&holder_email=" + url.QueryEscape(strings.ToUpper(email))).Want(200).Decode(&page)
		if len(page.Data) != n {
			t.Errorf("%s has %d cards, want %d", email, len(page.Data), n)
		}
	}
	if families < 10 {
		t.Errorf("only %d families share an address", families)
	}
}

func first[T, U any](v T, _ U) T { return v }

// checkIsolation checks that a shop cannot see another shop's data.
func checkIsolation(t *testing.T, next *servertest.Client, p *process, im *importer) {
	t.Helper()
	missing := next.Get("/cards/crd_none").Want(404, "not_found").Str("error.message")
	for _, id := range im.existing()[:20] {
		for method, path := range map[string]string{"GET": "/cards/" + id, "PATCH": "/cards/" + id, "POST": "/cards/" + id + "/reissue", "post": "/cards/" + id + "/install-link"} {
			if r := next.Call(strings.ToUpper(method), path, nil).Want(404, "not_found"); r.Str("error.message") != missing {
				t.Errorf("%s: %s", r.What, r.Body)
			}
		}
	}
	standard := p.ready.ProgramIDs["standard"]
	next.Get("/programs/"+standard).Want(404, "not_found")
	next.Post("/programs/"+standard+"/cards", nil).Want(404, "not_found")
	next.Post("/programs/"+standard+"/suspend", nil).Want(404, "not_found")
	next.Call("PATCH", "/locations/"+p.ready.LocationIDs[0], `{"name":"Mine"}`).Want(404, "not_found")
	var page struct {
		Data []struct{ ID string }
	}
	for _, path := range []string{"/cards?program_id=" + standard, "/cards?external_ref=M-000002", "/transactions?program_id=" + standard, "/transactions?card_id=" + im.existing()[0]} {
		next.Get(path).Want(200).Decode(&page)
		if len(page.Data) != 0 {
			t.Errorf("%s has %d rows for the other shop", path, len(page.Data))
		}
	}
	for _, path := range []string{"/programs", "/locations"} {
		next.Get(path).Want(200).Decode(&page)
		if len(page.Data) != 1 {
			t.Errorf("%s has %d rows for the other shop, want 1", path, len(page.Data))
		}
	}
	// A cursor of one shop is invalid for another.
	var cursor struct {
		NextCursor string `json:"next_cursor"`
	}
	im.api.Get("/cards?limit=1").Want(200).Decode(&cursor)
	wantDetail(next.Get("/cards?cursor="+cursor.NextCursor), "cursor", "invalid_format")
}

// checkRestrictedKey checks what a key of one location sees of a shop with two.
func checkRestrictedKey(t *testing.T, p *process, im *importer) {
	t.Helper()
	here, elsewhere := p.ready.LocationIDs[0], p.ready.LocationIDs[1]
	program := func(location string) string {
		return newProgram(im.api, map[string]any{"type": "prepaid", "name": "At one location", "initial_balance_cents": 0, "location_scope": "selected_locations", "scoped_location_ids": []string{location}})
	}
	near, far := program(here), program(elsewhere)
	shown, hidden := issueCard(im.api, near, nil), issueCard(im.api, far, map[string]string{"external_ref": "far away"})
	key := p.api(p.ready.RestrictedAPIKey)

	seen := map[string]bool{}
	for _, c := range listCards(key, 100) {
		seen[c.ID] = true
	}
	for _, id := range im.existing() {
		if !seen[id] {
			t.Errorf("the key does not see %s, whose program is valid at all locations", id)
		}
	}
	if !seen[shown.ID] || seen[hidden.ID] || len(seen) != len(im.existing())+1 {
		t.Errorf("the key sees %d cards; of its location's program: %t, of the other: %t", len(seen), seen[shown.ID], seen[hidden.ID])
	}
	var list struct{ Data []struct{ ID string } }
	for _, query := range []string{"external_ref=far+away", "program_id=" + far} {
		key.Get("/cards?" + query).Want(200).Decode(&list)
		if len(list.Data) != 0 {
			t.Errorf("%s: %v", query, list.Data)
		}
	}
	key.Get("/cards/"+hidden.ID).Want(404, "not_found")
	key.Call("PATCH", "/cards/"+hidden.ID, `{"holder_name":"x"}`).Want(404, "not_found")
	key.Post("/cards/"+hidden.ID+"/reissue", nil).Want(404, "not_found")
	key.Post("/cards/"+hidden.ID+"/install-link", nil).Want(404, "not_found")
	key.Post("/programs/"+far+"/cards", nil).Want(403, "unauthorized")
	issueCard(key, near, nil)
	issueCard(key, p.ready.ProgramIDs["standard"], nil)
	key.Get("/programs/" + far).Want(200)

	var detail struct {
		AllLocations bool `json:"all_locations"`
		Locations    []struct{ ID string }
	}
	key.Get("/cards/" + im.existing()[0]).Want(200).Decode(&detail)
	if !detail.AllLocations || len(detail.Locations) != 1 || detail.Locations[0].ID != here {
		t.Errorf("a card of all locations has the locations %+v", detail)
	}
	key.Get("/locations").Want(200).Decode(&list)
	if len(list.Data) != 1 || list.Data[0].ID != here {
		t.Errorf("the key sees the locations %v", list.Data)
	}
	key.Call("PATCH", "/locations/"+elsewhere, `{"name":"x"}`).Want(403, "unauthorized")
	key.Post("/locations/"+elsewhere+"/disable", nil).Want(403, "unauthorized")
	key.Get("/transactions?location_id=" + elsewhere).Want(200).Decode(&list)
	if len(list.Data) != 0 {
		t.Errorf("transactions at other locations: %v", list.Data)
	}
	key.Post("/locations/"+here+"/disable", nil).Want(200)
	key.Get("/cards").Want(402, "location_disabled")
	key.Get("/me").Want(200)
	key.Post("/locations/"+here+"/enable", nil).Want(200)
	key.Get("/cards").Want(200)
}

// TestImportSurvivesKills kills the server five times during the same import.
func TestImportSurvivesKills(t *testing.T) {
	t.Parallel()
	members := readMembers(t)
	db := filepath.Join(t.TempDir(), "shop.db")
	f := &shopFile{t: t, db: db}
	f.run("shop", "create", "--name", "Bar Lux")
	k := f.makeKey("create", "--name", "Import")
	args := []string{"--listen", fmt.Sprintf("127.0.0.1:%d", freePort(t)), "--api-key-rate-limit-per-minute", "0"}
	start := func() *process {
		p := startServe(t, db, args...)
		p.clientsLeave = true
		return p
	}
	f.server = start()
	api := f.api(k)
	programs := map[string]string{"standard": newProgram(api, `{"type":"standard","name":"Coffee","total_stamps":10,"icon_key":"coffee"}`),
		"prepaid": newProgram(api, `{"type":"prepaid","name":"Prepaid","initial_balance_cents":0}`)}

	const seed = 7411
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	var after []int64 // numbers of answered lines, counted over the whole import
	for range 5 {
		after = append(after, 20+chance.Int64N(900))
	}
	slices.Sort(after)

	im := newImporter(t, api, programs, seed)
	kill, done := make(chan struct{}, len(after)), make(chan struct{})
	var answered atomic.Int64
	im.onAnswer = func() {
		for n, i := answered.Add(1), 0; i < len(after); i++ {
			if after[i] == n {
				kill <- struct{}{}
			}
		}
	}
	// Workers wait here while the server restarts.
	var away sync.RWMutex
	im.waitForServer = func() {
		away.RLock()
		defer away.RUnlock()
	}
	restart := func() {
		away.Lock()
		defer away.Unlock()
		f.server.signal(syscall.SIGKILL)
		f.server.wait()
		f.server = start()
	}
	kills := 0
	go func() {
		defer close(done)
		for range kill {
			restart()
			kills++
		}
	}()
	im.run(members)
	close(kill)
	<-done
	if kills != len(after) {
		t.Errorf("%d kills, want %d", kills, len(after))
	}
	im.check(members)
	if out := f.run("check"); out != "ok\n" {
		t.Errorf("check printed %q", out)
	}
	var twin struct{ ID string }
	f.json(&twin, "shop", "create", "--name", "Next door")
	stranger := f.api(f.makeKey("create", "--name", "Stranger", "--shop", twin.ID))
	if n := len(listCards(stranger, 100)); n != 0 {
		t.Errorf("the other shop sees %d cards", n)
	}
	stranger.Get("/cards/"+im.existing()[0]).Want(http.StatusNotFound, "not_found")
}
