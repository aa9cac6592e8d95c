package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fired calls a function that writes, and returns the names of its events in order.
func (f *fixture) fired(do func()) (names []string) {
	before := f.number("SELECT ifnull(max(id), 0) FROM events")
	do()
	return f.lines("SELECT name FROM events WHERE id>? ORDER BY id", before)
}

// preview is before the last event of a firing if that event is sent only with previews.
const preview = "(preview) "

// firing is a write and the events that it fires.
type firing struct {
	name  string
	write func()
	want  string
}

// TestOperationsFireTheirEvents checks the events of each operation, with and without previews.
func TestOperationsFireTheirEvents(t *testing.T) {
	t.Parallel()
	for _, previews := range []bool{false, true} {
		t.Run(fmt.Sprintf("preview %t", previews), func(t *testing.T) {
			limits := DefaultLimits()
			limits.PreviewEvents = previews
			f := start(t, Options{Limits: limits})
			l := f.withLedger()
			f.hook(l.program, hookFields{})
			for _, c := range slices.Concat(f.cardFirings(l), f.locationFirings(), f.programFirings(l.program), f.shopFirings(l.program)) {
				want := strings.Fields(c.want)
				if before, after, ok := strings.Cut(c.want, preview); ok {
					want = strings.Fields(before)
					if previews {
						want = append(want, after)
					}
				}
				if got := f.fired(c.write); !slices.Equal(got, want) {
					t.Errorf("%s: fired %v, want %v", c.name, got, want)
				}
			}
			f.selects(0, "SELECT count(*) FROM events e WHERE 1<>(SELECT count(*) FROM deliveries WHERE event_id=e.id)")
			f.checkFile()
		})
	}
}

// cardFirings returns writes of cards. The last ones archive and delete the card of l.
func (f *fixture) cardFirings(l ledgerCase) []firing {
	chain := []string{l.card, f.child(l.card)}
	return []firing{
		{"issue", func() { f.card(l.program) }, "card.added"},
		{"two issues in one write", func() {
			f.writes(func(tx *Tx) {
				check(tx.IssueCard(f.a, l.program, CardFields{}, SourceAPI))
				check(tx.IssueCard(f.a, l.program, CardFields{}, SourceWebEnrollment))
			})
		}, "card.added card.added"},
		{"patch a card", func() { f.update(l.card, CardPatch{HolderName: set("Ada")}) }, ""},
		{"install link", func() { f.newLink(l.card) }, ""},
		{"lock", func() { f.lock(l.card, true) }, ""},
		{"reissue", func() { f.reissue(l.card, ReissueFields{}) }, "card.reissued card.reissued"},
		{"archive a chain", func() { f.archive(chain[1]) }, "card.archived card.archived"},
		{"archive it again", func() { f.archive(chain[1]) }, ""},
		{"delete a chain", func() { f.erase(chain[0]) }, "card.deleted card.deleted"},
	}
}

// locationFirings returns writes of a location, which the first one creates.
func (f *fixture) locationFirings() []firing {
	var location string
	active := func(active bool) func() {
		return func() { f.setActive(location, active) }
	}
	return []firing{
		{"location created", func() { location = f.location() }, "location.created"},
		{"location updated", func() { f.updateLocation(location, LocationPatch{Name: set("New")}) }, preview + "location.updated"},
		{"location, nothing named", func() { f.updateLocation(location, LocationPatch{}) }, ""},
		{"location enabled, as it was", active(true), ""},
		{"location disabled", active(false), preview + "location.disabled"},
		{"location enabled", active(true), preview + "location.enabled"},
	}
}

// programFirings returns writes of a program and its prizes, and the deletion of another program,
// which has two cards.
func (f *fixture) programFirings(program string) []firing {
	doomed := f.program(stamps("Doomed"))
	for range 2 {
		f.card(doomed)
	}
	var prize string
	action := func(name string) func() {
		return func() { f.action(program, name) }
	}
	return []firing{
		{"program created", func() { f.draft(stamps("More")) }, preview + "program.created"},
		{"program updated", func() { f.updateProgram(program, ProgramFields{Name: set("Tea")}) }, preview + "program.updated"},
		{"program, nothing named", func() { f.updateProgram(program, ProgramFields{}) }, ""},
		{"minimum spend", func() { f.settings(program, ProgramSettings{MinSpendCents: setInt(5)}) }, preview + "program.updated"},
		{"prize added", func() {
			prize = f.addPrize(program, PrizeFields{Threshold: setInt(5), Name: set("Cup")}).ID
		}, preview + "program.updated"},
		{"prize updated", func() {
			f.writes(func(tx *Tx) { check(tx.UpdatePrize(f.a, program, prize, PrizeFields{Name: set("Mug")})) })
		}, preview + "program.updated"},
		{"prize deleted", func() {
			f.must(func(tx *Tx) error { return tx.DeletePrize(f.a, program, prize) })
		}, preview + "program.updated"},
		{"published, as it was", action(Publish), ""},
		{"suspended", action(Suspend), preview + "program.suspended"},
		{"unsuspended", action(Unsuspend), preview + "program.unsuspended"},
		{"unpublished", action(Unpublish), preview + "program.unpublished"},
		{"published", action(Publish), preview + "program.published"},
		{
			"program deleted",
			func() { f.deleteProgram(doomed) },
			"card.archived card.archived " + preview + "program.deleted",
		},
	}
}

