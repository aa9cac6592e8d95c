package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// load is one run of the program.
type load struct {
	options
	shop
	webhooks
	server  *server
	conn    conn // for requests that are not measured
	clients []*client
	readers []*client
	filling bool // cards are being issued before the webhook exists
	length  time.Duration
	start   time.Time    // of the measurement
	faults  atomic.Int64 // how often the server did not do what it must

	mu      sync.Mutex
	periods []*period
	samples []sample
	answers int // while the load was measured
}

// fail counts a fault and prints the first 20.
func (l *load) fail(format string, args ...any) {
	if l.faults.Add(1) <= 20 {
		fmt.Printf("FAULT "+format+"\n", args...)
	}
}

// every returns the length of a period.
func (l *load) every() time.Duration { return l.length / time.Duration(len(l.periods)) }

// note records the time that an answer or webhook took, if it came while the load is
// measured.
func (l *load) note(kind string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := int(time.Since(l.start) / l.every()); at < len(l.periods) {
		l.periods[at].took[kind].add(took)
		if kind != "webhook" {
			l.answers++
		}
	}
}

// fill creates the clients and issues the initial cards, and gives stamps to nine in
// ten of those that collect stamps. Its answers are compared at the end but are not in
// the tables.
func (l *load) fill(ctx context.Context) error {
	for n := range l.options.clients + readers {
		l.clients = append(l.clients, &client{
			load: l, n: n, conn: conn{addr: l.server.addr}, rng: rand.New(rand.NewPCG(1, uint64(n))),
			answered: map[string]sum{},
		})
	}
	l.clients, l.readers = l.clients[:l.options.clients], l.clients[l.options.clients:]
	if l.soak {
		l.readers = nil
	}
	l.filling = true
	var wg sync.WaitGroup
	for _, c := range l.clients {
		wg.Go(func() {
			for n := c.n; n < l.cards && !c.lost && ctx.Err() == nil; n += l.options.clients {
				c.issue()
			}
			for _, k := range c.cards {
				if n := c.rng.Int64N(total); !k.prepaid && n > 0 && !c.lost && ctx.Err() == nil {
					c.stamp(k, n)
				}
			}
		})
	}
	wg.Wait()
	l.filling = false
	if l.soak {
		l.warm(ctx)
	}
	if n := l.faults.Load(); n > 0 {
		return fmt.Errorf("%d faults before anything is measured", n)
	}
	return ctx.Err()
}

// warm begins what lasts during a soak: it signs the clients in, opens their streams, and reads all cards, so that the
// server's caches are full before anything is measured.
func (l *load) warm(ctx context.Context) {
	for _, c := range l.clients {
		c.signIn()
		for range maxStreams {
			c.stream()
		}
		for _, k := range c.cards {
			if ctx.Err() == nil && !c.lost {
				c.read("card", office, k.live, k)
				c.read("lookup", till, k.id, k)
			}
		}
	}
}

// run makes requests until the time is over or ctx is done.
func (l *load) run(ctx context.Context) error {
	l.start = time.Now()
	timed, cancel := context.WithTimeout(ctx, l.length)
	defer cancel()
	var wg sync.WaitGroup
	for _, c := range l.clients {
		wg.Go(func() { l.drive(timed, c) })
	}
	for _, c := range l.readers {
		wg.Go(func() {
			for !c.lost && timed.Err() == nil {
				c.began = time.Now()
				c.page("walk")
			}
		})
	}
	err := l.watch(ctx)
	cancel()
	wg.Wait()
	for _, c := range l.clients {
		for _, s := range c.streams {
			s.end()
		}
	}
	return err
}

// drive makes the requests of a client: one after the other or, with a rate, each
// when it is due, or at once if the answer before it was late. The latency then
// counts from when the request was due.
func (l *load) drive(ctx context.Context, c *client) {
	for n := 0; !c.lost && ctx.Err() == nil; n++ {
		c.began = time.Now()
		if l.rate > 0 {
			c.began = l.start.Add(time.Duration(float64(c.n+n*l.options.clients) / l.rate * float64(time.Second)))
			select {
			case <-time.After(time.Until(c.began)):
			case <-ctx.Done():
				return
			}
		}
		c.step()
	}
}

// watch measures the server until all periods have passed or ctx is done, and reports
// each.
func (l *load) watch(ctx context.Context) error {
	from := l.periods[0].from
	for at, p := range l.periods {
		p.from = from
		end := l.start.Add(l.every() * time.Duration(at+1))
		for ended := false; !ended; ended = !time.Now().Before(end) {
			select {
			case <-time.After(min(time.Second, time.Until(end))):
			case <-l.server.ended:
				return fmt.Errorf("serve ended during the load: %v", l.server.err)
			case <-ctx.Done():
				return ctx.Err()
			}
			m, err := l.server.scrape()
			if err != nil {
				return err
			}
			from = m
			p.add(m)
		}
		l.report(at)
	}
	return nil
}

// drain waits until all webhooks have arrived and the file has them as delivered. It
// gives up when none arrives for longer than the longest wait between two attempts.
func (l *load) drain(ctx context.Context) error {
	start := time.Now()
	for ; ; time.Sleep(100 * time.Millisecond) {
		m, err := l.server.scrape()
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		l.lock.Lock()
		left, idle := len(l.open), min(time.Since(l.latest), time.Since(start))
		l.lock.Unlock()
		if left == 0 && m[queue] == 0 || idle > 75*time.Second {
			break
		}
	}
	fmt.Printf("%d webhooks were expected and %d arrived, the last %.1f s after the load; %d arrived more than once\n", l.wanted,
		len(l.seen), time.Since(start).Seconds(), l.repeats)
	return nil
}
