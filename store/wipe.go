package store

import (
	"errors"
	"os"
	"time"

	"punchcard/store/sqlite"
)

// readersTimeout is how long a write waits for readers to leave the log: others wait meanwhile. wipeRetry is how long
// after a failed attempt to empty the log the next write tries again.
const (
	readersTimeout = 50 * time.Millisecond
	wipeRetry      = time.Second
)

// The log starts over by itself only if a checkpoint ends in a moment without readers, and there
// is none as long as reads overlap. So a write makes such a moment if the log is longer than longLog, twice the size
// at which it should start over. If a backup, an export or Litestream reads for long, or the machine is busy, that
// fails: the next try is longRetry later, or when the log has grown by as much again, and waits longer for the readers of
// this process.
//
// A write looks at the size only if the last look is longLook ago. After each look at a file, Linux gives the next write to it a new
// time, and the fsync takes half as long again.
const (
	longLog   = 32 << 20
	longRetry = 10 * time.Second
	longLook  = 20 * time.Millisecond
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
	s.withoutReaders(readersTimeout, func(readers []*sqlite.Conn) {
		defer s.writer.WaitFor(s.writer.WaitFor(100 * time.Millisecond))
		busy := int64(1)
		_, err := one(s.writer, into(&busy), "PRAGMA wal_checkpoint(TRUNCATE)")
		s.wipePending = err != nil || busy != 0
		// The erase itself is on disk. An error of the disk here must not make the next
		// group fail, for which the disk may work again.
		s.writer.Resume()
		if err != nil {
			s.opts.Log.Error("what was erased is still in the log beside the file", "error", err)
		}
		if !s.wipePending {
			s.clearMemory(append(readers, s.writer))
		}
	})
}

// clearMemory overwrites what connections keep of the file in memory, and what SQLite has freed there.
func (s *Store) clearMemory(conns []*sqlite.Conn) {
	var err error
	for _, c := range conns {
		err = errors.Join(err, c.Release())
	}
	if err = errors.Join(err, sqlite.ClearFreed()); err != nil {
		s.opts.Log.Error("what was erased may still be in the memory of the process", "error", err)
	}
}

// restartLog lets the next write begin a log that is too long from its start, which cuts the file of the log to longLog
// bytes (see pragmas). The checkpoint is passive, as the automatic ones are: it waits for no other process.
func (s *Store) restartLog() {
	if time.Since(s.logLooked) < longLook {
		return
	}
	s.logLooked = time.Now()
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		return
	}
	times := (info.Size() - 1) / longLog
	grown := times > s.logTimes
	s.logTimes = times
	if times == 0 || !grown && time.Since(s.logTried) < longRetry {
		return
	}
	s.logTried = time.Now()
	s.withoutReaders(min(time.Duration(times), 10)*readersTimeout, func([]*sqlite.Conn) {
		s.writer.Exec("PRAGMA wal_checkpoint(PASSIVE)") // an error is that of a disk, which the next write reports
		s.writer.Resume()
	})
}

// withoutReaders calls do while no reader of this process is active, unless one is active for longer than
// timeout.
func (s *Store) withoutReaders(timeout time.Duration, do func(readers []*sqlite.Conn)) {
	var readers []*sqlite.Conn
	var unopened int
	defer func() {
		for _, r := range readers {
			s.readers <- r
		}
		for range unopened {
			s.unopened <- struct{}{}
		}
	}()
	late := time.After(timeout)
	for len(readers)+unopened < s.opts.Readers {
		// A reader that is idle is taken even if this process had no processor for so long.
		select {
		case r := <-s.readers:
			readers = append(readers, r)
			continue
		case <-s.unopened:
			unopened++
			continue
		default:
		}
		select {
		case r := <-s.readers:
			readers = append(readers, r)
		case <-s.unopened:
			unopened++
		case <-late:
			return
		}
	}
	do(readers)
}
