// Package store is the domain and its database file: shops, keys, programs, cards,
// the ledger, webhooks and statistics, with every rule that must be atomic. It
// knows nothing of HTTP; in turn, faces and services contain no SQL. Methods of Tx
// write, methods of View read; the prefix of a file's name is the part of the domain
// that it is about.
//
// All writes go through Store.Write to one goroutine that commits them in
// groups with synchronous=FULL, so a write that was answered survives power
// loss. Reads go through Store.View to a few query-only connections.
package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"punchcard/store/file"
	"punchcard/store/sqlite"
)

// Options configure a store.
type Options struct {
	// Now returns the time. Nil: the system's.
	Now func() time.Time
	// Rand is the source of secrets. Nil: the system's.
	Rand io.Reader
	// IDSecret is the id secret of a new file, 16 bytes. Nil: from Rand.
	IDSecret []byte
	// Serve takes the file's serve lock: one server at a time. Only with it Open migrates an
	// older file.
	Serve bool
	// NoCopy migrates an older file without a copy of it beside the file.
	NoCopy bool
	// Migrated, if set, is called when Open has migrated the file.
	Migrated func(Migration)
	// Observe, if set, is called at the beginning of each group of writes. The
	// function that it returns is called at the end, with the error that ended the
	// group.
	Observe func(size int) (end func(error))
	// Ephemeral gives up durability (synchronous=OFF) for a temporary file.
	Ephemeral bool
	// Context, if set, ends Open, which may take minutes where it migrates the file.
	// It has no effect on the open store.
	Context context.Context
	// MustExist refuses to create the file, and refuses an empty one.
	MustExist bool
	// MaxGroup bounds the writes that share a transaction; 0: 128.
	MaxGroup int
	// Readers is the number of reading connections; 0: 4. With 1 the writing connection reads too: reads wait
	// for writes, and the schema is read once.
	Readers int
	// Small is for a temporary file of which a process may have hundreds: it takes
	// a quarter of the memory. It has one connection, as with one reader,
	// without a write-ahead log, with few prepared statements and, in a new file,
	// with pages of 1 KiB. It requires Ephemeral.
	Small bool
	// PageVisits bounds the rows that one page of a filtered list reads; 0: 2000.
	PageVisits int
	// PublicURL begins every install link, without a slash at its end. Empty: the one that the
	// file remembers.
	PublicURL string
	// Mail, if set, gets each message after the commit of the write that sends it.
	// It must not block. If it is nil and QueueMail false, there is no mail server
	// and send_email is refused.
	Mail func(Mail)
	// QueueMail queues messages in the file, to be sent by the reader of NextMail.
	QueueMail bool
	// Progress, if set, is told how far Open is, where it migrates the file, and how far
	// Check and RecountStats are.
	Progress Progress
	// Log gets the errors that no caller gets. Nil: they are discarded.
	Log *slog.Logger
	// Limits of the deployment. Zero: DefaultLimits.
	Limits Limits
}

// Limits are the limits of a deployment that the store enforces.
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
	DeliveryAttempts int // per event and webhook
	DeliveryFailures int // in a row, after which a webhook is deactivated
	DeliveryDays     int // for which the log is kept
	IdempotencyHours int
	RotationHours    int
	InstallLinkTTL   time.Duration
	MailPerHour      int // messages per hour and shop; 0: any number
	PreviewEvents    bool
}

// DefaultLimits returns the default limits.
func DefaultLimits() Limits {
	return Limits{MaxPageSize: 100, KeysPerShop: 10, MCPKeysPerShop: 5, PrizeThresholds: 3, PrizeOptions: 3,
		Webhooks: 50, HookHeaders: 20, HookHeaderBytes: 4096, DeliveryLogLimit: 200, DeliveryAttempts: 5,
		DeliveryFailures: 15, DeliveryDays: 30,
		IdempotencyHours: 24, RotationHours: 24, InstallLinkTTL: 30 * 24 * time.Hour}
}

