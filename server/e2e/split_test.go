//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// leavingShop is a file with two shops, of which one leaves.
type leavingShop struct {
	source string // the file
	key    string
	till   string
	list   string // the cards of the shop as the API lists them
	card   string
	since  time.Time // after the file was made
	before string    // the export of the shop
	other  string    // the export of the other shop
}

// newLeavingShop makes the file. The audit logs of the shops have 200 rows more, so that a kill can meet the copy.
func newLeavingShop(t *testing.T) (l *leavingShop) {
	t.Helper()
	f, l := newShop(t), &leavingShop{}
	f.run("shop", "create", "--name", "Bar Nero")
	f.run("location", "create", "--shop", "Bar Nero", "--name", "Nord", "--address", "Via Po 1", "--city", "Torino", "--postal-code",
		"10123",
		"--country-code", "IT")
	other := f.api(f.makeKey("create", "--name", "Office", "--shop", "Bar Lux"))
	issueCard(other, newProgram(other, stampCard), `{"external_ref":"stays"}`)
	l.key = f.makeKey("create", "--name", "CRM", "--shop", "Bar Nero").Secret
	l.till = f.makeDevice("--shop", "Bar Nero", "--location", "Nord", "--accept-card-ids").Token
	api, till := f.server.api(l.key), f.server.till(l.till)
	program := newProgram(api, stampCard)
	for i := range 10 {
		l.card = issueCard(api, program, fmt.Sprintf(`{"external_ref":"%d"}`, i)).ID
		till.Post("/cards/"+l.card+"/stamps", `{"count":3}`).Want(201)
	}
	l.list = string(api.Get("/cards?limit=100").Want(200).Body)
	f.server.stop()
	sqlExec(t, f.db, `INSERT INTO audit (shop_id, actor_type, action, target_kind, target_id, detail, created_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<200)
		SELECT 1+i%2, 'system', 'card.noted', 4, 1, json_object('note', printf('%.100c', 'x')), 4000000000000 FROM n`)
	l.source, l.since = f.db, time.Now()
	l.before = exported(t, copyFile(t, l.source), "Bar Nero", l.since)
	l.other = exported(t, copyFile(t, l.source), "Bar Lux", l.since)
	return l
}

// closed returns how the shop is closed, or that it is open.
func (l *leavingShop) closed(t *testing.T, db string) string {
	t.Helper()
	return query(t, db, "SELECT ifnull((SELECT ifnull(closed, 'open') FROM shops WHERE name='Bar Nero'), 'gone')")[0]
}

// stamp makes a write of the shop at a server, whose status must be want.
func (l *leavingShop) stamp(t *testing.T, p *process, want int) {
	t.Helper()
	p.till(l.till).On(t).Post("/cards/"+l.card+"/stamps", `{"count":1}`).Want(want)
}

// split returns the command that moves the shop.
func (l *leavingShop) split(db, out string) []string {
	return []string{"shop", "split", "Bar Nero", "--db", db, "--out", out, "--moved-to", "http://127.0.0.1:1", "--quiet"}
}

