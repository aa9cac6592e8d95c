package app

import (
	"context"
	"log/slog"
	"time"

	"punchcard/store"
	"punchcard/store/backup"
)

// Backups are what the server makes of its own database.
type Backups struct {
	Every time.Duration
	Keep  int    // the newest that stay, at least 1
	Dir   string // exists
	Quick bool   // leave out the invariants when one is verified
	// Copy makes the copy in a process of its own; nil: in this one, where
	// verifying takes processor time that requests then wait for.
	Copy func(ctx context.Context, db, file string, o backup.Options) (size int64, err error)
}

// clockInterval is how often the clock is read while a backup is far off: a
// machine that sleeps, or whose clock is set, must not miss one for long.
const clockInterval = time.Minute

// newBackups returns the Service that makes backups of st on schedule. When it is
// stopped it breaks off a backup under way, of which nothing is left.
func newBackups(b *Backups, st *store.Store, log *slog.Logger) Service {
	return newLoop(func(ctx context.Context) { b.run(ctx, st, log) })
}

// run makes backups until ctx is done. The newest backup in the folder tells when
// the first is due, so that restarts neither add nor skip any. After a failure
// the next attempt is an interval later.
func (b *Backups) run(ctx context.Context, st *store.Store, log *slog.Logger) {
	folder := backup.Folder{DB: st.Path(), Dir: b.Dir, Keep: b.Keep, Quick: b.Quick, Copy: b.Copy}
	now := func() time.Time { return st.Now().Std() }
	var due time.Time
	switch newest, err := folder.Newest(); {
	case err != nil:
		log.Error("the folder of backups cannot be read", "error", err) // the first backup tells more
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

// make makes one backup and logs what came of it.
func (b *Backups) make(ctx context.Context, folder backup.Folder, at time.Time, now func() time.Time, log *slog.Logger) {
	made, err := folder.Make(ctx, at)
	if made.File != "" {
		log.Info("backup made", "file", made.File, "bytes", made.Size, "took", now().Sub(at), "removed", len(made.Pruned))
	}
	switch {
	case ctx.Err() != nil: // the server ends; nothing is left of it
	case err != nil && made.File != "":
		log.Error("older backups cannot be removed", "error", err)
	case err != nil:
		log.Error("backup failed", "error", err, "next", at.Add(b.Every).UTC())
	}
}
