package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"punchcard/server/servertest"
)

// TestDay simulates a day of a shop in which three tills at two locations serve five hundred
// members while the server is killed a few times. At the end the file must have what was answered.
func TestDay(t *testing.T) {
	t.Parallel()
	const seed = 20260214
	t.Logf("seed %d", seed)
	d := openShop(t, seed, *killsFlag)
	d.run()
	d.checkEnd()
}

// cardHolder is a member of the shop with what the tills' answers said about their cards. Only one
// till at a time uses a card, so there is no lock.
type cardHolder struct {
	member
	n        int
	rest     bool // the card is issued over the REST API
	lost     bool
	id, link string
	liveID   string // of a lost card: the instance that gets the next stamp
	oldCode  string
	rows     []*ledgerRow
	cards    []string         // instances of the chain, oldest first
	stamps   map[string]int64 // by instance, as the sum of the rows
	value    int64
}

// ledgerRow is a transaction in answers and lists.
type ledgerRow struct {
	ID           string  `json:"id"`
	CardID       string  `json:"card_id"`
	ProgramID    string  `json:"program_id"`
	Type         string  `json:"type"`
	LocationID   string  `json:"location_id"`
	LocationName string  `json:"location_name"`
	StampsDelta  *int64  `json:"stamps_delta"`
	ValueDelta   *int64  `json:"value_delta"`
	PrizeID      *string `json:"prize_id"`
	ReversedAt   *string `json:"reversed_at"`
	CreatedAt    string  `json:"created_at"`

	partner  *ledgerRow // the other row of an overflow; nil for none
	reversed bool       // according to the answers
}

// stampedCard is a card in answers and lists.
type stampedCard struct {
	card
	StampsCount  int64  `json:"stamps_count"`
	CurrentValue *int64 `json:"current_value"`
}

// dayTill is a till.
type dayTill struct {
	name     string
	location int
	api      *servertest.Client
	scripts  [2][]action    // for the morning and the afternoon
	outcomes map[string]int // by the kind of the action and its outcome
	later    []func()       // retries at the end of the shift
}

// day is the simulation of a day.
type day struct {
	t           *testing.T
	f           *shopFile
	http        *http.Client
	origin      string
	api         *servertest.Client
	locations   [2]string
	programs    map[string]string
	prizes      []string
	cardHolders []*cardHolder
	tills       []*dayTill

	kills      int
	after      []int64 // numbers of answers after which the server is killed
	answered   atomic.Int64
	kill       chan struct{}
	restarting sync.RWMutex // locked while the server restarts
}

const pin = "246810"

// maxBadPINs is how many wrong PINs a day has. Ten would lock the location.
const maxBadPINs = 8

