package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// ErrClosed is the answer to a read or write after Close.
var ErrClosed = errors.New("the store is closed")

// Actor is who makes a write; every write is audited with one (contract
// sections 5 and 9).
type Actor struct {
	Type string // api_key, device, user, holder or system
	Key  int64  // of the key, the device or the person; 0 for none
	Name string // account name of a user at the command line
}

// Tx is one write inside its group's transaction. It is valid only until the
// function it was given to returns.
type Tx struct {
	*conn
	s     *Store
	Now   Time // never before the newest row
	Actor Actor
	Epoch int64 // meta.auth_epoch as of this transaction
	// Limits are the deployment's; a seed may set its own.
	Limits Limits
	// CheckedTarget is the URL that was found fit to send requests to. The store
	// takes no other for a webhook.
	CheckedTarget string
	afterCommit   []func()
	touched       []int64 // cards whose data the answer holds; see Touches
	events        []pendingEvent
	lastEvents    []pendingEvent // after all others
	dueWebhooks   []int64        // webhooks that have something due
	queuedEvents  []queuedEvent  // events that webhooks are to get
	counts        counts         // what statistics have to add
	// recounted tells that all sums were made anew: what this write and those
	// before it in the group had to add until then is in them.
	recounted bool
	erases    bool // what it took out must not stay in the log either
}

// AfterCommit has f called once the write is on disk. f must be quick and must
// not write: the writer waits for it.
func (tx *Tx) AfterCommit(f func()) { tx.afterCommit = append(tx.afterCommit, f) }

