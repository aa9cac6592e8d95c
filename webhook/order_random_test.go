package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
	"punchcard/webhook"
)

// seen is the first request about an event at a witness. start and end are the witness's clock
// when the request came and when it was answered.
type seen struct {
	start, end  int
	sequence    int64
	card        string
	transaction string // the row of the ledger; empty: none
}

// witness is a receiver of a webhook that records the first request about each event. It answers
// that one after a random time, and often with a failure. Its clock counts requests and answers.
type witness struct {
	hook hook

	mu     sync.Mutex
	rng    *rand.Rand
	clock  int
	firsts map[string]*seen // by event_id
	open   int
	max    int // requests that were open at once
}

// witness starts a witness, and creates its webhook for card.added unless more changes that.
func (s *server) witness(seed uint64, more fields) *witness {
	w := &witness{rng: rand.New(rand.NewPCG(seed, 3)), firsts: map[string]*seen{}}
	srv := httptest.NewUnstartedServer(w)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	s.T.Cleanup(srv.Close)
	w.hook = s.hook(srv.URL, more)
	return w
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	first, delay, code := w.begin(r)
	time.Sleep(delay)
	w.mu.Lock()
	w.open--
	w.clock++
	if first != nil {
		first.end = w.clock
	}
	w.mu.Unlock()
	if code == 0 {
		panic(http.ErrAbortHandler)
	}
	rw.WriteHeader(code)
}

// begin records a request and returns how to answer it. first is nil if it is not the first about
// its event.
func (w *witness) begin(r *http.Request) (first *seen, delay time.Duration, code int) {
	var body struct {
		EventID string `json:"event_id"`
		Data    struct {
			Card        string `json:"card_instance_id"`
			Transaction string `json:"transaction_id"`
			Reversal    string `json:"reversal_transaction_id"`
		}
	}
	json.NewDecoder(r.Body).Decode(&body)
	sequence, _ := strconv.ParseInt(r.Header.Get(webhook.HeaderSequence), 10, 64)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock++
	w.open++
	w.max = max(w.max, w.open)
	if w.firsts[body.EventID] != nil {
		return nil, 0, http.StatusOK
	}
	first = &seen{start: w.clock, sequence: sequence, card: body.Data.Card, transaction: body.Data.Transaction + body.Data.Reversal}
	w.firsts[body.EventID] = first
	return first, time.Duration(w.rng.IntN(3000)) * time.Microsecond, []int{200, 200, 200, 200, 200, 204, 500, 429, 0}[w.rng.IntN(9)]
}

// check checks that every delivery of the webhook was seen, and that those of each
// chain were first seen in the order of their sequences and of the ledger's rows,
// each after the previous one was answered.
func (w *witness) check(s *server, chains, rows map[string]int64) {
	s.T.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	key, _ := s.App.Store.Key(store.KindWebhook, w.hook.id)
	if all := s.Value("SELECT count(*) FROM deliveries WHERE webhook_id=?", key); all != strconv.Itoa(len(w.firsts)) {
		s.T.Errorf("%d events arrived, want %s", len(w.firsts), all)
	}
	var order []*seen
	for _, f := range w.firsts {
		order = append(order, f)
	}
	slices.SortFunc(order, func(a, b *seen) int { return a.start - b.start })
	last := map[int64]*seen{}
	row := map[int64]int64{}
	for _, f := range order {
		chain, known := chains[f.card]
		if !known {
			s.T.Fatalf("an event of the card %q", f.card)
		}
		if before := last[chain]; before != nil && (before.end > f.start || before.end == 0 || before.sequence >= f.sequence) {
			s.T.Errorf("chain %d: %+v came after %+v", chain, *f, *before)
		}
		last[chain] = f
		if f.transaction != "" {
			if rows[f.transaction] < row[chain] || rows[f.transaction] == 0 {
				s.T.Errorf("chain %d: row %d came after row %d", chain, rows[f.transaction], row[chain])
			}
			row[chain] = rows[f.transaction]
		}
	}
	if w.max < 2 {
		s.T.Error("different cards waited for one another")
	}
}

// randomDay makes random requests of tills and of the API about a few cards.
type randomDay struct {
	s      *server
	prizes []string

	mu           sync.Mutex
	cards        map[string][]string // by program type
	transactions []string
}

