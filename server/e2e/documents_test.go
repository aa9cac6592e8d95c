package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/command"
	"punchcard/server/servertest/require"
)

var (
	fenced    = regexp.MustCompile("(?ms)^```.*?^```$")
	code      = regexp.MustCompile("`[^`]+`")
	link      = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fileName  = regexp.MustCompile(`^[\w.-]+\.(go|md|sql|html|mjs|py|sh)$`)
	namedPath = regexp.MustCompile(`^\.?\w+(/[\w.-]+)+/?$`)
	namedTest = regexp.MustCompile(`^Test[A-Z]\w*…?$`)
	goName    = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	statement = regexp.MustCompile("`[^`]+`|[():]|[.;]\\s|\n\n|\n[0-9]+\\. ") // code, and what begins and ends statements about a file
	noAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

	// commandCall is a command at the beginning of a line or of inline code, or by the path of the program in the image.
	commandCall = regexp.MustCompile("(?m)(?:^ *|^\\./|`| /)punchcard((?: [a-z][a-z-]*)+)")
)

// absolute returns the absolute path of a file. The cache of go test records the files that a test
// opens, but not that TestMain changes the folder, so it would look for relative paths in the wrong
// place and not notice changes.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

// files returns the content of each file of the repository whose name ends with suffix, by path.
func files(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := absolute(".")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && (d.Name() == ".git" || path == root+"/dist"):
			return fs.SkipDir
		case err != nil || d.IsDir() || !strings.HasSuffix(path, suffix):
			return err
		}
		raw, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, root+"/")] = string(raw)
		return err
	})
	if err != nil || len(all) < 5 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) (list []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		plain := noAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(plain, " ", "-"))
	}
	return list
}

// exists reports whether one of the paths exists.
func exists(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		_, err := os.Stat(absolute(path))
		return err == nil
	})
}

// TestReadmeLinks checks that the target of each relative link in the documents exists, including
// its heading, and each path that they name in backticks, but for those in dist, which is built.
func TestReadmeLinks(t *testing.T) {
	all := files(t, ".md")
	for path, text := range all {
		dir := filepath.Dir(path)
		text = fenced.ReplaceAllString(text, "")
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := path
			if file != "" {
				target = filepath.Join(dir, file)
			}
			if !exists(target) {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
			} else if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s links to %s, which has no such heading", path, m[1])
			}
		}
		for _, quoted := range code.FindAllString(text, -1) {
			name := strings.Trim(quoted, "`")
			first, _, _ := strings.Cut(name, "/")
			isPath := namedPath.MatchString(name) && first != "dist" && exists(first) || fileName.MatchString(name)
			if isPath && !exists(name, filepath.Join(dir, name)) {
				t.Errorf("%s names %s, which does not exist", path, quoted)
			}
		}
	}
}

// TestReadmeCommandNames checks that each command in the code of the documents exists.
func TestReadmeCommandNames(t *testing.T) {
	root := require.Must(kong.New(command.New())).Model.Node
	found := 0
	for path, text := range files(t, ".md") {
		parts := append(fenced.FindAllString(text, -1), code.FindAllString(fenced.ReplaceAllString(text, ""), -1)...)
		for _, m := range commandCall.FindAllStringSubmatch(strings.Join(parts, "\n"), -1) {
			found++
			node := root
			for _, word := range strings.Fields(m[1]) {
				if len(node.Children) == 0 || node.DefaultCmd != nil {
					break // an argument
				}
				next := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word })
				if next < 0 {
					t.Errorf("%s has punchcard%s, and there is no such command", path, m[1])
					break
				}
				node = node.Children[next]
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d commands were found", found)
	}
}

// TestReadmeTests checks that each test named in the documents exists.
func TestReadmeTests(t *testing.T) {
	var tests strings.Builder
	for _, text := range files(t, "_test.go") {
		tests.WriteString(text)
	}
	for path, text := range files(t, ".md") {
		for _, quoted := range code.FindAllString(fenced.ReplaceAllString(text, ""), -1) {
			name := strings.Trim(quoted, "`")
			if !namedTest.MatchString(name) {
				continue
			}
			prefix, open := strings.CutSuffix(name, "…")
			if !open {
				prefix += "("
			}
			if !strings.Contains(tests.String(), "\nfunc "+prefix) {
				t.Errorf("%s names %s, which does not exist", path, quoted)
			}
		}
	}
}

