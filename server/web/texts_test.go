package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"punchcard/server/servertest/require"
	"punchcard/store/event"
)

var update = flag.Bool("update", false, "write the golden files, and the tables of translations with empty entries for new texts")

// complete lists the faces whose tables must have a translation of every text. A table
// of another face may lack some, which are then shown in English.
var complete = []string{"web", "dashboard", "holder", "mcp", "templates", "tillpage", "wallet"}

// textsOf returns the texts that the pages and the Go files in a folder show.
func textsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "testdata":
			return filepath.SkipDir
		case e.IsDir():
			return addGoTexts(texts, path)
		case strings.HasSuffix(path, ".html"):
			return addTemplateTexts(texts, path)
		case strings.HasSuffix(path, ".js"):
			return addScriptTexts(texts, path)
		}
		return nil
	})
	require.NoError(t, err)
	return texts
}

// addTemplateTexts adds the literal arguments of the function t.
func addTemplateTexts(texts map[string]bool, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	trees := map[string]*parse.Tree{}
	tree := parse.New(path)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(string(raw), "", "", trees); err != nil {
		return err
	}
	trees[path] = tree
	for _, tree := range trees {
		if tree.Root != nil {
			addNodeTexts(texts, tree.Root)
		}
	}
	return nil
}

// scriptText is a text that a script of the till passes to its function t.
var scriptText = regexp.MustCompile(`\bt\("([^"]*)"`)

// addScriptTexts adds the literal arguments of the function t.
func addScriptTexts(texts map[string]bool, path string) error {
	raw, err := os.ReadFile(path)
	for _, m := range scriptText.FindAllSubmatch(raw, -1) {
		texts[string(m[1])] = true
	}
	return err
}

func addNodeTexts(texts map[string]bool, node parse.Node) {
	branch := func(b *parse.BranchNode) {
		addNodeTexts(texts, b.Pipe)
		addNodeTexts(texts, b.List)
		if b.ElseList != nil {
			addNodeTexts(texts, b.ElseList)
		}
	}
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			addNodeTexts(texts, child)
		}
	case *parse.ActionNode:
		addNodeTexts(texts, n.Pipe)
	case *parse.TemplateNode:
		if n.Pipe != nil {
			addNodeTexts(texts, n.Pipe)
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			if f, ok := c.Args[0].(*parse.IdentifierNode); ok && f.Ident == "t" && len(c.Args) > 1 {
				if s, ok := c.Args[1].(*parse.StringNode); ok {
					texts[s.Text] = true
				}
			}
			for _, arg := range c.Args {
				addNodeTexts(texts, arg)
			}
		}
	}
}

// goTexts finds the texts of a package: the literals that are of the type Text by the declaration
// of their parameter, field or element.
type goTexts struct {
	found   map[string]bool
	params  map[string][]int // indexes of the parameters that are texts, by function
	structs map[string]*ast.StructType
}

// addGoTexts adds the texts of the Go files in a folder.
func addGoTexts(texts map[string]bool, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	g := goTexts{texts, map[string][]int{}, map[string]*ast.StructType{}}
	var parsed []*ast.File
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
		for _, d := range file.Decls {
			g.declare(d)
		}
	}
	g.params["T"], g.params["Text"] = []int{0}, []int{0}
	for _, file := range parsed {
		for _, d := range file.Decls {
			local := g
			local.params = maps.Clone(g.params)
			ast.Inspect(d, local.visit)
		}
	}
	return nil
}

// declare notes the functions and types that a declaration makes.
func (g goTexts) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		g.function(d.Name.Name, d.Type)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				g.structs[t.Name.Name], _ = t.Type.(*ast.StructType)
			}
		}
	}
}

// function notes which parameters of a function are texts.
func (g goTexts) function(name string, t *ast.FuncType) {
	delete(g.params, name)
	i := 0
	for _, p := range t.Params.List {
		for range max(len(p.Names), 1) {
			if isText(p.Type) {
				g.params[name] = append(g.params[name], i)
			}
			i++
		}
	}
}

// isText reports whether a type is Text, or that of a text that may be left out.
func isText(t ast.Expr) bool {
	if optional, ok := t.(*ast.Ellipsis); ok {
		t = optional.Elt
	}
	if s, ok := t.(*ast.SelectorExpr); ok {
		t = s.Sel
	}
	name, ok := t.(*ast.Ident)
	return ok && name.Name == "Text"
}

func (g goTexts) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, value := range n.Rhs {
			if f, ok := value.(*ast.FuncLit); ok && len(n.Lhs) == len(n.Rhs) {
				if name, ok := n.Lhs[i].(*ast.Ident); ok {
					g.function(name.Name, f.Type)
				}
			}
		}
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		for _, i := range g.params[name] {
			if i < len(n.Args) {
				g.add(n.Args[i])
			}
		}
	case *ast.CompositeLit:
		if n.Type != nil {
			g.composite(n.Type, n)
		}
	}
	return true
}

// composite adds the texts in a literal of a type.
func (g goTexts) composite(t ast.Expr, c *ast.CompositeLit) {
	var element ast.Expr
	switch t := t.(type) {
	case *ast.ArrayType:
		element = t.Elt
	case *ast.MapType:
		element = t.Value
	case *ast.Ident:
		if s := g.structs[t.Name]; s != nil {
			g.composite(s, c)
		}
		return
	case *ast.StructType:
		g.fields(t, c)
		return
	default:
		return
	}
	for _, e := range c.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if isText(element) {
			g.add(e)
		} else if inner, ok := e.(*ast.CompositeLit); ok && inner.Type == nil {
			g.composite(element, inner)
		}
	}
}

