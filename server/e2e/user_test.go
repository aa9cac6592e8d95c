package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// setupLink matches the set-up link of the log.
var setupLink = regexp.MustCompile(`http://[0-9.:]+/setup/([A-Za-z0-9_-]{43})`)

// TestSetupLink checks that serve logs a set-up link in one line, another one at each
// start, and none once there is an operator.
func TestSetupLink(t *testing.T) {
	f := newShop(t, "--access-log")
	links := setupLink.FindAllStringSubmatch(f.server.stderr.String(), -1)
	if len(links) != 1 {
		t.Fatalf("the log has %d set-up links:\n%s", len(links), f.server.stderr)
	}
	if n := query(t, f.db, "SELECT count(*) FROM links WHERE kind='setup' AND length(hash)=32"); n[0] != "1" {
		t.Errorf("%s set-up links in the file", n)
	}
	f.server.stop()
	f.server = startServe(t, f.db)
	again := setupLink.FindStringSubmatch(f.server.stderr.String())
	if again == nil || again[1] == links[0][1] {
		t.Errorf("the second start: %q", again)
	}
	if n := query(t, f.db, "SELECT count(*) FROM links"); n[0] != "1" {
		t.Errorf("%s links in the file", n)
	}
}

// TestSetupLinkOfAWildcardAddress checks that the set-up link of a server that listens on all addresses
// opens on this machine.
func TestSetupLinkOfAWildcardAddress(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"0.0.0.0:0", ":0"} {
		p := startServe(t, filepath.Join(t.TempDir(), "shop.db"), "--listen", listen)
		link := setupLink.FindString(p.stderr.String())
		if resp, err := http.Get(link); err != nil || resp.StatusCode != 200 {
			t.Errorf("%s logs the link %q, which answers %v, %v\n%s", listen, link, resp, err, p.stderr)
		}
	}
}

// TestUserCommands checks the commands on people's accounts: the one-time links that they
// print, what they change, and what they refuse.
func TestUserCommands(t *testing.T) {
	db := filepath.Join(t.TempDir(), "dev.db")
	p := startDev(t, "--db", db)
	f := &shopFile{t: t, db: db, server: p}
	if out := f.list("user", "list"); !strings.Contains(out, "owner@demo.test") || strings.Count(out, "\n") != 4 {
		t.Errorf("%s", out)
	}
	link := func(want string, args ...string) {
		t.Helper()
		if out := f.run(args...); !regexp.MustCompile(want + `[A-Za-z0-9_-]{43}\n$`).MatchString(out) {
			t.Errorf("%v: %s", args, out)
		}
	}
	link(`\n/invite/`, "user", "invite", "ada@example.com")
	link(`https://cards\.example\.com/invite/`, "user", "invite", "ada@example.com", "--role", "operator", "--public-url",
		"https://cards.example.com/")
	link(`\n/reset/`, "user", "reset", "Manager@demo.test", "--remove-totp")
	link(`\n/invite/`, "user", "invite", "bob@example.com", "--role", "viewer")
	if out := f.list("user", "list"); !regexp.MustCompile(`\nada@example\.com +operator +20`).MatchString(out) ||
		!regexp.MustCompile(`\nbob@example\.com +viewer +\S.* 20`).MatchString(out) {
		t.Errorf("%s", out)
	}
	if out := f.run("user", "list", "--json"); !strings.Contains(out, `"invitations":[{"id":"`) ||
		!strings.Contains(out, `"role":"operator"`) {
		t.Errorf("%s", out)
	}
	for _, args := range [][]string{{"user", "disable", "viewer@demo.test"}, {"user", "enable", "viewer@demo.test"}} {
		if out, want := f.list(args...), strings.TrimSuffix(args[1], "e")+"ed"; !strings.Contains(out, want) {
			t.Errorf("%v: %s", args, out)
		}
	}
	// A session that the fixture began is ended by the command.
	var s struct{ Cookie, Token string }
	p.outside().Post("/dev/sign-in", map[string]any{"as": "manager"}).Want(200).Decode(&s)
	if s.Cookie != "punchcard" || len(s.Token) != 43 {
		t.Errorf("%+v", s)
	}
	if out := f.list("user", "sign-out", "manager@demo.test"); out != "1 session ended\n" {
		t.Errorf("%s", out)
	}
	for _, args := range [][]string{
		{"user", "disable", "owner@demo.test"}, {"user", "disable", "nobody@demo.test"}, {"user", "reset", "usr_x"},
		{"user", "invite", "x"}, {"user", "invite", "a@example.com", "--role", "king"},
	} {
		if r := execute(t, nil, append(args, "--db", db)...); r.code == 0 || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
}

// TestRestoreEndsSessions checks that a restore ends sessions and one-time links, and
// lists what is to be reviewed.
func TestRestoreEndsSessions(t *testing.T) {
	dir := t.TempDir()
	db, backup := filepath.Join(dir, "dev.db"), filepath.Join(dir, "backup.db")
	p := startDev(t, "--db", db)
	f := &shopFile{t: t, db: db, server: p}
	p.outside().Post("/dev/sign-in", map[string]any{"as": "owner"}).Want(200)
	f.run("user", "invite", "ada@example.com")
	f.run("backup", backup)
	p.stop()
	r := execute(t, nil, "restore", backup, "--db", filepath.Join(dir, "restored.db"))
	for _, want := range []string{
		"All sessions (1) and one-time links (1) have ended.", "Demo key", "Demo till", "manager@demo.test", "owner, operator",
	} {
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing:\n%s%s", want, r.stdout, r.stderr)
		}
	}
	if n := query(t, filepath.Join(dir, "restored.db"),
		"SELECT (SELECT count(*) FROM sessions)+(SELECT count(*) FROM links)"); n[0] != "0" {
		t.Errorf("%s sessions and links are left", n)
	}
	var out struct {
		Review struct {
			Keys, Devices, People []struct{ ID string }
		}
	}
	r = execute(t, nil, "restore", backup, "--db", filepath.Join(dir, "again.db"), "--json")
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || len(out.Review.Keys) != 3 || len(out.Review.Devices) != 1 ||
		len(out.Review.People) != 3 {
		t.Errorf("%v, %s", err, r.stdout)
	}
}
