package store

import (
	"errors"

	"punchcard/store/sqlite"
)

// ErrEpoch tells that what the caller knew of keys, shops and locations is
// out of date: read it again and repeat.
var ErrEpoch = errors.New("the caller's identity has to be read again")

// View is one read on a query-only connection.
type View struct {
	*conn
	s          *Store
	Now        Time
	epoch      int64 // expected; 0: whatever it is
	rowEpoch   int64 // that came with the newest row
	checked    bool
	inSnapshot bool // inside snapshot
}

// View runs fn on a reading connection. With an epoch it answers ErrEpoch when
// meta.auth_epoch is another by now, so that a key revoked by any process is
// refused by the very next request. Hot queries carry the epoch in their own
// row (see seen); for all others View asks once at the end.
func (s *Store) View(epoch int64, fn func(*View) error) error {
	c, err := s.takeReader()
	if err != nil {
		return err
	}
	defer func() {
		c.db().CloseRows()
		c.db().Resume() // an error of the disk was not a write's
		s.readers <- c
	}()
	// Not before what the newest write took for the present.
	v := &View{conn: c, s: s, Now: max(s.Now(), Time(s.latest.Load())), epoch: epoch}
	err = fn(v)
	if errors.Is(err, ErrEpoch) || v.checked || epoch == 0 {
		return err
	}
	now, nerr := c.number("SELECT auth_epoch FROM meta")
	if nerr != nil {
		return nerr
	}
	if now != epoch {
		return ErrEpoch
	}
	return err
}

const epochColumn = "(SELECT auth_epoch FROM meta)"

// seen checks the epoch that came along with a row.
func (v *View) seeEpoch(epoch int64) {
	v.rowEpoch = epoch
	if v.epoch != 0 && epoch == v.epoch {
		v.checked = true
	}
}

// snapshot makes all queries of fn see one state of the file.
func (v *View) snapshot(fn func() error) (err error) {
	if v.inSnapshot {
		return fn()
	}
	if _, err := v.exec("BEGIN"); err != nil {
		return err
	}
	v.inSnapshot = true
	// Also after a panic: the connection goes on to serve others.
	defer func() {
		v.inSnapshot = false
		v.db().CloseRows()
		if _, cerr := v.exec("COMMIT"); err == nil {
			err = cerr
		}
	}()
	return fn()
}

// takeReader waits for a reading connection. One that is open goes before one
// that is to be opened.
func (s *Store) takeReader() (*conn, error) {
	var c *conn
	var ok bool
	select {
	case c, ok = <-s.readers:
	default:
		select {
		case c, ok = <-s.readers:
		case <-s.unopened:
			c, err := s.reader()
			if err != nil {
				s.unopened <- struct{}{}
			}
			return c, err
		}
	}
	if !ok {
		return nil, ErrClosed
	}
	return c, nil
}

// reader opens a reading connection.
func (s *Store) reader() (*conn, error) {
	return openConn(s.path, sqlite.Create, append(s.pragmas("WAL"), "query_only=1", "cache_size=-8000")...)
}

// closeReader closes a reading connection, if it is no more than that.
func (s *Store) closeReader(c *conn) error {
	if c == s.writer {
		return nil
	}
	return c.close()
}
