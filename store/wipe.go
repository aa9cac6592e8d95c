package store

import "time"

// How long an erase waits for the readers at work, and how soon after it did
// not get through the next write tries again.
const (
	wipeTimeout = 50 * time.Millisecond
	wipeRetry   = time.Second
)

// wipe empties the write-ahead log into the file and cuts it to nothing: with
// secure_delete the file's own pages are overwritten, but the log keeps older
// versions of them until it is used anew. No reader may be at work meanwhile.
// Few ever are for long; where one is, also in another process, a later write
// does it. Where there is no log it does nothing.
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
	patience := time.After(wipeTimeout)
	for range s.opts.Readers {
		select {
		case r := <-s.readers:
			readers = append(readers, r)
		case <-s.unopened:
			unopened++
		case <-patience:
			return
		}
	}
	s.writer.exec("PRAGMA busy_timeout=100")
	defer s.writer.exec("PRAGMA " + s.busyTimeout())
	busy := int64(1)
	_, err := s.writer.one(func(r *rows) { busy = r.int() }, "PRAGMA wal_checkpoint(TRUNCATE)")
	s.wipePending = err != nil || busy != 0
	// The erase itself is on disk. A disk that failed here must not have the next
	// group refused, which may find it sound again.
	s.writer.db().Resume()
	if err != nil {
		s.opts.Log.Error("what was erased is still in the log beside the file", "error", err)
	}
}
