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
)

// disk is a shop on a disk that fails at times.
type disk struct {
	*shopFile
	t       *testing.T
	http    *http.Client
	key     string
	program string
	card    string // that is read all the time

	mu      sync.Mutex
	n       int
	made    map[string]bool // refs of the writes that were answered 201
	refused map[string]bool // and of those that were answered 5xx
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
	d.server = startServe(d.t, d.db, "--api-key-rate-limit-per-minute", "0", "--metrics-listen", "127.0.0.1:0")
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

// write issues a card to a new person and returns the status, which is 201 or
// 500 and nothing else.
func (d *disk) write() int {
	d.t.Helper()
	d.mu.Lock()
	d.n++
	ref := fmt.Sprintf("member-%d.", d.n) // with an end that can be found in a page
	d.mu.Unlock()
	r := d.ask(d.api(), "POST", "/programs/"+d.program+"/cards", map[string]string{"external_ref": ref, "holder_name": "Zoë " + ref}, "Idempotency-Key", ref)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r.Status {
	case 201:
		d.made[ref] = true
	case 500:
		d.refused[ref] = true
	default:
		d.t.Errorf("%s was answered %d %s", ref, r.Status, r.Body)
	}
	return r.Status
}

// failing checks what holds while no write can be made: writes are refused,
// alone or many at once, reads go on, and the server says that it is not ready.
// Asking for that writes a page; where a few pages, but no write, have room
// left, as many answers may come before.
func (d *disk) failing(pages int) {
	d.t.Helper()
	outside := d.server.outside()
	if status := d.write(); status != 500 {
		d.t.Errorf("a write on a failing disk is answered %d", status)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 3 {
				if status := d.write(); status != 500 {
					d.t.Errorf("a write on a failing disk is answered %d", status)
				}
				if r := d.ask(d.api(), "GET", "/cards/"+d.card, nil); r.Status != 200 {
					d.t.Errorf("a read on a failing disk is answered %d %s", r.Status, r.Body)
				}
			}
		})
	}
	all.Wait()
	for range pages {
		d.ask(outside, "GET", "/readyz", nil)
	}
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200} {
		if r := d.ask(outside, "GET", path, nil); r.Status != want {
			d.t.Errorf("%s on a failing disk is answered %d", path, r.Status)
		}
	}
	d.there()
}

// sound checks that the server works as if nothing had been.
func (d *disk) sound() {
	d.t.Helper()
	if status := d.write(); status != 201 {
		d.t.Errorf("the first write on a disk that is sound again is answered %d", status)
	}
	if r := d.ask(d.server.outside(), "GET", "/readyz", nil); r.Status != 200 {
		d.t.Errorf("/readyz on a disk that is sound again is answered %d", r.Status)
	}
}

// refs are the cards that the server lists.
func (d *disk) refs() map[string]bool {
	d.t.Helper()
	refs := map[string]bool{}
	for _, c := range listCards(d.api(), 100) {
		refs[*c.ExternalRef] = true
	}
	return refs
}

// there checks that the running server has all that it answered with 201, and
// nothing that it refused.
func (d *disk) there() {
	d.t.Helper()
	have := d.refs()
	for ref := range d.made {
		if !have[ref] {
			d.t.Errorf("%s was answered 201 and is not there", ref)
		}
	}
	for ref := range d.refused {
		if have[ref] {
			d.t.Errorf("%s was answered 500 and is there", ref)
		}
	}
}

// killed kills the server and starts it on the same file: what was answered
// with 201 is still there.
func (d *disk) killed() {
	d.t.Helper()
	d.server.signal(syscall.SIGKILL)
	d.server.wait()
	d.told()
	if out := execute(d.t, nil, "check", "--db", d.db); out.stdout != "ok\n" {
		d.t.Errorf("check printed %q %q", out.stdout, out.stderr)
	}
	d.serve()
	have := d.refs()
	for ref := range d.made {
		if !have[ref] {
			d.t.Errorf("%s was answered 201 and is lost after a kill", ref)
		}
	}
}

// causes are how the log names what is wrong with a disk.
var causes = []string{"the disk or the database is full", "the disk failed"}

// told checks the log of a server that ended: one line for each refusal, which
// names the cause, and nothing of anybody in any.
func (d *disk) told() {
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
		if !slices.ContainsFunc(causes, func(c string) bool { return strings.Contains(entry.Error, c) }) || strings.Contains(entry.Error, "\n") {
			d.t.Errorf("the log does not name the cause: %s", line)
		}
	}
	for _, secret := range []string{d.key, "member-", "Zoë", "first"} {
		if strings.Contains(text, secret) {
			d.t.Errorf("the log holds %s", secret)
		}
	}
	if errors < len(d.refused) {
		d.t.Errorf("%d lines about %d refusals", errors, len(d.refused))
	}
	clear(d.refused) // may be there after a restart, as a request without an answer may
}

// held are the goroutines and the open files of the server.
func (d *disk) held() (goroutines, files int) {
	d.t.Helper()
	resp, err := d.http.Get(d.server.metrics)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			goroutines, _ = strconv.Atoi(n)
		}
	}
	if goroutines == 0 {
		d.t.Fatal("no goroutines are counted")
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.server.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	return goroutines, len(open)
}

// leaks runs f and waits until the server holds no more than before it.
func (d *disk) leaks(f func()) {
	d.t.Helper()
	d.http.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	d.write() // opens what a first write opens
	goroutines, files := d.held()
	f()
	for late := time.Now().Add(waitLimit); ; {
		d.http.CloseIdleConnections()
		http.DefaultClient.CloseIdleConnections()
		g, n := d.held()
		if g <= goroutines && n <= files {
			return
		}
		if time.Now().After(late) {
			d.t.Errorf("the server has %d goroutines and %d open files, and had %d and %d before", g, n, goroutines, files)
			return
		}
	}
}
