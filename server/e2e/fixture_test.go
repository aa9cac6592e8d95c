package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// TestDeterministicIDs checks that the same requests get the same answers in every run, byte for
// byte, and after a reset: ids, secrets, request ids, times, and what webhooks receive.
func TestDeterministicIDs(t *testing.T) {
	t.Parallel()
	ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))
	var mu sync.Mutex
	var received []string // bodies that the receiver got
	hooks := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		received = append(received, fmt.Sprint(r.Header.Get("Webhook-Signature"), r.Header.Get("X-Service-Signature"),
			r.Header.Get("Webhook-Id"), string(body)))
	})}
	go hooks.Serve(ln)
	t.Cleanup(func() { hooks.Close() })

	script := func(p *process) string {
		var seen []string
		record := func(r *servertest.Reply) *servertest.Reply {
			r.Header.Del("Date") // real time, as for every HTTP server
			seen = append(seen, fmt.Sprint(r.What, r.Status, r.Header, string(r.Body)))
			return r
		}
		mu.Lock()
		received = nil
		mu.Unlock()
		api, out := p.demo(), p.outside()
		var made card
		var hook struct{ ID string }
		hooks := "/programs/" + p.ready.ProgramIDs["standard"] + "/webhooks"
		record(api.Call("POST", hooks, map[string]any{
			"url":             "http://" + ln.Addr().String() + "/hook",
			"events":          []string{"*"},
			"payload_version": "v2",
		})).Want(201).Decode(&hook)
		record(api.Call("POST", "/programs/"+p.ready.ProgramIDs["standard"]+"/cards", `{"holder_name": "Ada"}`, "Idempotency-Key",
			"one")).Want(201).Decode(&made)
		var receiver struct{ ID, URL string }
		record(out.Call("POST", "/dev/receiver", nil)).Want(201).Decode(&receiver)
		for _, version := range []string{"v1", "v2"} {
			record(api.Call("POST", hooks, map[string]any{
				"url":             receiver.URL,
				"events":          []string{"*"},
				"payload_version": version,
			})).Want(201)
		}
		for range 20 { // their deliveries arrive in any order
			record(api.Call("POST", "/programs/"+p.ready.ProgramIDs["standard"]+"/cards", nil)).Want(201)
		}
		record(out.Call("POST", "/dev/keys", `{"name": "Another"}`)).Want(201)
		record(out.Call("POST", "/dev/shops", `{"name": "Second"}`)).Want(201)
		record(p.till(p.ready.TillToken).Call("POST", "/cards/"+made.ID+"/stamps", `{"count": 2}`)).Want(201)
		record(api.Call("GET", "/nowhere", nil)).Want(404)
		record(out.Call("POST", "/dev/settle", nil)).Want(200)
		record(out.Call("POST", "/dev/clock", `{"advance": "90m"}`)).Want(200)
		record(api.Call("GET", "/transactions", nil)).Want(200)
		record(api.Call("GET", hooks+"/"+hook.ID+"/deliveries", nil)).Want(200)
		record(out.Call("GET", "/dev/receiver/"+receiver.ID, nil)).Want(200)
		record(out.Call("GET", "/dev/audit", nil)).Want(200)
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(received) // they arrive over several connections
		// All but the port is the same.
		return strings.ReplaceAll(strings.Join(append(seen, received...), "\n"), p.origin, "http://here")
	}
	args := []string{"--deterministic-ids", "--public-url", "https://cards.example.com"}
	first, second := startDev(t, args...), startDev(t, append(args, "--db", filepath.Join(t.TempDir(), "kept.db"))...)
	want := script(first)
	if !strings.Contains(want, "stamp.assigned") || !strings.Contains(want, "2026-01-01T09:00:00") {
		t.Fatalf("the script covers too little:\n%s", want)
	}
	if again := script(second); again != want {
		t.Errorf("two runs differ:\n%s", difference(want, again))
	}
	for _, p := range []*process{first, second} {
		p.outside().Call("POST", "/dev/reset", nil).Want(200)
		if again := script(p); again != want {
			t.Errorf("a run after a reset differs:\n%s", difference(want, again))
		}
	}
}

