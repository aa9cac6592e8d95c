package openapi_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/kernel"
	"punchcard/server/openapi"
	"punchcard/server/wire"
	"punchcard/store"
)

const base = "https://cards.example.com" + api.Prefix

// limits are other limits than the server's, so that the tests see which ones a document has.
var limits = wire.Limits{"delivery_log": 200, "prize_name": 201, "prize_description": 2002, "localization": 503, "idempotency_key": 254}

// restAPI describes routes with the texts of the REST API.
func restAPI(routes []kernel.Route) *openapi.Document {
	return openapi.New(api.About, routes, limits, base, nil)
}

// sheet is the parsed reference page.
type sheet struct {
	ids   map[string]bool
	links []string                     // of href and src
	codes map[string]bool              // texts of code elements
	parts map[string]map[string]string // by operation and element, the text
	rows  map[string][][]string        // by operation, the cells of its tables
}

// readSheet parses the page as XML, which is stricter than HTML: every element is closed and every
// attribute quoted.
func readSheet(t *testing.T, page []byte) *sheet {
	t.Helper()
	s := &sheet{ids: map[string]bool{}, codes: map[string]bool{}, parts: map[string]map[string]string{}, rows: map[string][][]string{}}
	d := xml.NewDecoder(bytes.NewReader(page))
	var open []string
	var article, code string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			open = append(open, tok.Name.Local)
			for _, a := range tok.Attr {
				switch a.Name.Local {
				case "id":
					if s.ids[a.Value] {
						t.Errorf("two elements have the id %q", a.Value)
					}
					s.ids[a.Value] = true
					if tok.Name.Local == "article" {
						article = a.Value
						s.parts[article] = map[string]string{}
					}
				case "href", "src", "action", "data", "srcset", "poster":
					s.links = append(s.links, a.Value)
				}
			}
			switch tok.Name.Local {
			case "script", "link", "img", "iframe", "object", "base":
				t.Errorf("the page has a %s", tok.Name.Local)
			case "tr":
				s.rows[article] = append(s.rows[article], nil)
			case "td":
				last := len(s.rows[article]) - 1
				s.rows[article][last] = append(s.rows[article][last], "")
			}
		case xml.EndElement:
			if tok.Name.Local == "code" {
				s.codes[code] = true
				code = ""
			}
			if tok.Name.Local == "article" {
				article = ""
			}
			open = open[:len(open)-1]
		case xml.CharData:
			if slices.Contains(open, "code") {
				code += string(tok)
			}
			if slices.Contains(open, "td") {
				row := s.rows[article][len(s.rows[article])-1]
				row[len(row)-1] += string(tok)
			}
			if article != "" {
				for _, element := range []string{"h3", "p", "pre", "div", "summary"} {
					if slices.Contains(open, element) {
						s.parts[article][element] += string(tok)
					}
				}
			}
		}
	}
	return s
}

// row returns the table row of an operation that begins with a name.
func (s *sheet) row(operation, name string) []string {
	for _, r := range s.rows[operation] {
		if len(r) > 0 && (r[0] == name || strings.HasPrefix(r[0], name+" ")) {
			return r
		}
	}
	return nil
}

// TestDocsComplete checks that the page has every operation with its parameters and errors, and every
// field, enumerated value and error code.
func TestDocsComplete(t *testing.T) {
	routes := api.Routes()
	doc := restAPI(routes)
	s := readSheet(t, doc.HTML())
	for i := range routes {
		r := &routes[i]
		o := doc.Operations[i]
		part := s.parts[r.ID]
		if part == nil {
			t.Errorf("%s is missing", r.ID)
			continue
		}
		if part["h3"] != r.Title {
			t.Errorf("%s has the title %q", r.ID, part["h3"])
		}
		head := part["div"]
		if !strings.Contains(head, r.Method+" "+o.Path) || !strings.Contains(head, r.ID) || !strings.Contains(head, r.Scope()) {
			t.Errorf("%s is headed %q", r.ID, head)
		}
		if !strings.Contains(part["p"], strings.ReplaceAll(r.Doc, "`", "")) {
			t.Errorf("%s is described as %q", r.ID, part["p"])
		}
		for _, p := range o.Parameters {
			if s.row(r.ID, p.Name+" "+p.In) == nil {
				t.Errorf("%s does not show its parameter %v", r.ID, p.Name)
			}
		}
		if want := fmt.Sprint(r.Status, " ", http.StatusText(r.Status)); !strings.Contains(part["summary"]+part["p"], want) {
			t.Errorf("%s does not contain %s", r.ID, want)
		}
		for _, e := range o.Errors {
			if !slices.ContainsFunc(s.rows[r.ID], func(row []string) bool {
				return len(row) == 3 && strings.HasPrefix(row[0], fmt.Sprint(e.Status, " ")) && row[1] == string(e.Code) && row[2] != ""
			}) {
				t.Errorf("%s does not list %d %s", r.ID, e.Status, e.Code)
			}
		}
	}
	all := slices.Collect(maps.Keys(s.codes))
	for name, schema := range doc.Components.Schemas {
		for field, p := range schema.Properties {
			if !slices.ContainsFunc(all, func(c string) bool { return c == field || strings.HasSuffix(c, "."+field) }) {
				t.Errorf("%s.%s is missing", name, field)
			}
			for _, v := range p.Enum {
				if v != nil && !s.codes[v.(string)] {
					t.Errorf("the value %v of %s.%s is missing", v, name, field)
				}
			}
		}
	}
	for c, meaning := range kernel.Codes {
		if meaning.When != "" && !s.codes[string(c)] {
			t.Errorf("the code %s is missing", c)
		}
	}
}

