package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

var killsFlag = flag.Int("kills", 2, "how often each test that kills a process at random moments does so; .ci/durability kills more often")

// maxUnrecorded is how many attempts for one endpoint the sender makes before it writes their
// outcomes.
const maxUnrecorded = 256

// crashedShop is a shop that is written to while its server is killed repeatedly.
type crashedShop struct {
	t         *testing.T
	f         *shopFile
	http      *http.Client
	api, till *servertest.Client
	program   string
	args      []string
	endpoints []*endpoint
	progress  *progress
	over      chan struct{}
	away      sync.RWMutex // locked while no server runs

	mu          sync.Mutex
	answered    map[happening]bool // events that follow from the answers
	issuedCards map[string]bool    // ids of the cards that were issued, not of those that an overflow made
}

// TestWebhooksSurviveKills kills the server at random moments while it is written to and delivers.
// All that was answered must be delivered, nothing else may be, and only deliveries in progress at
// a kill may be repeated.
func TestWebhooksSurviveKills(t *testing.T) {
	t.Parallel()
	const seed = 20260301
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, uint64(*killsFlag)))
	o := newCrashedShop(t)
	var writers sync.WaitGroup
	for n := range 6 {
		writers.Go(func() { o.write(n) })
	}
	var left []map[string]bool // event_ids pending at the last kill, by endpoint
	for round := range *killsFlag {
		switch {
		case round%10 == 4: // as soon as it is started
			o.f.server = launch(t, nil, o.args...)
		case round%10 == 9: // as soon as it listens: it delivers before it is ready
			_, step := o.progress.read()
			o.f.server = launch(t, nil, o.args...)
			if text, print := o.f.server.stderr.read(); text == "" {
				select {
				case <-step:
				case <-print:
				case <-o.f.server.ended:
					t.Fatalf("round %d: %v\n%s", round, o.f.server.err, o.f.server.stderr)
				}
			}
		default:
			o.start()
			o.away.Unlock()
			from, wait := o.progress.count(), 1+chance.Int64N(1+[]int64{3, 150, 4 * maxUnrecorded}[chance.IntN(3)])
			if !o.progress.waitUntil(func() bool { return o.progress.count() >= from+wait }) {
				t.Fatalf("round %d: no progress:\n%s", round, o.f.server.stderr)
			}
			o.away.Lock()
		}
		left = o.kill(round)
	}
	o.start()
	o.away.Unlock()
	from := o.progress.count()
	o.progress.waitUntil(func() bool { return o.progress.count() >= from+100 })
	close(o.over)
	writers.Wait()
	o.drain(left)
	o.compareAll()
	o.f.server.stop()
	o.inspectFile("the end", o.checkLog)
	o.checkRepeats()
}

