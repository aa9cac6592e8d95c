package api_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/webhook"
)

// resolver resolves every name to a public address, except names that begin with "private", which get
// a private one. It records the names.
type resolver struct {
	mu     sync.Mutex
	hosts  []string
	before func() // called before each answer; may be nil
}

func (n *resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if n.before != nil {
		n.before()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts = append(n.hosts, host)
	if strings.HasPrefix(host, "private") {
		return []netip.Addr{netip.MustParseAddr("10.1.1.1")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// take returns the names that were looked up since its last call.
func (n *resolver) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	hosts := n.hosts
	n.hosts = nil
	return hosts
}

// guarded makes a server check webhook targets as the fixture does, with n as its resolver.
func guarded(n *resolver) func(*app.Config) {
	return func(c *app.Config) { c.Guard = &webhook.Guard{Loopback: true, Resolver: n} }
}

// TestTargetLookups checks that the name in a valid URL is looked up once, also if other fields are
// invalid, and is not looked up for a replay or for a caller who may not create webhooks.
func TestTargetLookups(t *testing.T) {
	var a resolver
	s := start(t, guarded(&a))
	all := "/programs/" + s.ProgramIDs["standard"] + "/webhooks"
	wants := func(what string, hosts ...string) {
		t.Helper()
		if have := a.take(); !slices.Equal(have, hosts) {
			t.Errorf("%s: looked up %q, want %q", what, have, hosts)
		}
	}
	first := s.Post(all, minimalWebhook, "Idempotency-Key", "k").Want(201).First()
	wants("create", "hooks.invalid")
	s.Post(all, minimalWebhook, "Idempotency-Key", "k").Replays(first)
	wants("replay")
	s.Post(all, fields{"url": "https://hooks.invalid/b"}, "Idempotency-Key", "k").Want(409, "idempotency_conflict")
	wants("conflict of idempotency keys")
	path := all + "/" + first.Str("id")
	s.Patch(path, fields{"description": "x"}).Want(200)
	wants("no url")
	s.Patch(path, fields{"url": "https://hooks.invalid/c", "rotate_secret": true}).Want(200)
	wants("patch", "hooks.invalid")
	s.Patch(path, fields{
		"url":         "https://private.invalid/",
		"events":      []string{"bogus"},
		"description": 7,
	}).Invalid("description invalid_type", "events.0 invalid_value", "url not_public")
	wants("other invalid fields", "private.invalid")
	for _, url := range []any{"", "nothing", 7, nil, "https://a:b@hooks.invalid/"} {
		s.Patch(path, fields{"url": url}).Want(400)
		s.Post(all, servertest.Merge(minimalWebhook, fields{"url": url})).Want(400)
		wants("an invalid url")
	}
	s.Post(all, servertest.Merge(minimalWebhook, fields{"url": "https://10.1.1.1/"}), "Idempotency-Key", "later").Invalid("url not_public")
	wants("an address")
	s.Post(all, minimalWebhook, "Idempotency-Key", "later").Want(201).First() // a refusal is not remembered
	wants("create after a refusal", "hooks.invalid")
	s.With("").Post(all, minimalWebhook).Want(401)
	wants("no key")
	reader, _ := s.NewKey(fields{"scopes": []string{"webhooks:read"}})
	reader.Post(all, minimalWebhook).Want(403)
	wants("no scope")
}

// TestSlowLookupBlocksNobody checks that others can write during a slow lookup.
func TestSlowLookupBlocksNobody(t *testing.T) {
	var s *servertest.Server
	// The lookup would never end if the writer waited for it.
	s = start(t, guarded(&resolver{before: func() { s.Issue(s.ProgramIDs["standard"], nil) }}))
	path, _ := newWebhook(s, s.ProgramIDs["standard"], nil)
	s.Patch(path, fields{"url": "https://hooks.invalid/b"}).Want(200)
	if n := s.Count("/cards"); n != 2 {
		t.Errorf("%d cards", n)
	}
}
