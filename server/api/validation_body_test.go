package api_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/servertest"
)

// brokenBodies are invalid bodies, by what is wrong with them, and the detail of the answer.
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
	th := newThings(s)
	state := snapshot(s, th.program)
	for _, r := range servertest.Sample(writingRoutes()) {
		if r.Method == "DELETE" {
			continue
		}
		for name, c := range brokenBodies {
			if len(c.body) > 10_000 && r.ID != "issueCard" {
				continue
			}
			got := s.Call(r.Method, th.fill(t, r), c.body)
			if got.Status != 400 || got.Str("error.code") != "validation_failed" || !slices.Equal(got.Details(), []string{c.detail}) {
				t.Errorf("%s, %s: %d %s, want %q", r.ID, name, got.Status, got.Body, c.detail)
			}
		}
	}
	if snapshot(s, th.program) != state {
		t.Error("a broken body changed something")
	}
}

// TestValidBodies checks that unusual forms of valid JSON are accepted.
func TestValidBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	cards := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	for body, want := range map[string]string{
		" \t\r\n{ \"holder_name\" : \"Ada\" }\n ":                       "Ada",
		`{"holder\u005fname":"\u0041da"}`:                               "Ada",
		`{"holder_name":"\ud83d\ude00 😀"}`:                              "😀 😀",
		`{"holder_name":"\"\\\/"}`:                                      "\"\\/",
		"{\"holder_name\":\"\ufeff\ufffe\uffff\"}":                      "\ufeff\ufffe\uffff",
		`{"holder_name":"</script><b>&amp;' OR 1=1; DROP TABLE cards"}`: `</script><b>&amp;' OR 1=1; DROP TABLE cards`,
		`{"holder_name":" Ada "}`:                                       " Ada ",
		`{"holder_name":"e\u0301"}`:                                     "e\u0301", // not composed
		`{"holder_name":"` + strings.Repeat("😀", 200) + `"}`:            strings.Repeat("😀", 200),
		`{"holder_name":"\\u0000"}`:                                     `\u0000`,
		`{"holder_name":"%s%n%00"}`:                                     "%s%n%00",
	} {
		id := s.Post(cards, body).Want(201).Str("id")
		got := s.Get("/cards/" + id).Want(200)
		if got.Str("holder_name") != want {
			t.Errorf("%.80s: holder_name %q, want %q", body, got.Str("holder_name"), want)
		}
	}
	// Numbers may have any form that JSON allows.
	location := "/locations/" + s.LocationIDs[0]
	for text, want := range map[string]float64{"1": 1, "-0": 0, "1e1": 10, "4.5E+1": 45, "1e-400": 0, "0.1": 0.1, "-89.99999999999999": -89.99999999999999} {
		if got := s.Patch(location, `{"lat":`+text+`}`).Want(200); got.At("lat") != want {
			t.Errorf("lat %s: %v", text, got.At("lat"))
		}
	}
	program := s.Post("/programs", `{"type":"standard","name":"N","icon_key":"i","total_stamps":1.0e1}`).Want(201)
	if program.At("total_stamps") != 10.0 {
		t.Errorf("total_stamps %v", program.At("total_stamps"))
	}
}