// Probe writes and takes back: the commit then has a page to put on disk and
// fails where a real one would. A row that is set to what it was is not written
// at all.
func (tx *Tx) Probe() error {
	for _, sql := range []string{"UPDATE meta SET auth_epoch=auth_epoch+1 WHERE id=1", "UPDATE meta SET auth_epoch=auth_epoch-1 WHERE id=1"} {
		if _, err := tx.exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// Write is one unit of work for the single writer.
type Write struct {
	Actor Actor
	// Do makes the change. An error or a panic takes back all that it did.
	Do func(*Tx) error
	// Settle, if set, runs after Do in the same transaction whatever Do gave,
	// its own changes untouched by the taking back. Its error becomes the
	// write's and takes back everything.
	Finish func(*Tx, error) error
}

type job struct {
	Write
	err          error
	afterCommit  []func()
	dueWebhooks  []int64
	queuedEvents []queuedEvent
	counts       counts
	recounted    bool // all sums were made anew from the ledger
	erases       bool
	done         chan struct{}
}

// Write hands w to the writer goroutine and returns when it is on disk, or
// not there at all. All writes waiting at one moment share a transaction and
// so one fsync, each in a savepoint of its own. Once accepted a write is made
// whether or not the caller still waits: ctx bounds only the wait for a place
// in the queue.
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

// RetryWrite makes a write by the system about what has happened outside, such as
// that a message was sent. It tries once a second until the write succeeds, and
// calls failed after each failure. It returns false if stop or the store was closed
// before that.
func (s *Store) RetryWrite(stop <-chan struct{}, do func(*Tx) error, failed func(error)) bool {
	for {
		err := s.Write(context.Background(), Write{Actor: Actor{Type: "system"}, Do: do})
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
		// Those who were answered just now are about to come back: let them, and
		// they share this group's fsync.
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
// When SQLite gives up a whole transaction (a full disk and I/O errors do that
// without a word) the savepoints are gone with it, and whatever runs next
// commits alone. So the connection runs nothing more after such a fault, and
// the first savepoint command that fails ends the group: nothing of it is
// kept, and every member is told so, also those that had already run.
func (s *Store) commitGroup(group []*job) {
	var observed func(error)
	if s.opts.Observe != nil {
		observed = s.opts.Observe(len(group))
	}
	<-s.idleWriter
	dead := s.begin()
	for _, j := range group {
		if dead != nil {
			break
		}
		dead = s.runJob(j)
	}
	if dead == nil {
		dead = s.insertDeliveries(group)
	}
	if dead == nil {
		dead = s.writeCounts(group)
	}
	if dead == nil {
		_, dead = s.writer.exec("COMMIT")
	}
	if observed != nil {
		observed(dead)
	}
	if dead != nil {
		s.writer.db().CloseRows()
		s.writer.db().Resume()
		s.writer.exec("ROLLBACK")                // fails where SQLite already did it
		s.subscribers = map[int64][]subscriber{} // may hold what was never committed
		for _, j := range group {
			j.err = fmt.Errorf("the write was not made: %w", dead)
			j.afterCommit, j.dueWebhooks = nil, nil
		}
	}
	s.idleWriter <- s.writer
	if dead == nil && (s.wipePending || slices.ContainsFunc(group, func(j *job) bool { return j.erases })) {
		s.truncateLog()
	}
	s.latest.Store(int64(s.newest))
	for _, j := range group {
		for _, f := range j.afterCommit {
			// The write is on disk whatever becomes of what follows from it.
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
}

// begin opens the group's transaction and reads what all its members need.
// The newest audit row is the newest instant in the file, also when another
// process wrote it.
func (s *Store) begin() error {
	if _, err := s.writer.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var hooks int64
	_, err := s.writer.one(func(r *rows) {
		s.epoch = r.int()
		hooks = r.int()
		s.newest = max(s.newest, Time(r.int()))
	}, "SELECT "+columns("auth_epoch", "hook_epoch", "ifnull((SELECT created_at FROM audit ORDER BY id DESC LIMIT 1),0)")+" FROM meta")
	s.groupEpoch = s.epoch
	if hooks != s.hookEpoch {
		s.hookEpoch, s.subscribers = hooks, map[int64][]subscriber{}
	}
	return err
}

// runJob runs one member in its savepoint. What it returns is not the job's
// error (that is in j.err) but the end of the group.
func (s *Store) runJob(j *job) (dead error) {
	if _, err := s.writer.exec("SAVEPOINT job"); err != nil {
		return err
	}
	s.newest = max(s.newest, TimeOf(s.opts.Now()))
	tx := &Tx{conn: s.writer, s: s, Now: s.newest, Actor: j.Actor, Epoch: s.epoch, Limits: s.opts.Limits}
	j.err = recoverPanic(func() error { return j.Do(tx) })
	var kept *CommittedRefusal
	stays := j.err == nil || errors.As(j.err, &kept)
	if stays {
		if err := recoverPanic(tx.flushEvents); err != nil {
			j.err, stays = err, false
		}
	}
	if !stays {
		if dead = s.rollbackJob(); dead != nil {
			return dead
		}
		tx.afterCommit, tx.touched, tx.dueWebhooks, tx.queuedEvents, tx.counts, tx.recounted, tx.erases = nil, nil, nil, nil, counts{}, false, false
	}
	if j.Finish != nil {
		if j.err = recoverPanic(func() error { return j.Finish(tx, j.err) }); j.err != nil {
			if dead = s.rollbackJob(); dead != nil {
				return dead
			}
			tx.afterCommit, tx.touched, tx.dueWebhooks, tx.queuedEvents, tx.counts, tx.recounted, tx.erases = nil, nil, nil, nil, counts{}, false, false
		}
	}
	if _, err := s.writer.exec("RELEASE job"); err != nil {
		return err
	}
	j.afterCommit, j.dueWebhooks, j.queuedEvents, j.counts, j.recounted, j.erases = tx.afterCommit, tx.dueWebhooks, tx.queuedEvents, tx.counts, tx.recounted, tx.erases
	return nil
}

func (s *Store) rollbackJob() error {
	s.writer.db().CloseRows()
	if _, err := s.writer.exec("ROLLBACK TO job"); err != nil { // refused after a fault
		return err
	}
	// A change to what the writer caches may have been taken back with it.
	s.subscribers = map[int64][]subscriber{}
	if s.epoch == s.groupEpoch {
		return nil
	}
	var err error
	s.epoch, err = s.writer.number("SELECT auth_epoch FROM meta")
	return err
}

// guard turns a panic into an error: one bad write must not take the others
// of its group along.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
