package operation

import (
	"context"
	"errors"
	"time"

	"punchcard/server/kernel"
	"punchcard/store"
)

// backupWait is how long MakeBackup waits for the backup, which goes on afterwards.
const backupWait = 20 * time.Second

// BackupMade is the answer of MakeBackup.
type BackupMade struct {
	Complete bool `json:"complete" doc:"False: it is still being made."`
}

// errNoBackups is the refusal of a server without a folder of backups.
var errNoBackups = kernel.Refuse(store.Unprocessable, "The server makes no backups. Start it with --backup-every and --backup-dir.")

// MakeBackup makes a backup now, beside those of the schedule.
var MakeBackup = declare(kernel.Operation{
	ID:      "makeBackup",
	Group:   shops,
	Title:   "Make a backup",
	Callers: operator,
	Codes:   unprocessable,
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, _ struct{}) (kernel.Prepared[BackupMade], error) {
		if c.Backups() == nil {
			return nil, errNoBackups
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backupWait)
		defer cancel()
		err := c.Backups().Make(ctx)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, kernel.Refuse(store.Unprocessable, "The backup failed: "+err.Error())
		}
		return func(tx *store.Tx) (BackupMade, error) {
			return BackupMade{Complete: err == nil}, tx.AuditServer("backup.create", "")
		}, nil
	}),
})

// BackupName are the fields of DownloadBackup.
type BackupName struct {
	Name store.Opt[string] `json:"name" req:"true" min:"1" max:"255"`
}

// BackupPath is the answer of DownloadBackup.
type BackupPath struct {
	Name string `json:"name"`
	Path string `json:"path" doc:"On the server's disk."`
}

// DownloadBackup returns where a backup is, to be sent to an operator. A backup contains
// the data of all shops.
var DownloadBackup = declare(kernel.Operation{
	ID:      "downloadBackup",
	Group:   shops,
	Title:   "Download a backup",
	Callers: operator,
	Codes:   notFound,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f BackupName) (b BackupPath, err error) {
		if c.Backups() == nil {
			return b, errNoBackups
		}
		path, ok := c.Backups().File(f.Name.V)
		if !ok {
			return b, kernel.Refuse(store.NotFound, "There is no such backup.")
		}
		return BackupPath{f.Name.V, path}, tx.AuditServer("backup.download", f.Name.V)
	}),
})
