package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
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

// TestDay simulates a day of a shop in which three tills at two locations serve a thousand members:
// once without interruption, and once while the server is killed ten times. Both must end in the
// same state.
func TestDay(t *testing.T) {
	t.Parallel()
	const seed = 20260214
	t.Logf("seed %d", seed)
	kills := []int{0, 10}
	ends, transcripts := make([][]string, len(kills)), make([][]string, len(kills))
	t.Run("runs", func(t *testing.T) {
		for i, n := range kills {
			t.Run(fmt.Sprintf("%d kills", n), func(t *testing.T) {
				t.Parallel()
				d := openShop(t, seed, n)
				d.run()
				transcripts[i], ends[i] = d.transcript(), d.checkEnd()
			})
		}
	})
	wantSame(t, "the transcript", transcripts[0], transcripts[1])
	wantSame(t, "the end state", ends[0], ends[1])
}

// wantSame compares two runs line by line.
func wantSame(t *testing.T, what string, a, b []string) {
	t.Helper()
	if len(a) == 0 || len(a) != len(b) {
		t.Errorf("%s: %d lines without kills, %d with", what, len(a), len(b))
	}
	for i, wrong := 0, 0; i < min(len(a), len(b)) && wrong < 5; i++ {
		if a[i] != b[i] {
			t.Errorf("%s differs:\n%s\n%s", what, a[i], b[i])
			wrong++
		}
	}
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

// action is one request of a till.
type action struct {
	p      *cardHolder
	kind   string
	n      int64 // stamps, cents, or the index of a prize
	repeat int   // 1: repeated immediately after the answer; 2: repeated at the end of the shift
	badPIN bool  // a wrong PIN is sent first
}

// dayTill is a till.
type dayTill struct {
	name     string
	location int
	api      *servertest.Client
	scripts  [2][]action // for the morning and the afternoon
	lines    []string    // what was answered, without values that differ between runs
	later    []func()
}

type day struct {
	t             *testing.T
	f             *shopFile
	http          *http.Client
	origin        string
	api           *servertest.Client
	otherShop     *servertest.Client
	firstLocation *servertest.Client // key restricted to the first location
	locations     [2]string
	programs      map[string]string
	prizes        []string
	names         map[string]string // of prizes and locations, by id
	cardHolders   []*cardHolder
	tills         []*dayTill

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
	d := &day{t: t, f: &shopFile{t: t, db: filepath.Join(memoryDir(t), "shop.db")}, programs: map[string]string{}, names: map[string]string{},
		kills: kills, kill: make(chan struct{}, kills), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	t.Cleanup(d.http.CloseIdleConnections)
	var shop, other struct{ ID string }
	d.f.json(&shop, "shop", "create", "--name", "Bar Lux", "--timezone", "Europe/Rome")
	for i, name := range []string{"Centrale", "Stazione"} {
		d.locations[i] = d.f.location(name)
		d.names[d.locations[i]] = name
	}
	if out := d.f.setPIN(d.locations[1], pin); strings.Contains(out, pin) {
		t.Errorf("set-pin printed the PIN: %s", out)
	}
	servertest.WeakenPIN(t, d.f.db, pin)
	full := d.f.makeKey("create", "--name", "Office")
	firstLocation := d.f.makeKey("create", "--name", "Centrale's office", "--location", d.locations[0])
	var tokens []string
	for i, at := range []int{0, 0, 1} {
		var made struct{ Token string }
		d.f.json(&made, "device", "create", "--location", d.locations[at], "--name", fmt.Sprintf("Till %d", i+1), "--accept-card-ids")
		tokens = append(tokens, made.Token)
	}
	d.f.json(&other, "shop", "create", "--name", "Next door")
	next := d.f.makeKey("create", "--name", "Stranger", "--shop", other.ID)
	d.f.shop = shop.ID
	d.f.server = startServe(t, d.f.db, "--listen", fmt.Sprintf("127.0.0.1:%d", freePort(t)), "--api-key-rate-limit-per-minute", "0", "--till-rate-limit-per-minute", "0")
	d.origin = d.f.server.origin
	d.api, d.firstLocation, d.otherShop = d.f.api(full), d.f.api(firstLocation), d.f.api(next)
	for i, at := range []int{0, 0, 1} {
		d.tills = append(d.tills, &dayTill{name: fmt.Sprintf("till-%d", i+1), location: at, api: newClient(t, d.origin+"/till/v1", tokens[i])})
	}
	d.api.Call("PATCH", "/locations/"+d.locations[1], `{"require_staff_pin":true}`).Want(200)
	for _, p := range []string{`{"type":"standard","name":"Coffee","total_stamps":10,"repeat_after_reset":true,"icon_key":"coffee"}`,
		`{"type":"private","name":"Regulars","total_stamps":8,"icon_key":"star"}`, `{"type":"prepaid","name":"Prepaid","initial_balance_cents":500}`,
		`{"type":"access","name":"Gym","access_image_url":"https://example.com/gym.png"}`, `{"type":"discount","name":"Friends","discount_percent":10}`} {
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
		d.prizes, d.names[made.ID] = append(d.prizes, made.ID), name
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

// planActions plans the actions of each till, which depend on random only.
func (d *day) planActions(random *rand.Rand) {
	seen := map[[2]string]bool{}
	lost := 0
	for i, m := range readMembers(d.t) {
		p := &cardHolder{member: m, n: i, rest: random.IntN(3) == 0, stamps: map[string]int64{}}
		if other := map[int]string{5: "access", 6: "discount", 7: "private"}[i%8]; other != "" {
			p.program = other
		}
		if seen[[2]string{p.program, p.ref}] {
			p.ref = ""
		}
		seen[[2]string{p.program, p.ref}] = true
		if p.program == "prepaid" {
			p.value = 500
		}
		if p.program == "standard" && lost < 4 && i > 100 {
			p.lost = true
			lost++
		}
		d.cardHolders = append(d.cardHolders, p)
	}
	badPINs := 0
	for half := range 2 {
		queues := make([][][]action, len(d.tills))
		for _, p := range d.cardHolders {
			var visits []action
			if half == 0 {
				visits = append(visits, action{p: p, kind: "issue"})
				if p.ref != "" && random.IntN(10) == 0 {
					visits = append(visits, action{p: p, kind: "second card"})
				}
			}
			if half == 1 && p.lost {
				visits = append(visits, action{p: p, kind: "locked"}, action{p: p, kind: "reissue"})
			}
			for range 1 + random.IntN(3) {
				visits = append(visits, d.visitActions(p, random)...)
			}
			for i := range visits {
				if random.IntN(12) == 0 {
					visits[i].repeat = 1 + random.IntN(2)
				}
				visits[i].badPIN = random.IntN(40) == 0
			}
			n := random.IntN(len(d.tills))
			for i := range visits {
				if visits[i].badPIN && d.tills[n].location == 1 {
					badPINs++
					visits[i].badPIN = badPINs <= maxBadPINs
				}
			}
			queues[n] = append(queues[n], visits)
		}
		for n, c := range d.tills {
			// Actions of different members are interleaved.
			for q := queues[n]; len(q) > 0; {
				k := random.IntN(min(len(q), 40))
				c.scripts[half] = append(c.scripts[half], q[k][0])
				if q[k] = q[k][1:]; len(q[k]) == 0 {
					q = slices.Delete(q, k, k+1)
				}
			}
		}
	}
}

// visitActions returns the actions of one visit.
func (d *day) visitActions(p *cardHolder, random *rand.Rand) (actions []action) {
	reverse := func() {
		if random.IntN(6) == 0 {
			actions = append(actions, action{p: p, kind: "reverse"})
		}
	}
	add := func(kind string, n int64) { actions = append(actions, action{p: p, kind: kind, n: n}) }
	switch p.program {
	case "standard", "private":
		n := 1 + random.Int64N(4)
		switch random.IntN(12) {
		case 0, 1, 2:
			n = 6 + random.Int64N(9)
		case 3:
			n = 30
		}
		add("stamp", n)
		reverse()
		if random.IntN(2) == 0 {
			prize := 3
			if p.program == "standard" {
				prize = random.IntN(3)
			}
			add("redeem", int64(prize))
			reverse()
		}
	case "prepaid":
		if random.IntN(2) == 0 {
			add("topup", 100*(1+random.Int64N(50)))
			reverse()
		}
		add("spend", 1+random.Int64N(1500))
		reverse()
	default:
		add("use", 0)
		reverse()
	}
	return actions
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

func (d *day) restart() {
	d.restarting.Lock()
	defer d.restarting.Unlock()
	d.f.server.signal(syscall.SIGKILL)
	d.f.server.wait()
	d.f.server = startServe(d.t, d.f.db, "--listen", strings.TrimPrefix(d.origin, "http://"), "--api-key-rate-limit-per-minute", "0", "--till-rate-limit-per-minute", "0")
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

// perform executes one action and records the answer.
func (d *day) perform(c *dayTill, key string, a action) {
	p := a.p
	api, path, body := c.api, "/cards/"+p.id, any(nil)
	want := []string{"201"}
	var target *ledgerRow
	switch a.kind {
	case "issue", "second card":
		if p.rest {
			api = d.api
		}
		path, body = "/programs/"+d.programs[p.program]+"/cards", p.fields()
		if a.kind == "second card" {
			want = []string{"409 conflict"}
		}
	case "stamp":
		path, body = path+"/stamps", map[string]int64{"count": a.n}
		want = []string{"201", "422 card_full_no_repeat", "422 unprocessable_entity"}
	case "locked":
		path += "/stamps"
		want = []string{"422 card_suspended"}
	case "reissue":
		api, path = d.api, "/cards/"+p.liveID+"/reissue"
		want = []string{"200"}
	case "redeem":
		path, body = path+"/redemptions", map[string]string{"prize_id": d.prizes[a.n]}
		want = []string{"201", "422 unprocessable_entity", "422 threshold_already_claimed"}
	case "topup", "spend":
		path, body = path+"/"+a.kind+"s", map[string]int64{"amount_cents": a.n}
		if a.kind == "spend" && p.value < a.n {
			want = []string{"422 prepaid_insufficient_balance"}
		}
	case "use":
		path += "/uses"
	case "reverse":
		for _, r := range slices.Backward(p.rows) {
			if !r.reversed && r.Type != "reversal" {
				target = r
				break
			}
		}
		if target == nil {
			c.lines = append(c.lines, fmt.Sprintf("%s: nothing to reverse", key))
			return
		}
		path = "/transactions/" + target.ID + "/reversal"
		want = []string{"201", "422 cannot_reverse_completed_cycle", "422 unprocessable_entity", "422 prepaid_insufficient_balance", "409 conflict"}
		if target.LocationID != d.locations[c.location] {
			want = []string{"404 not_found"}
		}
	}
	headers := []string{"Idempotency-Key", key}
	if api.Key == c.api.Key && c.location == 1 {
		if a.badPIN {
			d.ask(api, "POST", path, body, "Idempotency-Key", key, "X-Staff-Pin", "1357").Want(401, "invalid_credentials")
			c.lines = append(c.lines, fmt.Sprintf("%s: wrong PIN member %d 0: 401", key, p.n))
		}
		headers = append(headers, "X-Staff-Pin", pin)
	}
	r := d.ask(api, "POST", path, body, headers...)
	got := r.Outcome()
	if !slices.Contains(want, got) {
		d.t.Errorf("%s: %s of member %d (%s, with %v stamps and %d cents): %s, want %v: %s", key, a.kind, p.n, p.program, p.stamps, p.value, got, want, r.Body)
		return
	}
	line := fmt.Sprintf("%s: %s member %d %d: %s", key, a.kind, p.n, a.n, got)
	switch {
	case got == "201" && a.kind == "issue", a.kind == "reissue":
		d.recordIssue(p, r, a)
	case got == "201":
		before, rows := maps.Clone(p.stamps), len(p.rows)
		line += d.recordRows(c, p, r, target)
		d.checkRows(p, a, before, p.rows[rows:])
	}
	c.lines = append(c.lines, line)
	if a.repeat > 0 {
		c.lines = append(c.lines, fmt.Sprintf("%s: retry member %d 0: %s", key, p.n, got[:1]))
	}
	repeat := func() {
		second := d.ask(api, "POST", path, body, headers...)
		if second.Header.Get("Idempotent-Replayed") != "true" || second.Outcome() != got || r.Status < 400 && !bytes.Equal(second.Body, r.Body) {
			d.t.Errorf("%s: the retry of %s got (%v) %d %s, the first request %d %s", key, a.kind, second.Header, second.Status, second.Body, r.Status, r.Body)
		}
	}
	switch a.repeat {
	case 1:
		repeat()
	case 2:
		c.later = append(c.later, repeat)
	}
}

func (d *day) recordIssue(p *cardHolder, r *servertest.Reply, a action) {
	var made card
	r.Decode(&made)
	if made.asMember(d.programs) != p.member || p.id != "" && made.ID != p.liveID || made.InstallURL == p.link {
		d.t.Errorf("%s of member %d: %s", a.kind, p.n, r.Body)
	}
	old := p.link
	p.link = strings.TrimPrefix(made.InstallURL, d.origin)
	if a.kind == "issue" {
		p.id, p.cards = made.ID, []string{made.ID}
		return
	}
	// The code of the lost card is invalid and the new one works.
	c := d.tills[0].api
	d.ask(c, "GET", "/cards/"+p.oldCode, nil).Want(404, "not_found")
	d.ask(c, "POST", "/cards/"+p.oldCode+"/stamps", nil).Want(404, "not_found")
	d.ask(newClient(d.t, d.origin, ""), "GET", old, nil).Want(410, "gone")
	if code := d.readCode(p); code == p.oldCode {
		d.t.Errorf("member %d has the same code after the reissue", p.n)
	} else if found := d.lookup(c, code); found.ID != p.liveID || found.Status != "invited" {
		d.t.Errorf("member %d's new code finds %+v, want %s", p.n, found, p.liveID)
	}
}

// readCode reads the code on a card's page.
func (d *day) readCode(p *cardHolder) string {
	d.t.Helper()
	r := d.ask(newClient(d.t, d.origin, ""), "GET", p.link, nil, "Accept", "text/html")
	return scan(d.t, string(r.Want(200).Body))
}

func (d *day) lookup(c *servertest.Client, code string) stampedCard {
	d.t.Helper()
	var found struct{ Card stampedCard }
	d.ask(c, "GET", "/cards/"+code, nil).Want(200).Decode(&found)
	return found.Card
}

// recordRows records the rows of an answer and checks that the cards in it have their sums.
func (d *day) recordRows(c *dayTill, p *cardHolder, r *servertest.Reply, reversed *ledgerRow) (line string) {
	var answer struct {
		Transaction         *ledgerRow   `json:"transaction"`
		Card                stampedCard  `json:"card"`
		OverflowTransaction *ledgerRow   `json:"overflow_transaction"`
		OverflowCard        *stampedCard `json:"overflow_card"`
	}
	r.Decode(&answer)
	note := func(row *ledgerRow, on stampedCard) {
		if !slices.Contains(p.cards, row.CardID) {
			p.cards = append(p.cards, row.CardID)
		}
		if row.StampsDelta != nil {
			p.stamps[row.CardID] += *row.StampsDelta
		}
		if row.ValueDelta != nil {
			p.value += *row.ValueDelta
		}
		if on.ID != row.CardID || on.StampsCount != p.stamps[on.ID] || (p.program == "prepaid") != (on.CurrentValue != nil) || on.CurrentValue != nil && *on.CurrentValue != p.value ||
			row.LocationID != d.locations[c.location] || row.ProgramID != d.programs[p.program] || row.ReversedAt != nil {
			d.t.Errorf("member %d, with %v stamps and %d cents: %s", p.n, p.stamps, p.value, r.Body)
		}
		p.rows = append(p.rows, row)
		line += "; " + d.describe(p, row) + fmt.Sprintf(" -> %s %d", on.Status, on.StampsCount)
	}
	note(answer.Transaction, answer.Card)
	if over := answer.OverflowTransaction; over != nil {
		note(over, *answer.OverflowCard)
		answer.Transaction.partner, over.partner = over, answer.Transaction
	}
	if reversed != nil {
		checkReversal(d.t, reversed, answer.Transaction)
		if reversed.partner != nil {
			checkReversal(d.t, reversed.partner, answer.OverflowTransaction)
		}
	}
	return line
}

// checkRows checks that the rows are what the till requested. before are the stamps of each
// instance before the request.
func (d *day) checkRows(p *cardHolder, a action, before map[string]int64, rows []*ledgerRow) {
	first, ok := rows[0], true
	switch a.kind {
	case "stamp":
		want, got := a.n, int64(0)
		if p.program == "private" {
			want = min(want, 8-before[first.CardID])
		}
		for _, r := range rows {
			ok = ok && r.Type == "stamp" && *r.StampsDelta > 0
			got += *r.StampsDelta
		}
		ok = ok && got == want
	case "redeem":
		was := before[first.CardID]
		completes := p.program == "standard" && was == 10 && a.n > 0 && first.CardID == p.cards[len(p.cards)-1]
		ok = first.Type == "redemption" && *first.PrizeID == d.prizes[a.n] && (*first.StampsDelta == 0 || completes && *first.StampsDelta == -was) && (!completes || *first.StampsDelta != 0)
	case "topup", "spend":
		ok = first.Type == a.kind && *first.ValueDelta == map[string]int64{"topup": a.n, "spend": -a.n}[a.kind] && first.StampsDelta == nil
	case "use":
		ok = first.Type == p.program && first.StampsDelta == nil && first.ValueDelta == nil
	}
	if ok = ok && (len(rows) == 1 || a.kind == "stamp" || a.kind == "reverse"); !ok {
		d.t.Errorf("member %d, with %v: %+v was answered %+v", p.n, before, a, *first)
	}
}

// checkReversal checks that reversal is the reversal of row.
func checkReversal(t *testing.T, row, reversal *ledgerRow) {
	row.reversed = true
	negated := func(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == -*b }
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if reversal == nil || reversal.Type != "reversal" || reversal.CardID != row.CardID || text(row.PrizeID) != text(reversal.PrizeID) ||
		!negated(row.StampsDelta, reversal.StampsDelta) || !negated(row.ValueDelta, reversal.ValueDelta) {
		t.Errorf("%+v was reversed by %+v", row, reversal)
	}
}

// describe returns a row as text, without values that differ between runs.
func (d *day) describe(p *cardHolder, r *ledgerRow) string {
	show := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	prize := "-"
	if r.PrizeID != nil {
		prize = d.names[*r.PrizeID]
	}
	return fmt.Sprintf("%s on %d at %s: %s stamps, %s cents, %s, reversed %t", r.Type, slices.Index(p.cards, r.CardID), d.names[r.LocationID],
		show(r.StampsDelta), show(r.ValueDelta), prize, r.reversed)
}

// betweenShifts disables a location for a while and locks the lost cards. The server is not killed
// during it.
func (d *day) betweenShifts() {
	d.restarting.RLock()
	defer d.restarting.RUnlock()
	there, here := d.tills[2], d.tills[0]
	served := d.cardHolders[slices.IndexFunc(d.cardHolders, func(p *cardHolder) bool { return p.program == "standard" && !p.lost && p.stamps[p.id] > 0 })]
	stamp := func(c *dayTill, key string) *servertest.Reply {
		return d.ask(c.api, "POST", "/cards/"+served.id+"/stamps", `{"count":1}`, "Idempotency-Key", key, "X-Staff-Pin", pin)
	}
	d.ask(d.api, "POST", "/locations/"+d.locations[1]+"/disable", nil).Want(200)
	stamp(there, "noon").Want(422, "location_disabled")
	d.ask(there.api, "POST", "/programs/"+d.programs["standard"]+"/cards", nil).Want(422, "location_disabled")
	d.lookup(there.api, served.id)
	d.recordRows(here, served, stamp(here, "noon").Want(201), nil)
	d.ask(d.api, "POST", "/locations/"+d.locations[1]+"/enable", nil).Want(200)
	d.recordRows(there, served, stamp(there, "noon").Want(201), nil) // the 402 was not remembered

	for _, p := range d.cardHolders {
		if p.lost {
			p.oldCode = d.readCode(p)
			p.liveID = d.lookup(here.api, p.id).ID
			if found := d.lookup(here.api, p.oldCode); found.ID != p.liveID || !slices.Contains(p.cards, found.ID) {
				d.t.Errorf("member %d's code finds %s, the id %s, of %v", p.n, found.ID, p.liveID, p.cards)
			}
			d.f.run("card", "lock", p.liveID, "--shop", d.f.shop)
		}
	}
}

// transcript returns all lines of all tills in order.
func (d *day) transcript() (lines []string) {
	for _, c := range d.tills {
		lines = append(lines, c.lines...)
	}
	return lines
}
