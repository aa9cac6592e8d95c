package api_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"punchcard/server/app"
	"punchcard/store"
)

// asked notes which targets a server asks about.
type asked struct {
	mu   sync.Mutex
	urls []string
}

func (a *asked) check(ctx context.Context, url string) *store.Detail {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.urls = append(a.urls, url)
	return targets(ctx, url)
}

func (a *asked) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	urls := a.urls
	a.urls = nil
	return urls
}

// TestTargetIsAskedOnce: where the URL is named and sound, with all other
// faults, and not for a replay.
func TestTargetIsAskedOnce(t *testing.T) {
	t.Parallel()
	var a asked
	s := start(t, func(c *app.Config) { c.Targets = a.check })
	all := "/programs/" + s.ProgramIDs["standard"] + "/webhooks"
	wants := func(what string, urls ...string) {
		t.Helper()
		if have := a.take(); !slices.Equal(have, urls) {
			t.Errorf("%s: asked %q, want %q", what, have, urls)
		}
	}
	first := s.post(all, leastHook, "Idempotency-Key", "k").want(201).fresh()
	wants("create", "https://hooks.invalid/a")
	s.post(all, leastHook, "Idempotency-Key", "k").again(first)
	wants("replay")
	s.post(all, fields{"url": "https://hooks.invalid/b"}, "Idempotency-Key", "k").want(409, "idempotency_conflict")
	wants("conflict of keys")
	path := all + "/" + first.str("id")
	s.patch(path, fields{"description": "x"}).want(200)
	wants("no url")
	s.patch(path, fields{"url": "https://hooks.invalid/c", "rotate_secret": true}).want(200)
	wants("patch", "https://hooks.invalid/c")
	s.patch(path, fields{"url": "https://10.1.1.1/", "events": []string{"bogus"}, "description": 7}).invalid("description invalid_type", "events.0 invalid_value", "url not_public")
	wants("other faults", "https://10.1.1.1/")
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
	slow := func(context.Context, string) *store.Detail {
		s.issue(s.ProgramIDs["standard"], nil) // never ends where the writer waits for this
		return nil
	}
	s = start(t, func(c *app.Config) { c.Targets = slow })
	path, _ := s.newHook(s.ProgramIDs["standard"], nil)
	s.patch(path, fields{"url": "https://hooks.invalid/b"}).want(200)
	if n := s.count("/cards"); n != 2 {
		t.Errorf("%d cards", n)
	}
}

// TestTargetWithoutGuard: secrets are not sent in clear where nobody looks.
func TestTargetWithoutGuard(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *app.Config) { c.Targets = nil })
	path, _ := s.newHook(s.ProgramIDs["standard"], nil)
	for _, url := range []string{"http://hooks.invalid/", "http://127.0.0.1/"} {
		s.patch(path, fields{"url": url}).invalid("url invalid_value")
	}
	s.patch(path, fields{"url": "HTTPS://hooks.invalid/b"}).want(200)
}
