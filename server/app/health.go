package app

import (
	"path/filepath"

	"punchcard/server/kernel"
	"punchcard/store"
	"punchcard/store/backup"
)

// health returns the function by which the kernel asks for the state of the server, whose
// certificates certs returns.
func (c *Config) health(st *store.Store, certs func() []Certificate) func() kernel.ServerHealth {
	h := kernel.ServerHealth{Version: Version, StartedAt: store.Some(st.Now()), Mail: c.Mail != nil}
	backups := c.Backups
	if backups != nil {
		h.BackupEveryHours, h.BackupKeep = store.Some(backups.Every.Hours()), int64(backups.Keep)
	}
	return func() kernel.ServerHealth {
		now := h
		if free, all := diskSpace(filepath.Dir(st.Path())); all > 0 {
			now.DiskFreeBytes = store.Some(free)
		}
		if backups != nil {
			folder := backup.Folder{DB: st.Path(), Dir: backups.Dir}
			if newest, err := folder.Newest(); err == nil && !newest.IsZero() {
				now.NewestBackupAt = store.Some(store.TimeOf(newest))
			}
		}
		for _, cert := range certs() {
			if ends := store.TimeOf(cert.Ends); !cert.Ends.IsZero() && (!now.CertificateEndsAt.Valid || ends < now.CertificateEndsAt.V) {
				now.CertificateEndsAt = store.Some(ends)
			}
		}
		return now
	}
}
