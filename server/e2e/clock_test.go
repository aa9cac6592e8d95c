package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest"
)

// clockTest is a fixture whose clock stands at clockStart until advance.
type clockTest struct {
	*process
	api, out *servertest.Client
	standard string // id of the program
}

var clockStart = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func startClockTest(t *testing.T) *clockTest {
	t.Helper()
	p := startDev(t, "--clock", clockStart.Format(time.RFC3339), "--api-key-rate-limit-per-minute", "30", "--webhook-delivery-timeout-ms", "200")
	return &clockTest{p, p.api(p.ready.APIKey), p.outside(), p.ready.ProgramIDs["standard"]}
}

func (c *clockTest) advance(by string) {
	c.t.Helper()
	c.out.Call("POST", "/dev/clock", map[string]string{"advance": by}).Want(200)
}

// devReceiver is a receiver of the fixture.
type devReceiver struct{ ID, URL string }

// receiver makes a receiver that answers as body says.
func (c *clockTest) receiver(body string) (r devReceiver) {
	c.t.Helper()
	c.out.Call("POST", "/dev/receiver", body).Want(201).Decode(&r)
	return r
}

// subscribe creates a webhook of the standard program for one event and returns its id.
func (c *clockTest) subscribe(r devReceiver, event string) (id string) {
	c.t.Helper()
	return c.api.Call("POST", "/programs/"+c.standard+"/webhooks", map[string]any{"url": r.URL, "events": []string{event}}).Want(201).Str("id")
}

// wantTried checks how long after clockStart a receiver got each request. Each delay may be up to
// 10 % longer, and the delays add up.
func (c *clockTest) wantTried(name string, r devReceiver, want ...time.Duration) {
	c.t.Helper()
	var a struct{ Requests []struct{ At time.Time } }
	c.out.Get("/dev/receiver/" + r.ID).Want(200).Decode(&a)
	var times []time.Duration
	for _, q := range a.Requests {
		times = append(times, q.At.Sub(clockStart))
	}
	if !slices.EqualFunc(times, want, func(got, want time.Duration) bool { return got >= want && got <= want+want/10+time.Second }) {
		c.t.Errorf("%s was tried at %v, want %v", name, times, want)
	}
}

// TestAdvanceRetries checks that retries of deliveries follow an advance of the clock in the order
// of their times, and that the journal has a hint about a receiver slower than its time-out.
func TestAdvanceRetries(t *testing.T) {
	t.Parallel()
	c := startClockTest(t)
	// Two receivers fail, the second one 7 s later. A third answers with Retry-After: 120.
	first, second, third := c.receiver(`{"status": 500}`), c.receiver(`{"status": 503}`), c.receiver(`{"status": 429, "headers": {"Retry-After": "120"}}`)
	c.subscribe(first, "card.added")
	c.subscribe(third, "card.added")
	card := issueCard(c.api, c.standard, map[string]string{"holder_name": "Ada"})
	c.out.Call("POST", "/dev/settle", nil).Want(200)
	c.advance("7s")
	c.subscribe(second, "stamp.assigned")
	c.till(c.ready.TillToken).Call("POST", "/cards/"+card.ID+"/stamps", `{}`).Want(201)
	c.advance("20m")
	c.wantTried("the first", first, 0, 5*time.Second, 15*time.Second, 35*time.Second, 75*time.Second)
	c.wantTried("the second", second, 7*time.Second, 12*time.Second, 22*time.Second, 42*time.Second, 82*time.Second)
	c.wantTried("the third", third, 0, 120*time.Second, 240*time.Second, 360*time.Second, 480*time.Second)
	type attempt struct {
		At  time.Time
		URL string
	}
	var journal struct {
		Data  []attempt
		Hints []struct{ Code string }
	}
	c.out.Get("/dev/requests?kind=delivery&limit=1000").Want(200).Decode(&journal)
	if len(journal.Data) != 15 || !slices.IsSortedFunc(journal.Data, func(a, b attempt) int { return a.At.Compare(b.At) }) {
		t.Errorf("the attempts in the journal: %v", journal.Data)
	}

	c.subscribe(c.receiver(`{"delay_ms": 60000}`), "card.registered")
	c.out.Call("POST", "/i/"+card.InstallURL[strings.LastIndexByte(card.InstallURL, '/')+1:]+"/install", `{"platform": "apple"}`)
	c.out.Call("POST", "/dev/settle", nil).Want(200)
	c.out.Get("/dev/requests").Want(200).Decode(&journal)
	if !strings.Contains(fmt.Sprint(journal.Hints), "webhook_timed_out") {
		t.Errorf("the hints are %v", journal.Hints)
	}
}

