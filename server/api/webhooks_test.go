package api_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
)

// TestWebhookLifecycle creates, reads, changes, disables and deletes a webhook.
func TestWebhookLifecycle(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.ProgramIDs["standard"]
	all := "/programs/" + program + "/webhooks"
	if r := s.Get(all).Want(200); string(r.Body) != `{"data":[]}` {
		t.Errorf("the empty list is %s", r.Body)
	}
	path, made := newWebhook(s, program, fields{
		"description":     "CRM",
		"bearer_token":    "t",
		"location_ids":    s.LocationIDs,
		"payload_version": "v1",
	})
	secretless := strings.Replace(string(made.Body), `,"secret":"`+made.Str("secret")+`"`, "", 1)
	if r := s.Get(path).Want(200); string(r.Body) != secretless {
		t.Errorf("read %s, made %s", r.Body, made.Body)
	}
	s.Advance("1m")
	// An empty PATCH changes nothing.
	for _, body := range []any{nil, "{}", fields{"rotate_secret": false}} {
		if r := s.Patch(path, body).Want(200); string(r.Body) != secretless {
			t.Errorf("PATCH %v: %s", body, r.Body)
		}
	}
	s.Advance("1m")
	changed := s.Patch(path, fields{
		"url":                      "https://hooks.invalid/b",
		"events":                   []string{"*"},
		"location_ids":             nil,
		"include_shop_wide_events": false,
		"bearer_token":             nil,
	}).Want(200)
	changed.Shaped("", "UpdatedWebhook", "")
	changed.Shows(fields{"id": made.Str("id"), "url": "https://hooks.invalid/b", "events": []string{"*"}, "location_ids": []string{},
		"include_shop_wide_events": false, "has_bearer_token": false,
		"description": "CRM", "payload_version": "v1", "created_at": "2026-03-01T09:00:00.000Z", "updated_at": "2026-03-01T09:02:00.000Z"})
	s.Get(path).Same(changed)

	// Failures have disabled the webhook, or are counted while it is active. In both cases, active true
	// resets their count, and nothing else does.
	for _, active := range []int{0, 1} {
		s.SQL("UPDATE webhooks SET active=?, consecutive_failures=15", active)
		s.Patch(path, fields{"description": "x"}).WantOK(fields{"active": active == 1, "consecutive_failures": 15})
		s.Patch(path, fields{"active": false}).WantOK(fields{"active": false, "consecutive_failures": 15})
		s.Patch(path, fields{"active": true}).WantOK(fields{"active": true, "consecutive_failures": 0})
	}
	s.Patch(path, fields{"active": false}).WantOK(fields{"active": false})

	other, _ := newWebhook(s, program, nil)
	ping := s.Post(path+"/test", nil).Want(202).Str("id")
	if r := s.Call("DELETE", path, nil).Want(204); len(r.Body) > 0 {
		t.Errorf("204 with a body: %s", r.Body)
	}
	s.Call("DELETE", path, nil).Want(404, "not_found")
	s.Get(path).Want(404, "not_found")
	s.Post(path+"/deliveries/"+ping+"/redeliver", nil).Want(404, "not_found")
	if ids := s.Get(all).IDs(); !slices.Equal(ids, []string{other[strings.LastIndex(other, "/")+1:]}) {
		t.Errorf("listed %q", ids)
	}
}

// TestWebhookList checks that the list has all webhooks of a program, newest
// first, and that deleting the program deletes them.
func TestWebhookList(t *testing.T) {
	s := start(t, servertest.Frozen, func(c *app.Config) { c.Limits.PublicAPIMaxPageSize = 2 })
	one, two := s.NewProgram("standard", false, nil), s.NewProgram("access", false, nil)
	want := map[string][]string{}
	for i := range 5 { // more than a page
		program := one
		if i == 2 {
			program = two
		}
		_, made := newWebhook(s, program, nil)
		want[program] = append([]string{made.Str("id")}, want[program]...)
	}
	for _, program := range []string{one, two} {
		r := s.Get("/programs/" + program + "/webhooks?limit=1&cursor=x").Want(200)
		if !slices.Equal(r.IDs(), want[program]) {
			t.Errorf("listed %d, want %d: %q", len(r.IDs()), len(want[program]), r.IDs())
		}
	}
	s.Control("DELETE", "/programs/"+one, nil)
	s.Get("/programs/"+one+"/webhooks/"+want[one][0]).Want(404, "not_found")
	s.Get("/programs/" + two + "/webhooks/" + want[two][0]).Want(200)
	// An installed card locks the program but not its webhooks.
	s.Post("/programs/"+two+"/publish", nil).Want(200)
	s.Install(s.Issue(two, nil))
	path, _ := newWebhook(s, two, nil)
	s.Patch(path, fields{"active": false}).Want(200)
	s.Call("DELETE", path, nil).Want(204)
}