// fields adds the texts in a literal of a struct.
func (g goTexts) fields(t *ast.StructType, c *ast.CompositeLit) {
	var names []string
	texts := map[string]bool{}
	for _, f := range t.Fields.List {
		for _, name := range f.Names {
			names = append(names, name.Name)
			texts[name.Name] = isText(f.Type)
		}
		if f.Names == nil {
			names = append(names, "")
		}
	}
	for i, e := range c.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if name, ok := kv.Key.(*ast.Ident); ok && texts[name.Name] {
				g.add(kv.Value)
			}
		} else if texts[names[i]] {
			g.add(e)
		}
	}
}

// add adds a text if it is a literal.
func (g goTexts) add(e ast.Expr) {
	if text, ok := literal(e); ok && text != "" {
		g.found[text] = true
	}
}

// literal returns the value of a string literal, or of several that are added.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, ok := literal(e.X)
		b, also := literal(e.Y)
		return a + b, ok && also && e.Op == token.ADD
	}
	return "", false
}

// faceTexts returns the texts of each face that has any, by the name of its folder in
// server. What the pages of several faces share, package web has, and a face that uses
// a text of web has no translation of its own.
func faceTexts(t *testing.T) map[string]map[string]bool {
	t.Helper()
	entries := require.Must(os.ReadDir(".."))
	faces := map[string]map[string]bool{"web": textsOf(t, ".")}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "web" {
			continue
		}
		texts := textsOf(t, filepath.Join("..", e.Name()))
		if e.Name() == "dashboard" { // the form of a webhook shows what each event is
			for _, name := range event.Subscribable() {
				in, _ := event.Lookup(name)
				texts[in.Doc] = true
			}
		}
		maps.DeleteFunc(texts, func(text string, _ bool) bool { return faces["web"][text] })
		if len(texts) > 0 {
			faces[e.Name()] = texts
		}
	}
	return faces
}

// TestTexts checks the tables of translations against the texts that the pages show.
// With -update it adds the missing texts to the tables, with empty translations, and
// removes those that no page shows any more.
func TestTexts(t *testing.T) {
	faces := faceTexts(t)
	for _, lang := range Locales[1:] {
		seen := map[string]string{} // translation by text, over all tables
		for _, face := range slices.Sorted(maps.Keys(faces)) {
			file := filepath.Join("text", lang, face+".json")
			table := readTable(t, file)
			if *update {
				table = updateTable(t, file, table, faces[face])
			}
			missing := 0
			for text := range faces[face] {
				if table[text] == "" {
					missing++
					if slices.Contains(complete, face) {
						t.Errorf("%s: no translation of %q", file, text)
					}
				}
			}
			if missing > 0 {
				t.Logf("%s: %d of %d texts are not translated", file, missing, len(faces[face]))
			}
			for text, translation := range table {
				if !faces[face][text] {
					t.Errorf("%s: no page shows %q", file, text)
				}
				if err := compareForms(text, translation); err != nil {
					t.Errorf("%s: %q: %v", file, text, err)
				}
				if other := seen[text]; other != "" && translation != "" && other != translation {
					t.Errorf("%s: %q has another translation in another table", file, text)
				}
				seen[text] = translation
			}
		}
		tables := require.Must(filepath.Glob(filepath.Join("text", lang, "*.json")))
		for _, file := range tables {
			if faces[strings.TrimSuffix(filepath.Base(file), ".json")] == nil {
				t.Errorf("%s: there is no such face, or it shows no texts", file)
			}
		}
	}
}

func readTable(t *testing.T, file string) map[string]string {
	t.Helper()
	table := map[string]string{}
	raw, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return table
	}
	if err == nil {
		err = json.Unmarshal(raw, &table)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return table
}

func updateTable(t *testing.T, file string, table map[string]string, texts map[string]bool) map[string]string {
	t.Helper()
	next := map[string]string{}
	for text := range texts {
		next[text] = table[text]
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(next))
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	return next
}

var placeholder = regexp.MustCompile(`\{\d\}`)

// compareForms returns what is wrong with the forms and placeholders of a translation.
func compareForms(text, translation string) error {
	if translation == "" {
		return nil
	}
	if strings.Count(text, "|") != strings.Count(translation, "|") || strings.Count(text, "|") > 1 {
		return fmt.Errorf("%q has another number of forms", translation)
	}
	want := placeholders(text[strings.Index(text, "|")+1:])
	if got := placeholders(translation[strings.Index(translation, "|")+1:]); !slices.Equal(got, want) {
		return fmt.Errorf("%q has the placeholders %v, not %v", translation, got, want)
	}
	for _, p := range placeholders(translation) { // the singular may do without the number
		if !slices.Contains(want, p) {
			return fmt.Errorf("%q has the placeholder %s", translation, p)
		}
	}
	return nil
}

func placeholders(s string) []string {
	found := placeholder.FindAllString(s, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// TestCompareForms checks which translations are refused.
func TestCompareForms(t *testing.T) {
	for _, c := range []struct {
		text, translation string
		ok                bool
	}{
		{"Save", "Salva", true},
		{"Hello {0}", "Ciao", false},
		{"Hello {0}", "Ciao {1}", false},
		{"{0} of {1}", "{1}: {0}", true},
		{"{0} card|{0} cards", "{0} tessera", false},
		{"{0} card|{0} cards", "una tessera|{0} tessere", true},
		{"{0} card|{0} cards", "{0} tessera|tessere", false},
		{"{0} card|{0} cards", "{1} tessera|{0} tessere", false},
		{"Save", "Salva|Salvi", false},
		{"Save", "", true},
	} {
		if err := compareForms(c.text, c.translation); (err == nil) != c.ok {
			t.Errorf("%q as %q: %v", c.text, c.translation, err)
		}
	}
}
