package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// kind is the kind of a request in the tables.
type kind uint8

const (
	cardRead kind = iota
	lookup
	list
	stats
	till
	issue
	walk // a page of the list that the readers walk
	kinds
)

func (k kind) String() string {
	return [kinds]string{"card", "lookup", "list", "stats", "till", "issue", "walk"}[k]
}

// failures are the ways in which the server did not do what it must. Any number of
// goroutines may add to them.
type failures struct {
	mu    sync.Mutex
	n     int
	first []string // the first 20
}

func (f *failures) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; len(f.first) < 20 {
		f.first = append(f.first, fmt.Sprintf(format, args...))
	}
}

func (f *failures) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// load is one run of the program.
type load struct {
	options
	server   *server
	shop     *shop
	webhooks *webhooks
	failures *failures
	clients  []*client
	readers  []*client
	filling  bool // cards are being issued before the webhook exists

	start  time.Time // of the measurement
	length time.Duration
	rows   []*period
	before map[string]float64 // metrics as of the start
	filled float64            // size of the file at the start, in bytes
	begins []time.Time        // when the request in progress began, by client and then by reader
	unsent atomic.Int64
}

// period is a row of the table.
type period struct {
	took [kinds]histogram

	// Of the server in this time; sizes are in bytes.
	rss, wal, queue float64 // largest values
	db              float64 // at the end
	faults          int     // up to the end
	metrics         map[string]float64
}

// begun returns how long ago the client's latest request began or, with a rate, was
// due.
func (l *load) begun(n int) time.Duration { return time.Since(l.begins[n]) }

// note records the time that an answer took.
func (l *load) note(k kind, took time.Duration) {
	if l.filling {
		return
	}
	l.rows[l.row()].took[k].add(took)
}

// row returns the index of the current period.
func (l *load) row() int {
	return min(len(l.rows)-1, int(time.Since(l.start)*time.Duration(len(l.rows))/l.length))
}

// connect creates the clients and the readers, which connect on their first request.
// After the time by their requests fail.
func (l *load) connect(by time.Time) {
	l.begins = make([]time.Time, l.options.clients+l.options.readers)
	for n := range l.begins {
		made := &client{n: n, load: l, c: conn{addr: l.server.addr(), by: by}, rng: rand.New(rand.NewPCG(l.seed, uint64(n))), office: newCaller(l.shop.office),
			till: newCaller(l.shop.tills[n%len(l.shop.tills)]), answered: map[string]sum{}}
		if n < l.options.clients {
			l.clients = append(l.clients, made)
		} else {
			l.readers = append(l.readers, made)
		}
	}
}

func (l *load) disconnect() {
	for _, c := range append(l.clients, l.readers...) {
		c.c.close()
	}
}

// each calls do for all clients at the same time.
func each(clients []*client, do func(*client)) {
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { do(c) })
	}
	wg.Wait()
}

// fill issues the initial cards and gives stamps to nine in ten of those that
// collect stamps. Its answers are compared at the end but are not in the tables.
func (l *load) fill(ctx context.Context) error {
	l.filling = true
	each(l.clients, func(c *client) {
		for n := c.n; n < l.cards && c.err == nil && ctx.Err() == nil; n += l.options.clients {
			c.issue()
		}
		for _, k := range c.standard {
			if n := c.rng.Int64N(total); n > 0 && c.err == nil && ctx.Err() == nil {
				c.stamp(k, n)
			}
		}
		c.last = reversible{}
	})
	l.filling = false
	if n := l.failures.count(); n > 0 {
		return fmt.Errorf("%d faults before anything is measured", n)
	}
	return ctx.Err()
}

// run makes requests until the time is over or ctx is done.
func (l *load) run(ctx context.Context, passed func(row int)) error {
	l.start = time.Now()
	timed, cancel := context.WithTimeout(ctx, l.length)
	defer cancel()
	var wg sync.WaitGroup
	for _, c := range l.clients {
		wg.Go(func() { l.drive(timed, c) })
	}
	for _, c := range l.readers {
		wg.Go(func() {
			for c.err == nil && timed.Err() == nil {
				l.begins[c.n] = time.Now()
				c.page(walk)
			}
		})
	}
	err := l.watch(ctx, passed)
	cancel()
	wg.Wait()
	return err
}

// drive makes the requests of a client: one after the other or, with a rate, each
// when it is due, or at once if the answer before it was late. The latency then
// counts from when the request was due.
func (l *load) drive(ctx context.Context, c *client) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; c.err == nil && ctx.Err() == nil; n++ {
		now := time.Now()
		l.begins[c.n] = now
		if l.rate > 0 {
			due := l.start.Add(time.Duration((float64(c.n) + float64(n*l.options.clients)) / l.rate * float64(time.Second)))
			if wait := due.Sub(now); wait > 0 {
				timer.Reset(wait)
				select {
				case <-timer.C:
				case <-ctx.Done():
					return
				}
			}
			l.begins[c.n] = due
		}
		c.step()
	}
	if late := time.Since(l.begins[c.n]).Seconds(); l.rate > 0 && c.err == nil {
		l.unsent.Add(int64(late * l.rate / float64(l.options.clients)))
	}
}

// watch measures the server until all periods have passed or ctx is done, and calls
// passed after each.
func (l *load) watch(ctx context.Context, passed func(row int)) error {
	every := l.length / time.Duration(len(l.rows))
	sizes := time.NewTicker(100 * time.Millisecond)
	defer sizes.Stop()
	scrapes := time.NewTicker(min(5*time.Second, every/2))
	defer scrapes.Stop()
	for at := 0; at < len(l.rows); {
		p := l.rows[at]
		end := time.NewTimer(time.Until(l.start.Add(every * time.Duration(at+1))))
		for ended := false; !ended; {
			select {
			case <-sizes.C:
				p.wal = max(p.wal, float64(size(l.server.db+"-wal")))
				continue
			case <-l.server.ended:
				return fmt.Errorf("serve ended in the midst of it: %v", l.server.err)
			case <-ctx.Done():
				return ctx.Err()
			case <-end.C:
				ended = true
			case <-scrapes.C:
			}
			if err := l.look(p); err != nil {
				return err
			}
		}
		end.Stop()
		passed(at)
		at++
	}
	return nil
}

// look reads the metrics into a period.
func (l *load) look(p *period) error {
	m, err := l.server.scrape()
	if err != nil {
		return fmt.Errorf("scrape: %w", err)
	}
	p.metrics = m
	p.rss = max(p.rss, m["process_resident_memory_bytes"])
	p.queue = max(p.queue, m["punchcard_webhook_queue"])
	p.wal = max(p.wal, m["punchcard_wal_bytes"])
	p.db, p.faults = m["punchcard_db_bytes"], l.failures.count()
	return nil
}

// drain waits until all webhooks have arrived and the file has them as delivered. It
// gives up when none arrives for longer than the longest wait between two attempts.
func (l *load) drain(ctx context.Context) (took time.Duration, err error) {
	start := time.Now()
	for {
		left, latest := l.webhooks.left()
		m, err := l.server.scrape()
		if err != nil || left == 0 && m["punchcard_webhook_queue"] == 0 {
			return time.Since(start), err
		}
		if idle := min(time.Since(latest), time.Since(start)); idle > 75*time.Second {
			return time.Since(start), fmt.Errorf("%d webhooks do not come; %.0f wait in the file", left, m["punchcard_webhook_queue"])
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return time.Since(start), ctx.Err()
		}
	}
}