func newCrashedShop(t *testing.T) *crashedShop {
	t.Helper()
	o := &crashedShop{t: t, f: &shopFile{t: t, db: newDatabase(t)}, progress: newProgress(),
		over:     make(chan struct{}),
		http:     &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
		answered: map[happening]bool{}, issuedCards: map[string]bool{}}
	t.Cleanup(o.http.CloseIdleConnections)
	k := o.f.makeKey("create", "--name", "Office")
	token := o.f.tillToken()
	origin := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	o.args = []string{"serve", "--db", o.f.db, "--listen", origin, "--log-format", "json", "--api-key-rate-limit-per-minute", "0",
		"--till-rate-limit-per-minute", "0",
		"--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-backoff-base", "10ms",
		"--webhook-delivery-timeout-ms", "60000"}
	o.away.Lock()
	o.start()
	o.api, o.till = o.f.api(k), o.f.server.till(token)
	o.program = newProgram(o.api, stampCard)

	o.endpoint("prompt", `{"events":["*"]}`, func(event string) bool { return event != "transaction.created" },
		func(arrival, <-chan struct{}) int { return http.StatusOK })
	o.endpoint("slow", `{"events":["card.*","stamp.assigned"],"payload_version":"v1"}`,
		func(event string) bool { return event == "stamp.assigned" || strings.HasPrefix(event, "card.") }, o.slowAnswer)
	o.endpoint("moody", `{"events":["transaction.created","card.added"]}`,
		func(event string) bool { return event == "transaction.created" || event == "card.added" },
		func(a arrival, _ <-chan struct{}) int {
			// Some fail once, some twice, so that no delivery uses up its five attempts.
			if bad := hash(a.id) % 8; a.seen <= int(bad) && bad <= 2 {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
	o.f.server.stop()
	return o
}

// hash returns a number that follows from a key alone.
func hash(key string) (h uint64) {
	for _, b := range []byte(key) {
		h = h*31 + uint64(b)
	}
	return h & (1<<32 - 1)
}

// slowAnswer answers when other endpoints have received many more deliveries.
func (o *crashedShop) slowAnswer(_ arrival, gone <-chan struct{}) int {
	for from := o.progress.count(); ; {
		n, more := o.progress.read()
		if n >= from+60 {
			return http.StatusOK
		}
		select {
		case <-more:
		case <-o.over:
			return http.StatusOK
		case <-gone:
			return http.StatusServiceUnavailable
		}
	}
}

func (o *crashedShop) endpoint(name, fields string, matches func(string) bool, answer func(arrival, <-chan struct{}) int) {
	o.t.Helper()
	e := newEndpoint(o.t, name, o.progress)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.matches, e.answer = matches, answer
	o.api.Post("/programs/"+o.program+"/webhooks", strings.TrimSuffix(fields, "}")+`,"url":"`+e.url+`/hook"}`).Want(201).Decode(&e.hook)
	o.endpoints = append(o.endpoints, e)
}

func (o *crashedShop) start() {
	o.t.Helper()
	o.f.server = startServe(o.t, o.f.db, o.args[3:]...)
	o.f.server.clientsLeave = true
}

// kill kills the server and returns the event_ids that were pending, by endpoint. The caller holds
// away.
func (o *crashedShop) kill(round int) (left []map[string]bool) {
	o.t.Helper()
	o.f.server.signal(syscall.SIGKILL)
	o.f.server.wait()
	for line := range strings.Lines(o.f.server.stderr.String()) {
		if strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(line, "context canceled") {
			o.t.Errorf("round %d: the server logged an error: %s", round, line)
		}
	}
	for _, e := range o.endpoints {
		e.waitForConnections()
	}
	o.inspectFile(fmt.Sprint("kill ", round), func(s *store.Store, v *store.View) error {
		for _, e := range o.endpoints {
			pending, err := e.pending(s, v)
			if err != nil {
				return err
			}
			left = append(left, pending)
			e.recordKill(round, pending)
		}
		return nil
	})
	return left
}

// write issues and stamps cards until the test ends.
func (o *crashedShop) write(n int) {
	chance := rand.New(rand.NewPCG(uint64(n), 7))
	for i := 0; ; i++ {
		key := fmt.Sprintf("writer-%d-%d", n, i)
		var made card
		body := map[string]string{"external_ref": key, "holder_name": "Zoë " + key}
		if !o.ask(o.api, "/programs/"+o.program+"/cards", body, key, &made) {
			return
		}
		o.recordEvents(made.ID, "card.added")
		o.mu.Lock()
		o.issuedCards[made.ID] = true
		o.mu.Unlock()
		for s := range 1 + chance.IntN(5) {
			var stamped struct {
				Transaction, Card   struct{ ID string }
				OverflowTransaction *struct{ ID string } `json:"overflow_transaction"`
				OverflowCard        *struct{ ID string } `json:"overflow_card"`
			}
			if !o.ask(o.till, "/cards/"+made.ID+"/stamps", map[string]int64{"count": 1 + chance.Int64N(8)}, fmt.Sprint(key, "-", s),
				&stamped) {
				return
			}
			o.recordEvents(made.ID, "card.activated")
			o.recordEvents(stamped.Card.ID, "card.added")
			o.recordEvents(stamped.Transaction.ID, "stamp.assigned", "transaction.created")
			if stamped.OverflowTransaction != nil {
				o.recordEvents(stamped.OverflowCard.ID, "card.added")
				o.recordEvents(stamped.OverflowTransaction.ID, "stamp.assigned", "transaction.created")
			}
		}
	}
}

// waitForServer waits while no server runs.
func (o *crashedShop) waitForServer() {
	o.away.RLock()
	defer o.away.RUnlock()
}

func (o *crashedShop) recordEvents(id string, events ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, event := range events {
		o.answered[happening{event, id}] = true
	}
}

// ask repeats a write until there is an answer. It returns false if the test ended before the first
// attempt.
func (o *crashedShop) ask(c *servertest.Client, path string, body any, key string, into any) bool {
	select {
	case <-o.over:
		return false
	default:
	}
	for range 100_000 {
		r := c.On(o.t).Via(o.http).Try(context.Background(), "POST", path, body, "Idempotency-Key", key)
		if r.Err == nil {
			r.Check()
			if r.Status != 201 {
				o.t.Errorf("%s: status %d %s", key, r.Status, r.Body)
				return false
			}
			r.Decode(into)
			o.progress.add()
			return true
		}
		o.waitForServer()
	}
	o.t.Errorf("%s: no answer", key)
	return false
}
