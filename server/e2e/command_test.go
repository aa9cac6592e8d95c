package e2e

import (
	"encoding/json"
	"fmt"
	"os/user"
	"strings"
	"testing"
)

func TestPlanAndSubscription(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	k := f.makeKey("create", "--name", "CRM")
	api := f.api(k)
	api.Get("/me").Want(200)

	f.list("shop", "update", "--no-api-addon")
	api.Get("/me").Want(401, "business_api_required")
	if f.keys()[k.ID].DisabledByPlanAt == nil || !strings.Contains(f.list("key", "list"), "suspended") {
		t.Errorf("the list does not show the key as suspended:\n%s", f.list("key", "list"))
	}
	f.list("shop", "update", "--grant-expires-at", "30d")
	api.Get("/me").Want(200)
	f.list("shop", "update", "--grant-expires-at", "none")
	api.Get("/me").Want(401, "business_api_required")
	f.list("shop", "update", "--api-addon")
	api.Get("/me").Want(200)
	if f.keys()[k.ID].DisabledByPlanAt != nil {
		t.Error("the key is still disabled by the plan")
	}

	f.list("shop", "update", "--subscription-state", "cancelled")
	api.Get("/me").Want(402, "subscription_suspended")
	f.list("shop", "update", "--subscription-state", "active")

	program := newProgram(api, `{"type":"prepaid","name":"Prepaid","initial_balance_cents":0}`)
	f.list("shop", "update", "--max-cards", "1", "--max-locations", "0", "--included-locations", "3", "--name", "Lux", "--timezone",
		"Asia/Tokyo")
	issueCard(api, program, nil)
	api.Post("/programs/"+program+"/cards", nil).Want(422, "unprocessable_entity")
	f.refused("location", "create", "--name", "x", "--address", "x", "--city", "x", "--postal-code", "1", "--country-code", "IT")("maximum")
	f.list("shop", "update", "--max-cards", "none")
	issueCard(api, program, nil)

	f.refused("shop", "update", "--timezone", "Europe/Atlantis")("--timezone")
	f.refused("shop", "update", "--shop", "shp_none")("--shop: no such shop")
	f.list("shop", "create", "--name", "Second", "--mode", "test")
	f.refused("key", "list")("--shop")
	if text := f.list("shop", "list"); !strings.Contains(text, "Lux") || !strings.Contains(text, "Second") {
		t.Errorf("the list of shops:\n%s", text)
	}
	f.checkSecrets()
}

// TestLocationCommands checks the commands on locations.
func TestLocationCommands(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	k := f.makeKey("create", "--name", "CRM")
	home := f.location("Home")
	if text := f.list("location", "list"); !strings.Contains(text, home) {
		t.Errorf("the list of locations:\n%s", text)
	}
	f.refused("location", "create", "--name", "x", "--address", "x", "--city", "x", "--postal-code", "1", "--country-code", "Italy",
		"--lat", "91")("--country-code", "--lat")
	f.checkAudit(k, "shop.create "+f.shop, "location.create "+home, "key.create "+k.ID)
	f.list("check")
	f.checkSecrets()
}

