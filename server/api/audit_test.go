package api_test

import (
	"fmt"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// auditRow is a row of the audit log. actor is the actor's name or, if it has none, its id.
type auditRow struct{ actorType, actor, action, target string }

// readAudit returns the shop's audit log, newest first, and the JSON of its pages.
func readAudit(s *servertest.Server, limit int) (rows []auditRow, raw string) {
	s.T.Helper()
	cursor := ""
	for {
		r := s.Control("GET", fmt.Sprintf("/audit?shop_id=%s&limit=%d%s", s.ShopID, limit, cursor), nil)
		raw += string(r.Body)
		for _, v := range r.At("data").([]any) {
			m := v.(map[string]any)
			by := m["actor"].(map[string]any)
			actor, _ := by["id"].(string)
			if name, ok := by["name"].(string); ok {
				actor = name
			}
			if _, ok := m["detail"].(map[string]any); !ok || len(by) != 3 || len(m) != 6 {
				s.T.Errorf("a row has other fields: %v", m)
			}
			rows = append(rows, auditRow{by["type"].(string), actor, m["action"].(string), m["target_id"].(string)})
		}
		if r.At("next_cursor") == nil {
			return rows, raw
		}
		if n := len(r.At("data").([]any)); n != limit {
			s.T.Fatalf("a page of %d, limit %d", n, limit)
		}
		cursor = "&cursor=" + r.Str("next_cursor")
	}
}

// auditActions maps the ids of operations to their actions and targets in the log. The target "{id}"
// stands for the id in the answer, "prize" and "webhook" stand for the id of that resource.
var auditActions = map[string]struct{ action, target string }{
	"updateLocation": {"location.update", "{id}"}, "disableLocation": {"location.disable", "{id}"}, "enableLocation": {"location.enable", "{id}"},
	"createProgram": {"program.create", "{id}"}, "updateProgram": {"program.update", "{id}"},
	"publishProgram": {"program.publish", "{id}"}, "unpublishProgram": {"program.unpublish", "{id}"},
	"suspendProgram": {"program.suspend", "{id}"}, "unsuspendProgram": {"program.unsuspend", "{id}"},
	"createPrize": {"prize.create", "{id}"}, "updatePrize": {"prize.update", "{id}"}, "deletePrize": {"prize.delete", "prize"},
	"issueCard": {"card.issue", "{id}"}, "updateCard": {"card.update", "{id}"}, "reissueCard": {"card.reissue", "{id}"}, "createInstallLink": {"card.install_link", "{id}"},
	"createWebhook": {"webhook.create", "{id}"}, "updateWebhook": {"webhook.update", "{id}"}, "deleteWebhook": {"webhook.delete", "webhook"},
	"testWebhook": {"webhook.test", "webhook"}, "redeliver": {"webhook.redeliver", "webhook"},
}

// TestEveryWriteIsAudited checks that every write adds one audit row with the key
// and the resource, and that replays, refusals and no-ops add none.
func TestEveryWriteIsAudited(t *testing.T) {
	t.Parallel()
	s := start(t)
	k, keyID := s.NewKey(map[string]any{})
	for _, r := range servertest.Sample(writingRoutes()) {
		want, ok := auditActions[r.ID]
		if !ok {
			t.Errorf("%s is not in the table", r.ID)
			continue
		}
		th := newThings(s)
		prepareThings(s, r, th)
		before, _ := readAudit(s, 100)
		got := doRoute(k, r, th, "Idempotency-Key", r.ID).Want(r.Status)
		if want.target = strings.NewReplacer("prize", th.prize, "webhook", th.webhook).Replace(want.target); want.target == "{id}" {
			want.target = got.Str("id")
		}
		after, _ := readAudit(s, 100)
		if len(after) != len(before)+1 || after[0] != (auditRow{"api_key", keyID, want.action, want.target}) {
			t.Errorf("%s: %d more rows, the newest %v; want %v by %s", r.ID, len(after)-len(before), after[0], want, keyID)
		}

		notAudited := func(what string) {
			t.Helper()
			if rows, _ := readAudit(s, 100); len(rows) != len(after) {
				t.Errorf("%s, %s: audited: %v", r.ID, what, rows[0])
			}
		}
		doRoute(k, r, th, "Idempotency-Key", r.ID).Want(r.Status)
		notAudited("replayed")
		k.Call(r.Method, th.fill(t, r), `{"x":1}`, "Idempotency-Key", r.ID)
		notAudited("idempotency_conflict")
		if r.Method != "DELETE" {
			k.Call(r.Method, th.fill(t, r), `{"x":1}`).Want(400)
			notAudited("validation_failed")
		}
		if strings.Contains(r.Path, ":") {
			doRoute(k, r, nowhere, "Idempotency-Key", "404 "+r.ID).Want(404)
			notAudited("not_found")
		}
		doRoute(s.With("tsk_test_"+strings.Repeat("0", 43)), r, th).Want(401)
		notAudited("unauthenticated")
		switch {
		case r.Method == "PATCH":
			k.Patch(th.fill(t, r), `{}`).Want(200)
			notAudited("nothing named")
		case r.Group == "Locations", strings.HasSuffix(r.ID, "Program") && r.ID != "createProgram":
			doRoute(k, r, th).Want(200) // the resource is already in that state
			notAudited("no-op")
		}
		restoreThings(s, th)
	}
	reader, _ := s.NewKey(map[string]any{"scopes": []string{"cards:read"}})
	before, _ := readAudit(s, 100)
	reader.Post("/programs", sampleBodies["createProgram"]).Want(403)
	s.Post("/programs/"+s.ProgramIDs["discount"]+"/prizes", sampleBodies["createPrize"]).Want(422)
	s.Post("/programs/"+s.Post("/programs", sampleBodies["createProgram"]).Str("id")+"/suspend", nil).Want(409)
	if after, _ := readAudit(s, 100); len(after) != len(before)+1 { // the row of the created program
		t.Errorf("%d more rows, want 1; the newest %v", len(after)-len(before), after[:3])
	}
}

// TestReadsAreNotAudited checks that neither reads nor housekeeping add audit
// rows.
func TestReadsAreNotAudited(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := newThings(s)
	before, _ := readAudit(s, 100)
	snapshot(s, th.program)
	s.Get("/me").Want(200)
	s.Get("/programs/" + th.program + "/prizes").Want(200)
	s.Fetch("GET", s.Origin+"/readyz", nil, nil).Want(200)
	s.Control("POST", "/clock", map[string]any{"advance": "48h"})
	if after, _ := readAudit(s, 100); len(after) != len(before) {
		t.Errorf("a new row: %v", after[0])
	}
}

// TestOperatorsAreAudited checks that operations of the control API are audited
// as actions of the user "dev".
func TestOperatorsAreAudited(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := newThings(s)
	_, key := s.NewKey(map[string]any{})
	var rotated string
	for _, c := range []struct {
		method, path, action string
		body                 map[string]any
		target               string
	}{
		{"POST", "/keys", "key.create", map[string]any{}, ""},
		{"POST", "/keys/" + key + "/rotate", "key.rotate", map[string]any{}, key},
		{"POST", "/keys/" + key + "/revoke", "key.revoke", map[string]any{}, key},
		{"PATCH", "/shops/" + s.ShopID, "shop.update", map[string]any{"subscription_state": "past_due"}, s.ShopID},
		{"POST", "/locations", "location.create", map[string]any{}, ""},
		{"POST", "/devices", "device.create", map[string]any{"location_id": th.location}, ""},
		{"PATCH", "/programs/" + th.program, "program.update", map[string]any{"min_spend_cents": 100}, th.program},
		{"POST", "/programs/" + th.program + "/enroll", "card.issue", map[string]any{}, ""},
		{"POST", "/cards/" + th.card + "/lock", "card.lock", map[string]any{}, th.card},
		{"POST", "/cards/" + th.card + "/unlock", "card.unlock", map[string]any{}, th.card},
		{"POST", "/cards/" + th.card + "/reissue", "card.reissue", map[string]any{}, th.card},
		{"POST", "/cards/" + th.card + "/archive", "card.archive", map[string]any{}, th.card},
		{"POST", "/cards/" + th.card + "/delete", "card.delete", map[string]any{}, th.card},
		{"DELETE", "/programs/" + th.program, "program.delete", map[string]any{}, th.program},
	} {
		before, _ := readAudit(s, 100)
		got := s.Control(c.method, c.path, c.body)
		if c.target == "" {
			c.target = got.Str("id")
		}
		if c.action == "key.rotate" {
			rotated = got.Str("id")
		}
		after, raw := readAudit(s, 100)
		if len(after) != len(before)+1 || after[0] != (auditRow{"user", "dev", c.action, c.target}) {
			t.Errorf("%s %s: %d more rows, the newest %v", c.method, c.path, len(after)-len(before), after[0])
		}
		if rotated != "" && !strings.Contains(raw, rotated) {
			t.Error("the rotation does not name the successor")
		}
		// A repetition of one of these is a no-op or is refused, and adds no row.
		if strings.Contains("key.revoke card.archive card.delete program.delete card.unlock", c.action) {
			s.Fetch(c.method, s.Origin+"/dev"+c.path, []byte(`{}`), nil)
			if again, _ := readAudit(s, 100); len(again) != len(after) {
				t.Errorf("%s again: %v", c.action, again[0])
			}
		}
	}
	o := s.NewShop(nil)
	if rows, _ := readAudit(o, 100); rows[len(rows)-1].action != "shop.create" || rows[len(rows)-1].target != o.ShopID {
		t.Errorf("the oldest row is not that of the shop: %v", rows)
	}
}

// TestAuditPages checks that the audit log has the same rows for every page size,
// newest first, and only those of one shop.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	newThings(s)
	o := s.NewShop(nil)
	o.Post("/programs", sampleBodies["createProgram"]).Want(201)
	all, raw := readAudit(s, 100)
	for _, limit := range []int{1, 2, 7} {
		if rows, _ := readAudit(s, limit); fmt.Sprint(rows) != fmt.Sprint(all) {
			t.Errorf("limit %d:\n%v\n%v", limit, rows, all)
		}
	}
	r := s.Control("GET", "/audit?limit=100", nil)
	rows := r.At("data").([]any)
	for i := 1; i < len(rows); i++ {
		newer, older := rows[i-1].(map[string]any), rows[i].(map[string]any)
		if newer["at"].(string) < older["at"].(string) || newer["id"].(float64) <= older["id"].(float64) {
			t.Errorf("%v before %v", newer, older)
		}
	}
	if len(all) != len(rows) || strings.Contains(raw, o.ShopID) {
		t.Errorf("%d rows in pages of the shop, %d in one page, or rows of another shop", len(all), len(rows))
	}
	if rows, _ := readAudit(o, 100); len(rows) != 5 { // shop, location, key, device, program
		t.Errorf("%d rows, want 5: %v", len(rows), rows)
	}
}

