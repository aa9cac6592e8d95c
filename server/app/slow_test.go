package app_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
)

// A client that never finishes its request is cut off: without an answer in
// the headers, with one in the body. The server goes on serving others.
func TestSlowClients(t *testing.T) {
	a, err := app.Start(app.Config{DB: filepath.Join(t.TempDir(), "slow.db"), Listen: "127.0.0.1:0", Limits: app.DefaultLimits(),
		ReadTimeout: 200 * time.Millisecond, Dev: &app.Dev{Clock: app.NewClock(time.Time{})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	head := "POST /api/public/v1/programs/" + a.Ready.ProgramIDs["standard"] + "/cards HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + seed.APIKey +
		"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
	for name, sent := range map[string]string{"headers": head, "body": head + "\r\n{\"holder_name\":"} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", a.Origin[len("http://"):])
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if name == "headers" {
				if err == nil {
					t.Fatalf("answered %s", resp.Status)
				}
				return
			}
			if err != nil || resp.StatusCode != http.StatusBadRequest || !resp.Close {
				t.Fatalf("%v, %v", resp, err)
			}
		})
	}
	req, _ := http.NewRequest("GET", a.Ready.BaseURL+"/cards", strings.NewReader(""))
	req.Header.Set("Authorization", "Bearer "+seed.APIKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()
}
