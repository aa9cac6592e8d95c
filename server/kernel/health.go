package kernel

import (
	"context"

	"punchcard/store"
)

// ServerHealth is what the server, and not its file, knows of its state. The package
// that puts the server together fills it; see Config.Health.
type ServerHealth struct {
	Version           string                 `json:"version"`
	StartedAt         store.Null[store.Time] `json:"started_at"`
	DiskFreeBytes     store.Null[int64]      `json:"disk_free_bytes" doc:"Where the file is; null: unknown."`
	BackupEveryHours  store.Null[float64]    `json:"backup_every_hours" doc:"Null: the server makes none."`
	BackupKeep        int64                  `json:"backup_keep"`
	NewestBackupAt    store.Null[store.Time] `json:"newest_backup_at" doc:"Null: there is none in the folder of backups."`
	CertificateEndsAt store.Null[store.Time] `json:"certificate_ends_at" doc:"The first that ends; null: the server has none."`
	Mail              bool                   `json:"mail" doc:"Whether a mail server is configured."`
}

// Backups are those that the server makes in a folder.
type Backups interface {
	// Make makes a backup, or waits for the one that is being made. If ctx ends before
	// that, the backup is made nevertheless.
	Make(ctx context.Context) error

	// File returns the path of the backup with a name. It returns false if there is none.
	File(name string) (path string, ok bool)
}
