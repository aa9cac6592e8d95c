package store

import (
	"cmp"
	"errors"

	"punchcard/store/sqlite"
)

// ErrEpoch means that what the caller has cached of keys, devices, shops, locations
// and programs is out of date: the caller reads it again and repeats the request.
var ErrEpoch = errors.New("the caller's identity has to be read again")

// View is one read on a query-only connection.
type View struct {
	queries
	epoch      int64 // expected; 0: any
	rowEpoch   int64 // the argument of the last seeEpoch
	checked    bool  // seeEpoch has found the expected epoch
	inSnapshot bool
}

// Read returns what f reads on a reading connection, whatever meta.auth_epoch is.
func Read[T any](s *Store, f func(*View) (T, error)) (out T, err error) {
	err = s.View(0, func(v *View) (err error) {
		out, err = f(v)
		return err
	})
	return out, err
}

// View runs fn on a reading connection. If epoch is not 0 and meta.auth_epoch has
// another value, it returns ErrEpoch: a key that any process revokes is refused
// from the next request on. Frequent queries read the epoch in their own row (see
// seeEpoch); for all others View reads it once at the end.
func (s *Store) View(epoch int64, fn func(*View) error) error {
	c, err := s.takeReader()
	if err != nil {
		return err
	}
	defer func() {
		c.CloseRows()
		c.Resume() // an error of the disk does not concern a write
		s.readers <- c
	}()
	v := &View{queries: s.queries(c, max(s.Now(), Time(s.latest.Load()))), epoch: epoch}
	err = v.read(fn)
	if errors.Is(err, ErrEpoch) || v.checked || epoch == 0 {
		return err
	}
	now, nerr := c.Number("SELECT auth_epoch FROM meta")
	if nerr != nil {
		return nerr
	}
	if now != epoch {
		return ErrEpoch
	}
	return err
}

// epochColumn is the column to pass to seeEpoch.
const epochColumn = "(SELECT auth_epoch FROM meta)"

// seeEpoch compares the epoch of a row with the expected one.
func (v *View) seeEpoch(epoch int64) {
	v.rowEpoch = epoch
	if v.epoch != 0 && epoch == v.epoch {
		v.checked = true
	}
}

// read calls fn and ends its snapshot.
func (v *View) read(fn func(*View) error) (err error) {
	// Deferred, since the connection serves others after a panic too.
	defer func() {
		if v.inSnapshot {
			v.conn.CloseRows()
			_, cerr := v.conn.Exec("COMMIT")
			err = cmp.Or(err, cerr)
		}
	}()
	err = fn(v)
	return cmp.Or(v.failed, err)
}

// snapshot makes all queries from now to the end of the View see one state of the file.
func (v *View) snapshot() {
	if !v.inSnapshot {
		v.exec("BEGIN")
		v.inSnapshot = v.failed == nil
	}
}

// takeReader waits for a reading connection. It prefers an open one to one that
// has to be opened.
func (s *Store) takeReader() (*sqlite.Conn, error) {
	var c *sqlite.Conn
	var ok bool
	select {
	case c, ok = <-s.readers:
	default:
		select {
		case c, ok = <-s.readers:
		case <-s.unopened:
			opened, err := s.reader()
			if err == nil {
				return opened, nil
			}
			s.unopened <- struct{}{}
			c, ok = <-s.readers // the first one is open
		}
	}
	if !ok {
		return nil, ErrClosed
	}
	return c, nil
}

// reader opens a reading connection.
func (s *Store) reader() (*sqlite.Conn, error) {
	return sqlite.Open(s.path, sqlite.ReadWrite, append(s.pragmas("WAL"), "query_only=1", "cache_size=-8000")...)
}

// closeReader closes a reading connection, unless it is also the writing one.
func (s *Store) closeReader(c *sqlite.Conn) error {
	if c == s.writer {
		return nil
	}
	return c.Close()
}
