package main

import (
	"errors"
	"maps"
	"os/exec"

	"punchcard/store/sqlite"
)

// compareCards reads all cards over REST and compares them with their state
// according to the answers.
func (l *load) compareCards() error {
	want := map[string]*card{}
	for _, c := range l.clients {
		for _, k := range c.cards {
			want[k.live] = k
		}
	}
	for cursor := ""; ; {
		var page struct {
			Data []instance
			Next *string `json:"next_cursor"`
		}
		if err := l.conn.call(request{face: office, path: "/cards?limit=100" + cursor}, &page); err != nil {
			return err
		}
		for _, got := range page.Data {
			k := want[got.ID]
			if k == nil {
				continue // an instance that was full; compareFile counts its rows
			}
			delete(want, got.ID)
			status := "invited"
			if k.active {
				status = "active"
			}
			if got.Status != status || got.Stamps != k.stamps || got.Cents != k.cents {
				l.fail("card %s is %s with %d stamps and %d cents; the tills were told %s, %d and %d", got.ID, got.Status, got.Stamps,
					got.Cents, status, k.stamps, k.cents)
			}
		}
		if page.Next == nil {
			break
		}
		cursor = "&cursor=" + *page.Next
	}
	for id := range want {
		l.fail("card %s was issued and is not there", id)
	}
	return nil
}

// compareFile compares the ledger in the file, which is no longer served, with the
// answers of the tills, and the deliveries with the requests that arrived.
func (l *load) compareFile() (rows int64, err error) {
	answered, cards := map[string]sum{}, int64(0)
	for _, c := range l.clients {
		for kind, s := range c.answered {
			t := answered[kind]
			answered[kind] = sum{t.rows + s.rows, t.stamps + s.stamps, t.cents + s.cents}
		}
		cards += int64(len(c.cards))
	}
	db, err := sqlite.Open(l.server.db, sqlite.ReadOnly)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	written := map[string]sum{}
	r := db.Query("SELECT type, count(*), ifnull(sum(stamps_delta), 0), ifnull(sum(value_delta), 0) FROM transactions GROUP BY type")
	for r.Next() {
		kind := r.Text()
		written[kind] = sum{r.Int(), r.Int(), r.Int()}
		rows += written[kind].rows
	}
	if err := r.Close(); err != nil {
		return 0, err
	}
	if !maps.Equal(written, answered) {
		l.fail("the ledger has rows, stamps and cents, by type: %v; the tills were told %v", written, answered)
	}
	want, got := [3]int64{cards, int64(len(l.seen)), 0}, [3]int64{}
	r = db.Query(`SELECT (SELECT count(*) FROM cards WHERE root_id IS NULL), (SELECT count(*) FROM deliveries WHERE outcome='delivered'),
		(SELECT count(*) FROM deliveries WHERE outcome IS NOT 'delivered')`)
	if r.Next() {
		got = [3]int64{r.Int(), r.Int(), r.Int()}
	}
	if got != want {
		l.fail("the file has %d issued cards, delivered webhooks and others; it should have %d", got, want)
	}
	return rows, r.Close()
}

// finish stops the server and compares everything. It returns the number of the
// ledger's rows.
func (l *load) finish() (rows int64, err error) {
	if err := errors.Join(l.compareCards(), l.server.stop()); err != nil {
		return 0, err
	}
	for what, n := range l.open {
		l.fail("webhook %s: %d did not arrive (a negative number: too many arrived)", what, n)
	}
	if err := run(exec.Command(l.server.binary, "check", "--db", l.server.db)); err != nil {
		l.fail("%v", err)
	}
	return l.compareFile()
}
