package main

import (
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
	{0.20, "wrong PINs", (*year).guessPINs},
	{0.25, "the subscription is suspended for an hour", (*year).suspend},
	{0.30, "an assistant's key is rotated", (*year).rotateMCPKey},
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
	if err := y.endBackup(); err != nil {
		return err
	}
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
		if err := e.do(y); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		y.count("calendar: " + e.name)
	}
	if isBackedUp(n, days) {
		y.beginBackup(date)
	}
	return nil
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

// isBackedUp reports whether there is a backup in a night: in each of the first month and of the last days, and in one of seven between,
// since one takes a second or two when the file is large.
func isBackedUp(night, days int) bool {
	return night < 31 || night >= days-keptBackups-2 || night%7 == 0
}

// beginBackup begins the backup of a night, which goes on while the shop is open.
func (y *year) beginBackup(date time.Time) {
	y.backup = make(chan error, 1)
	go func() { y.backup <- y.backUp(date) }()
}

// endBackup waits for the backup that has begun.
func (y *year) endBackup() error {
	if y.backup == nil {
		return nil
	}
	defer func() { y.backup = nil }()
	return <-y.backup
}

// backUp makes a backup and removes those that are too old. That of a Sunday is verified by the invariants of check too.
func (y *year) backUp(date time.Time) error {
	args := []string{"backup", filepath.Join(y.backups(), "shop-"+date.Format("20060102")+".db"), "--quiet"}
	if date.Weekday() != time.Sunday {
		args = append(args, "--quick")
	}
	if _, err := y.server.command(args...); err != nil {
		return err
	}
	y.count("backup")
	all, err := filepath.Glob(filepath.Join(y.backups(), "shop-*.db"))
	if err != nil {
		return err
	}
	slices.Sort(all)
	for _, old := range all[:max(0, len(all)-keptBackups)] {
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return nil
}

// backups returns the folder of the nightly backups.
func (y *year) backups() string { return y.path("backups") }
