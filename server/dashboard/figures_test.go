package dashboard_test

import (
	"bufio"
	"net/url"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// TestFigures checks the figures of a day, a period and a program against what a till did, what the first page
// shows before, and that an invalid choice is reported beside its field.
func TestFigures(t *testing.T) {
	s := start(t, servertest.Frozen)
	s.as("owner").get("/dashboard").has("Get started", "Issue the first card").lacks("Continue the set-up")
	card := s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", object{"holder_name": "Ada Lovelace"}).NewID()
	s.Till(s.TillToken).Post("/cards/"+card+"/stamps", object{"count": 3}).Want(201)
	viewer := s.as("viewer")
	viewer.get("/dashboard").has("Ada Lovelace", "Stamps ·", "+3", "Stamps 3 vs. 0 a week ago", "New cards 1", "Demo till")
	viewer.get("/dashboard/report").has("Stamps 3", "Stamps 1 0 3 stamps", "Demo till")
	viewer.get("/dashboard/statistics").has("Stamps 3 vs. 0", "Stamps by day", "Stamps by weekday and hour")
	viewer.get("/dashboard/statistics?period=365&compare=none").has("Stamps by week")
	viewer.get("/dashboard/statistics?period=1&program_id=" + s.ProgramIDs["prepaid"]).has("Stamps 0")
	viewer.get("/dashboard/statistics/types").has("Active cards by type")
	viewer.get("/dashboard/program/"+s.ProgramIDs["standard"]+"/statistics").has("Stamps 3", "Installed cards by phone")
	for _, program := range s.ProgramIDs {
		viewer.get("/dashboard/program/" + program + "/statistics").want(200)
	}
	for query, field := range map[string]string{
		"period=custom&from=1.5.2026": "from", "period=custom&from=2026-05-02&to=2026-05-01": "from",
		"period=custom&from=2020-01-01&to=2026-05-01": "from", "compare=custom&compare_from=soon": "compare_from",
	} {
		viewer.get("/dashboard/statistics?" + query).want(400).problem(field)
	}
}

// TestTodayEvents checks that the stream of the page tells of a stamp and ends with the
// session, and that visitors are led away from it.
func TestTodayEvents(t *testing.T) {
	s := start(t)
	card := s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", object{"holder_name": "Grace Hopper"}).NewID()
	owner := s.as("owner")
	resp := s.events(owner)
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" ||
		resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	wait := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", text, lines.Err())
	}
	wait("today-latest")
	s.Till(s.TillToken).Post("/cards/"+card+"/stamps", object{"count": 1}).Want(201)
	wait("Grace Hopper")
	owner.post("/sign-out", nil).want(303)
	wait("event: reload")
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	if resp := s.events(s.as("")); resp.StatusCode != 303 {
		t.Errorf("without a session: status %d", resp.StatusCode)
	}
}

// TestBackups checks the list of backups, that one is made at once, and its download.
func TestBackups(t *testing.T) {
	none := start(t)
	none.as("operator").get("/dashboard/health").has("The server makes no backups", "--backup-every")
	none.as("operator").post("/dashboard/health/backup", nil).want(422)

	dir := t.TempDir()
	s := start(t, func(c *app.Config) { c.Backups = &app.Backups{Every: 24 * time.Hour, Keep: 2, Dir: dir, Quick: true} })
	operator := s.as("operator")
	p := operator.get("/dashboard/health").press("/dashboard/health/backup").next().has("Passed", "The newest 2 are kept")
	f := p.form("/dashboard/health/download")
	got := f.send().want(200)
	if !strings.HasPrefix(got.body, "SQLite format 3\x00") ||
		!strings.Contains(got.header.Get("Content-Disposition"), f.fields.Get("name")) {
		t.Errorf("%.100q %v", got.body, got.header)
	}
	for _, name := range []string{"../punchcard.db", "punchcard.db", f.fields.Get("name") + "/"} {
		operator.post("/dashboard/health/download", url.Values{"name": {name}}).want(404)
	}
}

// TestHealth checks that the test message goes to the person who asks for it, that the page of the
// server's health names the tills, and that the page of the limits says what each of them is.
func TestHealth(t *testing.T) {
	s := start(t)
	const path = "/dashboard/health/mail"
	operator := s.as("operator")
	p := operator.get("/dashboard/health").has("It goes to operator@test.example.", "Demo till")
	p.press(path).next().has("The mail server took the message.")
	mails := s.Control("GET", "/emails", nil)
	if !strings.Contains(string(mails.Body), "operator@test.example") {
		t.Errorf("the mailbox has %s", mails.Body)
	}
	n := 0
	for heading := range operator.get("/dashboard/health/limits").root().Descendants() {
		if heading.Data != "th" || attribute(heading, "scope") != "row" {
			continue
		}
		if n++; strings.TrimSpace(textOf(heading)) == "" {
			t.Errorf("nothing says what %s is", textOf(heading.Parent))
		}
	}
	if n < 20 {
		t.Errorf("%d limits", n)
	}
}
