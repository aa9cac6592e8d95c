package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// kind is what requests are told apart by in the tables.
type kind uint8

const (
	cardRead kind = iota
	lookup
	list
	stats
	till
	issue
	walk // of the readers that never pause
	kinds
)

func (k kind) String() string {
	return [kinds]string{"card", "lookup", "list", "stats", "till", "issue", "walk"}[k]
}

// faults are what must not be. Any number of goroutines may add to them.
type faults struct {
	mu    sync.Mutex
	n     int
	first []string // as many as anybody reads
}

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; len(f.first) < 20 {
		f.first = append(f.first, fmt.Sprintf(format, args...))
	}
}

func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// load is a run.
type load struct {
	options
	server  *server
	shop    *shop
	hooks   *hooks
	faults  *faults
	clients []*client
	readers []*client
	filling bool // no webhook hears of what is done

	start  time.Time // of what is measured
	length time.Duration
	rows   []*period
	before map[string]float64 // metrics as of the start
	filled float64            // size of the file then, in bytes
	begins []time.Time        // by client, readers behind them: of the request under way
	unsent atomic.Int64
}

// period is a row of the table.
type period struct {
	took [kinds]histogram

	// Of the server, as it was seen in this time; sizes are in bytes.
	rss, wal, queue float64 // the most
	db              float64 // at the end
	faults          int     // up to the end
	metrics         map[string]float64
}

// begun is when the client's latest request began: with a rate, when it was to
// begin.
func (l *load) begun(n int) time.Duration { return time.Since(l.begins[n]) }

// note counts an answer.
func (l *load) note(k kind, took time.Duration) {
	if l.filling {
		return
	}
	l.rows[l.row()].took[k].add(took)
}

// row is the index of the period that it is now.
func (l *load) row() int {
	return min(len(l.rows)-1, int(time.Since(l.start)*time.Duration(len(l.rows))/l.length))
}

// connect makes the clients and the readers. They connect when they have
// something to say.
func (l *load) connect(by time.Time) {
	l.begins = make([]time.Time, l.options.clients+l.options.readers)
	for n := range l.begins {
		made := &client{n: n, load: l, c: conn{addr: l.server.addr(), by: by}, rng: rand.New(rand.NewPCG(l.seed, uint64(n))), office: newCaller(l.shop.office),
			till: newCaller(l.shop.tills[n%len(l.shop.tills)]), told: map[string]sum{}}
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

// each has every one of the clients do something at the same time.
func each(clients []*client, do func(*client)) {
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { do(c) })
	}
	wg.Wait()
}

// fill issues the cards that are there at first, and stamps nine in ten of
// those that collect stamps. Its answers count in the books, but not in the
// tables.
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
	if n := l.faults.count(); n > 0 {
		return fmt.Errorf("%d faults before anything is measured", n)
	}
	return ctx.Err()
}

// run puts the load on until the time is over or ctx is done.
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

// drive has a client make its requests: one after the other or, with a rate,
// each when it is due, however late the answer before it came. The latency then
// counts from when it was due.
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

// watch looks at the server until all periods have passed, and tells of each;
// ctx breaks it off.
func (l *load) watch(ctx context.Context, passed func(row int)) error {
	every := l.length / time.Duration(len(l.rows))
	sizes := time.NewTicker(100 * time.Millisecond)
	defer sizes.Stop()
	scrapes := time.NewTicker(min(5*time.Second, every/2))
	defer scrapes.Stop()
	for at := 0; at < len(l.rows); {
		p := l.rows[at]
		end := time.NewTimer(time.Until(l.start.Add(every * time.Duration(at+1))))
		for over := false; !over; {
			select {
			case <-sizes.C:
				p.wal = max(p.wal, float64(size(l.server.db+"-wal")))
				continue
			case <-l.server.ended:
				return fmt.Errorf("serve ended in the midst of it: %v", l.server.err)
			case <-ctx.Done():
				return ctx.Err()
			case <-end.C:
				over = true
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

// look scrapes the metrics.
func (l *load) look(p *period) error {
	m, err := l.server.scrape()
	if err != nil {
		return fmt.Errorf("scrape: %w", err)
	}
	p.metrics = m
	p.rss = max(p.rss, m["process_resident_memory_bytes"])
	p.queue = max(p.queue, m["punchcard_webhook_queue"])
	p.wal = max(p.wal, m["punchcard_wal_bytes"])
	p.db, p.faults = m["punchcard_db_bytes"], l.faults.count()
	return nil
}

// drain waits until all webhooks have come and the file knows it. Nothing for
// longer than the longest wait between two attempts means that nothing comes.
func (l *load) drain(ctx context.Context) (took time.Duration, err error) {
	start := time.Now()
	for {
		left, latest := l.hooks.left()
		m, err := l.server.scrape()
		if err != nil || left == 0 && m["punchcard_webhook_queue"] == 0 {
			return time.Since(start), err
		}
		quiet := time.Since(latest)
		if since := time.Since(start); since < quiet {
			quiet = since
		}
		if quiet > 75*time.Second {
			return time.Since(start), fmt.Errorf("%d webhooks do not come; %.0f wait in the file", left, m["punchcard_webhook_queue"])
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return time.Since(start), ctx.Err()
		}
	}
}
