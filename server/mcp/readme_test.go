package mcp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"punchcard/server/mcp"
	"punchcard/server/servertest/require"
)

// TestReadme checks that README.md has each tool with the scope that it needs, and how each
// client is set up.
func TestReadme(t *testing.T) {
	raw := require.Must(os.ReadFile("README.md"))
	text, rows := string(raw), 0
	for _, tool := range mcp.Tools() {
		scope := "–"
		if tool.Scope != "" {
			scope = "`" + tool.Scope + "`"
		}
		row := fmt.Sprintf("\n| `%s` | %s | ", tool.Name, scope)
		_, rest, ok := strings.Cut(text, row)
		what, _, _ := strings.Cut(rest, "\n")
		if !ok || strings.Contains(what, "✋") != tool.Asks {
			t.Errorf("no row %q, or with another sign: %s", row, what)
		}
		rows++
	}
	if n := strings.Count(text, "\n| `") - strings.Count(text, "\n| `tools/call`"); n != rows {
		t.Errorf("%d rows for %d tools", n, rows)
	}
	for _, c := range mcp.Clients("https://YOUR-SERVER/mcp", "tmk_…") {
		if block := "\n\n    " + strings.ReplaceAll(c.Text, "\n", "\n    ") + "\n"; !strings.Contains(text, block) {
			t.Errorf("README.md does not say about %s:%s", c.Name, block)
		}
	}
}
