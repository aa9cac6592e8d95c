package command

import (
	"bytes"
	"testing"
	"time"

	"punchcard/server/dev"
)

// TestLiveLog checks the lines about requests, in which no text can move the cursor or look
// like another line.
func TestLiveLog(t *testing.T) {
	var b bytes.Buffer
	show := writeLive(&b, false)
	show(dev.Answered{Method: "GET", Path: "/api/public/v1/me", Status: 200, Duration: 412 * time.Microsecond})
	show(
		dev.Answered{
			Method:   "POST",
			Path:     "/api/public/v1/cards",
			Status:   400,
			Duration: 12 * time.Millisecond,
			Hints:    []string{"validation_failed un\x1b[2J\nGET", "replayed"},
		},
	)
	show(dev.Answered{Method: "DELETE", Path: "/i/…"})
	show(dev.Answered{Method: "WEBHOOK", Path: "card.added to http://127.0.0.1:3000", Hints: []string{"connection refused"}})
	want := `GET     200   0.4 ms  /api/public/v1/me
POST    400    12 ms  /api/public/v1/cards  validation_failed un\x1b[2J\nGET; replayed
DELETE  cut   0.0 ms  /i/…
WEBHOOK ---   0.0 ms  card.added to http://127.0.0.1:3000  connection refused
`
	if b.String() != want {
		t.Errorf("shown\n%s, want\n%s", b.String(), want)
	}
	b.Reset()
	writeLive(&b, true)(dev.Answered{Method: "GET", Path: "/", Status: 303})
	if want := "GET     \x1b[36m303\x1b[0m   0.0 ms  /\n"; b.String() != want {
		t.Errorf("shown %q, want %q", b.String(), want)
	}
}