// TestProgramUpdateCommand checks which flags program update takes, alone and together.
func TestProgramUpdateCommand(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	program := newProgram(f.api(f.makeKey("create", "--name", "CRM")),
		`{"type":"standard","name":"Coffee","total_stamps":10,"icon_key":"coffee"}`)
	f.list("program", "update", program, "--min-spend-cents", "250")
	f.list("program", "update", program, "--min-spend-cents", "none")
	f.refused("program", "update", program, "--min-spend-cents", "0")("--min-spend-cents")
	f.refused("program", "update", "prg_none", "--min-spend-cents", "1")("No such program")
	f.list("program", "update", program, "--max-stamps-per-day", "3", "--min-spend-cents", "none")
	f.list("program", "update", program, "--max-stamps-per-day", "none")
	f.refused("program", "update", program, "--max-stamps-per-day", "0")("--max-stamps-per-day")
	f.refused("program", "update", program, "--max-stamps-per-day", "many")("--max-stamps-per-day")
	f.refused("program", "update", program)("--min-spend-cents", "--max-stamps-per-day", "--enroll")
	f.refused("program", "update", program, "--enroll")("--enroll-slug", "--enroll-max-cards")
	f.refused("program", "update", program, "--enroll-slug", "Tea")("--enroll-slug")
	f.refused("program", "update", program, "--enroll-slug", "tea", "--min-spend-cents", "1")("command of their own")
	f.list("program", "update", program, "--enroll", "--enroll-slug", "tea", "--enroll-max-cards", "10", "--enroll-name", "required",
		"--enroll-email", "off", "--enroll-consent", "I agree.", "--enroll-privacy-url", "https://example.com/")
	f.list("program", "update", program, "--no-enroll", "--enroll-consent", "none", "--enroll-privacy-url", "none")
	f.list("check")
	f.checkSecrets()
}

// TestCardCommands checks the commands that change and delete cards, the deletion of a program,
// which archives its cards, and that the audit log has all of it.
func TestCardCommands(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	k := f.makeKey("create", "--name", "CRM")
	api := f.api(k)
	program := newProgram(api, `{"type":"standard","name":"Coffee","total_stamps":10,"icon_key":"coffee"}`)
	made := issueCard(api, program, map[string]string{"external_ref": "M-1", "holder_name": "Ada"})
	for _, step := range [][2]string{{"lock", "locked"}, {"unlock", "invited"}, {"archive", "archived"}} {
		if text := f.list("card", step[0], made.ID); !strings.Contains(text, step[1]) || readCard(api, made.ID).Status != step[1] {
			t.Errorf("card %s printed %q", step[0], text)
		}
	}
	f.refused("card", "lock", made.ID)("archived")

	second := issueCard(api, program, map[string]string{"external_ref": "M-1", "holder_name": "Ada"})
	var again card
	f.json(&again, "card", "reissue", second.ID, "--public-url", "https://cards.example.com/")
	if again.ID != second.ID || !strings.HasPrefix(again.InstallURL, "https://cards.example.com/i/") {
		t.Errorf("reissued as %+v", again)
	}
	f.secrets = append(f.secrets, again.InstallURL)
	var gone struct {
		ID      string
		Deleted bool
	}
	f.json(&gone, "card", "delete", second.ID, "--yes")
	if gone.ID != second.ID || !gone.Deleted {
		t.Errorf("card delete printed %+v", gone)
	}
	api.Get("/cards/"+second.ID).Want(404, "not_found")

	third := issueCard(api, program, nil)
	f.run("program", "delete", program, "--yes")
	api.Get("/programs/"+program).Want(404, "not_found")
	if got := readCard(api, third.ID).Status; got != "archived" {
		t.Errorf("the card of a deleted program is %s", got)
	}
	f.refused("program", "delete", program, "--yes")("No such program")
	f.checkAudit(k, "card.lock "+made.ID, "card.unlock "+made.ID, "card.archive "+made.ID, "card.reissue "+second.ID,
		"card.delete "+second.ID, "program.delete "+program, "card.issue "+third.ID)
	f.list("check")
	f.checkSecrets()
}

// auditLog has the fields of the audit log that checkAudit reads.
type auditLog struct {
	Data []struct {
		Actor struct {
			Type     string
			ID, Name *string
		}
		Action   string
		TargetID string `json:"target_id"`
		Detail   map[string]any
	}
}

