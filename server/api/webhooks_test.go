package api_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"punchcard/server/app"
	"punchcard/store"
)

// deliveryTable is spec section Webhook delivery.
const deliveryTable = `
	id id
	webhook_id id
	event string
	event_id id
	request_payload object
	request_headers object
	response_status integer|null
	attempts integer
	last_error string|null
	duration_ms integer
	card_instance_id id|null
	delivered_at date-time|null
	created_at date-time`

// TestWebhookLifecycle: make, read, change, switch, delete.
func TestWebhookLifecycle(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	program := s.ProgramIDs["standard"]
	all := "/programs/" + program + "/webhooks"
	if r := s.get(all).want(200); string(r.body) != `{"data":[]}` {
		t.Errorf("%s", r.body)
	}
	path, made := s.newHook(program, fields{"description": "CRM", "bearer_token": "t", "location_ids": s.LocationIDs, "payload_version": "v1"})
	secretless := strings.Replace(string(made.body), `,"secret":"`+made.str("secret")+`"`, "", 1)
	if r := s.get(path).want(200); string(r.body) != secretless {
		t.Errorf("read %s, made %s", r.body, made.body)
	}
	s.advance("1m")
	// Nothing named changes nothing.
	for _, body := range []any{nil, "{}", fields{"rotate_secret": false}} {
		if r := s.patch(path, body).want(200); string(r.body) != secretless {
			t.Errorf("PATCH %v: %s", body, r.body)
		}
	}
	s.advance("1m")
	changed := s.patch(path, fields{"url": "https://hooks.invalid/b", "events": []string{"*"}, "location_ids": nil, "include_shop_wide_events": false, "bearer_token": nil}).want(200)
	changed.shaped("", hookTable, "")
	changed.shows(fields{"id": made.str("id"), "url": "https://hooks.invalid/b", "events": []string{"*"}, "location_ids": []string{}, "include_shop_wide_events": false, "has_bearer_token": false,
		"description": "CRM", "payload_version": "v1", "created_at": "2026-03-01T09:00:00.000Z", "updated_at": "2026-03-01T09:02:00.000Z"})
	if r := s.get(path); string(r.body) != string(changed.body) {
		t.Errorf("read %s, changed %s", r.body, changed.body)
	}

	// Switched off by failures; active true forgives them, also where it is on.
	for _, active := range []int{0, 1} {
		s.sql("UPDATE webhooks SET active=?, consecutive_failures=15", active)
		s.patch(path, fields{"description": "x"}).want(200).shows(fields{"active": active == 1, "consecutive_failures": 15})
		s.patch(path, fields{"active": true}).want(200).shows(fields{"active": true, "consecutive_failures": 0})
	}
	s.patch(path, fields{"active": false}).want(200).shows(fields{"active": false})

	other, _ := s.newHook(program, nil)
	if r := s.call("DELETE", path, nil).want(204); len(r.body) > 0 {
		t.Errorf("%s", r.body)
	}
	s.call("DELETE", path, nil).want(404, "not_found")
	s.get(path).want(404, "not_found")
	s.patch(path, nil).want(404, "not_found")
	s.get(path+"/deliveries").want(404, "not_found")
	s.post(path+"/test", nil).want(404, "not_found")
	if ids := s.get(all).ids(); !slices.Equal(ids, []string{other[strings.LastIndex(other, "/")+1:]}) {
		t.Errorf("listed %q", ids)
	}
}

