package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"punchcard/store/sqlite"
)

// ErrClosed is the error of a read or write after Close.
var ErrClosed = errors.New("the store is closed")

// Actor is who makes a write. The audit log and the v2 envelope name it.
type Actor struct {
	Type string // api_key, device, user, holder or system
	Key  int64  // of the key, the device or the person; 0 for none
	Name string // account name of a user at the command line
	// Context are members of a JSON object that the detail of every audit row has, such as
	// "via":"mcp". They contain no personal data.
	Context string
	// Staff is the member of staff who is signed in at a device, 0 for nobody. The detail of
	// audit rows names it.
	Staff int64
}

// Tx is one write inside its group's transaction. It is valid only until the
// function that got it returns.
type Tx struct {
	queries
	Actor Actor
	Epoch int64 // meta.auth_epoch as of this transaction
	// Limits are those of the deployment. A seed may set others.
	Limits Limits
	// CheckedTarget is the URL whose addresses the caller has checked. The store
	// takes no other for a webhook.
	CheckedTarget string
	touched       []int64 // cards whose data the answer holds; see Touches
	events        []pendingEvent
	lastEvents    []pendingEvent // after all others
	effects
}

// effects are what a write leaves to be done after it, in its group's transaction
// or after the commit.
type effects struct {
	afterCommit  []func()
	dueWebhooks  []int64 // webhooks with deliveries that are due
	changedCards []int64 // roots of chains; see OnCards
	queuedEvents []queuedEvent
	sequences    map[int64]int64 // by shop: events.sequence of its last event in this write; see nextSequence
	counts       counts
	// recounted says that all sums were computed again from the ledger. They
	// include the counts of this write until then, and those of the writes before
	// it in the group.
	recounted bool
	erases    bool // the log must be emptied of what this write erased
}

// AfterCommit registers f to be called once the write is on disk. f must be
// quick and must not write: the writer waits for it.
func (tx *Tx) AfterCommit(f func()) { tx.afterCommit = append(tx.afterCommit, f) }

// Probe changes a row and changes it back, so that the commit writes a page to
// the disk and fails if any other write would. SQLite does not write a row that
// is set to the same values.
func (tx *Tx) Probe() error {
	tx.exec("UPDATE meta SET auth_epoch=auth_epoch+1 WHERE id=1")
	tx.exec("UPDATE meta SET auth_epoch=auth_epoch-1 WHERE id=1")
	return tx.failed
}

// Write is one unit of work for the single writer.
type Write struct {
	Actor Actor
	// Do makes the change. An error or a panic rolls back its changes.
	Do func(*Tx) error
	// Finish, if set, runs after Do in the same transaction and gets the error of
	// Do. Its changes stay although those of Do were rolled back. Its error becomes
	// the write's, and rolls back everything.
	Finish func(*Tx, error) error
}

type job struct {
	Write
	effects
	err  error
	done chan struct{}
}

// Write hands w to the writer goroutine and returns when it is on disk or has
// failed. All writes that wait at one moment share a transaction, and so one
// fsync, each in its own savepoint. ctx bounds only the wait for room in the
// queue: a write in the queue is made even if ctx ends.
func (s *Store) Write(ctx context.Context, w Write) error {
	j := &job{Write: w, done: make(chan struct{})}
	s.closing.RLock()
	if s.closed {
		s.closing.RUnlock()
		return ErrClosed
	}
	select {
	case s.queue <- j:
		s.closing.RUnlock()
	case <-ctx.Done():
		s.closing.RUnlock()
		return ctx.Err()
	}
	<-j.done
	return j.err
}

// SystemWrite is Write for a change that the server itself makes.
func (s *Store) SystemWrite(ctx context.Context, do func(*Tx) error) error {
	return s.Write(ctx, Write{Actor: Actor{Type: "system"}, Do: do})
}

// RetryWrite makes a write of the system that records an external fact, such as
// that a message was sent. It tries once a second until the write succeeds, and
// calls failed after each failure. It returns false if stop or the store was
// closed before that.
func (s *Store) RetryWrite(stop <-chan struct{}, do func(*Tx) error, failed func(error)) bool {
	for {
		err := s.SystemWrite(context.Background(), do)
		switch {
		case err == nil:
			return true
		case errors.Is(err, ErrClosed):
			return false
		}
		failed(err)
		select {
		case <-time.After(time.Second):
		case <-stop:
			return false
		}
	}
}

// writeLoop is the only goroutine that uses the writing connection.
func (s *Store) writeLoop(wg *sync.WaitGroup) {
	defer wg.Done()
	group := make([]*job, 0, s.opts.MaxGroup)
	for j := range s.queue {
		group = append(group[:0], j)
		// Let the callers of the last group run: their next writes then share this
		// group's fsync.
		if s.opts.MaxGroup > 1 {
			runtime.Gosched()
		}
	fill:
		for len(group) < s.opts.MaxGroup {
			select {
			case j, ok := <-s.queue:
				if !ok {
					break fill
				}
				group = append(group, j)
			default:
				break fill
			}
		}
		s.commitGroup(group)
		clear(group)
	}
}

