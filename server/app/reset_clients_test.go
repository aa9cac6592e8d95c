package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// TestResetCutsOffSlowReader checks that a client that does not read its answers is cut off and does not
// block a reset.
func TestResetCutsOffSlowReader(t *testing.T) {
	a := startFixture(t)
	_, body := call(t, "POST", a.Origin+"/dev/receiver", "", "")
	var target struct{ URL, ID string }
	noError(t, json.Unmarshal([]byte(body), &target))
	for range 40 { // more than the buffers of two sockets hold
		resp, err := http.Post(target.URL, "text/plain", bytes.NewReader(make([]byte, 250<<10)))
		noError(t, err)
		resp.Body.Close()
	}
	conn := dialServer(t, a.Origin)
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(conn, "GET /dev/receiver/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", target.ID)
	if _, err := conn.Read(make([]byte, 1)); err != nil { // the answer is being written
		t.Fatal(err)
	}
	begun := time.Now()
	noError(t, a.Reset())
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("the reset took %s", took)
	}
}

// TestStopDuringResets checks that a fixture can be stopped while several resets wait.
func TestStopDuringResets(t *testing.T) {
	t.Parallel()
	for range 4 {
		a := servertest.Start(t, servertest.WithJournal)
		var wg sync.WaitGroup
		first := make(chan struct{}, 12)
		for range 12 {
			wg.Go(func() {
				resp, err := http.Post(a.Origin+"/dev/reset", "", nil)
				first <- struct{}{}
				if err != nil {
					return // the fixture stopped before
				}
				resp.Body.Close()
				if resp.StatusCode != 200 && resp.StatusCode != 503 {
					t.Errorf("a reset got %s", resp.Status)
				}
			})
		}
		<-first
		a.Stop()
		wg.Wait()
		http.DefaultClient.CloseIdleConnections()
	}
}

// TestClockToTheEndOfTime checks that the clock can be advanced to the end of the year 9999, in large
// and small steps, and not beyond it.
func TestClockToTheEndOfTime(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]time.Time{"running": {}, "stopped": time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} {
		t.Run(name, func(t *testing.T) {
			a := startFixture(t, func(c *app.Config) { c.Dev.Clock = app.NewClock(first) })
			setClock := func(body, want string) {
				t.Helper()
				status, got := call(t, "POST", a.Origin+"/dev/clock", "", body)
				if !strings.Contains(fmt.Sprint(status, got), want) {
					t.Errorf("%s: %d %s, want %s", body, status, got, want)
				}
			}
			setClock(`{"advance": "2500000h"}`, `200{"now":"23`)
			setClock(`{"advance": "2500000h"}`, `200{"now":"25`)
			setClock(`{"now": "5000-01-01T00:00:00Z"}`, `200{"now":"5000-01-01T00:00:00.`)
			setClock(`{"now": "9999-12-31T00:00:00Z"}`, `200{"now":"9999-12-31T00:00:00.`)
			setClock(`{"advance": "24h"}`, `"field":"advance"`)
			setClock(`{"advance": "23h"}`, `200{"now":"9999-12-31T23:00:00.`)
			if status, body := call(t, "GET", a.Ready.BaseURL+"/me", a.Ready.APIKey, ""); status != 200 {
				t.Errorf("at the end of time: %d %s", status, body)
			}
		})
	}
}

// TestConcurrentAdvances checks that simultaneous advances add up.
func TestConcurrentAdvances(t *testing.T) {
	a := startFixture(t, func(c *app.Config) { c.Dev.Clock = app.NewClock(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)) })
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			if status, body := call(t, "POST", a.Origin+"/dev/clock", "", `{"advance": "1h"}`); status != 200 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	wg.Wait()
	if _, body := call(t, "GET", a.Origin+"/dev/clock", "", ""); body != `{"now":"2026-03-02T00:00:00.000Z"}` {
		t.Errorf("24 hours after midnight it is %s", body)
	}
}

// TestFailedReset checks that after a failed reset the fixture refuses requests until a reset
// succeeds.
func TestFailedReset(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "temporary")
	setFolder := func(exists bool) {
		t.Helper()
		err := os.RemoveAll(folder)
		if err == nil && exists {
			err = os.Mkdir(folder, 0o700)
		}
		noError(t, err)
	}
	setFolder(true)
	t.Setenv("TMPDIR", folder)
	a := startFixture(t)
	setFolder(false)
	for _, step := range []struct {
		method, path string
		status       int
	}{{"POST", "/dev/reset", 503}, {"GET", "/api/public/v1/me", 503}, {"GET", "/dev/clock", 503}, {"POST", "/dev/reset", 503}} {
		if status, body := call(t, step.method, a.Origin+step.path, a.Ready.APIKey, ""); status != step.status ||
			!strings.Contains(body, "could not be reset") {
			t.Errorf("%s: %d %s", step.path, status, body)
		}
	}
	setFolder(true)
	for _, step := range [][2]string{{"POST", "/dev/reset"}, {"GET", "/api/public/v1/me"}, {"POST", "/dev/settle"}} {
		if status, body := call(t, step[0], a.Origin+step[1], a.Ready.APIKey, ""); status != 200 {
			t.Errorf("%s: %d %s", step, status, body)
		}
	}
}
