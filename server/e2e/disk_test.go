package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// disk is a shop whose disk fails.
type disk struct {
	*shopFile
	t       *testing.T
	http    *http.Client
	key     string
	program string
	card    string // id of the card that reads ask for

	mu      sync.Mutex
	n       int
	made    map[string]bool // external_refs of the writes that were answered 201
	refused map[string]bool // external_refs of the writes that were answered 500
}

// newDisk serves a shop from a file in dir.
func newDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d := &disk{shopFile: &shopFile{t: t, db: filepath.Join(dir, "shop.db")}, t: t, made: map[string]bool{}, refused: map[string]bool{},
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	t.Cleanup(d.http.CloseIdleConnections)
	d.run("shop", "create", "--name", "Bar Lux")
	d.key = d.makeKey("create", "--name", "Office").Secret
	d.serve()
	d.program = newProgram(d.api(), stampCard)
	d.card = issueCard(d.api(), d.program, map[string]string{"external_ref": "first"}).ID
	return d
}

func (d *disk) api() *servertest.Client { return d.server.api(d.key) }

func (d *disk) serve() {
	d.t.Helper()
	d.server = startServe(d.t, d.db, "--api-key-rate-limit-per-minute", "0", "--till-rate-limit-per-minute", "0", "--metrics-listen",
		"127.0.0.1:0")
}

// ask makes a request, which must get an answer.
func (d *disk) ask(c *servertest.Client, method, path string, body any, headers ...string) *servertest.Reply {
	d.t.Helper()
	r := c.On(d.t).Via(d.http).Try(context.Background(), method, path, body, headers...)
	if r.Err != nil {
		d.t.Errorf("%s: no answer: %v", r.What, r.Err)
		return r
	}
	r.Check()
	return r
}

// write issues a card with a new external_ref and returns the status, which must be 201 or 500.
func (d *disk) write() int {
	d.t.Helper()
	d.mu.Lock()
	d.n++
	ref := fmt.Sprintf("member-%d.", d.n) // the dot makes the text unique within a page
	d.mu.Unlock()
	r := d.issue(ref)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r.Status {
	case 201:
		d.made[ref] = true
	case 500:
		d.refused[ref] = true
		d.wantSentence(r, "Something went wrong on the server. Retry with the same Idempotency-Key.")
	default:
		d.t.Errorf("%s: status %d %s", ref, r.Status, r.Body)
	}
	return r.Status
}

// issue issues a card with an external_ref, which is also the idempotency key.
func (d *disk) issue(ref string) *servertest.Reply {
	d.t.Helper()
	return d.ask(d.api(), "POST", "/programs/"+d.program+"/cards", map[string]string{"external_ref": ref, "holder_name": "Zoë " + ref},
		"Idempotency-Key", ref)
}

// wantSentence checks the refusal of a request that the disk failed.
func (d *disk) wantSentence(r *servertest.Reply, says string) {
	d.t.Helper()
	if code, message := r.Str("error.code"), r.Str("error.message"); code != "internal_error" || message != says {
		d.t.Errorf("%s: refused as %s, %q", r.What, code, message)
	}
}

// wantRefused checks the server while no write can succeed: single and concurrent writes are
// refused, reads work and answers are replayed, and /readyz is 503. /readyz writes one page: pages is how often it may succeed
// because there is room for so many pages, but not for a write.
func (d *disk) wantRefused(pages int) {
	d.t.Helper()
	outside := d.server.outside()
	if status := d.write(); status != 500 {
		d.t.Errorf("the status of a write on a failing disk is %d", status)
	}
	var made string // any card that was made
	for made = range d.made {
		break
	}
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 3 {
				if made != "" && d.issue(made).Header.Get("Idempotent-Replayed") == "" {
					d.t.Errorf("%s is not replayed on a failing disk", made)
				}
				if status := d.write(); status != 500 {
					d.t.Errorf("the status of a write on a failing disk is %d", status)
				}
				if r := d.ask(d.api(), "GET", "/cards/"+d.card, nil); r.Status != 200 {
					d.t.Errorf("the status of a read on a failing disk is %d %s", r.Status, r.Body)
				}
			}
		})
	}
	writers.Wait()
	for range pages {
		d.ask(outside, "GET", "/readyz", nil)
	}
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200} {
		if r := d.ask(outside, "GET", path, nil); r.Status != want {
			d.t.Errorf("the status of %s on a failing disk is %d", path, r.Status)
		} else if want == 503 {
			d.wantSentence(r, "The database takes no writes.")
		}
	}
	d.checkCards()
}

