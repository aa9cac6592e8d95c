package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// rowsOf returns the rows of the tables that belong to shops, without those that concern no shop.
func (f *fixture) rowsOf() map[string][]string {
	all, tables := map[string][]string{}, f.tables()
	for _, t := range shopTables {
		if t.shared {
			continue
		}
		where := map[string]string{
			"audit":      " WHERE shop_id>0 AND action<>'statistics.rebuild'",
			"links":      " WHERE shop_id IS NOT NULL",
			"link_mails": " WHERE link_id IN (SELECT id FROM links WHERE shop_id IS NOT NULL)",
		}[t.name]
		all[t.name] = f.lines(tables[t.name] + where)
	}
	return all
}

// eraseEnded does what housekeeping does with ended shops. After some batches it stops with an error.
func (f *fixture) eraseEnded(batches int) error {
	ctx, cancel := context.WithCancel(f.t.Context())
	for _, shop := range view(f, (*View).EndedShops) {
		if err := f.EraseShop(ctx, shop, 7, func(time.Duration) {
			if batches--; batches == 0 {
				cancel()
			}
		}); err != nil {
			return err
		}
	}
	cancel()
	return nil
}

// TestShopTables checks that every table of the file is in shopTables, after those that refer to it.
func TestShopTables(t *testing.T) {
	f := start(t)
	at := map[string]int{}
	for i, table := range shopTables {
		at[table.name] = i
	}
	for _, table := range f.lines("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'") {
		i, found := at[table]
		if !found {
			t.Errorf("%s is not in shopTables: it says which rows are of a shop", table)
		}
		for _, parent := range f.lines(`SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)`, table) {
			if parent != table && at[parent] < i && !shopTables[at[parent]].shared {
				t.Errorf("%s refers to %s, which is before it", table, parent)
			}
		}
		hasShop := f.number("SELECT count(*) FROM pragma_table_info(?) WHERE name='shop_id'", table) > 0
		if found && hasShop && shopTables[i].where != ofShop && table != "sessions" {
			t.Errorf("%s has a shop_id, and its condition is %s", table, shopTables[i].where)
		}
	}
}

// TestEraseShop checks that erasing a shop that has used everything leaves no row of it and all of
// another one, that the check is clean whenever it is interrupted, also after a recount of the statistics,
// and that no key is given out again.
func TestEraseShop(t *testing.T) {
	f := start(t, Options{QueueMail: true})
	f.withLedger()
	before := f.rowsOf()
	g := f.in(f.shop(ShopFields{Name: set("Other")}))
	owner := must(g, func(tx *Tx) (int64, error) { return tx.AddUser(NewUser{Email: "owner@example.com"}) })
	g.must(func(tx *Tx) error { return tx.AddMember(owner, g.a.Shop, RoleOwner) })
	runOperations(g)
	g.cardOf(g.program(stamps("More")), "Ada")
	g.indexNames()
	for name, rows := range g.rowsOf() {
		few := []string{"shops", "lost_mails", "pairings", "links", "link_mails", "key_calls"} // have none in the end
		if len(rows) <= len(before[name]) && !slices.Contains(few, name) {
			t.Errorf("the shop has no row in %s, so this test says nothing about it", name)
		}
	}
	refused(t, g.do(func(tx *Tx) error { return errorOf(tx.DeleteShop(g.a.Shop, "other")) }), ValidationFailed)
	last := map[string]int64{}
	g.must(func(tx *Tx) error {
		for _, table := range floored {
			last[table] = tx.lastKey(table)
		}
		return errorOf(tx.DeleteShop(g.a.Shop, "Other"))
	})
	refused(t, g.do(func(tx *Tx) error { return errorOf(tx.DeleteShop(g.a.Shop, "Other")) }), NotFound)
	g.byHand = false
	for step := 1; ; step *= 2 {
		err := g.eraseEnded(step)
		g.must((*Tx).RecountStats)
		g.checkPages()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for name, rows := range g.rowsOf() {
		if want := before[name]; !slices.Equal(rows, want) {
			t.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(rows, "\n"), strings.Join(want, "\n"))
		}
	}
	g.selects(1, "SELECT count(*) FROM users WHERE id=?", owner)
	for _, s := range []*fixture{f, f.second()} {
		if shop := s.shop(ShopFields{}); shop.Shop <= last["shops"] {
			t.Errorf("shop %d has a key that was given out before", shop.Shop)
		}
		for kind, id := range map[Kind]string{
			KindLocation: s.location(), KindCard: s.card(s.program(stamps("New"))),
			KindProgram: s.draft(stamps("Newer")),
		} {
			if s.key(kind, id) <= last[nouns[kind]+"s"] {
				t.Errorf("%s has a key that was given out before", id)
			}
		}
	}
}

