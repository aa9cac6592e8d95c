package api_test

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"punchcard/server/app"
	"punchcard/webhook"
)

// resolver is one that asks no network: every name is a public address,
// but for those that begin with "private". It notes what it is asked.
type resolver struct {
	mu    sync.Mutex
	hosts []string
	first func() // before it answers
}

func (n *resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if n.first != nil {
		n.first()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts = append(n.hosts, host)
	if len(host) > 7 && host[:7] == "private" {
		return []netip.Addr{netip.MustParseAddr("10.1.1.1")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

func (n *resolver) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	hosts := n.hosts
	n.hosts = nil
	return hosts
}

// guarded has a server hold targets to the rules of a fixture, by these names.
func guarded(n *resolver) func(*app.Config) {
	return func(c *app.Config) { c.Guard = &webhook.Guard{Loopback: true, Resolver: n} }
}

// TestTargetIsAskedOnce: where the URL is named and sound, with all other
// faults, and not for a replay.
func TestTargetIsAskedOnce(t *testing.T) {
	t.Parallel()
	var a resolver
	s := start(t, guarded(&a))
	all := "/programs/" + s.ProgramIDs["standard"] + "/webhooks"
	wants := func(what string, hosts ...string) {
		t.Helper()
		if have := a.take(); !slices.Equal(have, hosts) {
			t.Errorf("%s: asked %q, want %q", what, have, hosts)
		}
	}
	first := s.post(all, leastHook, "Idempotency-Key", "k").want(201).fresh()
	wants("create", "hooks.invalid")
	s.post(all, leastHook, "Idempotency-Key", "k").again(first)
	wants("replay")
	s.post(all, fields{"url": "https://hooks.invalid/b"}, "Idempotency-Key", "k").want(409, "idempotency_conflict")
	wants("conflict of keys")
	path := all + "/" + first.str("id")
	s.patch(path, fields{"description": "x"}).want(200)
	wants("no url")
	s.patch(path, fields{"url": "https://hooks.invalid/c", "rotate_secret": true}).want(200)
	wants("patch", "hooks.invalid")
	s.patch(path, fields{"url": "https://private.invalid/", "events": []string{"bogus"}, "description": 7}).invalid("description invalid_type", "events.0 invalid_value", "url not_public")
	wants("other faults", "private.invalid")
	for _, url := range []any{"", "nothing", 7, nil, "https://a:b@hooks.invalid/"} {
		s.patch(path, fields{"url": url}).want(400)
		s.post(all, plus(leastHook, fields{"url": url})).want(400)
		wants("a url that is none")
	}
	s.post(all, plus(leastHook, fields{"url": "https://10.1.1.1/"}), "Idempotency-Key", "later").invalid("url not_public")
	s.post(all, leastHook, "Idempotency-Key", "later").want(201).fresh() // a refusal is not remembered
	s.with("").post(all, leastHook).want(401)
	a.take()
	reader, _ := s.newKey(fields{"scopes": []string{"webhooks:read"}})
	reader.post(all, leastHook).want(403)
	wants("no scope")
}

// TestTargetHoldsUpNobody: while a look-up takes its time, others write.
func TestTargetHoldsUpNobody(t *testing.T) {
	t.Parallel()
	var s *server
	// It never ends where the writer waits for it.
	s = start(t, guarded(&resolver{first: func() { s.issue(s.ProgramIDs["standard"], nil) }}))
	path, _ := s.newHook(s.ProgramIDs["standard"], nil)
	s.patch(path, fields{"url": "https://hooks.invalid/b"}).want(200)
	if n := s.count("/cards"); n != 2 {
		t.Errorf("%d cards", n)
	}
}

// TestStrictTargets: as serve has it, secrets are sent neither in clear nor to
// the machine itself.
func TestStrictTargets(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *app.Config) { c.Guard = &webhook.Guard{Resolver: &resolver{}} })
	path, _ := s.newHook(s.ProgramIDs["standard"], nil)
	for _, url := range []string{"http://hooks.invalid/", "http://127.0.0.1/"} {
		s.patch(path, fields{"url": url}).invalid("url invalid_value")
	}
	s.patch(path, fields{"url": "https://127.0.0.1/"}).invalid("url not_public")
	s.patch(path, fields{"url": "HTTPS://hooks.invalid/b"}).want(200)
}
