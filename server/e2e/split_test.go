//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// leavingShop is a file with two shops, of which one leaves.
type leavingShop struct {
	source string // the file
	key    string
	till   string
	list   string // the cards of the shop as the API lists them
	card   string
}

// newLeavingShop makes the file.
func newLeavingShop(t *testing.T) (l leavingShop) {
	t.Helper()
	f := newShop(t)
	f.run("shop", "create", "--name", "Bar Nero")
	f.run("location", "create", "--shop", "Bar Nero", "--name", "Nord", "--address", "Via Po 1", "--city", "Torino", "--postal-code", "10123",
		"--country-code", "IT")
	l.key = f.makeKey("create", "--name", "CRM", "--shop", "Bar Nero").Secret
	l.till = f.makeDevice("--shop", "Bar Nero", "--location", "Nord", "--accept-card-ids").Token
	api, till := f.server.api(l.key), f.server.till(l.till)
	program := newProgram(api, `{"type":"standard","name":"Coffee","total_stamps":10,"repeat_after_reset":true,"icon_key":"coffee"}`)
	for i := range 30 {
		l.card = issueCard(api, program, fmt.Sprintf(`{"external_ref":"%d"}`, i)).ID
		till.Post("/cards/"+l.card+"/stamps", `{"count":3}`).Want(201)
	}
	l.list = string(api.Get("/cards?limit=100").Want(200).Body)
	f.server.stop()
	// So many rows that a kill can meet each step.
	sqlExec(t, f.db, `INSERT INTO audit (shop_id, actor_type, action, target_kind, target_id, detail, created_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000)
		SELECT 1+i%2, 'system', 'card.noted', 4, 1, json_object('note', printf('%.100c', 'x')), 4000000000000 FROM n`)
	l.source = f.db
	return l
}

// TestSplitSurvivesKills kills the command that moves a shop at random moments, beside the server of the
// old file. Afterwards the move is aborted, in some rounds, and then finished: no file is damaged, and
// the new one has all cards.
func TestSplitSurvivesKills(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(20261126, 1))
	l := newLeavingShop(t)
	const url = "http://127.0.0.1:1"
	split := func(db, out string) []string {
		return []string{"shop", "split", "Bar Nero", "--db", db, "--out", out, "--moved-to", url, "--quiet"}
	}
	whole := func() time.Duration {
		return duration(t, split(copyFile(t, l.source), filepath.Join(t.TempDir(), "new.db"))...)
	}
	usual := min(whole(), whole())
	states := map[string]int{}
	for round := range *killsFlag {
		db, out := copyFile(t, l.source), filepath.Join(t.TempDir(), "new.db")
		old := startServe(t, db)
		old.clientsLeave = true
		begin := time.Now()
		if killAfter(t, time.Duration(chance.Int64N(int64(usual)*5/4)), split(db, out)...) {
			usual = time.Since(begin) // the machine may have been slower before
		}
		state := query(t, db, "SELECT ifnull(closed, 'open') FROM shops WHERE name='Bar Nero'")[0]
		_, missing := os.Stat(out)
		states[fmt.Sprintf("%s, a new file: %t", state, missing == nil)]++
		checkFile(t, db)
		if missing == nil {
			checkFile(t, out)
		} else if state == "moved" {
			t.Fatal("the shop has moved to a file that is not there")
		}
		write := map[string]int{"open": 201, "moving": 503, "moved": 410}[state]
		stamp := func(p *process, want int) {
			t.Helper()
			if r := p.till(l.till).Fetch("POST", p.origin+"/till/v1/cards/"+l.card+"/stamps", []byte(`{"count":1}`),
				map[string][]string{"Authorization": {"Bearer " + l.till}, "Content-Type": {"application/json"}}); r.Status != want {
				t.Errorf("round %d, %s: %d %s, want %d", round, state, r.Status, r.Body, want)
			}
		}
		if write != 201 {
			stamp(old, write)
		}
		if state == "moving" && round%2 == 0 {
			if r := execute(t, nil, "shop", "split", "Bar Nero", "--db", db, "--abort"); r.code != 0 {
				t.Fatalf("%+v", r)
			}
			stamp(old, 201)
			if missing == nil {
				execute(t, nil, split(db, out)...).refused(t, out, "exists already")
				os.Remove(out)
			}
			continue
		}
		if r := execute(t, nil, split(db, out)...); r.code != 0 {
			t.Fatalf("round %d, %s: %+v", round, state, r)
		}
		checkFile(t, db)
		checkFile(t, out)
		now := startServe(t, out)
		now.clientsLeave = true
		if got := string(now.api(l.key).Get("/cards?limit=100").Want(200).Body); got != l.list {
			t.Errorf("round %d: the cards are\n%s\nwant\n%s", round, got, l.list)
		}
		stamp(old, 410)
		stamp(now, 201)
		old.stop()
		now.stop()
		checkFile(t, out)
		if left, _ := filepath.Glob(out + ".partial*"); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
	}
	t.Logf("the kills left: %v", states)
}
