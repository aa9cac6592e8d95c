package api_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"punchcard/server/app"
)

// remembered reads the stored responses out of the file.
func (s *server) remembered() (bodies []string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.app.Store.Path()+"?mode=ro")
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT CAST(body AS TEXT) FROM idempotency ORDER BY id")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var b string
		if err := rows.Scan(&b); err != nil {
			s.t.Fatal(err)
		}
		bodies = append(bodies, b)
	}
	return bodies
}

// TestErasedCardIsForgotten: no replay brings an erased person back, and no
// retry makes a second card.
func TestErasedCardIsForgotten(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	const person = `{"holder_name":"Xenia Quist","holder_email":"xenia@quist.example","external_ref":"crm-xq"}`
	issued := s.post(path, person, "Idempotency-Key", "issue").want(201)
	card := "/cards/" + issued.str("id")
	s.patch(card, `{"holder_name":"Xenia Quist-Ray"}`, "Idempotency-Key", "patch").want(200)
	s.post(card+"/install-link", nil, "Idempotency-Key", "link").want(200)
	s.post(card+"/reissue", `{"holder_email":"xenia@ray.example"}`, "Idempotency-Key", "reissue").want(200)
	other := s.post(path, `{"holder_name":"Bystander"}`, "Idempotency-Key", "other").want(201)

	kept := strings.Join(s.remembered(), "\n")
	for _, want := range []string{"Xenia Quist", "crm-xq", "xenia@ray.example", "/i/"} {
		if !strings.Contains(kept, want) {
			t.Errorf("%q should be in the remembered responses for now: the test is blind", want)
		}
	}
	if strings.Contains(kept, "<svg") {
		t.Error("the picture is kept, though it can be drawn again")
	}
	s.control("POST", card+"/delete", map[string]any{})

	kept = strings.Join(s.remembered(), "\n")
	for _, secret := range []string{"Xenia", "xenia", "Quist", "crm-xq", issued.str("id"), issued.str("install_url")} {
		if strings.Contains(kept, secret) {
			t.Errorf("%q is still remembered", secret)
		}
	}
	before := s.count("/cards")
	s.post(path, person, "Idempotency-Key", "issue").want(404, "not_found")
	s.patch(card, `{"holder_name":"Xenia Quist-Ray"}`, "Idempotency-Key", "patch").want(404, "not_found")
	s.post(card+"/install-link", nil, "Idempotency-Key", "link").want(404, "not_found")
	s.post(card+"/reissue", `{"holder_email":"xenia@ray.example"}`, "Idempotency-Key", "reissue").want(404, "not_found")
	s.post(path, `{"holder_name":"Someone else"}`, "Idempotency-Key", "issue").want(409, "idempotency_conflict")
	if after := s.count("/cards"); after != before {
		t.Errorf("%d cards, were %d", after, before)
	}
	s.post(path, `{"holder_name":"Bystander"}`, "Idempotency-Key", "other").want(201).again(other)
	s.post(path, person, "Idempotency-Key", "anew").want(201).fresh() // the ref is free
}

// TestReplayAfterRestart: what was answered is in the file.
func TestReplayAfterRestart(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "kept.db")
	c := app.Config{DB: db, Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), Dev: &app.Dev{Clock: app.NewClock(time.Time{})}}
	a, err := app.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, app: a, base: a.Ready.BaseURL, key: a.Ready.APIKey, Ready: a.Ready}
	s.doc = document(t, s)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	made := s.post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").want(201)
	missing := s.post("/programs/none/cards", nil, "Idempotency-Key", "404").want(404)
	s.call("DELETE", "/programs/"+s.ProgramIDs["standard"]+"/prizes/"+s.get("/programs/"+s.ProgramIDs["standard"]).str("prizes.0.id"), nil, "Idempotency-Key", "204").want(204)
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}

	again := start(t, func(c *app.Config) { c.DB = db })
	if again.ProgramIDs["standard"] != s.ProgramIDs["standard"] {
		t.Fatal("another file")
	}
	before := again.count("/cards")
	again.post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").want(201).again(made)
	again.post("/programs/none/cards", nil, "Idempotency-Key", "404").want(404).again(missing)
	again.post(path, `{"holder_name":"Bea"}`, "Idempotency-Key", "k").want(409, "idempotency_conflict")
	if after := again.count("/cards"); after != before || before != 1 {
		t.Errorf("%d cards, then %d", before, after)
	}
}

