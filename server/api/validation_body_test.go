package api_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
)

// brokenBodies are at fault as a whole or in a place inside; the answer names
// the place.
var brokenBodies = map[string]struct{ body, detail string }{
	"not JSON":                  {`hello`, " invalid_format"},
	"cut off":                   {`{"holder_name":"Ada"`, " invalid_format"},
	"cut off in a string":       {`{"holder_name":"Ad`, " invalid_format"},
	"single quotes":             {`{'holder_name':'Ada'}`, " invalid_format"},
	"a comma too many":          {`{"holder_name":"Ada",}`, " invalid_format"},
	"a comment":                 {`{/* hello */}`, " invalid_format"},
	"a control character":       {"{\"holder_name\":\"A\nda\"}", " invalid_format"},
	"a bad escape":              {`{"holder_name":"A\x41"}`, " invalid_format"},
	"trailing object":           {`{}{}`, " invalid_format"},
	"trailing word":             {`{} x`, " invalid_format"},
	"trailing NUL":              {"{}\x00", " invalid_format"},
	"array":                     {`[]`, " invalid_type"},
	"array of an object":        {`[{"holder_name":"Ada"}]`, " invalid_type"},
	"string":                    {`"{}"`, " invalid_type"},
	"number":                    {`12`, " invalid_type"},
	"boolean":                   {`true`, " invalid_type"},
	"null":                      {`null`, " invalid_type"},
	"NaN":                       {`{"lat":NaN}`, " invalid_format"},
	"Infinity":                  {`{"lat":Infinity}`, " invalid_format"},
	"plus sign":                 {`{"lat":+1}`, " invalid_format"},
	"leading zero":              {`{"lat":01}`, " invalid_format"},
	"hexadecimal":               {`{"lat":0x10}`, " invalid_format"},
	"invalid UTF-8":             {"{\"holder_name\":\"A\xff\"}", " invalid_format"},
	"overlong UTF-8":            {"{\"holder_name\":\"A\xc0\x80\"}", " invalid_format"},
	"a surrogate in UTF-8":      {"{\"holder_name\":\"A\xed\xa0\x80\"}", " invalid_format"},
	"invalid UTF-8 in a name":   {"{\"holder\xffname\":1}", " invalid_format"},
	"lone high surrogate":       {`{"holder_name":"A\ud83d"}`, " invalid_format"},
	"lone low surrogate":        {`{"holder_name":"A\ude00"}`, " invalid_format"},
	"surrogates the wrong way":  {`{"holder_name":"A\ude00\ud83d"}`, " invalid_format"},
	"byte order mark":           {"\xef\xbb\xbf{}", " invalid_format"},
	"UTF-16, little endian":     {"{\x00}\x00", " invalid_format"},
	"UTF-16, with its mark":     {"\xff\xfe{\x00}\x00", " invalid_format"},
	"UTF-16, big endian":        {"\x00{\x00}", " invalid_format"},
	"duplicate key":             {`{"holder_name":"Ada","holder_name":"Ada"}`, "holder_name invalid_value"},
	"duplicate key, escaped":    {`{"holder_name":"Ada","holder\u005fname":"Bea"}`, "holder_name invalid_value"},
	"duplicate unknown key":     {`{"x":1,"x":1}`, "x invalid_value"},
	"duplicate key inside":      {`{"x":{"y":1,"y":2}}`, "x.y invalid_value"},
	"duplicate key in an array": {`{"x":[0,{"y":{"z":1,"z":1}}]}`, "x.1.y.z invalid_value"},
	"NUL in a string":           {`{"holder_name":"A\u0000da"}`, "holder_name invalid_value"},
	"NUL in a name":             {`{"holder\u0000name":"Ada"}`, " invalid_value"},
	"NUL deep inside":           {`{"x":[{"y":"\u0000"}]}`, "x.0.y invalid_value"},
	"seventeen objects":         {strings.Repeat(`{"a":`, 16) + `{}` + strings.Repeat(`}`, 16), " invalid_format"},
	"seventeen arrays":          {`{"a":` + strings.Repeat(`[`, 16) + strings.Repeat(`]`, 16) + `}`, " invalid_format"},
	"a hundred thousand deep":   {strings.Repeat(`{"a":`, 100_000), " invalid_format"},
	"brackets, half a megabyte": {strings.Repeat(`[`, 500_000), " invalid_format"},
}

func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	world := s.world(th.program)
	for _, r := range writingRoutes() {
		if r.Method == "DELETE" {
			continue
		}
		for name, c := range brokenBodies {
			if len(c.body) > 10_000 && r.ID != "issueCard" {
				continue
			}
			got := s.call(r.Method, th.fill(t, r), c.body)
			if got.status != 400 || got.str("error.code") != "validation_failed" || !slices.Equal(got.details(), []string{c.detail}) {
				t.Errorf("%s, %s: %d %s, want %q", r.ID, name, got.status, got.body, c.detail)
			}
		}
	}
	if s.world(th.program) != world {
		t.Error("a broken body changed something")
	}
}