// wantWorking checks that writes and /readyz work.
func (d *disk) wantWorking() {
	d.t.Helper()
	if status := d.write(); status != 201 {
		d.t.Errorf("the status of the first write after the fault is %d", status)
	}
	if r := d.ask(d.server.outside(), "GET", "/readyz", nil); r.Status != 200 {
		d.t.Errorf("the status of /readyz after the fault is %d", r.Status)
	}
}

// refs returns the external_refs of the listed cards.
func (d *disk) refs() map[string]bool {
	d.t.Helper()
	refs := map[string]bool{}
	for _, c := range listCards(d.api(), 100) {
		refs[*c.ExternalRef] = true
	}
	return refs
}

// checkCards checks that the list has every card that was answered 201 and none that was refused.
func (d *disk) checkCards() {
	d.t.Helper()
	have := d.refs()
	for ref := range d.made {
		if !have[ref] {
			d.t.Errorf("%s was answered 201 but is not listed", ref)
		}
	}
	for ref := range d.refused {
		if have[ref] {
			d.t.Errorf("%s was answered 500 but is listed", ref)
		}
	}
}

// killAndRestart kills the server, starts it on the same file, and checks that every card that was
// answered 201 is there.
func (d *disk) killAndRestart() {
	d.t.Helper()
	d.server.signal(syscall.SIGKILL)
	d.server.wait()
	d.checkLog()
	checkFile(d.t, d.db)
	d.serve()
	have := d.refs()
	for ref := range d.made {
		if !have[ref] {
			d.t.Errorf("%s was answered 201 but is lost after the kill", ref)
		}
	}
}

// causes are the descriptions in the log of errors of a disk.
var causes = []string{"the disk or the database is full", "the disk failed"}

// checkLog checks the log of a server that ended: it has one line with the cause for each refusal
// and no personal data or secrets.
func (d *disk) checkLog() {
	d.t.Helper()
	errors := 0
	text := d.server.stderr.String()
	for line := range strings.Lines(text) {
		var entry struct{ Level, Msg, Error string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			d.t.Errorf("a line of the log is not JSON: %q", line)
		}
		if entry.Level != "ERROR" {
			continue
		}
		errors++
		if !slices.ContainsFunc(causes, func(c string) bool { return strings.Contains(entry.Error, c) }) ||
			strings.Contains(entry.Error, "\n") {
			d.t.Errorf("the log does not name the cause: %s", line)
		}
	}
	for _, secret := range []string{d.key, "member-", "Zoë", "first"} {
		if strings.Contains(text, secret) {
			d.t.Errorf("the log contains %s", secret)
		}
	}
	if errors < len(d.refused) {
		d.t.Errorf("%d lines about %d refusals", errors, len(d.refused))
	}
	clear(d.refused) // they may be in the file after a restart, as any request without an answer may
}

// resources returns the numbers of goroutines and open files of the server.
func (d *disk) resources() (goroutines, files int) {
	d.t.Helper()
	resp := require.Must(d.http.Get(d.server.metrics))
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			goroutines, _ = strconv.Atoi(n)
		}
	}
	if goroutines == 0 {
		d.t.Fatal("the metrics have no go_goroutines")
	}
	dir := fmt.Sprintf("/proc/%d/fd", d.server.cmd.Process.Pid)
	ofDatabase := 0
	for _, open := range require.Must(os.ReadDir(dir)) {
		if name, _ := os.Readlink(filepath.Join(dir, open.Name())); name == d.db || name == d.db+"-wal" {
			ofDatabase++
		} else {
			files++
		}
	}
	if ofDatabase > 2*5 { // of the writer and of four readers, which are opened when they are first needed
		d.t.Errorf("the server has opened the database %d times", ofDatabase)
	}
	return goroutines, files
}

// checkLeaks runs f and waits until the server has no more goroutines and open files than before,
// those of the database apart.
func (d *disk) checkLeaks(f func()) {
	d.t.Helper()
	d.http.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	d.write() // opens the files that a first write opens
	goroutines, files := d.resources()
	f()
	for late := time.Now().Add(waitLimit); ; {
		d.http.CloseIdleConnections()
		http.DefaultClient.CloseIdleConnections()
		g, n := d.resources()
		if g <= goroutines && n <= files {
			return
		}
		if time.Now().After(late) {
			d.t.Errorf("the server has %d goroutines and %d open files, before it had %d and %d", g, n, goroutines, files)
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}