// do makes a random request. One that the rules refuse has no effect.
func (d *randomDay) do(rng *rand.Rand) {
	pick := func(list []string) string {
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(list) == 0 {
			return "none"
		}
		return list[rng.IntN(len(list))]
	}
	post := func(c *servertest.Server, path string, body fields) {
		r := c.Try(context.Background(), "POST", path, body)
		var made struct {
			Transaction struct{ ID string }
		}
		if r.Err != nil || r.Status >= 500 {
			d.s.T.Errorf("%s: %d %s %v", path, r.Status, r.Body, r.Err)
		}
		if r.Status == http.StatusCreated && json.Unmarshal(r.Body, &made) == nil && made.Transaction.ID != "" {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.transactions = append(d.transactions, made.Transaction.ID)
		}
	}
	till, stamped, paid := d.s.Till(d.s.TillToken), pick(d.cards["standard"]), pick(d.cards["prepaid"])
	switch rng.IntN(12) {
	default:
		post(till, "/cards/"+stamped+"/stamps", fields{"count": 1 + rng.IntN(12)})
	case 0, 1:
		post(till, "/cards/"+stamped+"/redemptions", fields{"prize_id": pick(d.prizes)})
	case 2:
		d.mu.Lock()
		recent := d.transactions[max(0, len(d.transactions)-8):]
		d.mu.Unlock()
		post(till, "/transactions/"+pick(recent)+"/reversal", fields{})
	case 3:
		post(till, "/cards/"+paid+"/topups", fields{"amount_cents": 1 + rng.IntN(500)})
	case 4:
		post(till, "/cards/"+paid+"/spends", fields{"amount_cents": 1 + rng.IntN(500)})
	case 5:
		post(till, "/cards/"+pick(d.cards["discount"])+"/uses", fields{})
	case 6:
		post(d.s.Server, "/cards/"+stamped+"/reissue", fields{})
	case 7:
		post(d.s.Server, "/programs/"+d.s.program()+"/cards", fields{})
	}
}

// TestOrderOfRandomDays has four tills work at once with a few cards. A webhook of all
// events and one of the transactions alone get the events of each card first in the
// order of the ledger, whatever their receivers answer and when.
func TestOrderOfRandomDays(t *testing.T) {
	const seed = 20260301
	s := start(t, func(c *app.Config) {
		c.Dev.Clock = app.NewClock(time.Time{})
		c.Limits.WebhookBackoffBase, c.Limits.WebhookMaxConsecutiveFailures = 2*time.Millisecond, 1000
	})
	witnesses := []*witness{
		s.witness(1, fields{"events": []string{"*"}}),
		s.witness(2, fields{"events": []string{"transaction.created"}}),
	}
	day := &randomDay{s: s, cards: map[string][]string{}}
	for _, p := range servertest.Decode[struct{ Data []struct{ ID string } }](s.Call("GET", "/programs/"+s.program()+"/prizes", nil).
		Want(200)).Data {
		day.prizes = append(day.prizes, p.ID)
	}
	for kind, n := range map[string]int{"standard": 5, "prepaid": 2, "discount": 1} {
		for range n {
			day.cards[kind] = append(day.cards[kind], s.Issue(s.ProgramIDs[kind], nil))
		}
	}
	var tills sync.WaitGroup
	for n := range uint64(4) {
		tills.Go(func() {
			rng := rand.New(rand.NewPCG(seed, n))
			for range 60 {
				day.do(rng)
			}
		})
	}
	tills.Wait()
	for s.settle().Pending > 0 {
	}
	chains, rows := map[string]int64{}, map[string]int64{}
	for _, line := range s.Values("SELECT concat_ws(' ', id, ifnull(root_id, id)) FROM cards") {
		id, root := pair(t, line)
		chains[s.App.Store.ID(store.KindCard, id)] = root
	}
	overflows := 0
	for _, line := range s.Values("SELECT concat_ws(' ', id, ifnull(overflow_of, 0)) FROM transactions") {
		id, of := pair(t, line)
		rows[s.App.Store.ID(store.KindTransaction, id)] = id
		if of != 0 {
			overflows++
		}
	}
	if overflows == 0 || len(rows) < 100 {
		t.Errorf("%d rows, %d of overflows", len(rows), overflows)
	}
	for _, w := range witnesses {
		w.check(s, chains, rows)
	}
}

// pair parses two numbers.
func pair(t *testing.T, line string) (a, b int64) {
	t.Helper()
	if _, err := fmt.Sscan(line, &a, &b); err != nil {
		t.Fatal(err)
	}
	return a, b
}