// TestWebhookSecrets checks that a secret is shown only by the request that made
// it, and its replays.
func TestWebhookSecrets(t *testing.T) {
	var log servertest.Log
	s := start(t, func(c *app.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	program := s.ProgramIDs["standard"]
	all := "/programs/" + program + "/webhooks"
	body := servertest.Merge(minimalWebhook, fields{
		"bearer_token":   "tok-3b1f",
		"custom_headers": fields{"X-Pass": "val-77aa"},
		"url":            "https://hooks.invalid/path-9c2e",
	})
	first := s.Post(all, body, "Idempotency-Key", "make").Want(201).First()
	path := all + "/" + first.Str("id")
	secrets := []string{first.Str("secret")}
	if len(secrets[0]) != len("whsec_")+44 || !strings.HasPrefix(secrets[0], "whsec_") {
		t.Errorf("secret %q", secrets[0])
	}
	again := s.Post(all, body, "Idempotency-Key", "make").Want(201).Replays(first)
	if again.Str("secret") != secrets[0] {
		t.Error("the replay has another secret")
	}
	other := s.Post(all, body).Want(201)
	secrets = append(secrets, other.Str("secret"))
	rotated := s.Patch(path, fields{"rotate_secret": true}, "Idempotency-Key", "turn").Want(200).First()
	rotated.Shaped("", "UpdatedWebhook", "")
	s.Patch(path, fields{"rotate_secret": true}, "Idempotency-Key", "turn").Want(200).Replays(rotated)
	secrets = append(secrets, rotated.Str("secret"))
	if secrets[0] == secrets[1] || secrets[0] == secrets[2] || secrets[1] == secrets[2] {
		t.Errorf("secrets %q", secrets)
	}
	if stored := s.Value("SELECT secret FROM webhooks WHERE id=?", s.Row(store.KindWebhook, first.Str("id"))); stored != secrets[2] {
		t.Errorf("the stored secret is not the newest")
	}

	s.Post(path+"/test", nil).Want(202)
	for _, body := range []fields{{"custom_headers": fields{"X-Pass": "val-77aa\n"}}, {"url": "https://10.0.0.1/path-9c2e"}} {
		text := string(s.Patch(path, body).Want(400).Body)
		if strings.Contains(text, "val-77aa") || strings.Contains(text, "path-9c2e") {
			t.Errorf("the refusal repeats the value: %s", text)
		}
	}
	for _, r := range []*servertest.Reply{first, other, rotated} {
		r.Shows(fields{"has_bearer_token": true, "custom_headers": fields{"X-Pass": "***"}})
	}
	s.Call("DELETE", path, nil).Want(204)
	audited := readAudit(s)
	for _, secret := range append(secrets, "tok-3b1f", "val-77aa", "path-9c2e", "hooks.invalid") {
		if strings.Contains(audited, secret) || strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the audit log or in the log", secret)
		}
	}
	if !strings.Contains(audited, `"webhook.update","target_id":"`+first.Str("id")+`","detail":{"rotated":true}`) {
		t.Error("the rotation is not in the audit log, so the test proves nothing")
	}
}

// TestWebhookMaximum checks the maximum for each shop, across programs and after deletions.
func TestWebhookMaximum(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.WebhookMaxPerShop = 2 })
	one, two := s.ProgramIDs["standard"], s.ProgramIDs["access"]
	path, _ := newWebhook(s, one, fields{"active": false}) // an inactive webhook counts too
	newWebhook(s, two, nil)
	other, _ := newOtherShop(s)
	newWebhook(other, other.NewProgram("access", false, nil), nil)
	s.Post("/programs/"+one+"/webhooks", minimalWebhook).Want(422, "unprocessable_entity")
	s.Call("DELETE", path, nil).Want(204)
	newWebhook(s, two, nil)
	s.Post("/programs/"+one+"/webhooks", minimalWebhook).Want(422, "unprocessable_entity")
}

