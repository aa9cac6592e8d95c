package api_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// storedAnswers returns the bodies of the remembered answers in the file, oldest first.
func storedAnswers(s *servertest.Server) []string {
	s.T.Helper()
	return s.Values("SELECT CAST(body AS TEXT) FROM idempotency ORDER BY id")
}

// TestErasedCardIsForgotten checks that neither a replay nor a webhook's log shows data of an erased
// person, and that no retry makes a second card. For what the file has see
// TestEraseLeavesNothingOfThePerson in the store.
func TestErasedCardIsForgotten(t *testing.T) {
	s := start(t)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	const person = `{"holder_name":"Xenia Quist","holder_email":"xenia@quist.example","external_ref":"crm-xq"}`
	hook, _ := newWebhook(s, s.ProgramIDs["standard"], nil)
	issued := s.Post(path, person, "Idempotency-Key", "issue").Want(201)
	log := s.Get(hook + "/deliveries").Want(200)
	log.Shows(fields{"items.0.request_payload.card.holder.name": "Xenia Quist"})
	redeliver := hook + "/deliveries/" + log.Str("items.0.id") + "/redeliver"
	failDelivery(s, log.Str("items.0.id"))
	s.Post(redeliver, nil, "Idempotency-Key", "redeliver").Want(202)
	card := "/cards/" + issued.Str("id")
	s.Patch(card, `{"holder_name":"Xenia Quist-Ray"}`, "Idempotency-Key", "patch").Want(200)
	s.Post(card+"/install-link", nil, "Idempotency-Key", "link").Want(200)
	s.Post(card+"/reissue", `{"holder_email":"xenia@ray.example"}`, "Idempotency-Key", "reissue").Want(200)
	other := s.Post(path, `{"holder_name":"Bystander"}`, "Idempotency-Key", "other").Want(201)

	s.Control("POST", card+"/delete", nil)

	s.Get(hook + "/deliveries").Shows(fields{"items.1.request_payload.card.holder.name": nil})
	before := s.Count("/cards")
	s.Post(path, person, "Idempotency-Key", "issue").Want(404, "not_found")
	s.Patch(card, `{"holder_name":"Xenia Quist-Ray"}`, "Idempotency-Key", "patch").Want(404, "not_found")
	s.Post(card+"/install-link", nil, "Idempotency-Key", "link").Want(404, "not_found")
	s.Post(card+"/reissue", `{"holder_email":"xenia@ray.example"}`, "Idempotency-Key", "reissue").Want(404, "not_found")
	s.Post(redeliver, nil, "Idempotency-Key", "redeliver").Want(404, "not_found")
	s.Post(path, `{"holder_name":"Someone else"}`, "Idempotency-Key", "issue").Want(409, "idempotency_conflict")
	if after := s.Count("/cards"); after != before {
		t.Errorf("%d cards, were %d", after, before)
	}
	s.Post(path, `{"holder_name":"Bystander"}`, "Idempotency-Key", "other").Want(201).Replays(other)
	s.Post(path, person, "Idempotency-Key", "another").Want(201).First() // the external_ref is free
}

