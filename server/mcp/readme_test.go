package mcp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"punchcard/server/mcp"
)

// TestReadme checks that README.md has each tool with the scope that it needs, and how each
// client is set up.
func TestReadme(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
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

// TestToolsAndListAgree checks that Tools, by which pages and README.md tell people of the tools, has
// those that a key with every scope is offered.
func TestToolsAndListAgree(t *testing.T) {
	t.Parallel()
	_, result, _ := start(t).rpc("tools/list", fields{})
	listed := map[string]map[string]any{}
	for _, entry := range result["tools"].([]any) {
		entry := entry.(map[string]any)
		listed[entry["name"].(string)] = entry
	}
	for _, tool := range mcp.Tools() {
		entry := listed[tool.Name]
		if entry == nil {
			t.Errorf("%s is not listed", tool.Name)
			continue
		}
		reads, _ := entry["annotations"].(map[string]any)["readOnlyHint"].(bool)
		_, asks := entry["inputSchema"].(map[string]any)["properties"].(map[string]any)["confirm_token"]
		if entry["title"] != tool.Title || reads == tool.Writes || asks != tool.Asks {
			t.Errorf("%+v is listed as %v", tool, entry)
		}
		delete(listed, tool.Name)
	}
	if len(listed) > 0 {
		t.Errorf("also listed: %v", listed)
	}
}