// TestBodiesThatAreFine: what JSON allows is taken, to the letter.
func TestBodiesThatAreFine(t *testing.T) {
	t.Parallel()
	s := start(t)
	cards := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	for body, want := range map[string]string{
		" \t\r\n{ \"holder_name\" : \"Ada\" }\n ":                       "Ada",
		`{"holder\u005fname":"\u0041da"}`:                               "Ada",
		`{"holder_name":"\ud83d\ude00 😀"}`:                              "😀 😀",
		`{"holder_name":"\"\\\/\b\f\n\r\t\u0001\u001f\u007f"}`:          "\"\\/\b\f\n\r\t\x01\x1f\x7f",
		"{\"holder_name\":\"\u2028\u2029\ufeff\ufffe\uffff\u202e\"}":    "\u2028\u2029\ufeff\ufffe\uffff\u202e",
		`{"holder_name":"</script><b>&amp;' OR 1=1; DROP TABLE cards"}`: `</script><b>&amp;' OR 1=1; DROP TABLE cards`,
		`{"holder_name":" Ada "}`:                                       " Ada ",
		`{"holder_name":"e\u0301"}`:                                     "e\u0301", // not composed
		`{"holder_name":"` + strings.Repeat("😀", 200) + `"}`:            strings.Repeat("😀", 200),
		`{"holder_name":"\\u0000"}`:                                     `\u0000`,
		`{"holder_name":"%s%n%00"}`:                                     "%s%n%00",
	} {
		id := s.post(cards, body).want(201).str("id")
		got := s.get("/cards/" + id).want(200)
		if got.str("holder_name") != want {
			t.Errorf("%.80s: holder_name %q, want %q", body, got.str("holder_name"), want)
		}
	}
	// Numbers may be written in any of JSON's ways.
	location := "/locations/" + s.LocationIDs[0]
	for text, want := range map[string]float64{"1": 1, "-0": 0, "1e1": 10, "4.5E+1": 45, "1e-400": 0, "0.1": 0.1, "-89.99999999999999": -89.99999999999999} {
		if got := s.patch(location, `{"lat":`+text+`}`).want(200); got.at("lat") != want {
			t.Errorf("lat %s: %v", text, got.at("lat"))
		}
	}
	program := s.post("/programs", `{"type":"standard","name":"N","icon_key":"i","total_stamps":1.0e1}`).want(201)
	if program.at("total_stamps") != 10.0 {
		t.Errorf("total_stamps %v", program.at("total_stamps"))
	}
}

// send makes a request whose length is not told beforehand, with the headers
// given and no others.
func (s *server) send(method, path string, body io.Reader, contentType ...string) *reply {
	s.t.Helper()
	req, err := http.NewRequest(method, s.base+path, io.MultiReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": contentType}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	r := &reply{s.t, resp.StatusCode, resp.Header, b}
	s.conforms(method, s.base+path, r)
	return r
}

func TestBodySize(t *testing.T) {
	t.Parallel()
	s := start(t)
	cards := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	const most = 1 << 20
	of := func(n int) string { return `{"holder_name":"Ada"` + strings.Repeat(" ", n-21) + `}` }
	s.post(cards, of(most)).want(201)
	s.send("POST", cards, strings.NewReader(of(most)), "application/json").want(201)
	before := s.count("/cards")
	for _, r := range writingRoutes() {
		if r.Method != "DELETE" {
			s.call(r.Method, nowhere.fill(t, r), of(most+1)).want(413, "bad_request")
		}
	}
	s.post(cards, of(most+1)).want(413, "bad_request")
	s.send("POST", cards, strings.NewReader(of(most+1)), "application/json").want(413, "bad_request")
	s.post(cards, strings.Repeat("x", 3*most)).want(413, "bad_request")
	if after := s.count("/cards"); after != before {
		t.Errorf("%d cards, were %d", after, before)
	}
	s.get("/me").want(200)
}

func TestContentType(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/cards/" + s.things().card
	for _, v := range []string{"application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON", " application/json ",
		"application/merge-patch+json", "application/vnd.api+json; x=y"} {
		s.send("PATCH", path, strings.NewReader(`{"holder_name":"Ada"}`), v).want(200)
	}
	s.send("PATCH", path, strings.NewReader(`{"holder_name":"Ada"}`)).want(200) // absent
	for _, v := range []string{"text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml",
		"application/jsonp", "application/octet-stream", "json", "application", "*/*", "application/*", "application/json, text/plain", "\"application/json\"", "application/json; charset"} {
		if got := s.send("PATCH", path, strings.NewReader(`{"holder_name":"Eve"}`), v); got.status != 415 || got.str("error.code") != "bad_request" {
			t.Errorf("%q: %d %s", v, got.status, got.body)
		}
	}
	if got := s.get(path).want(200).str("holder_name"); got != "Ada" {
		t.Errorf("holder_name %q", got)
	}
	// An absent or empty body equals {}, whatever its type.
	for _, v := range [][]string{{"text/plain"}, {"application/json"}, {"nonsense"}, nil} {
		s.send("PATCH", path, strings.NewReader(""), v...).want(200)
		h := http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": v}
		s.fetch("PATCH", s.base+path, nil, h).want(200)
		s.fetch("POST", s.base+"/programs/"+s.ProgramIDs["standard"]+"/cards", nil, h).want(201)
	}
	for _, r := range writingRoutes() {
		if r.Method == "DELETE" {
			continue
		}
		th := s.things()
		a, b := s.call(r.Method, th.fill(t, r), nil), s.call(r.Method, th.fill(t, r), `{}`)
		if a.status != b.status || !slices.Equal(a.details(), b.details()) {
			t.Errorf("%s: no body %s\n{} %s", r.ID, a.body, b.body)
		}
		s.restore(th)
	}
}

// TestBodyOfGetIsIgnored: whatever it is, and of whatever type.
func TestBodyOfGetIsIgnored(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	for _, r := range api.Routes() {
		if r.Method != "GET" {
			continue
		}
		for _, body := range []string{`{"limit":1}`, `{`, "\xff", strings.Repeat("x", 2<<20)} {
			s.send("GET", th.fill(t, r), strings.NewReader(body), "text/plain").want(200)
		}
	}
}
