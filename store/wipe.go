package store

// wipe empties the write-ahead log into the file and cuts it to nothing: with
// secure_delete the file's own pages are overwritten, but the log keeps older
// versions of them until it is used anew. No reader may be at work meanwhile,
// and none is for long; those of other processes are not waited for, then the
// next commit tries again.
func (s *Store) wipe() {
	var readers []*conn
	for range s.opts.Readers {
		readers = append(readers, <-s.readers)
	}
	defer func() {
		for _, r := range readers {
			s.readers <- r
		}
	}()
	s.writer.exec("PRAGMA busy_timeout=100")
	defer s.writer.exec("PRAGMA busy_timeout=5000")
	busy := int64(1)
	_, err := s.writer.one(func(r *rows) { busy = r.int() }, "PRAGMA wal_checkpoint(TRUNCATE)")
	s.unwiped = err != nil || busy != 0
	if s.unwiped {
		s.opts.Log.Warn("the log could not be emptied after an erase; the next write tries again", "error", err)
	}
}
