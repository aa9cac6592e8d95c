package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// kept is a write that a till keeps for seven days, since it sends it again after a restore.
type kept struct {
	at   time.Time // of the clock of the till, if the write has that
	till *till
	m    *member
	path string
	body map[string]any
	row  string
}

// keep keeps a write that was acknowledged.
func (y *year) keep(k kept) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.kept = append(y.kept, k)
}

// forgetKept forgets the writes that are too old to be sent.
func (y *year) forgetKept() {
	y.kept = slices.DeleteFunc(y.kept, func(k kept) bool { return y.now.Sub(k.at) > longestDelay })
}

// restore restores a backup of this moment, after which the tills send their writes of seven days again.
func (y *year) restore() error {
	before, err := y.restoreID()
	if err != nil {
		return err
	}
	backup := y.path("restored.db")
	if err := y.server.command("backup", backup, "--quiet"); err != nil {
		return err
	}
	if err := y.server.replace(func() error {
		if err := y.server.stop(); err != nil {
			return err
		}
		return y.server.command("restore", backup, "--force", "--quiet")
	}, y.now); err != nil {
		return err
	}
	now, err := y.restoreID()
	if err != nil {
		return err
	}
	if now == before {
		y.fault("the restore_id is %s before and after a restore", now)
	}
	y.sendKept()
	// The operator deletes both files, which would keep data of people who are erased later.
	left, err := filepath.Glob(y.server.db + ".before-restore-*")
	for _, name := range append(left, backup) {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// restoreID returns what tells a till that the file was restored.
func (y *year) restoreID() (string, error) {
	var me struct {
		RestoreID string `json:"restore_id"`
	}
	err := y.need(y.shop.locations[0].tills[0].api, "GET", "/me", nil, &me)
	return me.RestoreID, err
}

// sendKept sends the kept writes again, which must write nothing.
func (y *year) sendKept() {
	y.forgetKept()
	for _, k := range y.kept {
		if k.m.gone {
			continue
		}
		r, ok := y.ask(k.till.api, "POST", k.path, k.body, "201", "401 unauthenticated")
		var a stamped
		switch {
		case !ok, r.status == 401: // the till is lost
		case r.decode(&a) != nil || a.Transaction == nil || a.Transaction.ID != k.row:
			y.fault("after a restore the write of %s is answered %s", k.row, r.body)
		default:
			y.count("write sent again after a restore")
		}
	}
}
