package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"punchcard/server/app"
	"punchcard/store"
	"punchcard/store/backup"
)

// Copy has the flags that backup and restore share.
type Copy struct {
	File
	Force bool `env:"-" help:"Replace an existing file."`
	Quick bool `env:"-" help:"Verify only the integrity, not the invariants of check, which take long for a large file."`
	Quiet bool `env:"-" help:"Do not show the progress."`
}

func (c Copy) options() backup.Options {
	o := backup.Options{Force: c.Force, Quick: c.Quick}
	if !c.Quiet {
		o.Progress = commandProgress(false)
	}
	return o
}

// interruptible returns a context that SIGINT and SIGTERM cancel.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// lifted adds to a refusal the flag that lifts it.
func lifted(err error, force string) error {
	switch {
	case errors.Is(err, backup.ErrExists):
		return fmt.Errorf("%w; %s", err, force)
	case errors.Is(err, backup.ErrInvariants):
		return fmt.Errorf("%w; check lists all, and --quick copies it all the same", err)
	}
	return err
}

// copyResult is the JSON that backup and restore print.
type copyResult struct {
	File    string             `json:"file"`
	Bytes   int64              `json:"bytes"`
	Seconds float64            `json:"seconds"`
	Kept    store.Null[string] `json:"kept"`
}

// Backup is the command that copies a database to a file.
type Backup struct {
	Target string `arg:"" name:"file" type:"path" help:"The file to write, complete and verified or not at all."`
	Copy
}

// copied is called when the pages have been copied.
var copied = lowerPriority

// Run copies the database.
func (c *Backup) Run() error {
	ctx, stop := interruptible()
	defer stop()
	start := time.Now()
	o := c.options()
	o.Copied = copied
	size, err := backup.Create(ctx, c.DB, c.Target, o)
	if err != nil {
		return lifted(err, "--force replaces it")
	}
	out := copyResult{File: c.Target, Bytes: size, Seconds: time.Since(start).Seconds()}
	return c.show(&out, func(w io.Writer) {
		printf(w, "%s: %d bytes, verified, in %.1f s\n", out.File, out.Bytes, out.Seconds)
	})
}

// restoreResult is the JSON that restore prints.
type restoreResult struct {
	copyResult
	Review store.Restored `json:"review"`
}

// printReview prints what works again though it may have been revoked, disabled or
// removed after the backup.
func printReview(w io.Writer, r store.Restored) {
	printf(w, "All sessions (%d) and one-time links (%d) have ended.\n", r.Sessions, r.Links)
	if len(r.Keys)+len(r.Devices)+len(r.People) == 0 {
		return
	}
	fmt.Fprintln(w, "\nReview these, since what was revoked, disabled or removed after the backup works again:")
	for _, table := range []struct {
		heading string
		rows    []store.RestoredSecret
	}{{"KEY", r.Keys}, {"DEVICE", r.Devices}} {
		if len(table.rows) > 0 {
			printf(w, "\n%s\tPREFIX\tNAME\tSHOP\n", table.heading)
		}
		for _, s := range table.rows {
			printf(w, "%s\t%s\t%s\t%s\n", s.ID, s.Prefix, s.Name, s.Shop)
		}
	}
	if len(r.People) > 0 {
		fmt.Fprintln(w, "\nPERSON\tEMAIL\tROLE\tSHOP")
	}
	for _, p := range r.People {
		role := p.Role
		if p.Operator {
			role = strings.TrimPrefix(role+", operator", ", ")
		}
		printf(w, "%s\t%s\t%s\t%s\n", p.ID, p.Email, role, p.Shop)
	}
}

// Restore is the command that replaces a database by a backup.
type Restore struct {
	Source string `arg:"" name:"backup" type:"path" help:"The backup, which is not changed."`
	Copy
}

