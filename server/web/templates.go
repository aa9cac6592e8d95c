package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"sync"
)

//go:embed templates/*.html
var baseFS embed.FS

// Templates are the pages of a face. A page is parsed when it is first shown, so
// that a server that shows none spends neither time nor memory.
type Templates struct {
	fsys   fs.FS
	shared []string // files that all pages see: their names begin with an underscore
	pages  map[string]*page
	base   func() (*template.Template, error)
}

// page is a page with its parsed copies. A copy renders one answer at a time, since
// its functions are those of one printer.
type page struct {
	file string       // in the face's file system, or empty if the page is one of web
	idle chan *copied // copies that nobody uses, at most as many as there are processors
}

// copied is a parsed copy of a page.
type copied struct {
	tmpl *template.Template
	p    *Printer // of the answer that is rendered
}

// Parse returns the pages of the *.html files in the root of fsys. A page is named by
// its file, without the suffix, and defines the template "content". It may define
// "head" too. A file whose name begins with an underscore is no page: its templates
// can be used by all pages. The pages "error" and "confirm" are in every face.
func Parse(fsys fs.FS) (*Templates, error) {
	files, err := fs.Glob(fsys, "*.html")
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	t := &Templates{fsys: fsys, pages: map[string]*page{}}
	for _, name := range builtinPages {
		t.pages[name] = newPage("")
	}
	for _, file := range files {
		if strings.HasPrefix(file, "_") {
			t.shared = append(t.shared, file)
			continue
		}
		t.pages[strings.TrimSuffix(file, path.Ext(file))] = newPage(file)
	}
	t.base = sync.OnceValues(t.parseBase)
	return t, nil
}

// Pages returns a function that returns the pages of a face, which are in the folder pages of its
// files. They are parsed by the first call, and all servers of a process share them.
func Pages(files fs.FS) func() *Templates {
	return sync.OnceValue(func() *Templates {
		folder, err := fs.Sub(files, "pages")
		if err != nil {
			panic(err) // impossible: the name is valid
		}
		t, err := Parse(folder)
		if err != nil {
			panic(err) // impossible: the tests parse them
		}
		return t
	})
}

// builtinPages are the pages of web itself, in templates/page_NAME.html.
var builtinPages = []string{"error", "confirm"}

func newPage(file string) *page {
	return &page{file: file, idle: make(chan *copied, runtime.GOMAXPROCS(0))}
}

// parseBase parses the base template, the components, and the shared files of the face.
func (t *Templates) parseBase() (*template.Template, error) {
	base, err := template.New("base").
		Funcs(funcs(func() *Printer { return PrinterFor("en") })).
		ParseFS(baseFS, "templates/base.html", "templates/component_*.html")
	if err == nil && len(t.shared) > 0 {
		base, err = base.ParseFS(t.fsys, t.shared...)
	}
	return base, err
}

// parse returns a new copy of a page.
func (t *Templates) parse(name string, pg *page, c *copied) (*template.Template, error) {
	base, err := t.base()
	if err != nil {
		return nil, err
	}
	if base, err = base.Clone(); err != nil {
		return nil, err
	}
	base.Funcs(funcs(func() *Printer { return c.p }))
	if pg.file == "" {
		return base.ParseFS(baseFS, "templates/page_"+name+".html")
	}
	return base.ParseFS(t.fsys, pg.file)
}

// Render writes a page in the language of p. data embeds [Frame]. Nothing is written
// if the page fails.
func (t *Templates) Render(w io.Writer, page string, data any, p *Printer) error {
	return t.Fragment(w, page, "base", data, p)
}

// Fragment writes one template of a page, such as a part that a script swaps.
func (t *Templates) Fragment(w io.Writer, page, name string, data any, p *Printer) error {
	pg := t.pages[page]
	if pg == nil {
		return fmt.Errorf("web: there is no page %q", page)
	}
	var b bytes.Buffer
	if err := t.execute(&b, page, pg, name, data, p); err != nil {
		return fmt.Errorf("web: page %s: %w", page, err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (t *Templates) execute(w io.Writer, name string, pg *page, tmpl string, data any, p *Printer) error {
	var c *copied
	select {
	case c = <-pg.idle:
	default:
		c = &copied{}
		parsed, err := t.parse(name, pg, c)
		if err != nil {
			return err
		}
		c.tmpl = parsed
	}
	c.p = p
	err := c.tmpl.ExecuteTemplate(w, tmpl, data)
	select {
	case pg.idle <- c:
	default:
	}
	return err
}
