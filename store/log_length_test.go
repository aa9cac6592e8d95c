package store

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// TestLogStartsOver checks that the write-ahead log starts over although reads overlap all the time.
func TestLogStartsOver(t *testing.T) {
	f := start(t, Options{Readers: 4})
	f.sql("CREATE TABLE filler (b)")
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !done.Load() {
				f.reads(func(v *View) {
					v.snapshot()
					v.number("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 2000) SELECT count(*) FROM n, meta")
				})
			}
		})
	}
	last, now := int64(0), int64(0)
	for n := 0; n < 300 && now >= last; n++ {
		f.sql("INSERT INTO filler VALUES (zeroblob(1<<20))")
		last, now = now, check(os.Stat(f.path+"-wal")).Size()
	}
	done.Store(true)
	readers.Wait()
	if now >= last {
		t.Errorf("the log has grown to %d MiB", now>>20)
	}
}