// TestClosedShop checks what is refused of a shop that is being moved, that has moved and that was
// deleted, and that its webhooks and mail wait.
func TestClosedShop(t *testing.T) {
	f := start(t, Options{QueueMail: true})
	k := f.till()
	program := f.program(stamps("Coffee"))
	f.subscribe(program, func(*WebhookFields) {})
	card := f.issue(program, CardFields{HolderEmail: set("ada@example.com"), SendEmail: set(true)})
	token := card.InstallURL[strings.LastIndex(card.InstallURL, "/")+1:]
	due := func() string {
		var hooks []int64
		var mail bool
		f.view(func(v *View) (err error) {
			if hooks, err = v.WebhooksWithNewDeliveries(); err == nil {
				_, mail, err = v.NextMail()
			}
			return err
		})
		return fmt.Sprint(len(hooks), mail)
	}
	state := func() string {
		read := errors.New("")
		f.view(func(v *View) error { _, read = v.HolderCard(token); return nil })
		write := f.do(func(tx *Tx) error { return errorOf(tx.Install(token, InstallFields{Platform: set("apple")})) })
		_, err := k.stamp(card.ID, 1)
		return fmt.Sprint(codeOf(read), " ", codeOf(write), " ", codeOf(err), " ", due())
	}
	const url = "https://new.example.com"
	move := func() Move { return must(f, func(tx *Tx) (Move, error) { return tx.BeginMove(f.a.Shop, url) }) }
	finish := func(began Time) error {
		return f.do(func(tx *Tx) error { return errorOf(tx.FinishMove(f.a.Shop, began)) })
	}
	if got := due(); got != "1 true" {
		t.Fatal(got)
	}
	began := move().Began
	if got := state(); got != " unavailable unavailable 0 false" {
		t.Errorf("moving: %s", got)
	}
	f.must(func(tx *Tx) error { // exports are possible
		return cmp.Or(tx.AuditShopExport(f.a.Shop, "shop.export"), tx.AuditExport(f.a.Shop, PersonQuery{CardIDs: set([]string{card.ID})}))
	})
	if again := move(); again.Began != began || again.Shop.Closed.V != ShopMoving {
		t.Errorf("%+v", again)
	}
	f.writes(func(tx *Tx) { check(tx.AbortMove(f.a.Shop)) })
	if got := due(); got != "1 true" {
		t.Error(got)
	}
	if _, err := k.stamp(card.ID, 1); err != nil {
		t.Error(err)
	}
	refused(t, finish(began), Conflict)
	second := move().Began
	if second <= began {
		t.Error("two moves have one time")
	}
	refused(t, finish(began), Conflict)
	succeed(finish(second))
	refused(t, finish(second), Conflict) // of another command, with a copy of its own
	if got := state(); got != "gone gone gone 0 false" {
		t.Errorf("moved: %s", got)
	}
	refused(t, f.do(func(tx *Tx) error { return errorOf(tx.AbortMove(f.a.Shop)) }), Conflict)
	refused(t, f.do(func(tx *Tx) error { return tx.AddMember(1, f.a.Shop, RoleOwner) }), Gone)
	refused(t, f.do(func(tx *Tx) error {
		return tx.RequestCardLinks(LostFields{Email: set("a@example.com"), ShopID: set(tx.ID(KindShop, f.a.Shop))}, netip.Addr{})
	}), Gone)
	if got := view(f, (*View).EndedShops); len(got) > 0 {
		t.Error("a shop that has moved ends at once")
	}
	f.clock.move(days(30))
	succeed(f.eraseEnded(0))
	if got := state(); got != "not_found not_found not_found 0 false" {
		t.Errorf("erased: %s", got)
	}
	f.selects(0, "SELECT count(*) FROM cards")
	f.checkPages()
}

// codeOf returns the code of a refusal, "" for no error.
func codeOf(err error) Code {
	if e, ok := AsError(err); ok {
		return e.Code
	}
	if err != nil {
		return InternalError
	}
	return ""
}