// splitTrial returns a trial of the command that moves a shop, beside the server of the old file. In even
// rounds a move that has begun is aborted, else finished.
func (l *leavingShop) splitTrial(t *testing.T) trial {
	return func(round int, kill killer) string {
		db, out := copyFile(t, l.source), filepath.Join(t.TempDir(), "new.db")
		old := startServe(t, db)
		old.clientsLeave = true
		defer old.stop()
		kill(l.split(db, out)...)
		state := l.closed(t, db)
		_, missing := os.Stat(out)
		left := fmt.Sprintf("%s, a new file: %t", state, missing == nil)
		checkFile(t, db)
		if state != "moved" {
			wantExport(t, db, "Bar Nero", l.since, l.before, "after a kill")
		} else if missing != nil {
			t.Fatal("the shop has moved to a file that is not there")
		}
		if missing == nil {
			checkFile(t, out)
			wantExport(t, out, "Bar Nero", l.since, l.before, "in the new file after a kill")
		}
		if state != "open" {
			l.stamp(t, old, map[string]int{"moving": 503, "moved": 410}[state])
		}
		if state == "moving" && round%2 == 0 {
			succeed(t, "shop", "split", "Bar Nero", "--db", db, "--abort")
			checkFile(t, db)
			wantExport(t, db, "Bar Lux", l.since, l.other, "after --abort")
			wantExport(t, db, "Bar Nero", l.since, l.before, "after --abort")
			if missing == nil {
				runHere(l.split(db, out)...).refused(t, out, "exists already")
				os.Remove(out)
			}
			l.stamp(t, old, 201)
			return left
		}
		succeed(t, l.split(db, out)...)
		if state := l.closed(t, db); state != "moved" {
			t.Errorf("the shop is %s", state)
		}
		checkFile(t, db)
		checkFile(t, out)
		wantExport(t, db, "Bar Lux", l.since, l.other, "after the move")
		wantExport(t, out, "Bar Nero", l.since, l.before, "in the new file")
		if left, _ := filepath.Glob(out + ".partial*"); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
		now := startServe(t, out)
		now.clientsLeave = true
		if got := string(now.api(l.key).Get("/cards?limit=100").Want(200).Body); got != l.list {
			t.Errorf("the cards are\n%s\nwant\n%s", got, l.list)
		}
		l.stamp(t, old, 410)
		l.stamp(t, now, 201)
		now.stop()
		return left
	}
}

// abortTrial returns a trial of the command that opens a shop again whose move was begun.
func (l *leavingShop) abortTrial(t *testing.T) trial {
	moving := copyFile(t, l.source)
	s := require.Must(store.Open(moving, store.Options{MustExist: true}))
	servertest.Write(t, s, func(tx *store.Tx) error {
		_, err := tx.BeginMove(2, "http://127.0.0.1:1")
		return err
	})
	noError(t, s.Close())
	return func(_ int, kill killer) string {
		db := copyFile(t, moving)
		abort := []string{"shop", "split", "Bar Nero", "--db", db, "--abort"}
		kill(abort...)
		state := l.closed(t, db)
		checkFile(t, db)
		wantExport(t, db, "Bar Nero", l.since, l.before, "after a kill")
		if state == "moving" {
			succeed(t, abort...)
		} else {
			runHere(abort...).refused(t, "not being moved")
		}
		if state := l.closed(t, db); state != "open" {
			t.Errorf("after --abort the shop is %s", state)
		}
		return state
	}
}

// deletionTrial returns a trial of the command that deletes a shop. The rows, which a server erases later, are
// still there.
func (l *leavingShop) deletionTrial(t *testing.T) trial {
	return func(_ int, kill killer) string {
		db := copyFile(t, l.source)
		remove := []string{"shop", "delete", "Bar Nero", "--confirm", "Bar Nero", "--db", db}
		kill(remove...)
		state := l.closed(t, db)
		checkFile(t, db)
		wantExport(t, db, "Bar Lux", l.since, l.other, "after a kill")
		if state == "open" {
			wantExport(t, db, "Bar Nero", l.since, l.before, "after a kill")
			succeed(t, remove...)
		} else {
			runHere(remove...).refused(t, "Bar Nero")
		}
		if got := query(t, db, `SELECT closed||' '||(SELECT count(*) FROM keys WHERE shop_id=2 AND revoked_at IS NULL)||' '||
			(SELECT count(*) FROM devices WHERE shop_id=2 AND revoked_at IS NULL) FROM shops WHERE id=2`)[0]; got != "deleted 0 0" {
			t.Errorf("the shop, its live keys and its live tills are: %s", got)
		}
		return state
	}
}

// TestLeavingShopSurvivesKills kills the commands that move a shop, open it again and delete it, at random moments.
func TestLeavingShopSurvivesKills(t *testing.T) {
	t.Parallel()
	l := newLeavingShop(t)
	for name, try := range map[string]func(*testing.T) trial{"split": l.splitTrial, "abort": l.abortTrial, "deletion": l.deletionTrial} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killAtRandom(t, try(t))
		})
	}
}