// TestAuditHoldsNoPersonalData checks that the audit log contains neither
// personal data nor secrets.
func TestAuditHoldsNoPersonalData(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := newThings(s)
	const who = `{"holder_name":"Xenia Quist","holder_email":"xenia@quist.example","external_ref":"crm-xq","send_email":true}`
	issued := s.Post("/programs/"+th.program+"/cards", who, "Idempotency-Key", "secret-idempotency-key").Want(201)
	card := "/cards/" + issued.Str("id")
	s.Patch(card, `{"holder_name":"Xenia Quist-Ray","external_ref":"crm-xqr"}`).Want(200)
	s.Post(card+"/install-link", `{"send_email":true}`).Want(200)
	s.Post(card+"/reissue", `{"holder_email":"xenia@ray.example"}`).Want(200)
	s.Control("POST", "/programs/"+th.program+"/enroll", map[string]any{"holder_name": "Xenia Quist"})
	key := s.Control("POST", "/keys", map[string]any{"name": "Xenia's key"})
	next := s.Control("POST", "/keys/"+key.Str("id")+"/rotate", map[string]any{})
	device := s.Control("POST", "/devices", map[string]any{"location_id": th.location, "name": "Xenia's till"})
	s.Control("POST", "/locations", map[string]any{"staff_pin": "73519"})
	s.Control("POST", card+"/delete", map[string]any{})
	_, token, _ := strings.Cut(issued.Str("install_url"), "/i/")
	_, raw := readAudit(s, 100)
	for _, secret := range []string{"Xenia", "xenia", "quist", "crm-xq", token, key.Str("key"), next.Str("key"), device.Str("token"), s.Key, "73519", "secret-idempotency-key"} {
		if secret == "" || strings.Contains(raw, secret) {
			t.Errorf("%q is in the audit log: %s", secret, raw)
		}
	}
	if !strings.Contains(raw, issued.Str("id")) {
		t.Error("the card is not in the log, so the test proves nothing")
	}
}
