package command

import (
	"bytes"
	"encoding/json"
	"testing"

	"punchcard/server/app"
)

// TestOpenapi checks which document the command prints.
func TestOpenapi(t *testing.T) {
	out := Out
	defer func() { Out = out }()
	for _, c := range []struct {
		till, dev        bool
		title, url, path string
		events           int
	}{
		{false, false, "Loyalty Card Integration API", "https://cards.example.com/api/public/v1", "/cards/{id}", 26},
		{true, false, "Till API", "https://cards.example.com/till/v1", "/cards/{code}/stamps", 0},
		{false, true, "Control API of the fixture", "https://cards.example.com/dev", "/receiver/{id}/replay", 0},
	} {
		var b bytes.Buffer
		Out = &b
		noError(t, (&Openapi{PublicURL: "https://cards.example.com", Till: c.till, Dev: c.dev, Limits: app.DefaultLimits()}).Run())
		var doc struct {
			Info    struct{ Title string }
			Servers []struct{ URL string }
			Paths   map[string]any
			Events  map[string]any `json:"webhooks"`
		}
		noError(t, json.Unmarshal(b.Bytes(), &doc))
		if doc.Info.Title != c.title || doc.Servers[0].URL != c.url || doc.Paths[c.path] == nil || len(doc.Events) != c.events {
			t.Errorf("till %v, dev %v: %q at %s, %d events", c.till, c.dev, doc.Info.Title, doc.Servers[0].URL, len(doc.Events))
		}
	}
}