// TestNoSecretInLog checks that neither the log nor the audit log contains keys, tokens, PINs, idempotency
// keys or personal data.
func TestNoSecretInLog(t *testing.T) {
	var log servertest.Log
	s := start(t, servertest.Frozen, func(c *app.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	th := newThings(s)
	const who = `{"holder_name":"Xenia Quist","holder_email":"xenia@quist.example","external_ref":"crm-xq","send_email":true}`
	issued := s.Post("/programs/"+th.program+"/cards", who, "Idempotency-Key", "secret-idempotency-key").Want(201)
	s.Get("/cards?external_ref=crm-xq&holder_email=xenia@quist.example").Want(200)
	s.Post("/programs/"+th.program+"/cards", `{"holder_name":"Xenia Quist","holder_email":"xenia"}`).Want(400)
	s.Post("/programs/"+th.program+"/cards", `{"Xenia Quist":1}`).Want(400)
	card := "/cards/" + issued.Str("id")
	s.Patch(card, `{"holder_name":"Xenia Quist-Ray","external_ref":"crm-xqr"}`).Want(200)
	s.Post(card+"/install-link", `{"send_email":true}`).Want(200)
	s.Post(card+"/reissue", `{"holder_email":"xenia@ray.example"}`).Want(200)
	s.Control("POST", "/programs/"+th.program+"/enroll", fields{"holder_name": "Xenia Quist"})
	k, id := s.NewKey(fields{"name": "Xenia's key"})
	k.Get("/me").Want(200)
	next := s.Control("POST", "/keys/"+id+"/rotate", nil)
	s.Control("POST", "/keys/"+id+"/revoke", nil)
	k.Get("/me").Want(401)
	device := s.Control("POST", "/devices", fields{"location_id": th.location, "name": "Xenia's till"})
	s.Control("POST", "/locations", fields{"staff_pin": "73519"})
	s.Control("POST", card+"/delete", nil)
	audited := readAudit(s)
	if !strings.Contains(audited, issued.Str("id")) {
		t.Error("the card is not in the audit log, so the test proves nothing")
	}

	// A closed store causes a server error, whose log entry is checked as well.
	require.NoError(t, s.App.Store.Close())
	failed := s.Fetch("PATCH", s.URL+card, []byte(who[:28]+"}"), map[string][]string{"Authorization": {"Bearer " + s.Key}}).
		Want(500, "internal_error")
	if strings.Contains(string(failed.Body), "store") {
		t.Errorf("the cause is in the answer: %s", failed.Body)
	}
	if !strings.Contains(log.String(), failed.Str("error.request_id")) {
		t.Errorf("the log does not name the request: %s", log.String())
	}
	_, token, _ := strings.Cut(issued.Str("install_url"), "/i/")
	for _, secret := range []string{
		s.Key, k.Key, next.Str("key"), device.Str("token"), s.RestrictedAPIKey, "Bearer", token, "73519", "Xenia", "xenia", "Quist",
		"quist", "crm-xq", "secret-idempotency-key",
	} {
		if secret == "" || strings.Contains(log.String()+audited, secret) {
			t.Errorf("%q is in the log or in the audit log:\n%s\n%s", secret, log.String(), audited)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(log.String()), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("not a log line: %q", line)
		}
	}
}

// TestInstallTokenIsForgotten checks that an install token is stored only in a remembered answer,
// until its window ends, and that no table then contains a key or a token.
func TestInstallTokenIsForgotten(t *testing.T) {
	s := start(t, servertest.Frozen)
	issued := s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", nil, "Idempotency-Key", "k").Want(201)
	_, token, _ := strings.Cut(issued.Str("install_url"), "/i/")
	if kept := storedAnswers(s); len(kept) != 1 || !strings.Contains(kept[0], token) || strings.Contains(kept[0], "<svg") {
		t.Fatalf("remembered: %q", kept)
	}
	s.Advance("23h59m59.999s")
	if len(storedAnswers(s)) != 1 {
		t.Error("deleted too early")
	}
	s.Advance("1ms")
	if kept := storedAnswers(s); len(kept) != 0 {
		t.Errorf("remembered after the window: %q", kept)
	}
	names := s.Values("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")
	for _, name := range names {
		for _, secret := range []string{token, s.Key, s.TillToken, s.MCPKey} {
			if n := rowsWith(s, name, secret); n > 0 {
				t.Errorf("%d rows of %s hold %q", n, name, secret)
			}
		}
	}
	if len(names) < 10 {
		t.Errorf("tables: %q", names)
	}
}

// rowsWith counts the rows of a table that contain a text in any column.
func rowsWith(s *servertest.Server, table, text string) (n int) {
	s.T.Helper()
	columns := s.Values("SELECT name FROM pragma_table_info(?)", table)
	for _, row := range s.Values("SELECT concat_ws(' ', " + strings.Join(columns, ", ") + ") FROM " + table) {
		if strings.Contains(row, text) {
			n++
		}
	}
	return n
}