// TestReadmeSentences checks that the program has each sentence that the table of faults quotes, and that each row names a test.
func TestReadmeSentences(t *testing.T) {
	var source strings.Builder
	for path, text := range files(t, ".go") {
		if !strings.HasSuffix(path, "_test.go") {
			source.WriteString(text)
		}
	}
	_, table, _ := strings.Cut(files(t, ".md")["server/README.md"], "\n## When something fails\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := 0
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| fault ") {
			continue
		}
		rows++
		if !strings.Contains(row, "`Test") {
			t.Errorf("no test: %s", row)
		}
		for _, m := range sentence.FindAllStringSubmatch(row, -1) {
			if !strings.Contains(source.String(), m[1]) {
				t.Errorf("the program does not say %s", m[0])
			}
		}
	}
	if rows < 8 {
		t.Errorf("%d rows", rows)
	}
}

// sentence matches what a document quotes.
var sentence = regexp.MustCompile(`"([^"]+)"`)

// TestReadmeNames checks that each Go name that CONTRIBUTING.md has in backticks beside a file or
// a package is used there. The names of a list belong to the file if "in" or "of" and the file
// follow, and else to the file before them, if that has a colon or they are in parentheses after it.
func TestReadmeNames(t *testing.T) {
	const doc = "CONTRIBUTING.md"
	text := fenced.ReplaceAllString(files(t, ".md")[doc], "")
	checked, used := 0, map[string]map[string]bool{} // the names that are used, by path
	check := func(path string, names []string) {
		if path == "" || len(names) == 0 {
			return
		}
		if used[path] == nil {
			used[path] = namesIn(path)
		}
		for _, name := range names {
			if checked++; !used[path][name] {
				t.Errorf("%s has %s beside %s, which does not use that name", doc, name, path)
			}
		}
	}
	var (
		owner  string   // the file to which names belong unless another follows
		outer  []string // owners outside of the parentheses
		path   string   // the code before, if it is a file or package
		list   []string // names that no file has followed yet
		end    int      // of the token before
		listed = []string{",", "and", ", and", "or", ", or"}
	)
	for _, at := range statement.FindAllStringIndex(text, -1) {
		token, between := text[at[0]:at[1]], strings.Join(strings.Fields(text[end:at[0]]), " ")
		name, before := strings.Trim(token, "`"), path
		path, end = "", at[1]
		switch {
		case token == ":" && before != "":
			owner = before
		case token == "(":
			check(owner, list)
			outer, owner, list = append(outer, owner), before, nil
		case token == ")" && len(outer) > 0:
			check(owner, list)
			owner, outer, list = outer[len(outer)-1], outer[:len(outer)-1], nil
		case len(token) > 1 && !strings.HasPrefix(token, "`"):
			check(owner, list)
			owner, outer, list = "", nil, nil
		case strings.HasPrefix(token, "`") && (strings.HasSuffix(name, ".go") || exists(name) && filepath.Ext(name) == ""):
			if slices.Contains([]string{"in", "of", "is in", "are in"}, between) {
				check(name, list)
			} else {
				check(owner, list)
			}
			path, list = name, nil
		case goName.MatchString(name):
			if !slices.Contains(listed, between) {
				check(owner, list)
				list = nil
			}
			list = append(list, name)
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were checked", checked)
	}
}

// namesIn returns the names that a Go file, or those of a package, use.
func namesIn(path string) map[string]bool {
	names := map[string]bool{}
	paths := []string{absolute(path)}
	if !strings.HasSuffix(path, ".go") {
		paths = require.Must(filepath.Glob(absolute(path) + "/*.go"))
	}
	for _, path := range paths {
		ast.Inspect(require.Must(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)), func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				names[name.Name] = true
			}
			return true
		})
	}
	return names
}

// TestReadmePackages checks the length of the README and that its table of packages is complete.
func TestReadmePackages(t *testing.T) {
	text := files(t, ".md")["README.md"]
	if n := strings.Count(text, "\n"); n > 300 {
		t.Errorf("README.md has %d lines; the maximum is 300", n)
	}
	out, err := exec.Command("go", "list", "./...").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, pkg := range strings.Fields(string(out)) {
		if name := strings.TrimPrefix(pkg, "punchcard/"); !regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`[^|]*\\|").MatchString(text) {
			t.Errorf("README.md has no row for the package %s", name)
		}
	}
}