// TestWebhookList: newest first, all of them, each program its own; a program
// that is deleted takes them along.
func TestWebhookList(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	one, two := s.newProgram("standard", false, nil), s.newProgram("access", false, nil)
	want := map[string][]string{}
	for i := range 130 {
		program := []string{one, one, two}[i%3]
		_, made := s.newHook(program, nil)
		want[program] = append([]string{made.str("id")}, want[program]...)
	}
	for _, program := range []string{one, two} {
		r := s.get("/programs/" + program + "/webhooks?limit=1&cursor=x").want(200)
		if r.shaped("", "data list", ""); !slices.Equal(r.ids(), want[program]) {
			t.Errorf("listed %d, want %d: %q", len(r.ids()), len(want[program]), r.ids())
		}
	}
	// The program is an address: another's does not lead there.
	for _, sub := range []string{"", "/deliveries"} {
		s.get("/programs/"+two+"/webhooks/"+want[one][0]+sub).want(404, "not_found")
	}
	s.patch("/programs/"+two+"/webhooks/"+want[one][0], fields{"active": false}).want(404, "not_found")
	s.call("DELETE", "/programs/"+two+"/webhooks/"+want[one][0], nil).want(404, "not_found")
	s.get("/programs/" + one + "/webhooks/" + want[one][0]).want(200).shows(fields{"active": true})

	s.control("DELETE", "/programs/"+one, nil)
	s.get("/programs/"+one+"/webhooks").want(404, "not_found")
	s.get("/programs/"+one+"/webhooks/"+want[one][0]).want(404, "not_found")
	s.post("/programs/"+one+"/webhooks", leastHook).want(404, "not_found")
	s.get("/programs/" + two + "/webhooks/" + want[two][0]).want(200)
	// An installed card freezes the template, not its webhooks.
	s.post("/programs/"+two+"/publish", nil).want(200)
	s.install(s.issue(two, nil))
	path, _ := s.newHook(two, nil)
	s.patch(path, fields{"active": false}).want(200)
	s.call("DELETE", path, nil).want(204)
}

// TestWebhookSecrets: shown by what makes them and by nothing else; a replay
// shows the same.
func TestWebhookSecrets(t *testing.T) {
	t.Parallel()
	var log journal
	s := start(t, func(c *app.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	program := s.ProgramIDs["standard"]
	all := "/programs/" + program + "/webhooks"
	body := plus(leastHook, fields{"bearer_token": "tok-3b1f", "custom_headers": fields{"X-Pass": "val-77aa"}, "url": "https://hooks.invalid/path-9c2e"})
	first := s.post(all, body, "Idempotency-Key", "make").want(201).fresh()
	path := all + "/" + first.str("id")
	secrets := []string{first.str("secret")}
	if len(secrets[0]) != len("whsec_")+44 || !strings.HasPrefix(secrets[0], "whsec_") {
		t.Errorf("secret %q", secrets[0])
	}
	again := s.post(all, body, "Idempotency-Key", "make").want(201).again(first)
	if again.str("secret") != secrets[0] {
		t.Error("the replay has another secret")
	}
	other := s.post(all, body).want(201)
	secrets = append(secrets, other.str("secret"))
	rotated := s.patch(path, fields{"rotate_secret": true}, "Idempotency-Key", "turn").want(200).fresh()
	rotated.shaped("", hookTableWithSecret, "")
	s.patch(path, fields{"rotate_secret": true}, "Idempotency-Key", "turn").want(200).again(rotated)
	secrets = append(secrets, rotated.str("secret"))
	if secrets[0] == secrets[1] || secrets[0] == secrets[2] || secrets[1] == secrets[2] {
		t.Errorf("secrets %q", secrets)
	}
	if stored := s.value("SELECT secret FROM webhooks WHERE id=?", s.row(store.KindWebhook, first.str("id"))); stored != secrets[2] {
		t.Errorf("the stored secret is not the newest")
	}

	ping := s.post(path+"/test", nil).want(202)
	s.fail(ping.str("id"))
	answers := []*reply{s.get(all), s.get(path), s.patch(path, nil), s.patch(path, fields{"description": "x"}), s.patch(path, fields{"rotate_secret": false}), ping, s.get(path + "/deliveries"),
		s.post(path+"/deliveries/"+ping.str("id")+"/redeliver", nil).want(202), s.patch(path, fields{"custom_headers": fields{"X-Pass": "val-77aa\n"}}), s.patch(path, fields{"url": "https://10.0.0.1/path-9c2e"})}
	for i, r := range answers {
		for _, secret := range append(secrets, "tok-3b1f", "val-77aa") {
			if strings.Contains(string(r.body), secret) {
				t.Errorf("answer %d shows %q: %s", i, secret, r.body)
			}
		}
	}
	for _, r := range []*reply{first, other, rotated} {
		r.shows(fields{"has_bearer_token": true, "custom_headers": fields{"X-Pass": "***"}})
	}
	s.call("DELETE", path, nil).want(204)
	_, audited := s.audit(100)
	for _, secret := range append(secrets, "tok-3b1f", "val-77aa", "path-9c2e", "hooks.invalid") {
		if strings.Contains(audited, secret) || strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the audit log or in the log", secret)
		}
	}
	if !strings.Contains(audited, "webhook.update") {
		t.Error("the test is blind")
	}
}

// TestWebhookMaximum: per shop, whatever the program; a deleted one makes
// room, and of many at once none gets past it.
func TestWebhookMaximum(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *app.Config) { c.Limits.WebhookMaxPerShop = 5 })
	one, two := s.ProgramIDs["standard"], s.ProgramIDs["access"]
	path, _ := s.newHook(one, nil)
	answers := make([]*reply, 20)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = s.post("/programs/"+[]string{one, two}[i%2]+"/webhooks", leastHook, "Idempotency-Key", fmt.Sprint(i))
		})
	}
	wg.Wait()
	made := 0
	for _, r := range answers {
		if r.status == 201 {
			made++
		} else {
			r.want(422, "unprocessable_entity")
		}
	}
	if n := s.value("SELECT count(*) FROM webhooks"); made != 4 || n != "5" {
		t.Errorf("%d made, %s in the file", made, n)
	}
	other, _ := s.elsewhere()
	other.newHook(other.newProgram("access", false, nil), nil)
	s.patch(path, fields{"active": false}).want(200) // counts all the same
	s.post("/programs/"+one+"/webhooks", leastHook).want(422, "unprocessable_entity")
	s.call("DELETE", path, nil).want(204)
	s.newHook(two, nil)
	s.post("/programs/"+one+"/webhooks", leastHook).want(422, "unprocessable_entity")
}

