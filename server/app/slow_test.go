package app_test

import (
	"bufio"
	"net"
	"net/http"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
)

// TestSlowClients checks that a client that never finishes its request is cut off: without an
// answer during the headers, with one during the body. The server goes on serving others.
func TestSlowClients(t *testing.T) {
	a := serving(t, func(c *app.Config) { c.ReadTimeout = 200 * time.Millisecond })
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
	if status, body := call(t, "GET", a.Ready.BaseURL+"/cards", seed.APIKey, ""); status != http.StatusOK {
		t.Fatal(status, body)
	}
}
