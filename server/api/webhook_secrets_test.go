package api_test

import (
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
	"punchcard/webhook"
)

// TestSecretsForAnotherHost checks that a PATCH that gives a webhook a URL with another scheme, host or
// port must also set its bearer token and custom headers, and that one with another spelling of the
// same host need not.
func TestSecretsForAnotherHost(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Guard = &webhook.Guard{AllowHTTP: true, Resolver: &resolver{}} })
	program := s.ProgramIDs["standard"]
	kept := fields{"url": "https://hooks.invalid/a", "bearer_token": "t", "custom_headers": fields{"X-Pass": "v"}}
	for url, moved := range map[string]bool{
		"https://hooks.invalid/b?x=1":      false,
		"HTTPS://HOOKS.invalid:443":        false,
		"https://hooks.invalid.:0443/a":    false,
		"https://hooks.invalid:8443/a":     true,
		"http://hooks.invalid/a":           true,
		"http://hooks.invalid:443/a":       true,
		"https://hooks.invalid.org/a":      true,
		"https://a.hooks.invalid/a":        true,
		"https://xn--hooks-1ya.invalid/a":  true,
		"https://[2a00:1450:4001::1]/a":    true,
		"https://93.184.215.14/a":          true,
		"https://93.184.215.14:443/a?b=/c": true,
	} {
		t.Run(url, func(t *testing.T) {
			s := s.On(t)
			path, _ := newWebhook(s, program, kept)
			was := s.Get(path)
			change := fields{"url": url}
			if !moved {
				s.Patch(path, change).WantOK(fields{
					"url":              url,
					"has_bearer_token": true,
					"custom_headers":   fields{"X-Pass": "***"},
				})
				return
			}
			s.Patch(path, change).Invalid("bearer_token required", "custom_headers required")
			s.Patch(path, servertest.Merge(change, fields{"description": 7})).
				Invalid("description invalid_type", "bearer_token required", "custom_headers required")
			s.Patch(path, servertest.Merge(change, fields{"bearer_token": "t"})).Invalid("custom_headers required")
			s.Patch(path, servertest.Merge(change, fields{"custom_headers": nil})).Invalid("bearer_token required")
			s.Get(path).Same(was)
			s.Patch(path, servertest.Merge(change, fields{"bearer_token": "u", "custom_headers": fields{"X-New": "w"}})).Want(200).
				Shows(fields{"url": url, "has_bearer_token": true, "custom_headers": fields{"X-New": "***"}})
			// Without a bearer token and custom headers, the URL can change alone.
			s.Patch(path, servertest.Merge(kept, fields{"bearer_token": nil, "custom_headers": nil})).WantOK(fields{
				"has_bearer_token": false,
				"custom_headers":   fields{},
			})
			s.Patch(path, change).Want(200)
			s.Patch(path, fields{"url": "https://hooks.invalid/a", "bearer_token": "t"}).Want(200)
			s.Patch(path, change).Invalid("bearer_token required")
			s.Patch(path, servertest.Merge(change, fields{"bearer_token": nil})).WantOK(fields{"has_bearer_token": false})
		})
	}
	// Two spellings of one IPv6 address are the same host.
	path, _ := newWebhook(s, program, servertest.Merge(kept, fields{"url": "https://[2a00:1450:4001:0::1]/"}))
	s.Patch(path, fields{"url": "https://[2A00:1450:4001::1]:443/b"}).Want(200)
}

// TestMaskIsNoSecret checks that the stars that answers show in place of a secret are refused as a
// value of it.
func TestMaskIsNoSecret(t *testing.T) {
	s := start(t)
	path, made := newWebhook(s, s.ProgramIDs["standard"], fields{"bearer_token": "t", "custom_headers": fields{"X-Pass": "v"}})
	s.Patch(path, fields{
		"custom_headers": made.At("custom_headers"),
		"bearer_token":   "***",
	}).Invalid("bearer_token invalid_value", "custom_headers.X-Pass invalid_value")
	s.Patch(path, fields{"custom_headers": fields{"X-Pass": " *** ", "X-Other": "v"}}).Invalid("custom_headers.X-Pass invalid_value")
	postWebhook(s, s.ProgramIDs["standard"], fields{"custom_headers": fields{"X-Pass": "***"}}).
		Invalid("custom_headers.X-Pass invalid_value")
	s.Patch(path, fields{"custom_headers": fields{"X-Pass": "****", "X-Stars": "** *"}, "bearer_token": "****"}).Want(200)
	hook := s.Row(store.KindWebhook, made.Str("id"))
	if v := s.Value("SELECT custom_headers FROM webhooks WHERE id=?", hook); v != `{"X-Pass":"****","X-Stars":"** *"}` {
		t.Errorf("stored %s", v)
	}
}

