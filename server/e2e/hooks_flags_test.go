package e2e

import (
	"testing"

	"punchcard/server/servertest"
)

// hooks returns a client with a key and the path of the webhooks of a program.
func (f *shopFile) hooks(k key, program string) (c *servertest.Client, path string) {
	return f.api(k), "/programs/" + program + "/webhooks"
}

// TestWebhookTargets checks which targets the flags allow, as described in webhook/README.md.
func TestWebhookTargets(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	k := f.makeKey("create", "--name", "Office")
	program := newProgram(f.api(k), prepaidCard)
	const here = "https://127.0.0.1/hook"
	const plain = "http://127.0.0.1/hook"
	const private = "https://10.1.2.3/hook"
	const metadata = "https://169.254.169.254/hook"
	for _, run := range []struct {
		flags []string
		codes map[string]string // by URL; empty if the URL is allowed
	}{
		{nil, map[string]string{here: "not_public", plain: "invalid_value", private: "not_public", metadata: "not_public"}},
		{[]string{"--webhook-allow-http", "--webhook-allow-cidr", "0.0.0.0/0"},
			map[string]string{here: "", plain: "", private: "", metadata: "not_public", "http://169.254.169.254/": "not_public"}},
	} {
		if run.flags != nil {
			f.server.stop()
			f.server = startServe(t, f.db, run.flags...)
		}
		c, path := f.hooks(k, program)
		for url, code := range run.codes {
			r := c.Post(path, map[string]any{"url": url, "events": []string{"*"}})
			if code == "" {
				r.Want(201)
				continue
			}
			wantDetail(r, "url", code)
		}
	}
	for args, code := range map[string]string{"": "", "--strict-webhook-targets": "invalid_value"} {
		p := startDev(t)
		if args != "" {
			p = startDev(t, args)
		}
		r := p.demo().Post("/programs/"+p.ready.ProgramIDs["access"]+"/webhooks",
			map[string]any{"url": plain, "events": []string{"*"}})
		if code == "" {
			r.Want(201)
		} else {
			wantDetail(r, "url", code)
		}
	}
}

// TestHeldWebhooks checks that serve queues but does not send deliveries with --webhook-hold, and sends
// them without it, with the headers listed in webhook/README.md.
func TestHeldWebhooks(t *testing.T) {
	t.Parallel()
	url, got := receiveCommanded(t)
	relaxed := []string{"--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-send-custom-headers"}
	f := newShop(t, append(relaxed, "--webhook-hold")...)
	k := f.makeKey("create", "--name", "Office")
	program := newProgram(f.api(k), prepaidCard)
	c, path := f.hooks(k, program)
	path += "/" + c.Post(path, map[string]any{
		"url":            url,
		"events":         []string{"card.added"},
		"bearer_token":   "sesame",
		"custom_headers": map[string]string{"X-Shop": "Lux"},
	}).NewID()
	made := issueCard(f.api(k), program, nil)
	c.Get(path + "/deliveries").WantOK(map[string]any{"items.0.attempts": 0, "items.1": nil})
	f.server.stop()
	if n := len(got); n != 0 {
		t.Errorf("%d deliveries were sent although held", n)
	}
	f.server = startServe(t, f.db, relaxed...)
	sent := f.next(got)
	if sent.Data["card_instance_id"] != made.ID {
		t.Errorf("sent %+v, want that of %s", sent, made.ID)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer sesame", "X-Shop": "Lux"} {
		if got := sent.header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}
