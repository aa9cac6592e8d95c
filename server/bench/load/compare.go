package main

import (
	"errors"
	"fmt"

	"punchcard/store/sqlite"
)

// compareCards reads all cards over REST and compares them with their state
// according to the answers.
func (l *load) compareCards() error {
	want := map[string]*card{}
	for _, c := range l.clients {
		for _, k := range append(c.standard, c.prepaid...) {
			want[k.live] = k
		}
	}
	for cursor := ""; ; {
		var page struct {
			Data []instance
			Next *string `json:"next_cursor"`
		}
		if err := l.server.call(l.shop.office, "GET", api+"/cards?limit=100"+cursor, "", &page); err != nil {
			return err
		}
		for _, got := range page.Data {
			k := want[got.ID]
			if k == nil {
				continue // an instance that was full; its rows are counted below
			}
			delete(want, got.ID)
			status := "invited"
			if k.active {
				status = "active"
			}
			if got.Status != status || got.Stamps != k.stamps || k.prepaid != (got.Cents != nil) || value(got.Cents) != k.cents {
				l.failures.add("card %s is %s with %d stamps and %d cents; the tills were told %s, %d and %d", got.ID, got.Status, got.Stamps, value(got.Cents), status, k.stamps, k.cents)
			}
		}
		if page.Next == nil {
			break
		}
		cursor = "&cursor=" + *page.Next
	}
	for id := range want {
		l.failures.add("card %s was issued and is not there", id)
	}
	return nil
}

// compareWebhook checks that the webhook is active and has no failures.
func (l *load) compareWebhook() error {
	var hook struct {
		Active   bool
		Failures int `json:"consecutive_failures"`
	}
	if err := l.server.call(l.shop.office, "GET", api+"/programs/"+l.shop.standard+"/webhooks/"+l.shop.webhook, "", &hook); err != nil {
		return err
	}
	if !hook.Active || hook.Failures != 0 {
		l.failures.add("the webhook is active: %t, with %d failures in a row", hook.Active, hook.Failures)
	}
	return nil
}

// compareLedger compares the ledger in the file, which is no longer served, with the
// answers of the tills, and the deliveries with the requests that arrived.
func (l *load) compareLedger() (rows int64, err error) {
	answered, cards := map[string]sum{}, int64(0)
	for _, c := range l.clients {
		for kind, s := range c.answered {
			t := answered[kind]
			answered[kind] = sum{t.rows + s.rows, t.stamps + s.stamps, t.cents + s.cents}
		}
		cards += int64(len(c.standard) + len(c.prepaid))
	}
	db, err := sqlite.Open(l.server.db, sqlite.ReadOnly)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	written := db.Query("SELECT type, count(*), ifnull(sum(stamps_delta), 0), ifnull(sum(value_delta), 0) FROM transactions GROUP BY type")
	for written.Next() {
		kind := written.Text()
		s := sum{written.Int(), written.Int(), written.Int()}
		if rows += s.rows; s != answered[kind] {
			l.failures.add("the ledger has rows of type %s, stamps and cents: %d; the tills were told %d", kind, s, answered[kind])
		}
		delete(answered, kind)
	}
	if err := written.Close(); err != nil {
		return 0, err
	}
	for kind, s := range answered {
		l.failures.add("the ledger has nothing of type %s; the tills were told %d", kind, s)
	}
	issued, err := db.Number("SELECT count(*) FROM cards WHERE root_id IS NULL")
	if err != nil {
		return 0, err
	}
	var delivered, other int64
	r := db.Query("SELECT count(*) FILTER (WHERE outcome='delivered'), count(*) FILTER (WHERE outcome IS NOT 'delivered') FROM deliveries")
	if r.Next() {
		delivered, other = r.Int(), r.Int()
	}
	err = r.Close()
	if issued != cards {
		l.failures.add("%d cards were issued and %d are there", cards, issued)
	}
	if int(delivered) != l.webhooks.came || other != 0 {
		l.failures.add("%d webhooks came; the file has %d delivered and %d that are not", l.webhooks.came, delivered, other)
	}
	return rows, err
}

// finish stops the server and compares everything.
func (l *load) finish() (rows int64, err error) {
	err = errors.Join(l.compareCards(), l.compareWebhook())
	if serr := l.server.stop(); serr != nil {
		return 0, errors.Join(err, serr)
	}
	l.webhooks.close()
	if cerr := l.server.check(); cerr != nil {
		l.failures.add("%v", cerr)
	}
	rows, lerr := l.compareLedger()
	if lerr != nil {
		lerr = fmt.Errorf("the file: %w", lerr)
	}
	return rows, errors.Join(err, lerr)
}
