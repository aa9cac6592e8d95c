// Package store is the punchcard file: the schema, every rule that must be
// atomic, and the only SQL of the program. It knows nothing of HTTP.
//
// All writes go through Store.Write to one goroutine that commits them in
// groups with synchronous=FULL, so a write that was answered survives power
// loss. Reads go through Store.View to a few query-only connections.
package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"punchcard/store/sqlite"
)

// Options are what a store takes from outside: time, chance and bounds.
type Options struct {
	// Now is the one clock. Nil: the system's.
	Now func() time.Time
	// Rand is the source of secrets. Nil: the system's.
	Rand io.Reader
	// IDSecret makes the ids of a file created now; 16 bytes. Nil: from Rand.
	IDSecret []byte
	// Serve takes the file's serve lock: one server at a time.
	Serve bool
	// Observe is told of the beginning of each group of writes, and its result of
	// the end and of why nothing was kept. Nil: nobody is.
	Observe func(size int) (end func(error))
	// Ephemeral gives up durability (synchronous=OFF) for a file that is
	// thrown away.
	Ephemeral bool
	// MustExist refuses to create the file.
	MustExist bool
	// MaxGroup bounds the writes that share a transaction; 0: 128.
	MaxGroup int
	// Readers is the number of reading connections; 0: 4.
	Readers int
	// Small is for a throw-away file of which a process may have hundreds: it
	// takes a quarter of the memory, and reads wait for writes. One connection does
	// both, with no log beside the file, few prepared statements and, where the
	// file is new, pages of 1 KiB. Needs Ephemeral.
	Small bool
	// PageVisits bounds the rows one page of a filtered list may visit; 0: 2000.
	PageVisits int
	// PublicURL begins every install link, without a slash at its end.
	PublicURL string
	// Mail takes a message after the write that sends it. It must not block. Nil:
	// it is queued or, without QueueMail, there is no mail server and send_email is
	// refused.
	Mail func(Mail)
	// QueueMail has what is to be mailed queued in the file, for somebody who
	// sends it (see NextMail).
	QueueMail bool
	// Log takes what no caller can be told. Nil: nowhere.
	Log *slog.Logger
	// Limits of the deployment (spec section Limits).
	Limits Limits
}

// Limits are the bounds of the spec's Limits table that the store enforces.
type Limits struct {
	MaxPageSize      int
	KeysPerShop      int
	MCPKeysPerShop   int
	PrizeThresholds  int
	PrizeOptions     int
	Webhooks         int // per shop
	HookHeaders      int // custom headers per webhook
	HookHeaderBytes  int // of all their names and values
	DeliveryLogLimit int
	DeliveryAttempts int           // per event and webhook
	DeliveryBackoff  time.Duration // after the first attempt
	DeliveryFailures int           // in a row, that disable a webhook
	DeliveryDays     int           // that the log is kept
	IdempotencyHours int
	RotationHours    int
	InstallLinkTTL   time.Duration
	PreviewEvents    bool
}

// DefaultLimits are the defaults of the spec's Limits table.
func DefaultLimits() Limits {
	return Limits{MaxPageSize: 100, KeysPerShop: 10, MCPKeysPerShop: 5, PrizeThresholds: 3, PrizeOptions: 3,
		Webhooks: 50, HookHeaders: 20, HookHeaderBytes: 4096, DeliveryLogLimit: 200, DeliveryAttempts: 5, DeliveryBackoff: 5 * time.Second, DeliveryFailures: 15, DeliveryDays: 30,
		IdempotencyHours: 24, RotationHours: 24, InstallLinkTTL: 30 * 24 * time.Hour}
}

// Store is an open file. Its methods are safe for concurrent use.
type Store struct {
	IDs
	opts Options
	path string
	lock *flock.Flock

	queue   chan *job
	closing sync.RWMutex
	closed  bool
	wg      sync.WaitGroup

	readers    chan *conn
	unopened   chan struct{} // those of a throw-away file that were not needed yet
	idleWriter chan *conn    // the writing connection while no group is being written; readers where that is the same

	locations epochCache[shopLocations] // by shop
	programs  epochCache[*program]      // by program
	shops     epochCache[Shop]          // by shop

	latest atomic.Int64                  // Now of the newest write
	onDue  atomic.Pointer[func([]int64)] // see OnDue
	onMail atomic.Pointer[func()]        // see OnMail

	// The writer goroutine's own; nothing else touches these.
	writer      *conn            // to be used between taking it from writing and giving it back
	floors      map[string]int64 // of keys, by table, and of reissues, in a file that was restored; see SkipKeys
	newest      Time
	epoch       int64 // meta.auth_epoch as the open group sees it
	groupEpoch  int64 // as its transaction found it
	wipePending bool  // the log still holds what an erase took out
	wipeTried   time.Time
	hookEpoch   int64
	subscribers map[int64][]subscriber
}

// How long a connection waits, in milliseconds, while another process holds the
// file. A command waits longer than a server: it takes its turn beside one that
// may commit without a pause.
const (
	serverBusyTimeout  = 5_000
	commandBusyTimeout = 30_000
)

// busyTimeout is the pragma of that wait.
func (s *Store) busyTimeout() string {
	if s.opts.Serve {
		return fmt.Sprint("busy_timeout=", serverBusyTimeout)
	}
	return fmt.Sprint("busy_timeout=", commandBusyTimeout)
}