// commitGroup runs the jobs in one transaction and answers each of them.
//
// A full disk or an I/O error may make SQLite roll back the whole transaction
// with its savepoints; the next statement would then commit alone. So the
// connection runs nothing more after such an error, and the first savepoint
// command that fails ends the group: nothing of it stays, and every job gets the
// error, also those that had already run.
func (s *Store) commitGroup(group []*job) {
	var observed func(error)
	if s.opts.Observe != nil {
		observed = s.opts.Observe(len(group))
	}
	<-s.idleWriter
	all := Tx{queries: s.queries(s.writer, 0)}
	all.fail(s.begin())
	for _, j := range group {
		if all.failed == nil {
			all.fail(s.runJob(j))
		}
	}
	all.insertDeliveries(group)
	all.writeSequences()
	all.writeCounts(group)
	all.exec("COMMIT")
	err := all.failed
	if observed != nil {
		observed(err)
	}
	if err != nil {
		s.writer.CloseRows()
		s.writer.Resume()
		s.writer.Exec("ROLLBACK")                // fails if SQLite has rolled back already
		s.subscribers = map[int64][]subscriber{} // may contain uncommitted webhooks
		for _, j := range group {
			j.err = fmt.Errorf("the write was not made: %w", err)
			j.afterCommit, j.dueWebhooks, j.changedCards = nil, nil, nil
		}
	}
	s.idleWriter <- s.writer
	if err == nil && (s.wipePending || slices.ContainsFunc(group, func(j *job) bool { return j.erases })) {
		s.truncateLog()
	} else if err == nil {
		s.restartLog()
	}
	s.latest.Store(int64(s.newest))
	for _, j := range group {
		for _, f := range j.afterCommit {
			// A panic of f does not undo the write, which is on disk.
			if err := recoverPanic(func() error { f(); return nil }); err != nil {
				s.opts.Log.Error("after a commit", "error", err)
			}
		}
		close(j.done)
	}
	if f := s.onDue.Load(); f != nil {
		for _, j := range group {
			if len(j.dueWebhooks) > 0 {
				(*f)(j.dueWebhooks)
			}
		}
	}
	if f := s.onCards.Load(); f != nil {
		for _, j := range group {
			if len(j.changedCards) > 0 {
				(*f)(j.changedCards)
			}
		}
	}
}

// begin begins the group's transaction and reads the epochs and the time of the
// newest audit row, which is the newest time in the file: another process may
// have written it.
func (s *Store) begin() error {
	if _, err := s.writer.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var hooks int64
	_, err := one(s.writer, func(r *rows) {
		s.epoch = r.int()
		hooks = r.int()
		s.newest = max(s.newest, Time(r.int()))
	}, "SELECT auth_epoch, hook_epoch, ifnull((SELECT created_at FROM audit ORDER BY id DESC LIMIT 1),0) FROM meta")
	s.groupEpoch = s.epoch
	clear(s.sequences)
	if hooks != s.hookEpoch {
		s.subscribers = map[int64][]subscriber{}
		if err = cmp.Or(err, s.readFloors()); err == nil { // the rows with the last keys may be erased
			s.hookEpoch = hooks
		}
	}
	return cmp.Or(err, s.heedLitestream())
}

// heedLitestream looks once a second whether Litestream has used the file. From then on a log that
// starts over is cut off behind its new frames. Litestream, when it starts, takes older frames there
// for a log of which it has missed nothing since it last ran, and its copy would lack writes. Cutting
// makes a commit of one write take 1.4 times as long, since the log then grows again.
func (s *Store) heedLitestream() error {
	now := s.opts.Now()
	if s.cutsLog || now.Sub(s.cutsLogAt).Abs() < time.Second {
		return nil
	}
	s.cutsLogAt = now
	used, err := one(s.writer, func(*rows) {}, "PRAGMA table_info(_litestream_seq)")
	if used && err == nil {
		s.cutsLog = true
		err = s.writer.Script("PRAGMA journal_size_limit=0")
	}
	return err
}

// runJob runs one job in its savepoint and sets j.err. The error that it returns
// ends the whole group.
func (s *Store) runJob(j *job) error {
	if _, err := s.writer.Exec("SAVEPOINT job"); err != nil {
		return err
	}
	s.newest = max(s.newest, TimeOf(s.opts.Now()))
	tx := &Tx{queries: s.queries(s.writer, s.newest), Actor: j.Actor, Epoch: s.epoch, Limits: s.opts.Limits}
	j.err = tx.run(func() error { return j.Do(tx) })
	var kept *CommittedRefusal
	keep := j.err == nil || errors.As(j.err, &kept)
	if keep {
		if err := tx.run(tx.flushEvents); err != nil {
			j.err, keep = err, false
		}
	}
	if !keep {
		if err := tx.rollbackJob(); err != nil {
			return err
		}
	}
	if j.Finish != nil {
		if j.err = tx.run(func() error { return j.Finish(tx, j.err) }); j.err != nil {
			if err := tx.rollbackJob(); err != nil {
				return err
			}
		}
	}
	if _, err := s.writer.Exec("RELEASE job"); err != nil {
		return err
	}
	maps.Copy(s.sequences, tx.sequences)
	j.effects = tx.effects
	return nil
}

// queries returns the queries of a connection at a time.
func (s *Store) queries(c *sqlite.Conn, now Time) queries {
	return queries{conn: c, IDs: s.IDs, s: s, Now: now}
}

// rollbackJob rolls back to the job's savepoint and drops what the job collected
// for after it. After an error of the disk it fails.
func (tx *Tx) rollbackJob() error {
	tx.effects, tx.touched, tx.failed = effects{}, nil, nil
	s := tx.s
	s.writer.CloseRows()
	if _, err := s.writer.Exec("ROLLBACK TO job"); err != nil {
		return err
	}
	// The rollback may have undone a change of the cached webhooks.
	s.subscribers = map[int64][]subscriber{}
	if s.epoch == s.groupEpoch {
		return nil
	}
	var err error
	s.epoch, err = s.writer.Number("SELECT auth_epoch FROM meta")
	return err
}

// run calls f and returns the write's first error, or else the one of f.
func (tx *Tx) run(f func() error) error {
	err := recoverPanic(f)
	return cmp.Or(tx.failed, err)
}

// recoverPanic calls f and returns a panic as an error, so that one bad write
// does not end the others of its group.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
