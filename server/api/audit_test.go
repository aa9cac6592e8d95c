package api_test

import (
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// auditRow is a row of the audit log. actor is the actor's name or, if it has none, its id.
type auditRow struct{ actorType, actor, action, target string }

// newestAudit returns the newest row of the shop's audit log.
func newestAudit(s *servertest.Server) auditRow {
	s.T.Helper()
	r := s.Control("GET", "/audit?limit=1&shop_id="+s.ShopID, nil)
	actor := r.Str("data.0.actor.id")
	if name := r.Str("data.0.actor.name"); name != "" {
		actor = name
	}
	return auditRow{r.Str("data.0.actor.type"), actor, r.Str("data.0.action"), r.Str("data.0.target_id")}
}

// readAudit returns the newest hundred rows of the shop's audit log as JSON.
func readAudit(s *servertest.Server) string {
	s.T.Helper()
	return string(s.Control("GET", "/audit?limit=100&shop_id="+s.ShopID, nil).Body)
}

// auditActions maps the ids of operations to their actions and targets in the log. The target "{id}"
// stands for the id in the answer, "card", "prize" and "webhook" stand for the id of that resource.
var auditActions = map[string]struct{ action, target string }{
	"updateLocation": {"location.update", "{id}"}, "disableLocation": {"location.disable", "{id}"},
	"enableLocation": {"location.enable", "{id}"},
	"createProgram":  {"program.create", "{id}"}, "updateProgram": {"program.update", "{id}"},
	"publishProgram": {"program.publish", "{id}"}, "unpublishProgram": {"program.unpublish", "{id}"},
	"suspendProgram": {"program.suspend", "{id}"}, "unsuspendProgram": {"program.unsuspend", "{id}"},
	"createPrize": {"prize.create", "{id}"}, "updatePrize": {"prize.update", "{id}"}, "deletePrize": {"prize.delete", "prize"},
	"issueCard": {"card.issue", "{id}"}, "updateCard": {"card.update", "{id}"}, "reissueCard": {"card.reissue", "{id}"},
	"updateContact":     {"card.contact", "card"},
	"createInstallLink": {"card.install_link", "{id}"},
	"createWebhook":     {"webhook.create", "{id}"}, "updateWebhook": {"webhook.update", "{id}"},
	"deleteWebhook": {"webhook.delete", "webhook"},
	"testWebhook":   {"webhook.test", "webhook"}, "redeliver": {"webhook.redeliver", "webhook"},
}

// TestEveryWrite checks that every operation that writes succeeds with its sample, adds one audit row with the key
// and the resource, and replays its answer without doing anything, and that refusals and no-ops add no row.
func TestEveryWrite(t *testing.T) {
	s := start(t)
	k, keyID := s.NewKey(fields{})
	audits := func() int64 { return number(countAudits(s)) }
	for _, r := range servertest.Sample(writingRoutes()) {
		want, ok := auditActions[r.ID]
		if !ok {
			t.Errorf("%s is not in the table", r.ID)
			continue
		}
		th := newThings(s)
		prepareThings(s, r, th)
		before := audits()
		got := doRoute(k, r, th, "Idempotency-Key", r.ID).Want(r.Status).First()
		if r.Status == http.StatusNoContent && len(got.Body) > 0 {
			t.Errorf("%s: a body with 204: %s", r.ID, got.Body)
		}
		ids := strings.NewReplacer("card", th.card, "prize", th.prize, "webhook", th.webhook)
		if want.target = ids.Replace(want.target); want.target == "{id}" {
			want.target = got.Str("id")
		}
		after := audits()
		if row := newestAudit(s); after != before+1 || row != (auditRow{"api_key", keyID, want.action, want.target}) {
			t.Errorf("%s: %d more rows, the newest %v; want %v by %s", r.ID, after-before, row, want, keyID)
		}
		notAudited := func(what string) {
			t.Helper()
			if audits() != after {
				t.Errorf("%s, %s: audited: %v", r.ID, what, newestAudit(s))
			}
		}
		state := snapshot(s, th.program)
		again := doRoute(k, r, th, "Idempotency-Key", r.ID).Want(r.Status).Replays(got)
		if snapshot(s, th.program) != state {
			t.Errorf("%s: the replay changed something", r.ID)
		}
		if strings.Contains(string(got.Body), "install_url") != strings.Contains(string(again.Body), "<svg") {
			t.Errorf("%s: the QR code is missing: %s", r.ID, again.Body)
		}
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
	reader, _ := s.NewKey(fields{"scopes": []string{"cards:read"}})
	created := s.Post("/programs", sampleBodies["createProgram"]).NewID()
	before := audits()
	reader.Post("/programs", sampleBodies["createProgram"]).Want(403)
	s.Post("/programs/"+s.ProgramIDs["discount"]+"/prizes", sampleBodies["createPrize"]).Want(422)
	s.Post("/programs/"+created+"/suspend", nil).Want(409)
	if audits() != before {
		t.Errorf("a refusal is audited: %v", newestAudit(s))
	}
}

// TestOperatorsAreAudited checks that operations of the control API are audited as actions of the user
// "dev".
func TestOperatorsAreAudited(t *testing.T) {
	s := start(t)
	th := newThings(s)
	_, key := s.NewKey(fields{})
	for _, c := range []struct {
		method, path, action string
		body                 any
		target               string
	}{
		{"POST", "/keys", "key.create", nil, ""},
		{"POST", "/keys/" + key + "/rotate", "key.rotate", nil, key},
		{"POST", "/keys/" + key + "/revoke", "key.revoke", nil, key},
		{"PATCH", "/shops/" + s.ShopID, "shop.update", fields{"subscription_state": "past_due"}, s.ShopID},
		{"POST", "/locations", "location.create", nil, ""},
		{"POST", "/devices", "device.create", fields{"location_id": th.location}, ""},
		{"PATCH", "/programs/" + th.program, "program.update", fields{"min_spend_cents": 100}, th.program},
		{"POST", "/programs/" + th.program + "/enroll", "card.issue", nil, ""},
		{"POST", "/cards/" + th.card + "/lock", "card.lock", nil, th.card},
		{"POST", "/cards/" + th.card + "/unlock", "card.unlock", nil, th.card},
		{"POST", "/cards/" + th.card + "/reissue", "card.reissue", nil, th.card},
		{"POST", "/cards/" + th.card + "/archive", "card.archive", nil, th.card},
		{"POST", "/cards/" + th.card + "/delete", "card.delete", nil, th.card},
		{"DELETE", "/programs/" + th.program, "program.delete", nil, th.program},
	} {
		before := number(countAudits(s))
		got := s.Control(c.method, c.path, c.body)
		if c.target == "" {
			c.target = got.Str("id")
		}
		after := number(countAudits(s))
		if row := newestAudit(s); after != before+1 || row != (auditRow{"user", "dev", c.action, c.target}) {
			t.Errorf("%s %s: %d more rows, the newest %v", c.method, c.path, after-before, row)
		}
		if c.action == "key.rotate" {
			newest := s.Control("GET", "/audit?limit=1&shop_id="+s.ShopID, nil)
			if !strings.Contains(string(newest.Body), got.Str("id")) {
				t.Errorf("the rotation does not name the successor: %s", newest.Body)
			}
		}
		// A repetition of one of these is a no-op or is refused, and adds no row.
		if strings.Contains("key.revoke card.archive card.delete program.delete card.unlock", c.action) {
			s.Fetch(c.method, s.Origin+"/dev"+c.path, []byte(`{}`), nil)
			if number(countAudits(s)) != after {
				t.Errorf("%s again: %v", c.action, newestAudit(s))
			}
		}
	}
}