// pragmas are those of every connection that the store keeps.
func (s *Store) pragmas(journal string) []string {
	return []string{s.busyTimeout(), "journal_mode=" + journal, "foreign_keys=1", "temp_store=MEMORY", "wal_autocheckpoint=4000", "secure_delete=ON"}
}

// Open opens the file at path, creates it when there is none, and brings an
// older one to this version. The errors are one line that names the file, fit
// to be shown to the operator; the file is untouched where one is returned.
func Open(path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Rand == nil {
		opts.Rand = rand.Reader
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.MaxGroup == 0 {
		opts.MaxGroup = 128
	}
	if opts.Readers == 0 {
		opts.Readers = 4
	}
	waiting := 1024
	if opts.Small {
		opts.Readers, waiting = 1, 64
	}
	if opts.PageVisits == 0 {
		opts.PageVisits = 2000
	}
	if opts.Limits == (Limits{}) {
		opts.Limits = DefaultLimits()
	}
	s := &Store{opts: opts, path: path, queue: make(chan *job, waiting), readers: make(chan *conn, opts.Readers), unopened: make(chan struct{}, opts.Readers), idleWriter: make(chan *conn, 1), subscribers: map[int64][]subscriber{}}
	if err := s.open(); err != nil {
		s.release()
		return nil, err
	}
	s.wg.Add(1)
	go s.writeLoop(&s.wg)
	return s, nil
}

func (s *Store) open() error {
	if n := len(s.opts.IDSecret); s.opts.IDSecret != nil && n != 16 {
		return fmt.Errorf("%s: the id secret has %d bytes instead of 16", s.path, n)
	}
	if err := CheckPath(s.path, s.opts.MustExist); err != nil {
		return err
	}
	if !s.opts.Ephemeral { // such a file is nobody else's
		if err := Inspect(s.path); err != nil {
			return err
		}
	}
	if s.opts.Serve {
		var err error
		if s.lock, err = takeServeLock(s.path); err != nil {
			return err
		}
	} else if restoring(s.path) {
		return LockedError(s.path)
	}
	if err := sqlite.NewFile(s.path); err == nil && s.opts.Small {
		if err := smallPages(s.path); err != nil {
			return s.openError(err)
		}
	}
	sync := "FULL"
	if s.opts.Ephemeral {
		sync = "OFF"
	}
	all := s.pragmas("WAL")
	if s.opts.Small {
		all = append(s.pragmas("MEMORY"), "cache_size=-12")
	}
	w, err := openConn(s.path, sqlite.Create, append(all, "synchronous="+sync)...)
	if err != nil {
		return s.openError(err)
	}
	s.writer = w
	w.db().StopOnDiskError()
	if err := s.migrate(); err != nil {
		return s.openError(err)
	}
	if s.opts.Small {
		w.db().LimitStatements(smallStatements)
		s.idleWriter = s.readers
		s.idleWriter <- w
		return w.script("PRAGMA shrink_memory") // what reading the schema took
	}
	s.idleWriter <- w
	for n := range s.opts.Readers {
		if n > 0 && s.opts.Ephemeral { // opened when first needed
			s.unopened <- struct{}{}
			continue
		}
		r, err := s.reader()
		if err != nil {
			return s.openError(err)
		}
		s.readers <- r
	}
	return nil
}

// fewStatements are kept by a small store, without those it used last, which
// are up to as many again. Each takes some 10 kB.
const smallStatements = 3

// smallPages makes a new file one of pages of 1 KiB: each table and index takes
// a page, in the file and in the cache.
func smallPages(path string) error {
	c, err := openConn(path, sqlite.Create)
	if err != nil {
		return err
	}
	// The size stays with the first write, and a journal mode is one.
	return errors.Join(c.script("PRAGMA page_size = 1024; VACUUM"), c.close())
}

// CheckPath refuses a path that no database can have, and with mustExist one
// where there is none.
func CheckPath(path string, mustExist bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && mustExist:
		return fmt.Errorf("%s: no such database", path)
	case errors.Is(err, os.ErrNotExist):
		if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
			return fmt.Errorf("%s: the folder %s does not exist", path, filepath.Dir(path))
		}
	case err != nil:
		return fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	case info.IsDir():
		return fmt.Errorf("%s: is a folder, not a database", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: is not a regular file", path)
	}
	return nil
}

func (s *Store) openError(err error) error { return fmt.Errorf("%s: %w", s.path, sqlite.Class(err)) }

// Path is the file's path.
func (s *Store) Path() string { return s.path }

// Limits are the deployment's bounds.
func (s *Store) Limits() Limits { return s.opts.Limits }

// QueuedWrites is how many writes wait to be taken up.
func (s *Store) QueuedWrites() int { return len(s.queue) }

// Now is the store's clock.
func (s *Store) Now() Time { return TimeOf(s.opts.Now()) }

// Close finishes the writes that are queued and the reads in progress, and
// closes the file. Reads and writes after it give ErrClosed.
func (s *Store) Close() error {
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		return nil
	}
	s.closed = true
	close(s.queue)
	s.closing.Unlock()
	s.wg.Wait()
	var errs []error
	for range s.opts.Readers {
		select {
		case c := <-s.readers:
			errs = append(errs, s.closeReader(c))
		case <-s.unopened:
		}
	}
	close(s.readers)
	return errors.Join(append(errs, s.release())...)
}

func (s *Store) release() error {
	var errs []error
	for range len(s.readers) {
		errs = append(errs, s.closeReader(<-s.readers))
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	return errors.Join(errs...)
}
