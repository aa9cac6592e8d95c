package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// confirmed calls a tool that has to be confirmed, and calls it again with the token. It returns the
// outcome of the second call and its arguments.
func (a *assistant) confirmed(tool string, args fields) (*outcome, fields) {
	a.T.Helper()
	first := a.call(tool, args).ok()
	if first.at("confirmation_required") != true || first.str("impact") == "" {
		a.T.Fatalf("%s: %s", tool, first.text)
	}
	again := servertest.Merge(args, fields{"confirm_token": first.str("confirm_token")})
	return a.call(tool, again).ok(), again
}

// state returns what a test compares to see whether anything was written.
func (a *assistant) state() string {
	a.T.Helper()
	list := ""
	for _, table := range strings.Fields("audit events cards programs prizes idempotency name_words mails deliveries webhooks") {
		list += table + " " + a.count(table) + " "
	}
	return list + a.Value(
		"SELECT group_concat(updated_at || ifnull(suspended_at, '-')) FROM programs",
	) + a.Value(
		"SELECT group_concat(disabled_at IS NULL) FROM locations",
	)
}

// TestConfirmations checks what a token is bound to, how long it is valid, that it acts once,
// and that nothing is written before it.
func TestConfirmations(t *testing.T) {
	a := start(t)
	program, other := a.NewProgram("standard", true, nil), a.NewProgram("standard", true, nil)
	for range 3 {
		a.Activate(a.Issue(program, nil))
	}
	a.SQL("UPDATE program_counts SET active=3 WHERE program_id=?", a.Row(store.KindProgram, program))
	suspend := fields{"id": program, "action": "suspend"}
	first := a.call("set_program_state", suspend).ok()
	first.shows("impact", "3 cards stop earning and redeeming at once.", "expires_in_seconds", 600)
	with := func(args fields, token string) fields { return servertest.Merge(args, fields{"confirm_token": token}) }
	ofOther := fields{"id": other, "action": "suspend"}
	token := first.str("confirm_token")
	for what, args := range map[string]fields{
		"another action": with(fields{"id": program, "action": "unpublish"}, token), "another program": with(ofOther, token),
		"another idempotency key": servertest.Merge(with(suspend, token), fields{"idempotency_key": "k"}),
		"a changed token":         with(suspend, token[:20]+"AAA"+token[23:]), "a short token": with(suspend, token[:10]),
		"another text": with(suspend, "x"),
	} {
		if got := a.call("set_program_state", args).refused("validation_failed"); got != "confirm_token invalid_value" {
			t.Errorf("%s: %s", what, got)
		}
	}
	a.newKey(fields{"scopes": store.Scopes}).call("set_program_state", with(suspend, token)).refused("validation_failed")
	a.call("reissue_card", with(fields{"id": program}, token)).refused("validation_failed")
	if a.count("programs WHERE suspended_at IS NOT NULL") != "0" {
		t.Error("a program is suspended")
	}
	// Confirming twice acts once.
	a.call("set_program_state", with(suspend, token)).shows("state", "suspended")
	rows := a.count("audit")
	a.call("set_program_state", with(suspend, token)).ok()
	a.Advance("11m")
	a.call("set_program_state", with(suspend, token)).ok() // the answer is remembered
	if a.count("audit") != rows {
		t.Error("confirming again acted again")
	}
	// An expired token, and one whose program was changed meanwhile.
	token = a.call("set_program_state", ofOther).ok().str("confirm_token")
	a.Advance("10m")
	a.call("set_program_state", with(ofOther, token)).refused("validation_failed")
	token = a.call("set_program_state", ofOther).ok().str("confirm_token")
	a.Advance("1s")
	a.REST().Patch("/programs/"+other, fields{"name": "Changed"}).Want(200)
	a.call("set_program_state", with(ofOther, token)).refused("conflict")
	if a.count("programs WHERE suspended_at IS NOT NULL") != "1" {
		t.Error("a token whose program was changed acted")
	}
	// What is refused is refused before it is confirmed.
	a.call("set_program_state", fields{"id": "prg_none", "action": "suspend"}).refused("not_found")
	a.call("set_program_state", fields{"id": program, "action": "publish"}).refused("conflict")
}

// TestPreviewsWriteNothing checks that dry runs and impacts leave the file as it was.
func TestPreviewsWriteNothing(t *testing.T) {
	a := start(t)
	args := a.things()
	program := args["get_programs"]["id"].(string)
	prize := a.NewPrize(args["update_program"]["id"].(string), 3)
	before := a.state()
	a.call("issue_cards", fields{
		"program_id": program, "dry_run": true, "cards": []fields{{"holder_name": "Eve", "holder_email": "eve@example.com"}},
	}).
		ok()
	for tool, args := range map[string]fields{"set_program_state": args["set_program_state"],
		"set_location_state": args["set_location_state"], "reissue_card": args["reissue_card"],
		"update_program": {"id": args["update_program"]["id"], "remove_prizes": []string{prize}}} {
		a.call(tool, args).shows("confirmation_required", true)
	}
	if after := a.state(); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
	if found, err := a.App.Store.Check(); err != nil || len(found) > 0 {
		t.Errorf("%q %v", found, err)
	}
	// The previews leave nothing in the server's caches.
	a.REST().Get("/programs/" + program).Want(200)
	a.Issue(program, nil)
	o, _ := a.confirmed("update_program", fields{"id": args["update_program"]["id"], "remove_prizes": []string{prize}})
	o.shows("prizes", []any{})
	if o, again := a.confirmed("reissue_card", args["reissue_card"]); a.call("reissue_card", again).ok().str("link") != o.str("link") {
		t.Error("confirming twice made two links")
	}
	o, _ = a.confirmed("set_location_state", args["set_location_state"])
	o.shows("active", false)
}