// TestWebhookTestAndRedelivery: the log entry at each step.
func TestWebhookTestAndRedelivery(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	path, made := s.newHook(s.ProgramIDs["standard"], fields{"active": false})
	const fresh = "response_status last_error card_instance_id delivered_at"
	ping := s.post(path+"/test", nil).want(202)
	ping.shaped("", deliveryTable, fresh)
	ping.shows(fields{"webhook_id": made.str("id"), "event": "test.ping", "request_headers": fields{}, "attempts": 0, "duration_ms": 0, "created_at": "2026-03-01T09:00:00.000Z",
		"request_payload.event": "test.ping", "request_payload.event_id": ping.str("event_id"), "request_payload.payload_version": "v2", "request_payload.shop.id": s.ShopID, "request_payload.data.sample": true,
		"request_payload.location": nil, "request_payload.program": nil, "request_payload.card": nil, "request_payload.transaction": nil, "request_payload.actor": nil})
	if !strings.HasPrefix(ping.str("id"), "dlv_") || !strings.HasPrefix(ping.str("event_id"), "evt_") || ping.str("request_payload.data.message") == "" {
		t.Errorf("%s", ping.body)
	}
	if log := s.get(path + "/deliveries").want(200); string(log.body) != `{"items":[`+string(ping.body)+`]}` {
		t.Errorf("log %s\nping %s", log.body, ping.body)
	}
	entry := path + "/deliveries/" + ping.str("id")
	s.post(entry+"/redeliver", nil).want(409, "conflict")
	s.fail(ping.str("id"))
	log := s.get(path + "/deliveries").want(200)
	log.shaped("items.0", deliveryTable, "card_instance_id delivered_at")
	log.shows(fields{"items.0.attempts": 5, "items.0.response_status": 500, "items.0.last_error": "status 500", "items.0.duration_ms": 12, "items.0.request_headers": fields{"User-Agent": "test"}})
	s.post(entry+"/redeliver", nil).want(422, "unprocessable_entity")
	if after := s.get(path + "/deliveries"); string(after.body) != string(log.body) {
		t.Errorf("a refused redelivery changed %s", after.body)
	}
	s.patch(path, fields{"active": true}).want(200)
	again := s.post(entry+"/redeliver", nil).want(202)
	if string(again.body) != string(ping.body) {
		t.Errorf("redelivered %s\nat first %s", again.body, ping.body)
	}
	s.post(entry+"/redeliver", nil).want(409, "conflict")

	// An entry belongs to its webhook.
	other, _ := s.newHook(s.ProgramIDs["standard"], nil)
	s.fail(ping.str("id"))
	s.post(other+"/deliveries/"+ping.str("id")+"/redeliver", nil).want(404, "not_found")
	s.post(path+"/deliveries/none/redeliver", nil).want(404, "not_found")
	s.post(path+"/deliveries/"+ping.str("event_id")+"/redeliver", nil).want(404, "not_found")
	s.post(entry+"/redeliver", nil).want(202)
}

