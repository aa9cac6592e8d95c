//go:build unix

package e2e

import (
	"testing"
	"time"
)

// mergeTrial returns a trial of the command that merges two cards. The one that goes has an overflow card,
// a contact and codes.
func mergeTrial(t *testing.T) trial {
	f := newShop(t)
	api := f.newAPI("Office")
	till := f.server.till(f.tillToken())
	program := newProgram(api, stampCard)
	keep := issueCard(api, program, `{"holder_name":"Ada"}`).ID
	gone := issueCard(api, program, `{"external_ref":"7","holder_email":"ada@example.org"}`).ID
	f.run("card", "contact", gone, "--phone", "+393331234567", "--birthday", "02-29", "--note", "regular", "--codes", "C-1,C-2")
	for _, card := range []string{keep, gone, gone} {
		till.Post("/cards/"+card+"/stamps", `{"count":8}`).Want(201)
	}
	f.server.stop()
	since := time.Now()
	merge := func(db string) []string { return []string{"card", "merge", keep, gone, "--yes", "--db", db} }
	before := exported(t, copyFile(t, f.db), "Bar Lux", since)
	db := copyFile(t, f.db)
	succeed(t, merge(db)...)
	after := exported(t, db, "Bar Lux", since)
	return func(_ int, kill killer) (left string) {
		db := copyFile(t, f.db)
		kill(merge(db)...)
		checkFile(t, db)
		if len(query(t, db, "SELECT 1 FROM audit WHERE action='card.merge'")) == 0 {
			left = "nothing"
			wantExport(t, db, "Bar Lux", since, before, "after a kill before the merge")
			succeed(t, merge(db)...)
		} else {
			left = "merged"
			wantExport(t, db, "Bar Lux", since, after, "after a kill")
			runHere(merge(db)...).refused(t, "archived")
		}
		checkFile(t, db)
		wantExport(t, db, "Bar Lux", since, after, "after the merge")
		return left
	}
}

// TestCardMergeSurvivesKills kills the command that merges two cards at random moments. Both cards are as
// before, or merged.
func TestCardMergeSurvivesKills(t *testing.T) {
	t.Parallel()
	killAtRandom(t, mergeTrial(t))
}