// TestDocsStandAlone checks that the page refers to itself and the other documents only, and that it
// is the same each time.
func TestDocsStandAlone(t *testing.T) {
	page := restAPI(api.Routes()).HTML()
	s := readSheet(t, page)
	if len(s.links) < len(api.Routes()) {
		t.Fatalf("only %d links", len(s.links))
	}
	for _, l := range s.links {
		if id, ok := strings.CutPrefix(l, "#"); ok {
			if !s.ids[id] {
				t.Errorf("the target of %s does not exist", l)
			}
		} else if l != "openapi.json" && l != api.About.OtherDocs {
			t.Errorf("the page refers to %s", l)
		}
	}
	for _, word := range []string{"@import", "url(", "ZgotmplZ", "%!", "map[", "&lt;no value"} {
		if bytes.Contains(page, []byte(word)) {
			t.Errorf("the page has %s", word)
		}
	}
	if !bytes.Equal(page, restAPI(api.Routes()).HTML()) {
		t.Error("two renderings of the page differ")
	}
}

// TestDocsFields checks the rows of some fields and parameters, and the order of fields.
func TestDocsFields(t *testing.T) {
	s := readSheet(t, restAPI(api.Routes()).HTML())
	for _, c := range []struct{ operation, field, typ, words string }{
		{"listCards", "data[].holder_email", "string or null", ""},
		{"listCards", "data[].status", "string", "active locked invited archived expired"},
		{"listCards", "limit query", "integer at least 1", ""},
		{"getMe", "entitlements.source.api_access", "string or null", "addon grant"},
		{"getCard", "locations", "array of objects", "The enabled locations"},
		{"getCard", "locations[].name", "string", ""},
		{"createProgram", "name required", "string 1 to 200 characters", ""},
		{"createProgram", "discount_percent", "number or null at most 100 greater than 0", "Required for discount"},
		{"createProgram", "brand_color_hex", "string or null not empty matches ^#", "Default #1F2937."},
		{"createProgram", "scoped_location_ids", "array of strings or null at most 1000 items", ""},
		{"createProgram", "name_localizations", "object or null keys de, en, es, fr, it, pt each a string of 1 to 503 characters", ""},
		{"createPrize", "name required", "string 1 to 201 characters", ""},
		{"createPrize", "Idempotency-Key header", "string 1 to 254 characters", ""},
		{"issueCard", "expires_at", "string or null date-time", "In the future."},
		{"deletePrize", "prizeId path required", "string", "Opaque id."},
	} {
		row := s.row(c.operation, c.field)
		if len(row) != 3 || !strings.HasPrefix(row[1], c.typ) || !strings.HasPrefix(strings.TrimSpace(row[2]), c.words) {
			t.Errorf("%s: %s: %q", c.operation, c.field, row)
		}
	}
	// Fields have the order of their declaration.
	var names []string
	for _, r := range s.rows["updateLocation"] {
		if len(r) > 0 {
			names = append(names, r[0])
		}
	}
	if i := slices.Index(names, "name "); i < 0 || names[i+1] != "address " {
		t.Errorf("the fields are in the order %q", names)
	}
}

// TestDocsExamples checks that the operations accept the bodies of the examples.
func TestDocsExamples(t *testing.T) {
	routes := api.Routes()
	s := readSheet(t, restAPI(routes).HTML())
	for i := range routes {
		r := &routes[i]
		command := s.parts[r.ID]["pre"]
		if !strings.HasPrefix(command, "curl ") ||
			!strings.Contains(command, `-H "Authorization: Bearer $KEY"`) || strings.Contains(command, ":id") {
			t.Errorf("%s: %s", r.ID, command)
		}
		if method := strings.Contains(command, "-X "+r.Method+" "); method == (r.Method == http.MethodGet) {
			t.Errorf("%s does not send %s: %s", r.ID, r.Method, command)
		}
		_, rest, sends := strings.Cut(command, "-d '")
		if sends != strings.Contains(command, "Content-Type: application/json") {
			t.Errorf("%s: %s", r.ID, command)
		}
		body, _, _ := strings.Cut(rest, "' \\\n")
		if !r.Writes() {
			if sends {
				t.Errorf("%s takes no body: %s", r.ID, command)
			}
			continue
		}
		if d := wire.DecodeBody([]byte(body), reflect.New(r.In).Interface(), r.Mode, limits); d != nil {
			t.Errorf("%s: %s: %+v", r.ID, body, d)
		}
		if r.Mode == wire.Patch && !sends {
			t.Errorf("%s is an empty change: %s", r.ID, command)
		}
	}
}

