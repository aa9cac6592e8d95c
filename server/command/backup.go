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
	Force bool `env:"-" help:"Replace a file that is there."`
	Quick bool `env:"-" help:"Verify the integrity alone and not the invariants of check, which take long on a big file."`
}

func (c Copy) options() backup.Options { return backup.Options{Force: c.Force, Quick: c.Quick} }

// interruptible returns a context that SIGINT and SIGTERM cancel.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
	Target string `arg:"" name:"file" type:"path" help:"The file to be written: whole and verified, or not at all."`
	Copy
}

// Run copies the database.
func (c *Backup) Run() error {
	ctx, stop := interruptible()
	defer stop()
	start := time.Now()
	o := c.options()
	o.Copied = lowerPriority
	size, err := backup.Create(ctx, c.DB, c.Target, o)
	if errors.Is(err, backup.ErrExists) {
		return fmt.Errorf("%w; --force replaces it", err)
	}
	if err != nil {
		return err
	}
	out := copyResult{File: c.Target, Bytes: size, Seconds: time.Since(start).Seconds()}
	return c.show(&out, func(w io.Writer) {
		printf(w, "%s: %d bytes, verified, in %.1f s\n", out.File, out.Bytes, out.Seconds)
	})
}

// Restore is the command that replaces a database by a backup.
type Restore struct {
	Source string `arg:"" name:"backup" type:"path" help:"The backup; it stays as it is."`
	Copy
}

// Run restores the backup.
func (c *Restore) Run() error {
	ctx, stop := interruptible()
	defer stop()
	start := time.Now()
	r, err := backup.Restore(ctx, c.Source, c.DB, start, c.options())
	if errors.Is(err, backup.ErrExists) {
		return fmt.Errorf("%w; --force replaces it and keeps it beside", err)
	}
	if err != nil {
		return err
	}
	out := copyResult{File: c.DB, Bytes: r.Size, Seconds: time.Since(start).Seconds(), Kept: store.Null[string]{V: r.Kept, Valid: r.Kept != ""}}
	return c.show(&out, func(w io.Writer) {
		printf(w, "%s: %d bytes, verified, in %.1f s\n", out.File, out.Bytes, out.Seconds)
		if out.Kept.Valid {
			printf(w, "The database before is kept as %s.\n", out.Kept.V)
		}
		fmt.Fprintln(w, "What was delivered after the backup was made will be sent again, with the same event_id; serve --webhook-hold sends nothing.")
	})
}

// BackupFlags are the flags of scheduled backups.
type BackupFlags struct {
	BackupEvery time.Duration `placeholder:"24h" help:"Make a backup this often, from 1m to 8760h; 0 makes none."`
	BackupKeep  int           `default:"7" help:"Backups that are kept, from 1 to 10000; older ones of this database's name go once a new one is verified."`
	BackupDir   string        `type:"path" placeholder:"DIR" help:"Folder of the backups, such as punchcard-20260131T090000Z.db; needs --backup-every. One folder for each database."`
	BackupQuick bool          `help:"Verify the integrity of backups alone and not the invariants of check, which take long on a big file."`
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
	cmd := exec.CommandContext(ctx, self, "backup", file, "--db", db, "--json", fmt.Sprintf("--force=%t", o.Force), fmt.Sprintf("--quick=%t", o.Quick))
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
