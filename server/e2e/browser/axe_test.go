//go:build browser

package browser

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"punchcard/server/servertest/require"
)

// axe returns the source of axe-core, which .ci/browser installs.
var axe = sync.OnceValues(func() (string, error) {
	raw, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		return "", fmt.Errorf("the variable AXE must name axe.min.js of axe-core; .ci/browser sets it: %w", err)
	}
	return string(raw), nil
})

// checkAxe returns what axe-core finds to violate WCAG 2.2 AA or good practice.
func checkAxe(p *Page) (problems []string) {
	p.t.Helper()
	source := require.Must(axe())
	p.run(`source => { if (!window.axe) (0, eval)(source) }`, source)
	for _, v := range eval[[]struct {
		ID, Help string
		Nodes    []string
	}](p, `async () => {
		const found = await axe.run(document, {resultTypes: ['violations'], rules: {'target-size': {enabled: true}}})
		return found.violations.map(v => ({id: v.id, help: v.help,
			nodes: v.nodes.map(n => n.target.join(' ') + ' (' + n.failureSummary.replace(/\s+/g, ' ') + ')')}))
	}`) {
		problems = append(problems, fmt.Sprintf("%s: %s: %s", v.ID, v.Help, strings.Join(v.Nodes[:min(len(v.Nodes), 5)], "; ")))
	}
	return problems
}