// TestDocsOfAnyRoute checks the page of routes that no API has, with types and texts that no
// operation has.
func TestDocsOfAnyRoute(t *testing.T) {
	type inner struct {
		Kind store.Opt[string] `json:"kind" req:"true" enum:"a,b"`
	}
	type body struct {
		When  store.Opt[store.Time] `json:"when" req:"true"`
		Link  store.Opt[string]     `json:"link" req:"true" format:"https-url"`
		Mail  store.Opt[string]     `json:"mail" req:"true" format:"email"`
		Day   store.Opt[string]     `json:"day" req:"true" format:"date"`
		Max   store.Opt[int64]      `json:"most" req:"true" max:"5"`
		Min   store.Opt[int64]      `json:"least" req:"true" min:"7"`
		Yes   store.Opt[bool]       `json:"yes" req:"true"`
		Tags  store.Opt[[]string]   `json:"tags" req:"true" min:"1" max:"3"`
		Text  store.Opt[string]     `json:"text" req:"true"`
		Later store.Opt[int64]      `json:"later"`
	}
	type tree struct {
		Name     string `json:"name"`
		Children []tree `json:"children"`
		Any      any    `json:"any"`
	}
	routes := []kernel.Route{
		{Method: http.MethodPost, Path: "/boxes/:id/lids", Status: http.StatusCreated, Operation: kernel.NewOperation(kernel.Operation{
			ID: "addLid", Group: "Boxes & lids", Title: "Add <a> lid", Doc: "Of `a < b` & so on.",
			Callers: kernel.Callers{APIKey: "lids:write"}, Codes: []store.Code{store.NotFound},
			Write: kernel.Write(func(*store.Tx, *kernel.Call, body) (tree, error) { return tree{}, nil }),
		})},
		{Method: http.MethodGet, Path: "/boxes", Status: http.StatusOK, Operation: kernel.NewOperation(kernel.Operation{
			ID: "listBoxes", Group: "Boxes & lids", Title: "List",
			Read: kernel.Read(func(*store.View, *kernel.Call, inner) (tree, error) { return tree{}, nil }),
		})},
		{Method: http.MethodGet, Path: "/me", Status: http.StatusOK, Operation: kernel.NewOperation(kernel.Operation{
			ID: "getMe", Group: "Identity", Title: "Me",
			Read: kernel.Read(func(*store.View, *kernel.Call, struct{}) (kernel.None, error) { return kernel.None{}, nil }),
		})},
	}
	s := readSheet(t, openapi.New(api.About, routes, limits, "https://x.example/$a`b", nil).HTML())
	part := s.parts["addLid"]
	if part["h3"] != "Add <a> lid" || !strings.Contains(part["p"], "Of a < b & so on.") {
		t.Errorf("%q", part)
	}
	want := `-d '{"when": "2030-01-31T12:00:00Z", "link": "https://example.com/link", "mail": "ada@example.com", "day": "2030-01-31", ` +
		`"most": 5, "least": 7, "yes": true, "tags": ["example"], "text": "example"}'`
	if !strings.Contains(part["pre"], want) || !strings.Contains(part["pre"], "\"https://x.example/\\$a\\`b/boxes/$BOXE_ID/lids\"") {
		t.Errorf("%s", part["pre"])
	}
	if r := s.row("addLid", "children"); len(r) != 3 || r[1] != "array of objects" {
		t.Errorf("%q", r)
	}
	if r := s.row("addLid", "children[].name"); r != nil {
		t.Errorf("a recursive type is repeated: %q", r)
	}
	if r := s.row("addLid", "any"); len(r) != 3 || r[1] != "any JSON value" {
		t.Errorf("%q", r)
	}
	if r := s.row("listBoxes", "kind"); len(r) != 3 || r[0] != "kind query required" || strings.TrimSpace(r[2]) != "a b" {
		t.Errorf("%q", r)
	}
}

func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"a `b<c` d":                  "a <code>b&lt;c</code> d",
		"see next_cursor, & <limit>": "see <code>next_cursor</code>, &amp; &lt;limit&gt;",
		"one ` alone":                "one ` alone",
		"`tmk_`":                     "<code>tmk_</code>",
		"`x_y`":                      "<code>x_y</code>",
	} {
		if got := string(openapi.Prose(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