// journal is a log that can be read while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// TestNothingSecretIsKept: neither the log nor, after the window, the file has
// keys, install tokens or people.
func TestNothingSecretIsKept(t *testing.T) {
	t.Parallel()
	var log journal
	s := start(t, frozen, func(c *app.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	th := s.things()
	const who = `{"holder_name":"Xenia Quist","holder_email":"xenia@quist.example","external_ref":"crm-xq","send_email":true}`
	issued := s.post("/programs/"+th.program+"/cards", who, "Idempotency-Key", "secret-idempotency-key").want(201)
	s.get("/cards?external_ref=crm-xq&holder_email=xenia@quist.example").want(200)
	s.post("/programs/"+th.program+"/cards", `{"holder_name":"Xenia Quist","holder_email":"xenia"}`).want(400)
	s.post("/programs/"+th.program+"/cards", `{"Xenia Quist":1}`).want(400)
	k, id := s.newKey(map[string]any{})
	k.get("/me").want(200)
	next := s.control("POST", "/keys/"+id+"/rotate", map[string]any{})
	s.control("POST", "/keys/"+id+"/revoke", map[string]any{})
	k.get("/me").want(401)

	// A fault of the server is logged, and what it says is tested here too.
	if err := s.app.Store.Close(); err != nil {
		t.Fatal(err)
	}
	failed := s.fetch("PATCH", s.base+"/cards/"+issued.str("id"), []byte(who[:27]+"}"), map[string][]string{"Authorization": {"Bearer " + s.key}})
	if failed.status != 500 {
		t.Errorf("a closed store: %d %s", failed.status, failed.body)
	}
	failed.want(500, "internal_error")
	if strings.Contains(string(failed.body), "store") {
		t.Errorf("the cause is in the answer: %s", failed.body)
	}
	if !strings.Contains(log.String(), failed.str("error.request_id")) {
		t.Errorf("the log does not name the request: %s", log.String())
	}
	_, token, _ := strings.Cut(issued.str("install_url"), "/i/")
	for _, secret := range []string{s.key, k.key, next.str("key"), s.RestrictedAPIKey, "Bearer", token, "Xenia", "Quist", "quist.example", "crm-xq", "secret-idempotency-key"} {
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

// TestInstallTokenIsForgotten: the only place with an install token in clear
// is a remembered response, and it goes when its window ends.
func TestInstallTokenIsForgotten(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	issued := s.post("/programs/"+s.ProgramIDs["standard"]+"/cards", nil, "Idempotency-Key", "k").want(201)
	_, token, _ := strings.Cut(issued.str("install_url"), "/i/")
	if len(s.remembered()) != 1 || !strings.Contains(s.remembered()[0], token) {
		t.Fatalf("remembered: %q", s.remembered())
	}
	s.control("POST", "/clock", map[string]any{"advance": "23h59m59.999s"})
	if len(s.remembered()) != 1 {
		t.Error("forgotten too soon")
	}
	s.control("POST", "/clock", map[string]any{"advance": "1ms"})
	if kept := s.remembered(); len(kept) != 0 {
		t.Errorf("remembered after the window: %q", kept)
	}
	db, err := sql.Open("sqlite", "file:"+s.app.Store.Path()+"?mode=ro")
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
		for _, secret := range []string{token, s.key, s.TillToken, s.MCPKey} {
			if n := rowsWith(t, db, name, secret); n > 0 {
				t.Errorf("%d rows of %s hold %q", n, name, secret)
			}
		}
	}
	if len(names) < 10 {
		t.Errorf("tables: %q", names)
	}
}

// rowsWith counts a table's rows that hold a text in any column.
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
