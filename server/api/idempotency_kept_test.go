package api_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// storedAnswers returns the bodies of the remembered answers in the file, oldest first.
func storedAnswers(s *servertest.Server) []string {
	s.T.Helper()
	return s.Values("SELECT CAST(body AS TEXT) FROM idempotency ORDER BY id")
}

// TestErasedCardIsForgotten checks that no replay shows data of an erased person, and
// that no retry makes a second card.
func TestErasedCardIsForgotten(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	const person = `{"holder_name":"Xenia Quist","holder_email":"xenia@quist.example","external_ref":"crm-xq"}`
	issued := s.Post(path, person, "Idempotency-Key", "issue").Want(201)
	card := "/cards/" + issued.Str("id")
	s.Patch(card, `{"holder_name":"Xenia Quist-Ray"}`, "Idempotency-Key", "patch").Want(200)
	s.Post(card+"/install-link", nil, "Idempotency-Key", "link").Want(200)
	s.Post(card+"/reissue", `{"holder_email":"xenia@ray.example"}`, "Idempotency-Key", "reissue").Want(200)
	other := s.Post(path, `{"holder_name":"Bystander"}`, "Idempotency-Key", "other").Want(201)

	kept := strings.Join(storedAnswers(s), "\n")
	for _, want := range []string{"Xenia Quist", "crm-xq", "xenia@ray.example", "/i/"} {
		if !strings.Contains(kept, want) {
			t.Errorf("%q is not in the remembered responses, so the test proves nothing", want)
		}
	}
	if strings.Contains(kept, "<svg") {
		t.Error("the QR code is stored, though it can be made again")
	}
	s.Control("POST", card+"/delete", map[string]any{})

	kept = strings.Join(storedAnswers(s), "\n")
	for _, secret := range []string{"Xenia", "xenia", "Quist", "crm-xq", issued.Str("id"), issued.Str("install_url")} {
		if strings.Contains(kept, secret) {
			t.Errorf("%q is still remembered", secret)
		}
	}
	before := s.Count("/cards")
	s.Post(path, person, "Idempotency-Key", "issue").Want(404, "not_found")
	s.Patch(card, `{"holder_name":"Xenia Quist-Ray"}`, "Idempotency-Key", "patch").Want(404, "not_found")
	s.Post(card+"/install-link", nil, "Idempotency-Key", "link").Want(404, "not_found")
	s.Post(card+"/reissue", `{"holder_email":"xenia@ray.example"}`, "Idempotency-Key", "reissue").Want(404, "not_found")
	s.Post(path, `{"holder_name":"Someone else"}`, "Idempotency-Key", "issue").Want(409, "idempotency_conflict")
	if after := s.Count("/cards"); after != before {
		t.Errorf("%d cards, were %d", after, before)
	}
	s.Post(path, `{"holder_name":"Bystander"}`, "Idempotency-Key", "other").Want(201).Replays(other)
	s.Post(path, person, "Idempotency-Key", "another").Want(201).First() // the external_ref is free
}

// TestReplayAfterRestart checks that remembered responses are replayed after a restart.
func TestReplayAfterRestart(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "kept.db")
	s := servertest.Start(t, func(c *app.Config) { c.DB = db })
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	made := s.Post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").Want(201)
	missing := s.Post("/programs/none/cards", nil, "Idempotency-Key", "404").Want(404)
	prize := "/programs/" + s.ProgramIDs["standard"] + "/prizes/" + s.Get("/programs/"+s.ProgramIDs["standard"]).Str("prizes.0.id")
	deleted := s.Call("DELETE", prize, nil, "Idempotency-Key", "204").Want(204)
	s.Stop()

	again := start(t, func(c *app.Config) { c.DB = db })
	if again.ProgramIDs["standard"] != s.ProgramIDs["standard"] {
		t.Fatal("the server uses another file")
	}
	before := again.Count("/cards")
	again.Post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").Want(201).Replays(made)
	again.Post("/programs/none/cards", nil, "Idempotency-Key", "404").Want(404).Replays(missing)
	again.Call("DELETE", prize, nil, "Idempotency-Key", "204").Want(204).Replays(deleted)
	again.Post(path, `{"holder_name":"Bea"}`, "Idempotency-Key", "k").Want(409, "idempotency_conflict")
	if after := again.Count("/cards"); after != before || before != 1 {
		t.Errorf("%d cards before the replays and %d after, want 1", before, after)
	}
}

