package app

import (
	"context"
	"log/slog"
	"time"

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

// newBackups returns the Service that makes backups of st on schedule. Stop cancels
// a backup that is being made and leaves nothing of it.
func newBackups(b *Backups, st *store.Store, log *slog.Logger) Service {
	return newLoop(func(ctx context.Context) { b.run(ctx, st, log) })
}

// run makes backups until ctx is done. The first is due an interval after the
// newest backup in the folder, so that restarts neither add nor skip any. After a
// failure the next attempt is an interval later.
func (b *Backups) run(ctx context.Context, st *store.Store, log *slog.Logger) {
	folder := backup.Folder{DB: st.Path(), Dir: b.Dir, Keep: b.Keep, Quick: b.Quick, Copy: b.Copy}
	now := func() time.Time { return st.Now().Std() }
	var due time.Time
	switch newest, err := folder.Newest(); {
	case err != nil:
		log.Error("the folder of backups cannot be read", "error", err) // the first backup will return the reason
	case !newest.IsZero():
		if n := now(); newest.After(n) { // the clock was set back
			newest = n
		}
		due = newest.Add(b.Every)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if at := now(); !at.Before(due) {
			b.make(ctx, folder, at, now, log)
			due = at.Add(b.Every)
		}
		timer.Reset(max(time.Millisecond, min(clockInterval, due.Sub(now()))))
	}
}

// make makes one backup and logs the outcome.
func (b *Backups) make(ctx context.Context, folder backup.Folder, at time.Time, now func() time.Time, log *slog.Logger) {
	made, err := folder.Make(ctx, at)
	if made.File != "" {
		log.Info("backup made", "file", made.File, "bytes", made.Size, "took", now().Sub(at), "removed", len(made.Pruned))
	}
	switch {
	case ctx.Err() != nil: // the server stops
	case err != nil && made.File != "":
		log.Error("older backups cannot be removed", "error", err)
	case err != nil:
		log.Error("backup failed", "error", err, "next", at.Add(b.Every).UTC())
	}
}
