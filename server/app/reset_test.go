package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
	"punchcard/store/sqlite"
)

// startFixture starts a server as "punchcard dev" does, with a temporary file.
func startFixture(t testing.TB, options ...func(*app.Config)) *app.App {
	t.Helper()
	servertest.Parallel(t)
	return servertest.Start(t, append(options, servertest.WithJournal)...).App
}

// anyURL is a client that calls any URL.
var anyURL = servertest.NewClient(nil, "", "")

// call makes one request and returns its status and body.
func call(t testing.TB, method, url, key, body string) (int, string) {
	t.Helper()
	var content any
	if body != "" {
		content = body
	}
	r := anyURL.On(t).With(key).Try(context.Background(), method, url, content)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.Status, string(r.Body)
}

// TestReset changes everything that can change, and checks that after a reset everything
// is as it was at the start.
func TestReset(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"temporary file", "named file"} {
		t.Run(kind, func(t *testing.T) {
			a := startFixture(t, func(c *app.Config) {
				c.Dev.Clock = app.NewClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
				c.Dev.Deterministic = true
				five := 5
				c.Limits.APIKeyRateLimitPerMinute = &five
				if kind == "named file" {
					c.DB = filepath.Join(t.TempDir(), "kept.db")
				}
			})
			control, key := a.Origin+"/dev", a.Ready.APIKey
			first, _ := json.Marshal(a.Ready)
			state := func() string {
				var all []string
				for _, path := range []string{"/me", "/programs", "/locations", "/cards", "/transactions"} {
					status, body := call(t, "GET", a.Ready.BaseURL+path, key, "")
					all = append(all, fmt.Sprint(status, body))
				}
				for _, path := range []string{"/clock", "/audit", "/emails"} {
					status, body := call(t, "GET", control+path, "", "")
					all = append(all, fmt.Sprint(status, body))
				}
				return strings.Join(all, "\n")
			}
			before := state()
			if status, body := call(t, "GET", a.Ready.BaseURL+"/me", key, ""); status != 429 {
				t.Fatalf("the sixth request: %d %s", status, body)
			}
			for _, step := range [][3]string{
				{
					"POST", "/programs/" + a.Ready.ProgramIDs["standard"] + "/enroll",
					`{"holder_name": "Ada", "holder_email": "ada@example.com", "send_email": true}`,
				},
				{"PATCH", "/shops/" + a.Ready.ShopID, `{"timezone": "Asia/Tokyo"}`},
				{"POST", "/locations", `{"name": "Third"}`},
				{"DELETE", "/programs/" + a.Ready.ProgramIDs["discount"], ""},
				{"POST", "/clock", `{"advance": "26h"}`},
			} {
				if status, body := call(t, step[0], control+step[1], "", step[2]); status >= 300 {
					t.Fatalf("%s: %d %s", step, status, body)
				}
			}
			_, page := call(t, "GET", control+"/audit", "", "")
			if !strings.Contains(page, "card.issue") {
				t.Fatalf("nothing has changed: %s", page)
			}
			status, body := call(t, "POST", control+"/reset", "", "")
			if status != 200 || body != string(first) {
				t.Errorf("the reset answers %d %s, want the ready line %s", status, body, first)
			}
			if after := state(); after != before {
				t.Errorf("after the reset\n%s\nat the start\n%s", after, before)
			}
		})
	}
}

// repeat calls do in n goroutines, each again and again, until the function that it returns is called.
func repeat(n int, do func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				do()
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// TestResetUnderLoad checks that requests during resets see the state before or after: a card that
// was issued is there completely or not at all.
func TestResetUnderLoad(t *testing.T) {
	a := startFixture(t)
	ready := *a.Ready
	issue := ready.BaseURL + "/programs/" + ready.ProgramIDs["standard"] + "/cards"
	stop := repeat(8, func() {
		status, body := call(t, "POST", issue, ready.APIKey, `{"holder_name": "Ada"}`)
		if status != 201 {
			t.Errorf("issue: %d %s", status, body)
		}
		var card struct{ ID string }
		json.Unmarshal([]byte(body), &card)
		if status, body = call(t, "GET", ready.BaseURL+"/cards/"+card.ID, ready.APIKey, ""); status != 200 && status != 404 {
			t.Errorf("read: %d %s", status, body)
		}
	})
	for range 8 {
		noError(t, a.Reset())
	}
	stop()
	noError(t, a.Reset())
	if status, body := call(t, "GET", ready.BaseURL+"/cards", ready.APIKey, ""); status != 200 || !strings.HasPrefix(body, `{"data":[],`) {
		t.Errorf("after the last reset: %d %s", status, body)
	}
}

// TestResetRefusesMissingBody checks that a client that never sends its body is refused and does not block
// a reset.
func TestResetRefusesMissingBody(t *testing.T) {
	a := startFixture(t)
	conn := dialServer(t, a.Origin)
	fmt.Fprintf(
		conn,
		"POST /api/public/v1/programs/%s/cards HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n",
		a.Ready.ProgramIDs["standard"], a.Ready.APIKey,
	)
	// The server asks for the body, so it is answering the request.
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	in.ReadString('\n')
	noError(t, a.Reset())
	resp, err := http.ReadResponse(in, nil)
	noError(t, err)
	if resp.StatusCode != 400 {
		t.Errorf("the request in progress during the reset got %s, want 400", resp.Status)
	}
}

func TestResetAfterStop(t *testing.T) {
	a := startFixture(t)
	noError(t, a.Stop(context.Background()))
	if err := a.Reset(); err == nil {
		t.Error("a fixture was reset after Stop")
	}
}

// TestResetBesideCommands checks that commands which read the fixture's file or write to it during a reset
// always find a complete file, and that their earlier writes are gone after it.
func TestResetBesideCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kept.db")
	a := startFixture(t, func(c *app.Config) { c.DB = file })
	ready := *a.Ready
	stopReading := repeat(2, func() {
		c, err := sqlite.Open(file, sqlite.ReadWrite, "busy_timeout=5000")
		if err != nil {
			t.Errorf("a command cannot open the file: %v", err)
			return
		}
		r := c.Query("SELECT id FROM shops")
		found := r.Next()
		if err := errors.Join(r.Close(), c.Close()); err != nil || !found {
			t.Errorf("a command reads a shop: %t, %v", found, err)
		}
	})
	stopWriting := repeat(1, func() {
		st, err := store.Open(file, store.Options{})
		if err != nil {
			t.Errorf("a command cannot open the file: %v", err)
			return
		}
		err = st.Write(context.Background(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
			_, _, err := tx.CreateShop(store.ShopFields{Name: opt("Second")})
			return err
		}})
		if err := errors.Join(err, st.Close()); err != nil {
			t.Errorf("a command cannot write: %v", err)
		}
	})
	for range 3 {
		if err := a.Reset(); err != nil {
			t.Error(err)
		}
		if status, body := call(t, "GET", ready.BaseURL+"/me", ready.APIKey, ""); status != 200 {
			t.Errorf("after a reset: %d %s", status, body)
		}
	}
	stopReading()
	stopWriting()
	noError(t, a.Reset())
	var shops []store.Shop
	if err := a.Store.View(0, func(v *store.View) (err error) {
		shops, err = v.Shops()
		return err
	}); err != nil || len(shops) != 1 {
		t.Errorf("after the last reset there are %d shops (%v)", len(shops), err)
	}
}

var noError = require.NoError