// TestNoSecretInLog checks that the log contains no API keys, install tokens, idempotency keys or
// personal data.
func TestNoSecretInLog(t *testing.T) {
	t.Parallel()
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
	k, id := s.NewKey(map[string]any{})
	k.Get("/me").Want(200)
	next := s.Control("POST", "/keys/"+id+"/rotate", map[string]any{})
	s.Control("POST", "/keys/"+id+"/revoke", map[string]any{})
	k.Get("/me").Want(401)

	// A closed store causes a server error, whose log entry is checked as well.
	if err := s.App.Store.Close(); err != nil {
		t.Fatal(err)
	}
	failed := s.Fetch("PATCH", s.URL+"/cards/"+issued.Str("id"), []byte(who[:28]+"}"), map[string][]string{"Authorization": {"Bearer " + s.Key}})
	if failed.Status != 500 {
		t.Errorf("a closed store: %d %s", failed.Status, failed.Body)
	}
	failed.Want(500, "internal_error")
	if strings.Contains(string(failed.Body), "store") {
		t.Errorf("the cause is in the answer: %s", failed.Body)
	}
	if !strings.Contains(log.String(), failed.Str("error.request_id")) {
		t.Errorf("the log does not name the request: %s", log.String())
	}
	_, token, _ := strings.Cut(issued.Str("install_url"), "/i/")
	for _, secret := range []string{s.Key, k.Key, next.Str("key"), s.RestrictedAPIKey, "Bearer", token, "Xenia", "Quist", "quist.example", "crm-xq", "secret-idempotency-key"} {
		if secret == "" || strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, log.String())
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
	t.Parallel()
	s := start(t, servertest.Frozen)
	issued := s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", nil, "Idempotency-Key", "k").Want(201)
	_, token, _ := strings.Cut(issued.Str("install_url"), "/i/")
	if len(storedAnswers(s)) != 1 || !strings.Contains(storedAnswers(s)[0], token) {
		t.Fatalf("remembered: %q", storedAnswers(s))
	}
	s.Control("POST", "/clock", map[string]any{"advance": "23h59m59.999s"})
	if len(storedAnswers(s)) != 1 {
		t.Error("deleted too early")
	}
	s.Control("POST", "/clock", map[string]any{"advance": "1ms"})
	if kept := storedAnswers(s); len(kept) != 0 {
		t.Errorf("remembered after the window: %q", kept)
	}
	db, err := sql.Open("sqlite", "file:"+s.App.Store.Path()+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables, err := db.Query("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tables.Next() {
		var n string
		if err := tables.Scan(&n); err != nil {
			t.Fatal(err)
		}
		names = append(names, n)
	}
	for _, name := range names {
		for _, secret := range []string{token, s.Key, s.TillToken, s.MCPKey} {
			if n := rowsWith(t, db, name, secret); n > 0 {
				t.Errorf("%d rows of %s hold %q", n, name, secret)
			}
		}
	}
	if len(names) < 10 {
		t.Errorf("tables: %q", names)
	}
}

// rowsWith counts the rows of a table that contain a text in any column.
func rowsWith(t *testing.T, db *sql.DB, table, text string) (n int) {
	t.Helper()
	rows, err := db.Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, _ := rows.Columns()
	for rows.Next() {
		values := make([]any, len(cols))
		for i := range values {
			values[i] = new(sql.RawBytes)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if bytes.Contains(*v.(*sql.RawBytes), []byte(text)) {
				n++
				break
			}
		}
	}
	return n
}