// Store is an open file. Its methods are safe for concurrent use.
type Store struct {
	IDs
	opts Options
	path string
	lock *file.Lock

	created bool // the file was empty

	queue   chan *job
	closing sync.RWMutex
	closed  bool
	wg      sync.WaitGroup

	readers    chan *sqlite.Conn
	unopened   chan struct{}     // one element for each reader that is not open yet
	idleWriter chan *sqlite.Conn // contains the writing connection while no group is being written; equals readers if there is one reader

	locations epochCache[shopLocations] // by shop
	programs  epochCache[*program]      // by program
	shops     epochCache[Shop]          // by shop
	closings  epochCache[Closing]       // by shop

	exporting atomic.Bool // an Export is being written

	latest  atomic.Int64                  // Now of the newest write
	onDue   atomic.Pointer[func([]int64)] // see OnDue
	onMail  atomic.Pointer[func()]        // see OnMail
	onCards atomic.Pointer[func([]int64)] // see OnCards

	newCards   atomic.Int64  // added since NewNames, and those that it left
	namesDue   chan struct{} // see NamesDue
	importsDue chan struct{} // see ImportsDue
	pushesDue  chan struct{} // see PushesDue
	runsDue    chan struct{} // see CardRunsDue

	// Only the writer goroutine uses these.
	writer      *sqlite.Conn     // used between taking it from idleWriter and putting it back
	floors      map[string]int64 // the minimum keys by table, code generation and event sequence of a restored file; see skipKeys
	newest      Time
	epoch       int64 // meta.auth_epoch in the current group
	groupEpoch  int64 // meta.auth_epoch when the group began
	wipePending bool  // the log still contains erased data
	cutsLog     bool  // see heedLitestream, and its last look
	cutsLogAt   time.Time
	wipeTried   time.Time
	logTimes    int64 // how often longLog fits into the log, see restartLog
	logTried    time.Time
	logLooked   time.Time
	hookEpoch   int64
	subscribers map[int64][]subscriber
	sequences   map[int64]int64 // by shop: events.sequence of its last event in the current group
}

// How long a connection waits for a lock of another process, in milliseconds. A
// command waits longer than a server, which may commit without a pause.
const (
	serverBusyTimeout  = 5_000
	commandBusyTimeout = 30_000
)

// busyTimeout returns the pragma for that wait.
func (s *Store) busyTimeout() string {
	if s.opts.Serve {
		return fmt.Sprint("busy_timeout=", serverBusyTimeout)
	}
	return fmt.Sprint("busy_timeout=", commandBusyTimeout)
}

// pragmas returns the pragmas of every connection that the store keeps. Commands leave the
// journal mode of a file as it is, since a change of it writes to the file.
func (s *Store) pragmas(journal string) []string {
	set := "journal_mode"
	if s.opts.Serve || s.created {
		set += "=" + journal
	}
	return []string{
		s.busyTimeout(), set, "foreign_keys=1", "temp_store=MEMORY", "wal_autocheckpoint=4000", "secure_delete=ON",
		fmt.Sprint("journal_size_limit=", longLog),
	}
}

