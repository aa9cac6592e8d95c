package app_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/mcp"
	"punchcard/server/servertest"
)

// BenchmarkMCP measures calls of the tool get_card, and how long the commit of a stamp takes
// after such a call, which has to be counted, compared with the commit after a GET of a card.
func BenchmarkMCP(b *testing.B) {
	unlimited := func(c *app.Config) {
		c.Limits.MCPKeyRateLimitPerMinute, c.Limits.MCPKeyDailyCallBudget = 0, 0
	}
	a := serve(b, filepath.Join(b.TempDir(), "cards.db"), unlimited)
	addr := a.Origin[len("http://"):]
	ids := issueCards(b, a, 20_000, 20_000)
	stamp := stamperOf(b, a, ids)
	const headers = "Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2025-11-25\r\n"
	getCard := func() []byte {
		return request("POST", mcp.Path, a.Ready.MCPKey, headers,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_card","arguments":{"id":"`+ids[rand.IntN(len(ids))]+`"}}}`)
	}
	readCard := func() []byte {
		return request("GET", "/api/public/v1/cards/"+ids[rand.IntN(len(ids))], a.Ready.APIKey, "", "")
	}
	c := dial(b, addr)
	defer c.c.Close()
	if status, body, err := c.roundTrip(getCard(), true); err != nil || status != 200 || !bytes.Contains(body, []byte(`"structuredContent"`)) {
		b.Fatalf("%d %v %s", status, err, body)
	}
	for b.Loop() {
		b.ReportMetric(load(b, addr, 3*time.Second, 200, getCard), "calls/s")
		commitsAfter := func(next func() []byte) []time.Duration {
			var took []time.Duration
			for range servertest.Sized(4000, 20) {
				if status, _, err := c.roundTrip(next(), false); err != nil || status != 200 {
					b.Fatal(status, err)
				}
				start := time.Now()
				stamp()
				took = append(took, time.Since(start))
			}
			return took
		}
		after, afterGet, ratio := alternate(5, func() float64 {
			return float64(percentile(commitsAfter(getCard), 0.99).Microseconds())
		}, func() float64 {
			return float64(percentile(commitsAfter(readCard), 0.99).Microseconds())
		})
		b.ReportMetric(after, "µs-commit-p99")
		b.ReportMetric(afterGet, "µs-commit-p99-after-GET")
		b.ReportMetric(ratio, "x-commit-p99")
	}
}