// TestAdvanceKeys checks that the overlap of a rotated key, an idempotency window and a rate limit
// follow an advance of the clock.
func TestAdvanceKeys(t *testing.T) {
	t.Parallel()
	c := startClockTest(t)
	var key, rotated struct{ ID, Key string }
	c.out.Call("POST", "/dev/keys", `{"name": "Old"}`).Want(201).Decode(&key)
	c.out.Call("POST", "/dev/keys/"+key.ID+"/rotate", `{"grace_hours": 1}`).Want(201).Decode(&rotated)
	old, next := c.process.api(key.Key), c.process.api(rotated.Key)
	issue := func(api *servertest.Client, want int, replayed string) {
		t.Helper()
		r := api.Call("POST", "/programs/"+c.standard+"/cards", `{"external_ref": "once"}`, "Idempotency-Key", "order").Want(want)
		if r.Header.Get("Idempotent-Replayed") != replayed {
			t.Errorf("replayed: %q, want %q", r.Header.Get("Idempotent-Replayed"), replayed)
		}
	}
	issue(next, 201, "")
	issue(old, 201, "true")
	for range 29 {
		old.Get("/me").Want(200)
	}
	old.Get("/me").Want(429, "rate_limited")
	c.advance("2s")
	old.Get("/me").Want(200)
	c.advance("59m57s")
	old.Get("/me").Want(200)
	c.advance("2s")
	old.Get("/me").Want(401)
	c.advance("22h59m")
	issue(next, 201, "true")
	c.advance("2m")
	issue(next, 409, "") // executed again: the external_ref is taken by now
}

// TestAdvanceCards checks that the expiry of a card and the retention of the delivery log follow an
// advance of the clock.
func TestAdvanceCards(t *testing.T) {
	t.Parallel()
	c := startClockTest(t)
	till := c.till(c.ready.TillToken)
	log := "/programs/" + c.standard + "/webhooks/" + c.subscribe(c.receiver(`{"status": 503}`), "stamp.assigned") + "/deliveries"
	count := func() int {
		var a struct{ Items []struct{ ID string } }
		c.api.Get(log).Want(200).Decode(&a)
		return len(a.Items)
	}
	late := issueCard(c.api, c.standard, map[string]string{"expires_at": clockStart.Add(48 * time.Hour).Format(time.RFC3339)})
	till.Call("POST", "/cards/"+late.ID+"/stamps", `{}`).Want(201)
	c.advance("24h")
	if n := count(); n == 0 {
		t.Error("the log is empty before its retention ended")
	}
	till.Call("POST", "/cards/"+late.ID+"/stamps", `{}`).Want(201)
	c.advance("24h")
	till.Call("POST", "/cards/"+late.ID+"/stamps", `{}`).Want(422, "card_expired")
	c.advance("744h")
	if n := count(); n != 0 {
		t.Errorf("%d entries are left after the retention of 30 days", n)
	}
}

// TestResetEndsLockOut checks that a reset also ends the lock-out of a PIN, which is only in
// memory.
func TestResetEndsLockOut(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--seed", "testdata/seeds/bakery.json")
	try := func() (statuses []int) {
		var device struct{ Token string }
		p.outside().Call("POST", "/dev/devices", map[string]string{"location_id": p.ready.LocationIDs[1]}).Want(201).Decode(&device)
		for range 12 {
			statuses = append(statuses, p.till(device.Token).Call("POST", "/cards/none/uses", `{}`, "X-Staff-Pin", "0000").Status)
		}
		return statuses
	}
	before := try()
	if before[0] == 429 || before[11] != 429 {
		t.Fatalf("a wrong PIN twelve times: %v", before)
	}
	p.outside().Call("POST", "/dev/reset", nil).Want(200)
	if again := try(); !slices.Equal(again, before) {
		t.Errorf("after the reset wrong PINs give %v, before it %v", again, before)
	}
}
