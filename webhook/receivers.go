package webhook

import (
	_ "embed"
	"strings"
)

//go:embed README.md
var readme string

// Receiver is an example of a program that receives webhooks.
type Receiver struct {
	Language string
	File     string
	Run      string // the command that runs it, after its environment variables
	Text     string
}

// Receivers returns the examples in README.md.
func Receivers() []Receiver {
	all := []Receiver{
		{Language: "Go", File: "verify.go", Run: "go run verify.go"},
		{Language: "Node", File: "verify.mjs", Run: "node verify.mjs"},
		{Language: "Python", File: "verify.py", Run: "python3 verify.py"},
	}
	for i, r := range all {
		_, block, _ := strings.Cut(readme, "<!-- "+r.File+" -->")
		block, _, _ = strings.Cut(block, "<!-- /"+r.File+" -->")
		_, block, _ = strings.Cut(strings.TrimSpace(block), "\n") // after ```go
		all[i].Text = strings.TrimSuffix(block, "```")
	}
	return all
}
