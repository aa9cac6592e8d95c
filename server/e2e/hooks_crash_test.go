package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

var killsFlag = flag.Int("kills", 50, "how often TestWebhooksSurviveKills kills the server")

// laneTaken is how many attempts at one endpoint the sender makes before their
// outcomes are written.
const laneTaken = 256

// crashedShop is a shop at work while its server is killed again and again.
type crashedShop struct {
	t         *testing.T
	f         *shopFile
	http      *http.Client
	api, till *servertest.Client
	program   string
	args      []string
	endpoints []*endpoint
	beats     *pulse
	over      chan struct{}
	away      sync.RWMutex // held while no server runs

	mu   sync.Mutex
	told map[happening]bool // what the answers say has happened
	link map[string]bool    // cards that were issued, against those that overflowed
}

// TestWebhooksSurviveKills kills the server at random moments, while it is
// written to and while it delivers. What was answered arrives; what arrives
// twice is what was under way at a kill; nothing arrives that did not happen.
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
	var left []map[string]bool // pending at the last kill, by endpoint
	for round := range *killsFlag {
		switch {
		case round%10 == 4: // as soon as it runs
			o.f.server = launch(t, nil, o.args...)
		case round%10 == 9: // as soon as it can be heard: it delivers before it is ready
			_, beat := o.beats.read()
			o.f.server = launch(t, nil, o.args...)
			if text, print := o.f.server.stderr.read(); text == "" {
				select {
				case <-beat:
				case <-print:
				case <-o.f.server.ended:
					t.Fatalf("round %d: %v\n%s", round, o.f.server.err, o.f.server.stderr)
				}
			}
		default:
			o.start()
			o.away.Unlock()
			from, wait := o.beats.count(), 1+chance.Int64N(1+[]int64{3, 150, 4 * laneTaken}[chance.IntN(3)])
			if !o.beats.until(func() bool { return o.beats.count() >= from+wait }) {
				t.Fatalf("round %d: nothing happens:\n%s", round, o.f.server.stderr)
			}
			o.away.Lock()
		}
		left = o.kill(round)
	}
	o.start()
	o.away.Unlock()
	from := o.beats.count()
	o.beats.until(func() bool { return o.beats.count() >= from+100 })
	close(o.over)
	writers.Wait()
	o.drain(left)
	o.compare()
	o.f.server.stop()
	o.look("the end", o.log)
	o.repeats()
}