// Run restores the backup.
func (c *Restore) Run() error {
	ctx, stop := interruptible()
	defer stop()
	start := time.Now()
	r, err := backup.Restore(ctx, c.Source, c.DB, start, c.options())
	if err != nil {
		return lifted(err, "--force replaces it and keeps the old one beside it")
	}
	out := restoreResult{
		copyResult{
			File:    c.DB,
			Bytes:   r.Size,
			Seconds: time.Since(start).Seconds(),
			Kept:    store.Null[string]{V: r.Kept, Valid: r.Kept != ""},
		},
		r.Review,
	}
	return c.show(&out, func(w io.Writer) {
		printf(w, "%s: %d bytes, verified, in %.1f s\n", out.File, out.Bytes, out.Seconds)
		if out.Kept.Valid {
			printf(w, "The previous database is kept as %s.\n", out.Kept.V)
		}
		fmt.Fprintln(
			w,
			"What was delivered after the backup was made will be sent again, with the same event_id; serve --webhook-hold sends nothing.",
		)
		printReview(w, r.Review)
	})
}

// BackupFlags are the flags of scheduled backups.
type BackupFlags struct {
	BackupEvery time.Duration `placeholder:"24h" help:"Interval between backups, from 1m to 8760h; 0 makes none."`
	BackupKeep  int           `default:"7" help:"Number of backups to keep, from 1 to 10000; older ones of this database's name are deleted once a new one is verified."`
	BackupDir   string        `type:"path" placeholder:"DIR" help:"Folder for backups, which have names such as punchcard-20260131T090000Z.db; needs --backup-every. Use one folder for each database."`
	BackupQuick bool          `help:"Verify only the integrity of backups, not the invariants of check, which take long for a large file."`
}

// backups returns the configuration of scheduled backups; nil for none.
func (f BackupFlags) backups() (*app.Backups, error) {
	switch {
	case f.BackupKeep < 1 || f.BackupKeep > 10_000:
		return nil, fmt.Errorf("--backup-keep (PUNCHCARD_BACKUP_KEEP): must be from 1 to 10000")
	case f.BackupEvery == 0 && f.BackupDir == "":
		return nil, nil
	case f.BackupEvery == 0:
		return nil, fmt.Errorf("--backup-dir (PUNCHCARD_BACKUP_DIR): needs --backup-every (PUNCHCARD_BACKUP_EVERY)")
	case f.BackupEvery < time.Minute || f.BackupEvery > 8760*time.Hour:
		return nil, fmt.Errorf("--backup-every (PUNCHCARD_BACKUP_EVERY): must be from 1m to 8760h, or 0 for none")
	case f.BackupDir == "":
		return nil, fmt.Errorf("--backup-every (PUNCHCARD_BACKUP_EVERY): needs --backup-dir (PUNCHCARD_BACKUP_DIR)")
	}
	if info, err := os.Stat(f.BackupDir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--backup-dir (PUNCHCARD_BACKUP_DIR): %s is not a folder", f.BackupDir)
	}
	return &app.Backups{Every: f.BackupEvery, Keep: f.BackupKeep, Dir: f.BackupDir, Quick: f.BackupQuick, Copy: copyInProcess}, nil
}

// copyInProcess makes a backup in another process, whose low priority leaves the
// processors to requests (BenchmarkBackup in server/app). If ctx ends the process
// cleans up and stops.
func copyInProcess(ctx context.Context, db, file string, o backup.Options) (size int64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(
		ctx, self, "backup", file, "--db", db, "--json", "--quiet",
		fmt.Sprintf("--force=%t", o.Force),
		fmt.Sprintf("--quick=%t", o.Quick),
	)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if line := strings.TrimSpace(strings.TrimPrefix(stderr.String(), "punchcard: ")); line != "" {
			return 0, errors.New(line)
		}
		return 0, fmt.Errorf("%s: not made: %w", file, err)
	}
	var out struct{ Bytes int64 }
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	return out.Bytes, nil
}
