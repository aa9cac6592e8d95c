package main

import (
	"errors"
	"math/rand/v2"
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