func newCrashedShop(t *testing.T) *crashedShop {
	t.Helper()
	o := &crashedShop{t: t, f: &shopFile{t: t, db: filepath.Join(t.TempDir(), "shop.db")}, beats: newPulse(), over: make(chan struct{}),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}, told: map[happening]bool{}, link: map[string]bool{}}
	t.Cleanup(o.http.CloseIdleConnections)
	o.f.run("shop", "create", "--name", "Bar Lux")
	k := o.f.makeKey("create", "--name", "Office")
	var device struct{ Token string }
	o.f.json(&device, "device", "create", "--location", o.f.location("Centrale"), "--name", "Till")
	origin := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	o.args = []string{"serve", "--db", o.f.db, "--listen", origin, "--log-format", "json", "--api-key-rate-limit-per-minute", "0",
		"--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-backoff-base", "10ms", "--webhook-delivery-timeout-ms", "60000"}
	o.away.Lock()
	o.start()
	o.api, o.till = o.f.api(k), o.f.server.till(device.Token)
	o.program = newProgram(o.api, `{"type":"standard","name":"Coffee","total_stamps":10,"repeat_after_reset":true,"icon_key":"coffee"}`)

	o.endpoint("prompt", `{"events":["*"]}`, func(event string) bool { return event != "transaction.created" },
		func(arrival, <-chan struct{}) int { return http.StatusOK })
	o.endpoint("slow", `{"events":["card.*","stamp.assigned"],"payload_version":"v1"}`,
		func(event string) bool { return event == "stamp.assigned" || strings.HasPrefix(event, "card.") }, o.late)
	o.endpoint("moody", `{"events":["transaction.created","card.added"]}`, func(event string) bool { return event == "transaction.created" || event == "card.added" },
		func(a arrival, _ <-chan struct{}) int {
			// Some fail once, some twice, so that no delivery uses up its five.
			if bad := hash(a.id) % 8; a.seen <= int(bad) && bad <= 2 {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
	o.f.server.stop()
	return o
}

// late answers when others have got a good deal more.
func (o *crashedShop) late(_ arrival, gone <-chan struct{}) int {
	for from := o.beats.count(); ; {
		n, more := o.beats.read()
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

func (o *crashedShop) endpoint(name, fields string, takes func(string) bool, answer func(arrival, <-chan struct{}) int) {
	o.t.Helper()
	e := newEndpoint(o.t, name, o.beats)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.takes, e.answer = takes, answer
	o.api.Post("/programs/"+o.program+"/webhooks", strings.TrimSuffix(fields, "}")+`,"url":"`+e.url+`/hook"}`).Want(201).Decode(&e.hook)
	o.endpoints = append(o.endpoints, e)
}

func (o *crashedShop) start() {
	o.t.Helper()
	o.f.server = startServe(o.t, o.f.db, o.args[3:]...)
	o.f.server.clientsLeave = true
}

// kill ends the server and returns what it left to be sent, by endpoint. The caller holds away.
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
		e.settled()
	}
	o.look(fmt.Sprint("kill ", round), func(s *store.Store, v *store.View) error {
		for _, e := range o.endpoints {
			pending, err := e.pending(s, v)
			if err != nil {
				return err
			}
			left = append(left, pending)
			e.killed(round, pending)
		}
		return nil
	})
	return left
}

// write issues cards and stamps them until the end.
func (o *crashedShop) write(n int) {
	chance := rand.New(rand.NewPCG(uint64(n), 7))
	for i := 0; ; i++ {
		key := fmt.Sprintf("writer-%d-%d", n, i)
		var made card
		if !o.ask(o.api, "/programs/"+o.program+"/cards", map[string]string{"external_ref": key, "holder_name": "Zoë " + key}, key, &made) {
			return
		}
		o.happened(made.ID, "card.added")
		o.mu.Lock()
		o.link[made.ID] = true
		o.mu.Unlock()
		for s := range 1 + chance.IntN(5) {
			var stamped struct {
				Transaction         ledgerRow
				Card                card
				OverflowTransaction *ledgerRow `json:"overflow_transaction"`
				OverflowCard        *card      `json:"overflow_card"`
			}
			if !o.ask(o.till, "/cards/"+made.ID+"/stamps", map[string]int64{"count": 1 + chance.Int64N(8)}, fmt.Sprint(key, "-", s), &stamped) {
				return
			}
			o.happened(made.ID, "card.activated")
			o.happened(stamped.Card.ID, "card.added")
			o.happened(stamped.Transaction.ID, "stamp.assigned", "transaction.created")
			if stamped.OverflowTransaction != nil {
				o.happened(stamped.OverflowCard.ID, "card.added")
				o.happened(stamped.OverflowTransaction.ID, "stamp.assigned", "transaction.created")
			}
		}
	}
}

// untilBack waits while no server runs.
func (o *crashedShop) untilBack() {
	o.away.RLock()
	defer o.away.RUnlock()
}

func (o *crashedShop) happened(id string, events ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, event := range events {
		o.told[happening{event, id}] = true
	}
}

// ask makes a write until there is an answer. It is false at the end of the
// test, before the first try.
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
				o.t.Errorf("%s: answered %d %s", key, r.Status, r.Body)
				return false
			}
			r.Decode(into)
			o.beats.beat()
			return true
		}
		o.untilBack()
	}
	o.t.Errorf("%s: no answer", key)
	return false
}