// Open opens the file at path and creates it if it does not exist. With Options.Serve it
// migrates an older one to this version, and otherwise returns ErrOlder for it. Its errors
// are one line for the operator that names the file. If Open returns an error it has not
// changed the file.
func Open(path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Context == nil {
		opts.Context = context.Background()
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
	queueSize := 1024
	if opts.Small {
		opts.Readers, queueSize = 1, 64
	}
	if opts.PageVisits == 0 {
		opts.PageVisits = 2000
	}
	if opts.Limits == (Limits{}) {
		opts.Limits = DefaultLimits()
	}
	s := &Store{
		opts:        opts,
		path:        path,
		queue:       make(chan *job, queueSize),
		readers:     make(chan *sqlite.Conn, opts.Readers),
		unopened:    make(chan struct{}, opts.Readers),
		idleWriter:  make(chan *sqlite.Conn, 1),
		namesDue:    make(chan struct{}, 1),
		importsDue:  make(chan struct{}, 1),
		pushesDue:   make(chan struct{}, 1),
		runsDue:     make(chan struct{}, 1),
		subscribers: map[int64][]subscriber{},
		sequences:   map[int64]int64{},
	}
	if err := s.open(); err != nil {
		s.release()
		if opts.Context.Err() != nil {
			return nil, fmt.Errorf("%s: not opened: %w", path, opts.Context.Err())
		}
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
	var err error
	if s.path, err = CheckPath(s.path, s.opts.MustExist); err != nil {
		return err
	}
	s.created = s.opts.Ephemeral
	if !s.opts.Ephemeral { // this process made a temporary file, and no other uses it
		have, err := Inspect(s.opts.Context, s.path)
		if err == nil {
			err = s.refuse(have)
		}
		if err != nil {
			return err
		}
		s.created = have == 0
	}
	if s.opts.Serve {
		if s.lock, err = TakeLock(s.path, ""); err != nil {
			return err
		}
	} else if restoring(s.path) {
		return lockedError(s.path)
	}
	if err := file.CreateOrEmpty(s.path); err == nil && s.opts.Small {
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
	w, err := sqlite.OpenContext(s.opts.Context, s.path, sqlite.ReadWrite, append(all, "synchronous="+sync)...)
	if err != nil {
		return s.openError(err)
	}
	s.writer = w
	w.StopOnDiskError()
	if s.opts.Small {
		err = w.NoLookaside()
	}
	if err == nil {
		err = s.migrate()
	}
	if err == nil && s.opts.PublicURL == "" {
		s.opts.PublicURL, err = rememberedURL(w)
	}
	if err != nil {
		return s.openError(err)
	}
	w.NoInterrupt()
	if s.opts.Small {
		w.LimitStatements(smallStatements)
		if err := w.Script("PRAGMA shrink_memory"); err != nil { // frees what reading the schema took
			return s.openError(err)
		}
	}
	if s.opts.Readers == 1 {
		s.idleWriter = s.readers
		s.idleWriter <- w
		return nil
	}
	s.idleWriter <- w
	r, err := s.reader()
	if err != nil {
		return s.openError(err)
	}
	s.readers <- r
	for range s.opts.Readers - 1 {
		s.unopened <- struct{}{}
	}
	return nil
}

// smallStatements is the argument of LimitStatements for a small store. A prepared
// statement takes about 10 kB.
const smallStatements = 3

// smallPages sets the page size of a new file to 1 KiB. Each table and index takes
// at least a page, in the file and in the cache.
func smallPages(path string) error {
	c, err := sqlite.Open(path, sqlite.ReadWrite)
	if err != nil {
		return err
	}
	// VACUUM is the first write, which fixes the size; setting a journal mode would
	// be one too.
	return errors.Join(c.Script("PRAGMA page_size = 1024; VACUUM"), c.Close())
}

// openError returns an error of Open with the file's name.
func (s *Store) openError(err error) error {
	if why := denied(s.path, err); why != nil {
		return why
	}
	if strings.HasPrefix(err.Error(), s.path+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", s.path, sqlite.Class(err))
}

// Path returns the file's path.
func (s *Store) Path() string { return s.path }

// Limits returns the limits of the deployment.
func (s *Store) Limits() Limits { return s.opts.Limits }

// QueuedWrites returns the number of writes that wait for the writer.
func (s *Store) QueuedWrites() int { return len(s.queue) }

// Now returns the time of the store's clock.
func (s *Store) Now() Time { return TimeOf(s.opts.Now()) }

// Close waits for queued writes and for reads in progress, and closes the file.
// Later reads and writes return ErrClosed.
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

// release closes the connections and gives up the lock.
func (s *Store) release() error {
	var errs []error
	for range len(s.readers) {
		errs = append(errs, s.closeReader(<-s.readers))
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