// checkAudit checks that the audit log has these actions, each with its target, that the actor of
// every row is this user or the key, and how many rows the command prints.
func (f *shopFile) checkAudit(k key, actions ...string) {
	f.t.Helper()
	var log, two auditLog
	f.json(&log, "audit", "--limit", "0")
	me := must(user.Current())
	done := map[string]bool{}
	for _, row := range log.Data {
		done[row.Action+" "+row.TargetID] = true
		switch {
		case row.Detail == nil:
			f.t.Errorf("%+v has no object as detail", row)
		case row.Actor.Type == "user" && row.Actor.Name != nil && *row.Actor.Name == me.Username:
		case row.Actor.Type == "api_key" && row.Actor.ID != nil && *row.Actor.ID == k.ID:
		default:
			f.t.Errorf("%+v has an unknown actor", row)
		}
	}
	for _, want := range actions {
		if !done[want] {
			f.t.Errorf("the audit log lacks %s", want)
		}
	}
	if text := f.list("audit"); !strings.Contains(text, "user "+me.Username) {
		f.t.Errorf("the audit log has no actor:\n%s", text)
	}
	if f.json(&two, "audit", "--limit", "2"); len(two.Data) != 2 {
		f.t.Errorf("--limit 2 printed %d rows", len(two.Data))
	}
	f.refused("audit", "--limit", "-1")("--limit")
}

func TestCommandsWithoutFile(t *testing.T) {
	t.Parallel()
	if r := execute(t, nil, "version"); r.code != 0 || !strings.HasPrefix(r.stdout, "punchcard ") {
		t.Errorf("version: %+v", r)
	}
	var doc struct{ Openapi string }
	if r := execute(t, nil, "openapi", "--public-url", "https://cards.example.com"); r.code != 0 ||
		json.Unmarshal([]byte(r.stdout), &doc) != nil ||
		!strings.HasPrefix(doc.Openapi, "3.1") || !strings.Contains(r.stdout, "https://cards.example.com/api/public/v1") {
		t.Errorf("openapi: exit %d, %.200s %s", r.code, r.stdout, r.stderr)
	}
	p := startDev(t)
	if r := execute(t, nil, "healthcheck", p.origin); r != (result{}) {
		t.Errorf("healthcheck: %+v", r)
	}
	p.stop()
	execute(t, nil, "healthcheck", p.origin).refused(t, "not ready")
	if r := execute(t, nil); r.code != 0 || !strings.Contains(r.stdout, "serve") || !strings.Contains(r.stdout, "healthcheck") {
		t.Errorf("no command: %+v", r)
	}
	execute(t, nil, "prog").refused(t, "prog")
	execute(t, nil, "serve", "--color").refused(t, "--color")
	if r := execute(t, nil, "--help"); r.code != 0 || !strings.Contains(r.stdout, "punchcard dev") {
		t.Errorf("--help: %+v", r)
	}
}

// TestCheckFindings violates one invariant at a time and checks what check prints.
func TestCheckFindings(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.api(f.makeKey("create", "--name", "CRM"))
	program := newProgram(api, `{"type":"standard","name":"Coffee","total_stamps":10,"icon_key":"coffee"}`)
	for i := range 3 {
		issueCard(api, program, map[string]string{"external_ref": fmt.Sprint(i)})
	}
	if out := f.run("check"); out != "ok\n" {
		t.Errorf("check while served printed %q", out)
	}
	f.server.stop()
	var answer struct {
		OK       bool
		Findings []string
	}
	f.json(&answer, "check")
	if !answer.OK || answer.Findings == nil || len(answer.Findings) != 0 {
		t.Errorf("check --json of a consistent file: %+v", answer)
	}
	for says, damage := range map[string]string{
		"live_cards": "UPDATE shops SET live_cards=live_cards+1",
		"integrity":  "",
	} {
		broken := copyFile(t, f.db)
		if damage == "" {
			corruptIndex(t, broken, "cards_program", "cards_ref")
		} else {
			sqlExec(t, broken, damage)
		}
		r := execute(t, nil, "check", "--db", broken)
		if line, rest, _ := strings.Cut(r.stderr, "\n"); r.code != 1 || !strings.Contains(r.stdout, says) ||
			strings.Contains(r.stdout, "ok\n") || line == "" || rest != "" {
			t.Errorf("%s: %+v", damage, r)
		}
		r = execute(t, nil, "check", "--json", "--db", broken)
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.code != 1 || answer.OK || len(answer.Findings) == 0 {
			t.Errorf("%s: --json: %+v", damage, r)
		}
	}
}