// openShop creates the shop and plans the day.
func openShop(t *testing.T, seed uint64, kills int) *day {
	d := &day{t: t, f: &shopFile{t: t, db: filepath.Join(memoryDir(t), "shop.db")}, programs: map[string]string{},
		kills: kills, kill: make(chan struct{}, kills), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	t.Cleanup(d.http.CloseIdleConnections)
	d.f.run("shop", "create", "--name", "Bar Lux", "--timezone", "Europe/Rome")
	for i, name := range []string{"Centrale", "Stazione"} {
		d.locations[i] = d.f.location(name)
	}
	if r := input(t, pin+"\n", "location", "set-pin", d.locations[1], "--db", d.f.db); r.code != 0 || strings.Contains(r.stdout, pin) {
		t.Errorf("set-pin: %+v", r)
	}
	servertest.WeakenPIN(t, d.f.db, pin)
	full := d.f.makeKey("create", "--name", "Office")
	var tokens []string
	for i, at := range []int{0, 0, 1} {
		var made struct{ Token string }
		d.f.json(&made, "device", "create", "--location", d.locations[at], "--name", fmt.Sprintf("Till %d", i+1), "--accept-card-ids")
		tokens = append(tokens, made.Token)
	}
	d.f.server = startServe(t, d.f.db, "--listen", fmt.Sprintf("127.0.0.1:%d", freePort(t)), "--api-key-rate-limit-per-minute", "0",
		"--till-rate-limit-per-minute", "0")
	d.origin = d.f.server.origin
	d.api = d.f.api(full)
	for i, at := range []int{0, 0, 1} {
		d.tills = append(d.tills, &dayTill{
			name:     fmt.Sprintf("till-%d", i+1),
			location: at,
			api:      newClient(t, d.origin+"/till/v1", tokens[i]),
			outcomes: map[string]int{},
		})
	}
	d.api.Call("PATCH", "/locations/"+d.locations[1], `{"require_staff_pin":true}`).Want(200)
	for _, p := range []string{`{"type":"standard","name":"Coffee","total_stamps":10,"repeat_after_reset":true,"icon_key":"coffee"}`,
		`{"type":"private","name":"Regulars","total_stamps":8,"icon_key":"star"}`,
		`{"type":"prepaid","name":"Prepaid","initial_balance_cents":500}`,
		`{"type":"access","name":"Gym","access_image_url":"https://example.com/gym.png"}`,
		`{"type":"discount","name":"Friends","discount_percent":10}`} {
		kind := strings.Split(p, `"`)[3]
		d.programs[kind] = newProgram(d.api, p)
	}
	for i, z := range []struct {
		program string
		at      int
	}{{"standard", 5}, {"standard", 10}, {"standard", 10}, {"private", 8}} {
		var made struct{ ID string }
		name := fmt.Sprintf("Prize %d", i+1)
		d.api.Post("/programs/"+d.programs[z.program]+"/prizes", map[string]any{"threshold": z.at, "name": name}).Want(201).Decode(&made)
		d.prizes = append(d.prizes, made.ID)
	}
	d.planActions(rand.New(rand.NewPCG(seed, 0)))
	total := 0
	for _, c := range d.tills {
		total += len(c.scripts[0]) + len(c.scripts[1])
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for range kills {
		d.after = append(d.after, 50+random.Int64N(int64(total-100)))
	}
	return d
}

// run executes the planned day.
func (d *day) run() {
	done := make(chan struct{})
	killed := 0
	go func() {
		defer close(done)
		for range d.kill {
			d.restart()
			killed++
		}
	}()
	for half := range 2 {
		var wg sync.WaitGroup
		for _, c := range d.tills {
			wg.Go(func() {
				for i, a := range c.scripts[half] {
					d.perform(c, fmt.Sprintf("%s-%d-%d", c.name, half, i), a)
				}
				for _, repeat := range c.later {
					repeat()
				}
				c.later = nil
			})
		}
		wg.Wait()
		if half == 0 && !d.t.Failed() {
			d.betweenShifts()
		}
	}
	close(d.kill)
	<-done
	if killed != d.kills {
		d.t.Errorf("%d kills, want %d", killed, d.kills)
	}
	if d.t.Failed() {
		d.t.FailNow()
	}
}

// restart kills the server and starts it again on the same file and address.
func (d *day) restart() {
	d.restarting.Lock()
	defer d.restarting.Unlock()
	d.f.server.signal(syscall.SIGKILL)
	d.f.server.wait()
	d.f.server = startServe(d.t, d.f.db, "--listen", strings.TrimPrefix(d.origin, "http://"), "--api-key-rate-limit-per-minute", "0",
		"--till-rate-limit-per-minute", "0")
	d.f.server.clientsLeave = true
}

// ask repeats a request until there is an answer.
func (d *day) ask(c *servertest.Client, method, path string, body any, headers ...string) *servertest.Reply {
	d.t.Helper()
	for range 1000 {
		r := c.On(d.t).Via(d.http).Try(context.Background(), method, path, body, headers...)
		if r.Err == nil {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
				r.Check()
			}
			for n, i := d.answered.Add(1), 0; i < len(d.after); i++ {
				if d.after[i] == n {
					d.kill <- struct{}{}
				}
			}
			return r
		}
		if d.kills == 0 {
			d.t.Fatalf("%s: %v", r.What, r.Err)
		}
		d.waitForServer()
	}
	d.t.Fatalf("%s %s: no answer after 1000 tries", method, path)
	return nil
}

// waitForServer waits while the server restarts.
func (d *day) waitForServer() {
	d.restarting.RLock()
	defer d.restarting.RUnlock()
}

// betweenShifts disables a location for a while and locks the lost cards. The server is not killed
// meanwhile.
func (d *day) betweenShifts() {
	d.restarting.RLock()
	defer d.restarting.RUnlock()
	there, here := d.tills[2], d.tills[0]
	served := d.cardHolders[slices.IndexFunc(d.cardHolders,
		func(p *cardHolder) bool { return p.program == "standard" && !p.lost && p.stamps[p.id] > 0 })]
	stamp := func(c *dayTill, key string) *servertest.Reply {
		return d.ask(c.api, "POST", "/cards/"+served.id+"/stamps", `{"count":1}`, "Idempotency-Key", key, "X-Staff-Pin", pin)
	}
	d.ask(d.api, "POST", "/locations/"+d.locations[1]+"/disable", nil).Want(200)
	stamp(there, "noon").Want(422, "location_disabled")
	d.ask(there.api, "POST", "/programs/"+d.programs["standard"]+"/cards", nil).Want(422, "location_disabled")
	d.lookup(there.api, served.id)
	d.recordRows(here, served, stamp(here, "noon").Want(201), nil)
	d.ask(d.api, "POST", "/locations/"+d.locations[1]+"/enable", nil).Want(200)
	d.recordRows(there, served, stamp(there, "noon").Want(201), nil) // the 422 was not remembered

	for _, p := range d.cardHolders {
		if p.lost {
			p.oldCode = d.readCode(p)
			p.liveID = d.lookup(here.api, p.id).ID
			if found := d.lookup(here.api, p.oldCode); found.ID != p.liveID || !slices.Contains(p.cards, found.ID) {
				d.t.Errorf("member %d's code finds %s, the id %s, of %v", p.n, found.ID, p.liveID, p.cards)
			}
			d.f.run("card", "lock", p.liveID)
		}
	}
}
