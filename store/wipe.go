package store

import "time"

// wipeTimeout is how long an erase waits for readers, wipeRetry how long after a
// failed attempt the next write tries again.
const (
	wipeTimeout = 50 * time.Millisecond
	wipeRetry   = time.Second
)

// truncateLog moves the write-ahead log into the file and truncates it. With
// secure_delete SQLite overwrites the file's own pages, but the log keeps older
// versions of them until it is reused. This needs a moment without readers; if
// one of this or another process is active, a later write tries again. A small
// store has no log.
func (s *Store) truncateLog() {
	if s.wipePending && time.Since(s.wipeTried) < wipeRetry {
		return
	}
	s.wipePending, s.wipeTried = true, time.Now()
	var readers []*conn
	var unopened int
	defer func() {
		for _, r := range readers {
			s.readers <- r
		}
		for range unopened {
			s.unopened <- struct{}{}
		}
	}()
	timeout := time.After(wipeTimeout)
	for range s.opts.Readers {
		select {
		case r := <-s.readers:
			readers = append(readers, r)
		case <-s.unopened:
			unopened++
		case <-timeout:
			return
		}
	}
	s.writer.exec("PRAGMA busy_timeout=100")
	defer s.writer.exec("PRAGMA " + s.busyTimeout())
	busy := int64(1)
	_, err := s.writer.one(into(&busy), "PRAGMA wal_checkpoint(TRUNCATE)")
	s.wipePending = err != nil || busy != 0
	// The erase itself is on disk. An error of the disk here must not make the next
	// group fail, for which the disk may work again.
	s.writer.db().Resume()
	if err != nil {
		s.opts.Log.Error("what was erased is still in the log beside the file", "error", err)
	}
}