// TestDeterministicIDsOfAnExistingFile checks that starts of the fixture on an existing file make
// new secrets.
func TestDeterministicIDsOfAnExistingFile(t *testing.T) {
	t.Parallel()
	type secrets struct{ Key, Secret, URL string }
	made := map[secrets]bool{}
	args := []string{"--deterministic-ids", "--db", filepath.Join(t.TempDir(), "kept.db")}
	for range 3 {
		p := startDev(t, args...)
		var hook, key, receiver secrets
		p.demo().Call("POST", "/programs/"+p.ready.ProgramIDs["standard"]+"/webhooks",
			`{"url": "http://127.0.0.1:9/hook", "events": ["*"]}`).Want(201).Decode(&hook)
		p.outside().Call("POST", "/dev/keys", `{"name": "Another"}`).Want(201).Decode(&key)
		p.outside().Call("POST", "/dev/receiver", nil).Want(201).Decode(&receiver)
		receiver.URL = strings.TrimPrefix(receiver.URL, p.origin)
		for _, one := range []secrets{hook, key, receiver} {
			if made[one] {
				t.Errorf("the same secret again: %+v", one)
			}
			made[one] = true
		}
		p.stop()
	}
}

// difference returns the first lines in which two texts differ.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			return fmt.Sprintf("line %d\n%s\n%s", i+1, x[i], strings.Join(y[min(i, len(y)):min(i+1, len(y))], ""))
		}
	}
	return "the second goes on"
}

// TestServeHasNoControlAPI checks that no flag of serve enables the control API.
func TestServeHasNoControlAPI(t *testing.T) {
	t.Parallel()
	p := startServe(t, filepath.Join(t.TempDir(), "shop.db"), "--listen", "127.0.0.1:0", "--webhook-allow-http",
		"--webhook-preview-events", "--webhook-send-custom-headers", "--webhook-hold", "--log-level", "debug",
		"--api-key-rate-limit-per-minute", "0")
	for _, path := range []string{
		"/dev", "/dev/", "/dev/reset", "/dev/clock", "/dev/settle", "/dev/requests", "/dev/faults", "/dev/receiver",
		"/dev/receiver/x", "/dev/shops", "/dev/keys", "/dev/audit", "/dev/emails",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			p.outside().Call(method, path, nil).Want(404, "not_found")
		}
	}
}

// TestDevKeepsItsFile checks that a named file keeps its ready line, and what was added to a seed, over a restart,
// and that a reset restores the seed.
func TestDevKeepsItsFile(t *testing.T) {
	t.Parallel()
	args := []string{
		"--seed", "testdata/seeds/bakery.json", "--db", filepath.Join(t.TempDir(), "kept.db"),
		"--listen", fmt.Sprintf("127.0.0.1:%d", freePort(t)),
	}
	first := startDev(t, args...)
	cards := len(listCards(first.demo(), 100))
	issueCard(first.demo(), first.ready.ProgramIDs["standard"], map[string]string{"external_ref": "new"})
	first.stop()

	second := startDev(t, args...)
	if fmt.Sprint(second.ready) != fmt.Sprint(first.ready) { // which has no refs, as only the line of a fresh seed
		t.Errorf("the ready line changed over a restart:\n%s%s", first.line, second.line)
	}
	if n := len(listCards(second.demo(), 100)); n != cards+1 || cards < 10 {
		t.Errorf("%d cards after a second start, want %d of the seed and one more", n, cards)
	}
	second.outside().Call("POST", "/dev/reset", nil).Want(200)
	if n := len(listCards(second.demo(), 100)); n != cards {
		t.Errorf("%d cards after the reset, want %d of the seed", n, cards)
	}
	second.outside().Call("GET", "/dev/seed.schema.json", nil).Want(200)
}
