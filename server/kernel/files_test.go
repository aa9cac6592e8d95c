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
)

// noImports leaves imported packages out: only the package's own names matter.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// TestFilesDependInOneDirection: no file of the package uses another that in turn
// uses it, by however many steps.
func TestFilesDependInOneDirection(t *testing.T) {
	set := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
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
		if at := slices.Index(path, file); at >= 0 {
			t.Errorf("files use one another in a circle: %s", strings.Join(append(path[at:], file), " → "))
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