// sendReader makes a request of unknown length, with a Content-Type only if one is given.
func sendReader(s *servertest.Server, method, path string, body io.Reader, contentType ...string) *servertest.Reply {
	s.T.Helper()
	r := s.FetchReader(method, s.URL+path, io.MultiReader(body), http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": contentType})
	r.Check()
	return r
}

func TestBodySize(t *testing.T) {
	t.Parallel()
	s := start(t)
	cards := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	const maxSize = 1 << 20
	bodyOf := func(n int) string { return `{"holder_name":"Ada"` + strings.Repeat(" ", n-21) + `}` }
	s.Post(cards, bodyOf(maxSize)).Want(201)
	sendReader(s, "POST", cards, strings.NewReader(bodyOf(maxSize)), "application/json").Want(201)
	before := s.Count("/cards")
	for _, r := range servertest.Sample(writingRoutes()) {
		if r.Method != "DELETE" {
			s.Call(r.Method, nowhere.fill(t, r), bodyOf(maxSize+1)).Want(413, "bad_request")
		}
	}
	s.Post(cards, bodyOf(maxSize+1)).Want(413, "bad_request")
	sendReader(s, "POST", cards, strings.NewReader(bodyOf(maxSize+1)), "application/json").Want(413, "bad_request")
	s.Post(cards, strings.Repeat("x", 3*maxSize)).Want(413, "bad_request")
	if after := s.Count("/cards"); after != before {
		t.Errorf("%d cards, were %d", after, before)
	}
	s.Get("/me").Want(200)
}

func TestContentType(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/cards/" + newThings(s).card
	for _, v := range []string{"application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON", " application/json ",
		"application/merge-patch+json", "application/vnd.api+json; x=y"} {
		sendReader(s, "PATCH", path, strings.NewReader(`{"holder_name":"Ada"}`), v).Want(200)
	}
	sendReader(s, "PATCH", path, strings.NewReader(`{"holder_name":"Ada"}`)).Want(200) // no Content-Type
	for _, v := range []string{"text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml",
		"application/jsonp", "application/octet-stream", "json", "application", "*/*", "application/*", "application/json, text/plain", "\"application/json\"", "application/json; charset"} {
		if got := sendReader(s, "PATCH", path, strings.NewReader(`{"holder_name":"Eve"}`), v); got.Status != 415 || got.Str("error.code") != "bad_request" {
			t.Errorf("%q: %d %s", v, got.Status, got.Body)
		}
	}
	if got := s.Get(path).Want(200).Str("holder_name"); got != "Ada" {
		t.Errorf("holder_name %q", got)
	}
	// An absent or empty body equals {}, whatever its type.
	for _, v := range [][]string{{"text/plain"}, {"application/json"}, {"nonsense"}, nil} {
		sendReader(s, "PATCH", path, strings.NewReader(""), v...).Want(200)
		h := http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": v}
		s.Fetch("PATCH", s.URL+path, nil, h).Want(200)
		s.Fetch("POST", s.URL+"/programs/"+s.ProgramIDs["standard"]+"/cards", nil, h).Want(201)
	}
	for _, r := range servertest.Sample(writingRoutes()) {
		if r.Method == "DELETE" {
			continue
		}
		th := newThings(s)
		a, b := s.Call(r.Method, th.fill(t, r), nil), s.Call(r.Method, th.fill(t, r), `{}`)
		if a.Status != b.Status || !slices.Equal(a.Details(), b.Details()) {
			t.Errorf("%s: no body %s\n{} %s", r.ID, a.Body, b.Body)
		}
		restoreThings(s, th)
	}
}

// TestBodyOfGetIsIgnored checks that GET ignores a body of any type.
func TestBodyOfGetIsIgnored(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := newThings(s)
	for _, r := range servertest.Sample(api.Routes()) {
		if r.Method != "GET" {
			continue
		}
		for _, body := range []string{`{"limit":1}`, `{`, "\xff", strings.Repeat("x", 2<<20)} {
			sendReader(s, "GET", th.fill(t, r), strings.NewReader(body), "text/plain").Want(200)
		}
	}
}

// FuzzBodies sends arbitrary bodies. The answer must never be a server error, must conform to the
// document, and may be a success only for JSON or a blank body.
func FuzzBodies(f *testing.F) {
	server := servertest.Start(f)
	for _, c := range brokenBodies {
		if len(c.body) < 10_000 {
			f.Add([]byte(c.body))
		}
	}
	for _, body := range sampleBodies {
		f.Add([]byte(body))
	}
	for _, body := range []string{``, `{}`, `{"holder_name":"\ud83d\ude00","holder_email":"a@b.example","external_ref":"x","expires_at":"2999-12-31T23:59:59.999999999+23:59","send_email":false}`,
		`{"total_stamps":1e3,"discount_percent":null,"name_localizations":{"it":"a","fr":"b"},"scoped_location_ids":[],"location_scope":"all_locations"}`,
		`{"total_stamps":123456789012345678901234567890,"default_expire_after_days":-1e400,"repeat_after_reset":null}`,
		`{"expires_at":"9999-12-31T23:59:59-23:59"}`, `{"expires_at":"0001-01-01T00:00:00+23:59"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := server.On(t)
		h := http.Header{"Authorization": {"Bearer " + s.Key}}
		for _, c := range []struct{ method, path string }{
			{"POST", "/programs/" + s.ProgramIDs["standard"] + "/cards"},
			{"PATCH", "/programs/" + s.ProgramIDs["private"]},
		} {
			got := s.Fetch(c.method, s.URL+c.path, body, h)
			got.Check()
			switch {
			case got.Status >= 500:
				t.Errorf("%s %s: %d %s", c.method, c.path, got.Status, got.Body)
			case got.Status < 300 && len(strings.Trim(string(body), " \t\r\n")) > 0:
				parseObject(t, string(body))
			case got.Status == 400:
				if len(got.Details()) == 0 {
					t.Errorf("no details: %s", got.Body)
				}
			}
		}
	})
}