// rowsFor returns n rows of issue_cards.
func rowsFor(n int) (rows []fields) {
	for i := range n {
		rows = append(rows, fields{"external_ref": fmt.Sprint("row-", i), "holder_name": fmt.Sprint("Person ", i)})
	}
	return rows
}

// TestIssueCards issues many cards: after a dry run, with a confirmation, once for each key
// and row, with an outcome for each row.
func TestIssueCards(t *testing.T) {
	a := start(t)
	program := a.NewProgram("standard", true, nil)
	a.Issue(program, fields{"external_ref": "row-7"})
	args := fields{"program_id": program, "cards": rowsFor(30), "idempotency_key": "batch"}
	o := a.call("issue_cards", servertest.Merge(args, fields{"dry_run": true})).ok()
	if o.shows("would_pass", 29, "refused", 1, "cards.7.code", "conflict"); a.count("cards") != "1" {
		t.Fatal("a dry run made cards")
	}
	// A reference that comes twice is refused in the dry run as in the call.
	a.call("issue_cards", fields{"program_id": program, "dry_run": true, "cards": []fields{{"external_ref": "x"}, {"external_ref": "x"}}}).
		shows("cards.0.status", "ok", "cards.1.code", "conflict")
	o, again := a.confirmed("issue_cards", args)
	if o.shows("issued", 29, "cards.7.status", "refused"); !strings.HasPrefix(o.str("cards.0.link"), a.Origin+"/i/") ||
		a.count("cards") != "30" {
		t.Fatalf("%s", o.text)
	}
	if retry := a.call("issue_cards", again).ok(); retry.text != o.text || a.count("cards") != "30" {
		t.Errorf("the retry: %s", retry.text)
	}
	ten := fields{"program_id": program, "cards": rowsFor(30)[:10]}
	a.call("issue_cards", ten).shows("refused", 10)
	for _, c := range []struct {
		args fields
		want string
	}{
		{fields{"program_id": program, "cards": []fields{}}, "cards too_short"},
		{fields{"program_id": program, "cards": rowsFor(51)}, "cards too_many"},
		{fields{"cards": []fields{{}}}, "program_id required"},
		{
			fields{"program_id": program, "cards": []fields{{}, {"holder_email": "no"}, {"foo": 1}}},
			"cards.1.holder_email invalid_format, cards.2.foo unknown_field",
		},
	} {
		if got := a.call("issue_cards", c.args).refused("validation_failed"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	a.call("issue_cards", fields{"program_id": "prg_none", "cards": []fields{{}}}).shows("cards.0.code", "not_found")
	a.call("issue_cards", fields{"program_id": program, "cards": []fields{{"holder_name": "Other"}}, "idempotency_key": "batch"}).
		refused("idempotency_conflict")
}

// TestOnce checks that a write with an idempotency key is made once, and that another write with this
// key is refused.
func TestOnce(t *testing.T) {
	a := start(t)
	args := fields{"type": "discount", "name": "Ten", "discount_percent": 10, "idempotency_key": "one"}
	first := a.call("create_program", args).ok()
	if again := a.call("create_program", args).ok(); again.text != first.text {
		t.Errorf("%s, then %s", first.text, again.text)
	}
	a.call("create_program", servertest.Merge(args, fields{"name": "Other"})).refused("idempotency_conflict")
	a.call("update_location", fields{"id": a.LocationIDs[0], "city": "x", "idempotency_key": "one"}).refused("idempotency_conflict")
	if got := a.call("create_program", servertest.Merge(args, fields{
		"idempotency_key": strings.Repeat("x", 256),
	})).refused("validation_failed"); got != "idempotency_key too_long" {
		t.Errorf("%s", got)
	}
}

// TestAudit checks that audit rows name the key, the tool and the client.
func TestAudit(t *testing.T) {
	a := start(t)
	body := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"update_location","arguments":{"id":%q,"city":"Milano"},
			"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"Evil\u202e \"client\"%s"}}}}`,
		a.LocationIDs[0],
		strings.Repeat("x", 100),
	)
	if r := a.send(body, nil); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var detail map[string]string
	if err := json.Unmarshal([]byte(a.Value("SELECT detail FROM audit WHERE action='location.update'")), &detail); err != nil ||
		detail["via"] != "mcp" ||
		detail["tool"] != "update_location" ||
		!strings.HasPrefix(detail["client"], `Evil "client"xxx`) ||
		len([]rune(detail["client"])) != 65 {
		t.Errorf("%v %v", detail, err)
	}
	if a.Value("SELECT actor_type FROM audit WHERE action='location.update'") != "api_key" {
		t.Error("the actor is no key")
	}
}

// TestWebhookTools checks that an assistant cannot make the server send anything to a URL of
// its own, nor see a secret.
func TestWebhookTools(t *testing.T) {
	a := start(t)
	program := a.NewProgram("standard", true, nil)
	drafted := a.call("draft_webhook", fields{
		"program_id": program, "url": "https://example.com/n8n", "events": []string{"*"}, "description": "n8n",
	}).
		ok()
	hook := drafted.str("id")
	if strings.Contains(drafted.text, "whsec") || drafted.str("state") != "draft" {
		t.Errorf("%s", drafted.text)
	}
	for _, field := range []string{"bearer_token", "custom_headers", "active", "payload_version", "http_method"} {
		if got := a.call("draft_webhook", fields{
			"program_id": program, "url": "https://example.com/", "events": []string{"*"}, field: "x",
		}).refused("validation_failed"); got != field+" unknown_field" {
			t.Errorf("%s: %s", field, got)
		}
	}
	a.call("draft_webhook", fields{"program_id": program, "url": "http://example.com/", "events": []string{"card.nothing"}}).
		refused("validation_failed")
	for _, action := range []string{"test", "redeliver"} {
		args := fields{"id": hook, "action": action}
		if action == "redeliver" {
			args["delivery_id"] = "dlv_x"
		}
		a.call("manage_webhook", args).refused("unprocessable_entity")
	}
	if a.count("deliveries") != "0" || a.call("get_webhooks", nil).str("data.0.state") != "draft" {
		t.Error("something is sent to a draft")
	}
	if o := a.call("manage_webhook", fields{"id": hook, "action": "pause"}).ok(); o.str("state") != "draft" ||
		!strings.Contains(o.str("next"), "look at the URL") ||
		a.call("get_webhooks", nil).str("data.0.state") != "draft" {
		t.Errorf("a draft that is paused: %s", o.text)
	}
	live := a.newWebhook(program, fields{"url": "https://example.com/live?secret=1"})
	a.call("manage_webhook", fields{"id": live, "action": "test"}).ok()
	if o := a.call("get_webhooks", fields{"id": live}).ok(); strings.Contains(o.text, "secret=") || o.str("data.0.path") != "/live" {
		t.Errorf("%s", o.text)
	}
	a.call("manage_webhook", fields{"id": live, "action": "pause"}).shows("state", "inactive")
	a.call("manage_webhook", fields{"id": live, "action": "test"}).refused("unprocessable_entity")
	for _, args := range []fields{
		{"id": live, "action": "activate"}, {"id": live, "action": "redeliver"},
		{"id": live, "action": "pause", "url": "https://evil.example"},
	} {
		a.call("manage_webhook", args).refused("validation_failed")
	}
}

// TestQuestions checks that one call answers each of an owner's questions, such as who has not come
// for a month, and that the prompt for a weekly report has the week.
func TestQuestions(t *testing.T) {
	a := start(t)
	program := a.NewProgram("standard", true, nil)
	a.NewPrize(program, 2)
	gone, due := a.Issue(program, fields{"holder_name": "Gone"}), a.Issue(program, fields{"holder_name": "Due"})
	till := a.Till(a.TillToken)
	till.Post("/cards/"+gone+"/stamps", fields{}).Want(201)
	a.Advance("744h") // 31 days
	till.Post("/cards/"+due+"/stamps", fields{"count": 2}).Want(201)
	a.call("find_cards", fields{"not_seen_days": 30}).shows("rows", 1, "data.0.holder_name", "Gone")
	a.call("find_cards", fields{"prize_due": true}).shows("rows", 1, "data.0.prizes_due.0.name", "At 2")
	today := a.call("get_overview", nil).ok().str("today")
	a.call("compare_periods", fields{"from": today, "to": today}).shows("change.stamps.absolute", 2, "period.includes_today", true)
	hook := a.newWebhook(program, fields{"url": "https://n8n.example.com/in"})
	a.Issue(program, nil)
	a.SQL("UPDATE deliveries SET outcome='failed', attempts=5, response_status=404, last_error='status 404'")
	a.SQL("UPDATE webhooks SET consecutive_failures=1")
	a.call("get_webhooks", nil).shows("data.0.host", "n8n.example.com", "data.0.last_failures.0.error", "status 404", "data.0.id", hook)
	_, r, _ := a.rpc("prompts/get", fields{"name": "weekly_report", "arguments": fields{"week_of": "2026-03-02"}})
	if !strings.Contains(fmt.Sprint(r), "2026-03-02") {
		t.Errorf("%v", r)
	}
	if _, _, fault := a.rpc("prompts/get", fields{"name": "weekly_report", "arguments": fields{"week_of": "Ignore all"}}); fault == nil ||
		strings.Contains(fmt.Sprint(fault), "Ignore") {
		t.Errorf("%v", fault)
	}
}
