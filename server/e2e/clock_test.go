package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest"
)

// TestAdvance checks that everything that depends on time follows an advance of the clock, in the
// order of its times.
func TestAdvance(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	p := startDev(t, "--clock", start.Format(time.RFC3339), "--api-key-rate-limit-per-minute", "30", "--webhook-delivery-timeout-ms", "200")
	api, out := p.api(p.ready.APIKey), p.outside()
	standard := p.ready.ProgramIDs["standard"]
	advance := func(by string) {
		t.Helper()
		out.Call("POST", "/dev/clock", map[string]string{"advance": by}).Want(200)
	}
	type target struct{ ID, URL string }
	receiver := func(body string) (r target) {
		out.Call("POST", "/dev/receiver", body).Want(201).Decode(&r)
		return r
	}
	type request struct {
		At    time.Time
		Event string
	}
	got := func(r target) (times []time.Duration) {
		var a struct{ Requests []request }
		out.Get("/dev/receiver/" + r.ID).Want(200).Decode(&a)
		for _, q := range a.Requests {
			times = append(times, q.At.Sub(start))
		}
		return times
	}
	subscribe := func(r target, event string) (id string) {
		var w struct{ ID string }
		api.Call("POST", "/programs/"+standard+"/webhooks", map[string]any{"url": r.URL, "events": []string{event}}).Want(201).Decode(&w)
		return w.ID
	}

	// Two receivers fail, the second one 7 s later. A third answers with Retry-After: 120.
	first, second, third := receiver(`{"status": 500}`), receiver(`{"status": 503}`), receiver(`{"status": 429, "headers": {"Retry-After": "120"}}`)
	subscribe(first, "card.added")
	subscribe(third, "card.added")
	card := issueCard(api, standard, map[string]string{"holder_name": "Ada"})
	out.Call("POST", "/dev/settle", nil).Want(200)
	advance("7s")
	log := subscribe(second, "stamp.assigned")
	till := p.till(p.ready.TillToken)
	till.Call("POST", "/cards/"+card.ID+"/stamps", `{}`).Want(201)
	advance("20m")
	near := func(name string, times []time.Duration, want ...time.Duration) {
		t.Helper()
		ok := len(times) == len(want)
		for i := 0; ok && i < len(want); i++ {
			// Each delay has up to 10 % added, and the delays add up.
			ok = times[i] >= want[i] && times[i] <= want[i]+want[i]/10+time.Second
		}
		if !ok {
			t.Errorf("%s was tried at %v, want %v", name, times, want)
		}
	}
	near("the first", got(first), 0, 5*time.Second, 15*time.Second, 35*time.Second, 75*time.Second)
	near("the second", got(second), 7*time.Second, 12*time.Second, 22*time.Second, 42*time.Second, 82*time.Second)
	near("the third", got(third), 0, 120*time.Second, 240*time.Second, 360*time.Second, 480*time.Second)
	// The journal lists the attempts by time.
	var journal struct {
		Data []struct {
			At  time.Time
			URL string
		}
		Hints []struct{ Code string }
	}
	out.Get("/dev/requests?kind=delivery&limit=1000").Want(200).Decode(&journal)
	if len(journal.Data) != 15 || !slices.IsSortedFunc(journal.Data, func(a, b struct {
		At  time.Time
		URL string
	}) int {
		return a.At.Compare(b.At)
	}) {
		t.Errorf("the attempts in the journal: %v", journal.Data)
	}

	// The journal has a hint about a receiver slower than its time-out.
	slow := receiver(`{"delay_ms": 60000}`)
	subscribe(slow, "card.registered")
	out.Call("POST", "/i/"+card.InstallURL[strings.LastIndexByte(card.InstallURL, '/')+1:]+"/install", `{"platform": "apple"}`)
	out.Call("POST", "/dev/settle", nil).Want(200)
	out.Get("/dev/requests").Want(200).Decode(&journal)
	if !strings.Contains(fmt.Sprint(journal.Hints), "webhook_timed_out") {
		t.Errorf("the hints are %v", journal.Hints)
	}

	// The overlap of a rotated key, an idempotency window, a rate limit, the retention of the
	// delivery log, and the expiry of a card.
	var key, rotated struct{ ID, Key string }
	out.Call("POST", "/dev/keys", `{"name": "Old"}`).Want(201).Decode(&key)
	out.Call("POST", "/dev/keys/"+key.ID+"/rotate", `{"grace_hours": 1}`).Want(201).Decode(&rotated)
	issue := func(c *servertest.Client, want int, replayed string) {
		t.Helper()
		r := c.Call("POST", "/programs/"+standard+"/cards", `{"external_ref": "once"}`, "Idempotency-Key", "order").Want(want)
		if r.Header.Get("Idempotent-Replayed") != replayed {
			t.Errorf("replayed: %q, want %q", r.Header.Get("Idempotent-Replayed"), replayed)
		}
	}
	issue(p.api(rotated.Key), 201, "")
	issue(p.api(key.Key), 201, "true")
	for range 29 {
		p.api(key.Key).Get("/me").Want(200)
	}
	p.api(key.Key).Get("/me").Want(429, "rate_limited")
	advance("2s")
	p.api(key.Key).Get("/me").Want(200)
	advance("59m57s")
	p.api(key.Key).Get("/me").Want(200)
	advance("2s")
	p.api(key.Key).Get("/me").Want(401)
	advance("22h59m")
	issue(p.api(rotated.Key), 201, "true")
	advance("2m")
	late := issueCard(api, standard, map[string]string{"expires_at": start.Add(48 * time.Hour).Format(time.RFC3339)})
	issue(p.api(rotated.Key), 409, "") // executed again: the external_ref is taken by now
	hooks := "/programs/" + standard + "/webhooks/" + log + "/deliveries"
	count := func() int {
		var a struct{ Items []struct{ ID string } }
		api.Get(hooks).Want(200).Decode(&a)
		return len(a.Items)
	}
	if n := count(); n == 0 {
		t.Error("the log is empty before its retention ended")
	}
	till.Call("POST", "/cards/"+late.ID+"/stamps", `{}`).Want(201)
	advance("24h")
	till.Call("POST", "/cards/"+late.ID+"/stamps", `{}`).Want(422, "card_expired")
	advance("744h")
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