// shopFirings returns changes of the shop's subscription, and writes in each of its states.
func (f *fixture) shopFirings(program string) []firing {
	state := func(s string) func() {
		return func() { f.updateShop(ShopFields{SubscriptionState: set(s)}) }
	}
	issue := func() { f.card(program) }
	return []firing{
		{"past due", state("past_due"), "subscription.state_changed"},
		{"issue while past due", issue, "card.added"},
		{"suspended shop", state("suspended"), "subscription.state_changed"},
		{"suspended again", state("suspended"), ""},
		{"issue while suspended", issue, ""},
		{"location while suspended", func() { f.location() }, ""},
		{"cancelled while suspended", state("cancelled"), "subscription.state_changed"},
		{"issue while cancelled", issue, ""},
		{"active again", state("active"), "subscription.state_changed"},
		{"issue when active again", issue, "card.added"},
	}
}

func TestEventPayloads(t *testing.T) {
	f := start(t)
	program := f.program(stamps(`Tea "and" cake`))
	f.hook(program, hookFields{})
	f.hook(program, hookFields{v1: true})
	key := f.apiKey(KeyFields{})
	var card, location string
	succeed(f.group(Write{Actor: Actor{Type: "api_key", Key: f.key(KindKey, key)}, Do: func(tx *Tx) error {
		card = check(tx.IssueCard(f.a, program, CardFields{HolderName: set("Ada"), ExternalRef: set("ada")}, SourceAPI)).ID
		location = check(tx.CreateLocation(f.a.Shop, LocationFields{LocationPatch: LocationPatch{Name: set("North")}}, StaffPIN{})).ID
		return errorOf(tx.UpdateShop(f.a.Shop, ShopFields{SubscriptionState: set("past_due")}, ""))
	}})...)
	shop := f.ID(KindShop, f.a.Shop)
	at := f.clock.at().String()
	// The values that each payload must have, by path.
	for name, want := range map[string]map[string]map[string]any{
		"card.added": {
			"v1": {
				"event": "card.added", "shop_id": shop, "program_id": program, "occurred_at": at,
				"data.card_instance_id": card, "data.source": "api", "data.parent_card_instance_id": nil,
			},
			"v2": {
				"event": "card.added", "payload_version": "v2", "shop.id": shop, "program.id": program,
				"program.name": `Tea "and" cake`, "card.id": card, "card.external_ref": "ada", "card.holder.name": "Ada",
				"card.holder.email": nil, "card.state": "invited", "location": nil, "transaction": nil,
				"actor.type": "api_key", "actor.id": key, "occurred_at": at, "data.card_instance_id": card,
			},
		},
		"location.created": {
			"v1": {"event": "location.created", "shop_id": shop, "data.location_id": location},
			"v2": {"location.id": location, "location.name": "North", "program": nil, "card": nil, "data.location_id": location},
		},
		"subscription.state_changed": {
			"v1": {"data.from_state": "active", "data.to_state": "past_due"},
			"v2": {"data.from_state": "active", "data.to_state": "past_due", "location": nil, "program": nil, "card": nil},
		},
	} {
		for version, paths := range want {
			rows := f.lines("SELECT CAST(payload_"+version+" AS TEXT) FROM events WHERE name=?", name)
			if len(rows) != 1 {
				t.Errorf("%d rows of %s", len(rows), name)
				continue
			}
			var payload map[string]any
			if err := json.Unmarshal([]byte(rows[0]), &payload); err != nil {
				t.Errorf("%s %s is not JSON: %v", name, version, err)
			}
			for path, want := range paths {
				var got any = payload
				for _, step := range strings.Split(path, ".") {
					m, _ := got.(map[string]any)
					if _, ok := m[step]; !ok {
						t.Errorf("%s %s has no %s: %s", name, version, path, rows[0])
					}
					got = m[step]
				}
				if got != want {
					t.Errorf("%s %s: %s is %v, want %v", name, version, path, got, want)
				}
			}
			if _, ok := payload["program_id"]; name != "card.added" && version == "v1" && ok {
				t.Errorf("%s v1 has a program: %s", name, rows[0])
			}
		}
	}
}

func TestNoWebhookNoEvent(t *testing.T) {
	f := start(t)
	l := f.withLedger()
	f.reissue(l.card, ReissueFields{})
	f.erase(l.card)
	f.deleteProgram(l.program)
	f.selects(0, "SELECT count(*) FROM events")
}