// TestWebhookTestAndRedelivery checks the log entry at each step.
func TestWebhookTestAndRedelivery(t *testing.T) {
	s := start(t, servertest.Frozen)
	path, made := newWebhook(s, s.ProgramIDs["standard"], fields{"active": false})
	const fresh = "response_status last_error card_instance_id delivered_at"
	ping := s.Post(path+"/test", nil).Want(202)
	ping.Shaped("", "Delivery", fresh)
	ping.Shows(fields{
		"webhook_id":      made.Str("id"),
		"event":           "test.ping",
		"request_headers": fields{},
		"attempts":        0,
		"duration_ms":     0,
		"created_at":      "2026-03-01T09:00:00.000Z",
	})
	if !strings.HasPrefix(ping.Str("id"), "dlv_") || !strings.HasPrefix(ping.Str("event_id"), "evt_") ||
		ping.Str("request_payload.data.message") == "" {
		t.Errorf("the delivery is %s", ping.Body)
	}
	if log := s.Get(path + "/deliveries").Want(200); string(log.Body) != `{"items":[`+string(ping.Body)+`]}` {
		t.Errorf("log %s\nping %s", log.Body, ping.Body)
	}
	entry := path + "/deliveries/" + ping.Str("id")
	s.Post(entry+"/redeliver", nil).Want(409, "conflict")
	failDelivery(s, ping.Str("id"))
	log := s.Get(path + "/deliveries").Want(200)
	log.Shaped("items.0", "Delivery", "card_instance_id delivered_at")
	log.Shows(fields{
		"items.0.attempts":        5,
		"items.0.response_status": 500,
		"items.0.last_error":      "status 500",
		"items.0.duration_ms":     12,
		"items.0.request_headers": fields{"User-Agent": "test"},
	})
	s.Post(entry+"/redeliver", nil).Want(422, "unprocessable_entity")
	s.Get(path + "/deliveries").Same(log)
	s.Patch(path, fields{"active": true}).Want(200)
	s.Post(entry+"/redeliver", nil).Want(202).Same(ping)
	s.Post(entry+"/redeliver", nil).Want(409, "conflict")

	// An entry belongs to one webhook.
	other, _ := newWebhook(s, s.ProgramIDs["standard"], nil)
	failDelivery(s, ping.Str("id"))
	s.Post(other+"/deliveries/"+ping.Str("id")+"/redeliver", nil).Want(404, "not_found")
	s.Post(path+"/deliveries/none/redeliver", nil).Want(404, "not_found")
	s.Post(path+"/deliveries/"+ping.Str("event_id")+"/redeliver", nil).Want(404, "not_found")
	s.Post(entry+"/redeliver", nil).Want(202)
}

// TestDeliveryLogLimits checks that a webhook's log has its deliveries in its payload version, their
// order, the default limit of 50, the limit 0, and that limits are not clamped.
func TestDeliveryLogLimits(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.DeliveryLogMaxLimit = 51 })
	path, _ := newWebhook(s, s.ProgramIDs["access"], fields{"payload_version": "v1"})
	second, other := newWebhook(s, s.ProgramIDs["access"], nil)
	if r := s.Get(path + "/deliveries").Want(200); string(r.Body) != `{"items":[]}` {
		t.Errorf("the empty log is %s", r.Body)
	}
	var cards []string
	for range 52 {
		cards = append([]string{s.Issue(s.ProgramIDs["access"], nil)}, cards...)
	}
	for query, want := range map[string]int{"": 50, "?limit=0": 0, "?limit=1": 1, "?limit=51": 51, "?cursor=x&status=failed": 50} {
		r := s.Get(path + "/deliveries" + query).Want(200)
		var have []string
		for i, v := range r.At("items").([]any) {
			d := v.(map[string]any)
			have = append(have, d["card_instance_id"].(string))
			payload := d["request_payload"].(map[string]any)
			if payload["event_id"] != d["event_id"] || payload["payload_version"] != nil || payload["event"] != "card.added" ||
				dig(payload, "data", "card_instance_id") != d["card_instance_id"] {
				t.Errorf("entry %d: %v", i, d)
			}
		}
		if !slices.Equal(have, cards[:want]) {
			t.Errorf("%s: %d entries, want %d", query, len(have), want)
		}
	}
	s.Get(second + "/deliveries?limit=1").WantOK(fields{
		"items.0.webhook_id":                      other.Str("id"),
		"items.0.card_instance_id":                cards[0],
		"items.0.request_payload.payload_version": "v2",
	})
	s.Get(path + "/deliveries?limit=52").Invalid("limit too_large")
}
