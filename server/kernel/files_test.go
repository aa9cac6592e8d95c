package kernel

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// noImports is an importer that finds no package, since only uses within the
// package matter.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// TestFilesDependInOneDirection checks that no file of the package uses another
// one that directly or indirectly uses it.
func TestFilesDependInOneDirection(t *testing.T) {
	set := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		files = append(files, f)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check("kernel", set, files, &info)
	uses := map[string][]string{}
	for id, object := range info.Uses {
		if object.Pkg() != pkg || object.Pos() == token.NoPos {
			continue
		}
		from, to := set.Position(id.Pos()).Filename, set.Position(object.Pos()).Filename
		if from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	if len(uses) < 5 {
		t.Fatalf("only %d files use others", len(uses))
	}
	var path []string
	done := map[string]bool{}
	var visit func(string)
	visit = func(file string) {
		if i := slices.Index(path, file); i >= 0 {
			t.Errorf("files use one another in a cycle: %s", strings.Join(append(path[i:], file), " → "))
			return
		}
		if done[file] {
			return
		}
		path = append(path, file)
		for _, other := range uses[file] {
			visit(other)
		}
		path, done[file] = path[:len(path)-1], true
	}
	for file := range uses {
		visit(file)
	}
}
