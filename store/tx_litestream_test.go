package store

import (
	"bytes"
	"os"
	"testing"
	"time"

	"punchcard/store/sqlite"
)

// TestLogIsCutBesideLitestream has the log start over, and checks that frames of the earlier one stay behind the new ones only
// while Litestream has not used the file.
func TestLogIsCutBesideLitestream(t *testing.T) {
	f := start(t)
	beside := check(sqlite.Open(f.path, sqlite.ReadWrite, "busy_timeout=5000"))
	defer beside.Close()
	older := func() (frames int) {
		t.Helper()
		f.do(rememberRows(t.Name()+f.clock.at().String(), 4, 9000))
		succeed(beside.Script("PRAGMA wal_checkpoint(PASSIVE)"))
		f.clock.move(time.Second)
		f.do(func(tx *Tx) error { return note(tx, "starts the log over") })
		if n := f.commits(); n != 1 {
			t.Fatalf("the log has %d commits, so it did not start over", n)
		}
		log := check(os.ReadFile(f.path + "-wal"))
		for at := 32; at < len(log); at += 24 + 4096 {
			if !bytes.Equal(log[at+8:at+16], log[16:24]) {
				frames++
			}
		}
		return frames
	}
	if older() == 0 {
		t.Error("the log is cut off without Litestream")
	}
	succeed(beside.Script("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)"))
	if n := older(); n > 0 {
		t.Errorf("%d frames of the earlier log stay", n)
	}
}