// TestDeletedWebhookKeepsNoSecret checks that the row of a deleted webhook, which stays as long as its
// deliveries, has no secret, bearer token or custom header.
func TestDeletedWebhookKeepsNoSecret(t *testing.T) {
	s := start(t)
	program := s.NewProgram("standard", false, nil)
	const secrets = "SELECT secret || '|' || ifnull(bearer_token, '') || '|' || custom_headers FROM webhooks WHERE id=?"
	row := map[string]int64{}
	for _, end := range []string{"webhook", "program", "none"} {
		in := program
		if end == "none" {
			in = s.ProgramIDs["standard"]
		}
		path, made := newWebhook(s, in, fields{"bearer_token": "tok-3b1f", "custom_headers": fields{"X-Pass": "val-77aa"}})
		row[end] = s.Row(store.KindWebhook, made.Str("id"))
		s.Post(path+"/test", nil).Want(202) // its log row keeps the webhook's row
		if v := s.Value(secrets, row[end]); v != made.Str("secret")+`|tok-3b1f|{"X-Pass":"val-77aa"}` {
			t.Errorf("before: %s", v)
		}
		if end == "webhook" {
			s.Call("DELETE", path, nil).Want(204)
		}
	}
	s.Control("DELETE", "/programs/"+program, nil)
	for _, end := range []string{"webhook", "program"} {
		if v := s.Value(secrets, row[end]); v != "||{}" {
			t.Errorf("after the %s was deleted: %s", end, v)
		}
	}
	if v := s.Value(secrets, row["none"]); !strings.Contains(v, "tok-3b1f") {
		t.Errorf("the other webhook has %s", v)
	}
}

// TestWebhookKeepsDeletedProgram checks that a PATCH may repeat the id of a deleted program that the
// program_ids of the webhook already contain, and that the id cannot be added to program_ids.
func TestWebhookKeepsDeletedProgram(t *testing.T) {
	s := start(t)
	home, tea, deleted := s.ProgramIDs["standard"], s.NewProgram("standard", false, nil), s.NewProgram("standard", false, nil)
	path, made := newWebhook(s, home, fields{"program_ids": []string{deleted, tea}})
	empty, _ := newWebhook(s, home, nil)
	s.Control("DELETE", "/programs/"+deleted, nil)
	s.Patch(path, fields{
		"program_ids": made.At("program_ids"),
		"description": "x",
	}).WantOK(fields{"program_ids": []string{deleted, tea}})
	s.Patch(path, fields{"program_ids": []string{home, deleted, deleted}}).WantOK(fields{"program_ids": []string{home, deleted}})
	s.Patch(path, fields{"program_ids": []string{deleted, "x"}}).Invalid("program_ids.1 invalid_value")
	s.Patch(path, fields{
		"program_ids": []string{deleted, "x"},
		"description": 7,
	}).Invalid("description invalid_type", "program_ids.1 invalid_value")
	s.Patch(empty, fields{"program_ids": []string{deleted}}).Invalid("program_ids.0 invalid_value")
	postWebhook(s, home, fields{"program_ids": []string{deleted}}).Invalid("program_ids.0 invalid_value")
	s.Patch(path, fields{"program_ids": []string{tea}}).Want(200)
	s.Patch(path, fields{"program_ids": []string{tea, deleted}}).Invalid("program_ids.1 invalid_value")
}

// TestEventsAreCountedOnce checks that repeated events count once towards the maximum of 50.
func TestEventsAreCountedOnce(t *testing.T) {
	s := start(t)
	path, _ := newWebhook(s, s.ProgramIDs["standard"], nil)
	many := func(n, different int) (list []string) {
		for i := range n {
			list = append(list, strings.Repeat("x", i%different+1))
		}
		return list
	}
	repeated := append([]string{"card.added"}, append(strings.Fields(strings.Repeat("prize.* ", 5000)), "card.added", "*")...)
	s.Patch(path, fields{"events": repeated}).WantOK(fields{"events": []string{"card.added", "prize.*", "*"}})
	s.Patch(path, fields{"events": many(51, 51)}).Invalid("events too_many")
	s.Patch(path, fields{"events": many(1000, 51)}).Invalid("events too_many")
	s.Patch(path, fields{"events": append([]string{"*"}, many(1000, 2)...)}).Invalid("events.1 invalid_value", "events.2 invalid_value")
}
