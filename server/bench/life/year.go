package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"punchcard/server/wallet/wallettest"
)

// clients is the number of clients that are busy at once.
const clients = 16

// maxFaults is how many faults end the year early.
const maxFaults = 50

// year is a simulated year.
type year struct {
	options
	ctx         context.Context
	http        *http.Client
	server      *server
	opened      time.Time // when the older server makes the file
	from, until time.Time
	now         time.Time    // of the server's clock; changes while no client is busy
	clock       atomic.Int64 // seconds of now, for receivers
	rand        *rand.Rand

	shop      *shop // whose tills, members and receivers are simulated
	neighbour *shop // in the same file, which must see nothing of it
	members   []*member
	receivers []*receiver
	platforms int // phones that are planned
	office    *office
	assistant *assistant
	pages     []*openPage

	watching     context.Context // ends the streams of pages
	stopWatching context.CancelFunc
	streams      sync.WaitGroup
	push         *wallettest.PushService // of the browsers that have pages open

	answers *recorder
	figures *recorder
	erased  *recorder
	answer  atomic.Int64
	kills   kills

	nights   int                    // since the year began
	pending  map[int][]func() error // what is done in a later night, by its number
	shopKey  madeKey                // of the shop's system
	kept     []kept                 // writes of seven days, ascending
	sold     *soldShop
	underWay []chan error // backups of the nights before, which go on while the shop is open

	mu     sync.Mutex
	counts map[string]int // of what happened
	faults []string
}

// newYear starts the server of a year that begins on the first of January. The year is later than that of the machine, since commands
// beside the server have the machine's clock, and no row may be older than the one before: a later time would stop the server's clock.
func newYear(ctx context.Context, o options) (*year, error) {
	y := &year{
		options: o,
		ctx:     ctx,
		http:    &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, CheckRedirect: stay, Timeout: time.Minute},
		from:    time.Date(2031, 1, 1, 5, 0, 0, 0, time.UTC),
		rand:    rand.New(rand.NewPCG(o.seed, 0)),
		pending: map[int][]func() error{},
		counts:  map[string]int{},
		kills:   kills{rand: rand.New(rand.NewPCG(o.seed, 1))},
	}
	y.opened = y.from.AddDate(0, 0, -olderDays)
	y.clock.Store(y.opened.Unix())
	y.now, y.until = y.opened, y.from.AddDate(0, o.months, 0)
	y.office, y.push = newOffice(y), wallettest.NewPushService()
	y.watching, y.stopWatching = context.WithCancel(ctx)
	var err error
	if y.server, err = newServer(o.binary, o.out, o.cut); err != nil {
		return nil, err
	}
	if y.server.older, err = olderBinary(); err != nil {
		return nil, err
	}
	if err := y.server.start(y.now); err != nil {
		return nil, err
	}
	for name, r := range map[string]**recorder{"answers": &y.answers, "figures": &y.figures, "erased": &y.erased} {
		if *r, err = newRecorder(y.path(name + ".jsonl")); err != nil {
			return nil, errors.Join(err, y.server.stop())
		}
	}
	return y, nil
}

// time returns the time of the server's clock, also while the clock moves.
func (y *year) time() time.Time { return time.Unix(y.clock.Load(), 0).UTC() }

// stay makes a client return redirects as they are.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// close ends what is still running.
func (y *year) close() error {
	y.closePages()
	for _, r := range y.receivers {
		r.close()
	}
	err := errors.Join(y.answers.close(), y.figures.close(), y.erased.close(), y.server.stop())
	y.push.Close()
	if y.server.disk != nil {
		err = errors.Join(err, y.server.disk.close())
	}
	return err
}

// count notes that something happened.
func (y *year) count(what string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.counts[what]++
}

// fault notes an answer or a state that the contract does not allow.
func (y *year) fault(format string, args ...any) {
	y.mu.Lock()
	defer y.mu.Unlock()
	text := y.now.Format(time.RFC3339) + " " + fmt.Sprintf(format, args...)
	if y.faults = append(y.faults, text); len(y.faults) <= maxFaults {
		log.Print(text)
	}
}

// faulty returns the error of a year with faults.
func (y *year) faulty() error {
	return fmt.Errorf("%d answers that the contract does not allow", len(y.faults))
}

// answered counts an answer, and kills the server after some of them.
func (y *year) answered() {
	if _, kill := slices.BinarySearch(y.kills.at, y.answer.Add(1)); kill {
		y.kill()
	}
}

// advance moves the server's clock to a later time.
func (y *year) advance(at time.Time) error {
	if !at.After(y.now) {
		return nil
	}
	y.now = at.UTC()
	y.clock.Store(at.Unix())
	return y.duringKill(func() error { return y.need(y.control(), "POST", "/clock", map[string]any{"now": at}, nil) })
}

// control is the control API of the fixture.
func (y *year) control() face { return face{name: "control", base: "/dev"} }

// report writes what happened.
func (y *year) report(took time.Duration) error {
	warnings, err := y.readLog()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s to %s, seed %d, %d answers, simulated in %s\n\n%s\nWarnings and errors in the log:\n%s",
		y.from.Format(time.DateOnly), y.until.Format(time.DateOnly), y.seed, y.answer.Load(), took.Round(time.Second),
		table(y.counts), table(warnings))
	fmt.Print(text)
	return os.WriteFile(y.path("report.txt"), []byte(text), 0o600)
}

// table returns a line for each count.
func table(counts map[string]int) (text string) {
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf("%9d  %s\n", counts[what], what)
	}
	return text
}

// recorder writes a file of JSON lines.
type recorder struct {
	mu   sync.Mutex
	file *os.File
	enc  *json.Encoder
}

func newRecorder(path string) (*recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &recorder{file: f, enc: json.NewEncoder(f)}, nil
}

// write appends a line. An error of the disk comes again from close.
func (r *recorder) write(v any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enc.Encode(v)
}

func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.file.Sync(), r.file.Close())
}

// writeJSON writes a file of one JSON value.
func (y *year) writeJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(y.path(name), b, 0o600)
}