// TestDeliveryLogLimits: newest first; 50 unless asked, none for 0, and no
// clamping.
func TestDeliveryLogLimits(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.newHook(s.ProgramIDs["access"], fields{"payload_version": "v1"})
	if r := s.get(path + "/deliveries").want(200); string(r.body) != `{"items":[]}` {
		t.Errorf("%s", r.body)
	}
	var cards []string
	for range 205 {
		cards = append([]string{s.issue(s.ProgramIDs["access"], nil)}, cards...)
	}
	for query, want := range map[string]int{"": 50, "?limit=0": 0, "?limit=1": 1, "?limit=49": 49, "?limit=200": 200, "?cursor=x&status=failed": 50} {
		r := s.get(path + "/deliveries" + query).want(200)
		items := r.at("items").([]any)
		var have []string
		for i, v := range items {
			d := v.(map[string]any)
			have = append(have, d["card_instance_id"].(string))
			payload := d["request_payload"].(map[string]any)
			if payload["event_id"] != d["event_id"] || payload["payload_version"] != nil || payload["event"] != "card.added" || dig(payload, "data", "card_instance_id") != d["card_instance_id"] {
				t.Errorf("entry %d: %v", i, d)
			}
		}
		if !slices.Equal(have, cards[:want]) {
			t.Errorf("%s: %d entries, want %d", query, len(have), want)
		}
	}
	for v, want := range map[string]string{"201": "too_large", "99999999999999999999": "too_large", "-1": "too_small", "1.5": "invalid_type", "x": "invalid_type", "": "invalid_value", "1&limit=2": "invalid_value"} {
		s.get(path + "/deliveries?limit=" + v).invalid("limit " + want)
	}
	few := start(t, func(c *app.Config) { c.Limits.DeliveryLogMaxLimit = 2 })
	path, _ = few.newHook(few.ProgramIDs["access"], nil)
	for range 3 {
		few.issue(few.ProgramIDs["access"], nil)
	}
	if n := len(few.get(path + "/deliveries").want(200).at("items").([]any)); n != 2 {
		t.Errorf("%d entries, the maximum is 2", n)
	}
	few.get(path + "/deliveries?limit=3").invalid("limit too_large")
}

// TestErasedCardInTheLog: neither the log nor a remembered redelivery brings an
// erased person back.
func TestErasedCardInTheLog(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.newHook(s.ProgramIDs["access"], nil)
	card := s.issue(s.ProgramIDs["access"], fields{"holder_name": "Xenia Quist", "external_ref": "crm-xq"})
	log := s.get(path + "/deliveries").want(200)
	log.shows(fields{"items.0.request_payload.card.holder.name": "Xenia Quist", "items.0.card_instance_id": card})
	entry := path + "/deliveries/" + log.str("items.0.id")
	s.fail(log.str("items.0.id"))
	s.post(entry+"/redeliver", nil, "Idempotency-Key", "k").want(202)
	if !strings.Contains(strings.Join(s.remembered(), ""), "Xenia") {
		t.Error("the test is blind")
	}
	s.control("POST", "/cards/"+card+"/delete", fields{})
	if kept := strings.Join(s.remembered(), ""); strings.Contains(kept, "Xenia") || strings.Contains(kept, "crm-xq") {
		t.Errorf("remembered: %s", kept)
	}
	s.post(entry+"/redeliver", nil, "Idempotency-Key", "k").want(404, "not_found")
	if after := s.get(path + "/deliveries").want(200); strings.Contains(string(after.body), "Xenia") || strings.Contains(string(after.body), "crm-xq") {
		t.Errorf("the log: %s", after.body)
	}
}
