package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"punchcard/server/dashboard"
	"punchcard/store"
	"punchcard/store/backup"
)

// Backups configures the backups that the server makes of its own database.
type Backups struct {
	Every time.Duration
	Keep  int    // number of backups that are kept, at least 1
	Dir   string // folder of the backups, which exists
	Quick bool   // verify the integrity of a backup only, and not the invariants
	// Copy makes the copy in another process. If it is nil this process makes it,
	// and verifying delays requests.
	Copy func(ctx context.Context, db, file string, o backup.Options) (size int64, err error)
}

// clockInterval is how often the clock is read while waiting for the next backup. After the machine
// slept or its clock was set, a backup is late by at most this time.
const clockInterval = time.Minute

// backups is the Service that makes the backups of a store: on schedule, and when it is
// asked for one.
type backups struct {
	Service
	conf   *Backups
	folder backup.Folder
	st     *store.Store
	log    *slog.Logger
	asked  chan chan error // of those who asked for a backup

	mu      sync.Mutex
	running bool
	failure string // of the last attempt that has ended; empty: it made one
}

// newBackups returns the Service that makes backups of st. Stop cancels a backup that is
// being made and leaves nothing of it.
func newBackups(b *Backups, st *store.Store, log *slog.Logger) *backups {
	s := &backups{conf: b, st: st, log: log, asked: make(chan chan error)}
	s.folder = backup.Folder{DB: st.Path(), Dir: b.Dir, Keep: b.Keep, Quick: b.Quick, Copy: b.Copy}
	s.Service = newLoop(s.run)
	return s
}

// Make makes a backup beside those of the schedule, or waits for the one that is being
// made. If ctx ends, the backup is made nevertheless.
func (s *backups) Make(ctx context.Context) error {
	made := make(chan error, 1)
	select {
	case s.asked <- made:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-made:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// File returns the path of the backup with a name.
func (s *backups) File(name string) (path string, ok bool) { return s.folder.Path(name) }

// run makes backups until ctx is done. The first is due an interval after the
// newest backup in the folder, so that restarts neither add nor skip any. After a
// failure the next attempt is an interval later.
func (s *backups) run(ctx context.Context) {
	now := func() time.Time { return s.st.Now().Std() }
	var due, last time.Time
	switch newest, err := s.folder.Newest(); {
	case err != nil:
		s.log.Error("the folder of backups cannot be read", "error", err) // the first backup will return the reason
	case !newest.IsZero():
		if n := now(); newest.After(n) { // the clock was set back
			newest = n
		}
		due = newest.Add(s.conf.Every)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case made := <-s.asked:
			at := now()
			if at.Unix() == last.Unix() { // that one has the name of this
				made <- nil
				break
			}
			made <- s.make(ctx, at, now)
			due, last = at.Add(s.conf.Every), at
		case <-timer.C:
		}
		if at := now(); !at.Before(due) {
			s.make(ctx, at, now)
			due, last = at.Add(s.conf.Every), at
		}
		timer.Reset(max(time.Millisecond, min(clockInterval, due.Sub(now()))))
	}
}

// make makes one backup and logs the outcome.
func (s *backups) make(ctx context.Context, at time.Time, now func() time.Time) error {
	s.set(true, nil)
	made, err := s.folder.Make(ctx, at)
	if made.File != "" {
		s.log.Info("backup made", "file", made.File, "bytes", made.Size, "took", now().Sub(at), "removed", len(made.Pruned))
	}
	switch {
	case ctx.Err() != nil: // the server stops
	case err != nil && made.File != "":
		s.log.Error("older backups cannot be removed", "error", err)
		err = nil
	case err != nil:
		s.log.Error("backup failed", "error", err, "next", at.Add(s.conf.Every).UTC())
	}
	s.set(false, err)
	return err
}

// set records whether a backup is being made, and why the last one failed.
func (s *backups) set(running bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = running
	switch {
	case err != nil:
		s.failure = err.Error()
	case !running:
		s.failure = ""
	}
}

// backupOverdue is the age of the newest backup at which somebody should look after it,
// unless they are made more rarely.
const backupOverdue = 48 * time.Hour

// status returns what the page of health shows.
func (s *backups) status(now time.Time) dashboard.Backups {
	d := dashboard.Backups{Folder: s.conf.Dir, Every: s.conf.Every, Keep: s.conf.Keep}
	files, err := s.folder.List()
	if err != nil {
		d.Problem = err.Error()
		return d
	}
	d.Overdue = len(files) == 0 || now.Sub(files[len(files)-1].At) > max(backupOverdue, s.conf.Every+s.conf.Every/2)
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Running, d.Failure = s.running, s.failure
	d.Overdue = d.Overdue && !d.Running
	slices.Reverse(files)
	d.Files = files
	return d
}
