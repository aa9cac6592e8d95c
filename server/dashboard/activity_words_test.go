package dashboard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/server/web"
)

// actionLiteral matches the name of an action. Columns have such names too, but after an alias of
// one letter.
var actionLiteral = regexp.MustCompile(`^[a-z]{2,}\.[a-z_]+$`)

// TestActionsHaveWords checks that each action that package store writes to the audit log has words,
// and that each subject of actions is a choice of the filter.
func TestActionsHaveWords(t *testing.T) {
	files := require.Must(filepath.Glob("../../store/*.go"))
	english, found := &visit{Printer: web.PrinterFor("en")}, 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source := require.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))
		ast.Inspect(source, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			action := require.Must(strconv.Unquote(literal.Value))
			if !actionLiteral.MatchString(action) || strings.HasSuffix(action, ".json") {
				return true
			}
			found++
			if english.actionText(action) == action {
				t.Errorf("%s: actionWords lacks %q", file, action)
			}
			return true
		})
	}
	if found < 60 {
		t.Errorf("%d names of actions were found", found)
	}
	for _, a := range actionWords {
		family, _, _ := strings.Cut(a.action, ".")
		if !slices.ContainsFunc(actionGroups, func(g actionGroup) bool { return g.family == family }) {
			t.Errorf("actionGroups lacks %q", family)
		}
	}
}
