package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"punchcard/store/sqlite"
)

// kills are the kills of the server's process, spread over the year.
type kills struct {
	rand  *rand.Rand   // of its own, so that a year with kills has the same visits
	count atomic.Int64 // of kills so far
	at    []int64      // numbers of answers after which the server is killed, ascending; changes while no client is busy
}

// lastAnswer is what a till was answered last about the card of a member.
type lastAnswer struct {
	at     time.Time
	till   *till
	row    string
	card   string
	stamps int64
	cents  *int64
}

// due returns how many kills should have been until now.
func (y *year) due() int {
	lived := float64(y.now.Sub(y.from)) / float64(y.until.Sub(y.from))
	return min(int(float64(y.options.kills)*lived), y.options.kills) - int(y.kills.count.Load())
}

// planKills plans kills in the half hour that follows, in which there are so many visits.
func (y *year) planKills(visits int) {
	y.kills.at = nil
	for range min(y.due(), visits) {
		n := y.answer.Load() + 1 + y.kills.rand.Int64N(int64(visits))
		if !slices.Contains(y.kills.at, n) {
			y.kills.at = append(y.kills.at, n)
		}
	}
	slices.Sort(y.kills.at)
}

// kill kills the server and starts it again.
func (y *year) kill() {
	y.kills.count.Add(1)
	y.count("kill -9")
	if err := y.server.kill(y.now); err != nil {
		y.fault("the server does not start after a kill: %v", err)
	}
}

// duringKill does something that may be repeated, and kills the server meanwhile if a kill is due.
func (y *year) duringKill(do func() error) error {
	if y.due() <= 0 || y.now.Before(y.until) && y.kills.rand.IntN(8) > 0 { // after the last day, all that are left
		return do()
	}
	killed := make(chan struct{})
	time.AfterFunc(time.Duration(y.kills.rand.IntN(20))*time.Millisecond, func() {
		y.kill()
		close(killed)
	})
	err := do()
	<-killed
	return err
}

// awaitHousekeeping waits in a year with kills until the server has erased the shop that was sold, and overwritten what is left of
// erased people: it does both once in a minute, and is killed more often. The backups that are kept begin after that.
func (y *year) awaitHousekeeping() error {
	if y.options.kills == 0 {
		return nil
	}
	c, err := sqlite.OpenContext(y.ctx, y.server.db, sqlite.ReadOnly, "busy_timeout=5000")
	if err != nil {
		return err
	}
	defer c.Close()
	const waiting = "SELECT wipe_page + (SELECT count(*) FROM shops WHERE closed='moved' AND closed_at<=?) FROM meta"
	for range 180 {
		left, err := c.Number(waiting, y.now.AddDate(0, 0, -soldKept).UnixMilli())
		if err != nil || left == 0 {
			return err
		}
		time.Sleep(time.Second)
	}
	return errors.New("after three minutes there is still what is to be erased")
}

// afterKills compares cards with what tills were answered in this half hour, in which there were kills.
func (y *year) afterKills(visits []visit) {
	if len(y.kills.at) == 0 {
		return
	}
	y.kills.at = nil
	for range 5 {
		m := visits[y.kills.rand.IntN(len(visits))].m
		if a := m.last; a != nil && a.at.Equal(y.now) {
			y.compareCard(a)
		}
	}
}

// compareCard looks a card up at a till.
func (y *year) compareCard(a *lastAnswer) {
	r, ok := y.ask(a.till.api, "GET", "/cards/"+a.card, nil, "200")
	if !ok {
		return
	}
	var found struct {
		Card         tillCard
		Transactions []row
	}
	if err := r.decode(&found); err != nil {
		y.fault("look-up: %v", err)
		return
	}
	c, at := found.Card, slices.IndexFunc(found.Transactions, func(t row) bool { return t.ID == a.row })
	isOther := c.StampsCount != a.stamps || c.CurrentValue != nil && a.cents != nil && *c.CurrentValue != *a.cents
	// The office may have changed the card since, and the answer may have been about one that is full.
	if at < 0 || at == 0 && isOther && c.ID == a.card {
		y.fault("after a kill a till was answered %+v for %+v", found, a)
	}
	y.count("card compared after a kill")
}

// checkLedger compares the exported ledger of the shop with what was answered: nothing is missing, and nothing was done twice.
func (y *year) checkLedger(export string) error {
	rows, references := map[string]bool{}, map[string]string{}
	err := readLines(y.path(export+"/transactions.jsonl"), func(t struct {
		ID         string  `json:"transaction_id"`
		Reference  *string `json:"client_reference"`
		OverflowOf *string `json:"overflow_of_id"`
	}) {
		if t.Reference != nil && t.OverflowOf == nil {
			if first, twice := references[*t.Reference]; twice {
				y.fault("the reference %s is that of %s and %s", *t.Reference, first, t.ID)
			}
			references[*t.Reference] = t.ID
		}
		rows[t.ID] = true
	})
	if err != nil {
		return err
	}
	cards, holders := map[string]bool{}, map[string]string{}
	err = readLines(y.path(export+"/cards.jsonl"), func(c struct {
		ID   string `json:"card_id"`
		Name string `json:"holder_name"`
	}) {
		if first, twice := holders[c.Name]; twice && c.Name != "" {
			y.fault("%s has the cards %s and %s", c.Name, first, c.ID)
		}
		cards[c.ID], holders[c.Name] = true, c.ID
	})
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, m := range y.members {
		gone[m.first], gone[m.card] = m.gone, m.gone
	}
	missing := map[string]bool{} // cards that were issued
	err = readLines(y.path("answers.jsonl"), func(d done) {
		if d.Shop != y.shop.ID {
			return
		}
		for _, r := range d.Rows {
			if !rows[r.ID] && !gone[d.Card] {
				y.fault("the row %s of %s was answered and is not in the ledger", r.ID, d.Card)
			}
		}
		switch d.Kind {
		case "issue":
			missing[d.Card] = !cards[d.Card] && !gone[d.Card]
		case "erase":
			delete(missing, d.Card)
		}
	})
	for card, is := range missing {
		if is {
			y.fault("the card %s was issued and is not in the file", card)
		}
	}
	return err
}

// readLines calls a function with each line of a file of JSON lines.
func readLines[T any](name string, do func(T)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		do(v)
	}
	return lines.Err()
}
