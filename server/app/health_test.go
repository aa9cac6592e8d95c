package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"punchcard/store"
)

// TestHealth checks what the server tells of its backups, its disk and its certificates.
func TestHealth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := store.Open(filepath.Join(dir, "shop.db"), store.Options{})
	noError(t, err)
	defer st.Close()
	none := func() []Certificate { return nil }
	ends := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	two := func() []Certificate { return []Certificate{{}, {Ends: ends.Add(time.Hour)}, {Ends: ends}} }
	if h := (&Config{}).health(st, none)(); h.Version != Version || !h.StartedAt.Valid || h.BackupEveryHours.Valid ||
		h.NewestBackupAt.Valid ||
		h.Mail {
		t.Errorf("without backups: %+v", h)
	}
	read := (&Config{Backups: &Backups{Every: 24 * time.Hour, Keep: 7, Dir: dir}}).health(st, two)
	if h := read(); h.CertificateEndsAt.V != store.TimeOf(ends) {
		t.Errorf("with certificates: %+v", h)
	}
	if h := read(); h.BackupEveryHours.V != 24 || h.BackupKeep != 7 || h.NewestBackupAt.Valid {
		t.Errorf("without a backup: %+v", h)
	}
	noError(t, os.WriteFile(filepath.Join(dir, "shop-20260131T090000Z.db"), nil, 0o600))
	if h := read(); h.NewestBackupAt.V.String() != "2026-01-31T09:00:00.000Z" || h.DiskFreeBytes.Valid && h.DiskFreeBytes.V <= 0 {
		t.Errorf("with a backup: %+v", h)
	}
}
