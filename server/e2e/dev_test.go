package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// withoutAddress returns the ready line without the fields that depend on the port.
func (p *process) withoutAddress() ready {
	r := p.ready
	r.BaseURL, r.Origin, r.DashboardURL = "", "", ""
	return r
}

func TestDevReadyLine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ready.json")
	first, second := startDev(t, "--ready-file", file), startDev(t)

	var fields map[string]json.RawMessage
	noError(t, json.Unmarshal([]byte(first.line), &fields))
	want := []string{
		"api_key", "base_url", "dashboard_url", "location_ids", "mcp_key", "origin", "owner_email", "owner_password", "program_ids",
		"restricted_api_key", "shop_id", "till_token",
	}
	if got := sortedKeys(fields); !slices.Equal(got, want) {
		t.Errorf("the line has %v, want %v", got, want)
	}
	if got := sortedKeys(first.ready.ProgramIDs); !slices.Equal(got, []string{"access", "discount", "prepaid", "private", "standard"}) {
		t.Errorf("program_ids has %v", got)
	}
	if len(first.ready.LocationIDs) != 2 {
		t.Errorf("location_ids has %v", first.ready.LocationIDs)
	}
	if !strings.HasPrefix(first.ready.Origin, "http://127.0.0.1:") || first.ready.BaseURL != first.ready.Origin+"/api/public/v1" {
		t.Errorf("origin %s, base_url %s", first.ready.Origin, first.ready.BaseURL)
	}
	if first.ready.DashboardURL != first.ready.Origin+"/dashboard" || !strings.Contains(first.ready.OwnerEmail, "@") ||
		first.ready.OwnerPassword == "" {
		t.Errorf("dashboard_url %s, owner_email %s, owner_password %s", first.ready.DashboardURL, first.ready.OwnerEmail,
			first.ready.OwnerPassword)
	}
	for prefix, secret := range map[string]string{
		"tsk_test_": first.ready.APIKey,
		"tmk_test_": first.ready.MCPKey,
		"tdk_test_": first.ready.TillToken,
	} {
		if !regexp.MustCompile("^" + prefix + "[A-Za-z0-9_-]{43}$").MatchString(secret) {
			t.Errorf("%q is not %s and 43 characters", secret, prefix)
		}
	}
	if fmt.Sprint(first.withoutAddress()) != fmt.Sprint(second.withoutAddress()) {
		t.Errorf("two starts differ:\n%s%s", first.line, second.line)
	}
	if first.origin == second.origin {
		t.Errorf("port 0 gave the same port twice: %s", first.origin)
	}

	written, err := os.ReadFile(file)
	if err != nil || string(written) != first.line {
		t.Errorf("the ready file contains %q (%v), the line is %q", written, err, first.line)
	}
	if beside, _ := os.ReadDir(filepath.Dir(file)); len(beside) != 1 {
		t.Errorf("there are other files beside the ready file: %v", beside)
	}
	if got := first.stdout.String(); got != first.line {
		t.Errorf("stdout has more than the line: %q", got)
	}
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestDevThrowsItsFolderAway(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	p := startDevWith(t, []string{"TMPDIR=" + tmp})
	if found, _ := os.ReadDir(tmp); len(found) != 1 {
		t.Errorf("while it runs there are %v", found)
	}
	issueCard(p.demo(), p.ready.ProgramIDs["standard"], nil)
	p.stop()
	if found, _ := os.ReadDir(tmp); len(found) != 0 {
		t.Errorf("left behind: %v", found)
	}
}

// TestDevClockRuns checks that the clock of dev runs by itself and can be advanced too.
func TestDevClockRuns(t *testing.T) {
	t.Parallel()
	p := startDev(t)
	now := func(r *servertest.Reply) time.Time {
		t.Helper()
		var clock struct{ Now time.Time }
		r.Want(200).Decode(&clock)
		return clock.Now
	}
	before := now(p.outside().Get("/dev/clock"))
	for late := time.Now().Add(waitLimit); !now(p.outside().Get("/dev/clock")).After(before); {
		if time.Now().After(late) {
			t.Fatalf("the clock stands at %s", before)
		}
		<-time.After(time.Millisecond)
	}
	if after := now(p.outside().Post("/dev/clock", map[string]string{"advance": "26h"})); after.Before(before.Add(26 * time.Hour)) {
		t.Errorf("from %s to %s in 26 hours", before, after)
	}
}

// TestDevListens starts dev at the addresses that are not loopback by themselves.
func TestDevListens(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--listen", "0.0.0.0:0", "--allow-remote", "--allow-host", "punchcard"}, {"--listen", "localhost:0"}} {
		p := startDev(t, args...)
		if !strings.HasPrefix(p.origin, "http://127.0.0.1:") {
			t.Errorf("the ready line of %s has the origin %s", args, p.origin)
		}
		p.demo().Get("/me").Want(200)
	}
}

// TestDevCurl runs the commands that dev prints on stderr.
func TestDevCurl(t *testing.T) {
	t.Parallel()
	p := startDev(t)
	p.await(p.stderr, contains("Ctrl-C"))
	pasted := regexp.MustCompile(`(?s)\n  (curl .*?)\n\n`).
		FindAllStringSubmatch(strings.ReplaceAll(p.stderr.String(), "\n\n", "\n\n\n"), -1)
	if len(pasted) != 3 {
		t.Fatalf("want three commands on stderr:\n%s", p.stderr)
	}
	card := struct{ ID string }{}
	for i, want := range []int{200, 201, 201} {
		text := strings.Replace(pasted[i][1], "crd_…", card.ID, 1)
		got, body := asRequest(t, text)
		if got != want {
			t.Errorf("%s\nanswered %d, want %d", text, got, want)
		}
		json.Unmarshal(body, &card)
	}
	p.outside().Get("/docs").Want(200)
}

// asRequest makes the request of a curl command and returns the status and the body.
func asRequest(t *testing.T, text string) (status int, answer []byte) {
	t.Helper()
	words := regexp.MustCompile(`'[^']*'|[^\s\\']+`).FindAllString(text, -1)
	method, url, body, header := "GET", "", "", []string{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-H":
			i++
			name, value, _ := strings.Cut(strings.Trim(words[i], "'"), ": ")
			header = append(header, name, value)
		case "-d":
			i++
			method, body = "POST", strings.Trim(words[i], "'")
		default:
			url = words[i]
		}
	}
	req := require.Must(http.NewRequest(method, url, strings.NewReader(body)))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp := require.Must(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	return resp.StatusCode, require.Must(io.ReadAll(resp.Body))
}
