package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWarnings checks that serve warns of each likely mistake in one line, and of nothing if there
// is none.
func TestWarnings(t *testing.T) {
	t.Parallel()
	warnings := func(p *process) string {
		p.stop()
		if !strings.Contains(p.stderr.String(), "stopping: ") {
			t.Errorf("no line at the end:\n%s", p.stderr)
		}
		var lines []string
		for line := range strings.Lines(p.stderr.String()) {
			if strings.Contains(line, `"level":"WARN"`) {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	f := &shopFile{t: t, db: filepath.Join(t.TempDir(), "shop.db")}
	if got := warnings(startServe(t, f.db)); strings.Count(got, "\n") != 1 || !strings.Contains(got, "there was no database") {
		t.Errorf("without a file: %s", got)
	}
	f.run("shop", "create", "--name", "Bar Lux")
	if got := warnings(startServe(t, f.db)); strings.Count(got, "\n") != 1 || !strings.Contains(got, "no program") {
		t.Errorf("without a program: %s", got)
	}
	f.run("program", "create", "--name", "Coffee", "--type", "standard", "--total-stamps", "10", "--icon-key", "cup")
	f.run("program", "publish", "Coffee")
	if got := warnings(startServe(t, f.db)); strings.Count(got, "\n") != 1 || !strings.Contains(got, "no prizes") {
		t.Errorf("without prizes: %s", got)
	}
	f.run("prize", "add", "Coffee", "--threshold", "10", "--name", "Coffee")
	if got := warnings(startServe(t, f.db)); got != "" {
		t.Errorf("there is no mistake: %s", got)
	}
	if got := warnings(startServe(t, f.db, "--listen", "0.0.0.0:0")); strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, "--public-url") {
		t.Errorf("at a public address: %s", got)
	}
}
