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
)

// actionLiteral matches the name of an action. Columns have such names too, but after an alias of
// one letter.
var actionLiteral = regexp.MustCompile(`^[a-z]{2,}\.[a-z_]+$`)

// TestActionsHaveWords checks that each action that package store writes to the audit log has words,
// and that each subject of actions is a choice of the filter.
func TestActionsHaveWords(t *testing.T) {
	files, err := filepath.Glob("../../store/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			action, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !actionLiteral.MatchString(action) || strings.HasSuffix(action, ".json") {
				return true
			}
			found++
			if _, ok := wordsOf(action); !ok {
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
