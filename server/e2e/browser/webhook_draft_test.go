//go:build browser

package browser

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// TestDraftWebhook has an assistant draft a webhook, which the owner checks and turns on.
func TestDraftWebhook(t *testing.T) {
	t.Parallel()
	d := startDemo(t, plainNames)
	for name, v := range map[string]View{"Recipe": {}, "Automation": {NoScripts: true}} {
		address := "https://hooks.invalid/" + strings.ToLower(name)
		d.draft(address, name)
		v.Cookie = d.signIn("owner")
		p := Open(t, d.Origin+"/dashboard/webhooks", v)
		p.Follow(name)
		p.Wait("Draft of an assistant", "An assistant drafted this webhook.", address)
		p.Follow("Check and turn on")
		p.Wait("Turn on this draft?", address)
		p.Press("Turn on and show the secret")
		p.Wait("This secret is shown only now.")
		p.CheckNow()
		if n := strings.Count(p.Text(), "whsec_"); n == 0 {
			t.Errorf("%s: no secret is shown", name)
		}
		p.Follow("Done")
		p.Wait("On", "Send a test")
	}
}

// draft has an assistant draft a webhook.
func (d *demo) draft(address, description string) {
	d.T.Helper()
	body := require.Must(json.Marshal(fields{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": fields{"name": "draft_webhook",
		"arguments": fields{"program_id": d.ids["program standard"], "url": address, "events": []string{"card.*"},
			"description": description}}}))
	r := d.Fetch(http.MethodPost, d.Origin+"/mcp", body, http.Header{
		"Authorization": {"Bearer " + d.MCPKey},
		"Content-Type":  {"application/json"},
		"Accept":        {"application/json, text/event-stream"},
	})
	if r.Status != http.StatusOK || strings.Contains(string(r.Body), `"isError":true`) {
		d.T.Fatalf("%d %s", r.Status, r.Body)
	}
}
