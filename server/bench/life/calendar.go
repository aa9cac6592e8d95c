package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// rare is an event that happens once, in the night before a day, when the shop is closed.
type rare struct {
	share float64 // of the year that has passed
	name  string
	do    func(*year) error
}

// calendar are the rare events of a year, or of the months that are simulated.
var calendar = []rare{
	{0.10, "the shop's system gets a key of its own", (*year).ownKey},
	{0.15, "a till is lost", (*year).loseTill},
	{0.35, "a backup is restored", (*year).restore},
	{0.45, "the shop's key is rotated, with a grace", (*year).rotateKey},
	{0.50, "a receiver disappears", func(y *year) error { y.disappear("gone"); return nil }},
	{0.60, "the zone of the shop changes", (*year).changeZone},
	{0.67, "a shop is sold", (*year).sellShop},
	{0.75, "a till is lost", (*year).loseTill},
}

// erasures is how many members ask for their erasure in a month, lostCards how many lose their card.
const (
	erasures  = 10
	lostCards = 5
)

// keptBackups is how many nightly backups are kept. In so many nights at the end nobody is erased, so that the words of erased people are
// in none of them.
const keptBackups = 7

// rareEvents does what happens in the night before a day, the backup last.
func (y *year) rareEvents(date time.Time) error {
	n, days := int(date.Sub(y.from).Hours())/24, int(y.until.Sub(y.from).Hours())/24
	y.nights = n
	y.forgetKept()
	for _, do := range y.pending[n] {
		if err := do(); err != nil {
			return err
		}
	}
	delete(y.pending, n)
	for range times(n, erasures) {
		if n < days-keptBackups-1 {
			y.eraseMember()
		}
	}
	for range times(n, lostCards) {
		y.loseCard()
	}
	if n == days-keptBackups-1 {
		if err := y.awaitHousekeeping(); err != nil {
			return err
		}
	}
	for _, e := range calendar {
		if n != int(e.share*float64(days)) {
			continue
		}
		if err := y.endBackups(0); err != nil {
			return err
		}
		if err := e.do(y); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		y.count("calendar: " + e.name)
	}
	return y.beginBackup(date)
}

// times returns how often something happens in a night that happens so often in a month.
func times(night, inMonth int) int {
	const days = 30
	return (night+1)*inMonth/days - night*inMonth/days
}

// after does something so many nights later.
func (y *year) after(nights int, do func() error) {
	y.pending[y.nights+nights] = append(y.pending[y.nights+nights], do)
}

// backupsAtOnce is how many backups may be under way, since one of a large file takes longer than a simulated day.
const backupsAtOnce = 2

// beginBackup begins the backup of a night, which goes on while the shop is open.
func (y *year) beginBackup(date time.Time) error {
	err := y.endBackups(backupsAtOnce - 1)
	done := make(chan error, 1)
	y.underWay = append(y.underWay, done)
	go func() { done <- y.backUp(date) }()
	return err
}

// endBackups waits until no more than some backups are under way.
func (y *year) endBackups(left int) (err error) {
	for ; len(y.underWay) > left; y.underWay = y.underWay[1:] {
		err = cmp.Or(err, <-y.underWay[0])
	}
	return err
}

// backUp makes a backup and removes those that are too old. That of the first night of a month is verified by the invariants of check too.
func (y *year) backUp(date time.Time) error {
	args := []string{"backup", filepath.Join(y.backups(), "shop-"+date.Format("20060102")+".db"), "--quiet"}
	if date.Day() != 1 {
		args = append(args, "--quick")
	}
	if err := y.server.command(args...); err != nil {
		return err
	}
	y.count("backup")
	all, err := filepath.Glob(filepath.Join(y.backups(), "shop-*.db"))
	if err != nil {
		return err
	}
	slices.Sort(all)
	for _, old := range all[:max(0, len(all)-keptBackups)] {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) { // another backup removes them too
			return err
		}
	}
	return nil
}

// backups returns the folder of the nightly backups.
func (y *year) backups() string { return y.path("backups") }
