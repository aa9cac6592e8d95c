package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/kernel"
)

// listRoutes returns the routes of lists that have pages.
func listRoutes(t *testing.T, doc schema) (lists []kernel.Route) {
	for _, r := range api.Routes() {
		if slices.Contains(queryOf(doc, r), "cursor") {
			lists = append(lists, r)
		}
	}
	if len(lists) < 4 {
		t.Fatalf("only %d lists", len(lists))
	}
	return lists
}

func TestQueryParameters(t *testing.T) {
	t.Parallel()
	s := start(t)
	doc := readDocument(s)
	bad := func(path, detail string) {
		t.Helper()
		got := s.Get(path)
		if got.Want(400, "validation_failed"); !slices.Equal(got.Details(), []string{detail}) {
			t.Errorf("%.100s: %q, want %q", path, got.Details(), detail)
		}
	}
	// Valid values of the parameters. The value of type depends on the list.
	good := map[string]string{"limit": "5", "external_ref": "a", "holder_email": "a@example.com", "program_id": "p", "location_id": "l", "card_id": "c",
		"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "status": "active"}
	th := newThings(s)
	for _, r := range listRoutes(t, doc) {
		r.Path = th.fill(t, r)
		for _, name := range queryOf(doc, r) {
			value := good[name]
			switch {
			case name == "type" && r.ID == "listPrograms":
				value = "standard"
			case name == "type":
				value = "stamp"
			}
			at := r.Path + "?" + name + "="
			bad(at, name+" invalid_value")
			bad(r.Path+"?"+name, name+" invalid_value")
			bad(at+value+"&"+name+"="+value, name+" invalid_value")
			bad(at+"&"+name+"=", name+" invalid_value")
			if name != "cursor" {
				s.Get(at + url.QueryEscape(value)).Want(200)
				continue
			}
			// Cursors that this server did not make.
			for _, v := range []string{"x", "0", "null", "%20", "../..", strings.Repeat("0", 26), strings.Repeat("z", 26), strings.Repeat("a", 25), strings.Repeat("a", 27),
				strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("a", 5000), "é", "crd_" + strings.Repeat("0", 26)} {
				bad(at+v, "cursor invalid_format")
			}
		}
		for _, v := range []string{"abc", "1.5", "1e3", "0x10", "1_000", "%2B5", "+5", "5%20", "%E0%A5%AB", "true", "--1", "-", "1,2", "5%00", "%FF"} {
			bad(r.Path+"?limit="+v, "limit invalid_type")
		}
		for _, v := range []string{"0", "-1", "-0", "-99999999999999999999", "00"} {
			bad(r.Path+"?limit="+v, "limit too_small")
		}
		for v, want := range map[string]float64{"1": 1, "007": 7, "100": 100, "101": 100, "1000000000": 100, "9223372036854775807": 100, "9223372036854775808": 100, "99999999999999999999": 100} {
			if got := s.Get(r.Path + "?limit=" + v).Want(200); got.At("limit") != want {
				t.Errorf("%s?limit=%s: %v", r.Path, v, got.At("limit"))
			}
		}
		if got := s.Get(r.Path).Want(200); got.At("limit") != 50.0 {
			t.Errorf("%s: limit %v", r.Path, got.At("limit"))
		}
		// Unknown parameters are ignored, even if they are repeated or empty.
		plain := string(s.Get(r.Path).Want(200).Body)
		for _, q := range []string{"?x=1", "?x=1&x=2", "?x=", "?x", "?&&", "?=", "?LIMIT=0", "?limit[]=0", "?offset=5&page=2", "?x=%00&y=%FF", "?%00=1", "?"} {
			if got := s.Get(r.Path + q).Want(200); string(got.Body) != plain {
				t.Errorf("%s%s: %s", r.Path, q, got.Body)
			}
		}
		// A query that is not well-formed is refused.
		for _, q := range []string{"?x=%zz", "?limit=%", "?limit=5%2", "?a;b", "?%=1"} {
			s.Get(r.Path+q).Want(400, "validation_failed")
		}
	}
	bad("/cards?status=ACTIVE", "status invalid_value")
	bad("/cards?status=bogus", "status invalid_value")
	bad("/programs?type=stamp", "type invalid_value")
	bad("/transactions?type=standard", "type invalid_value")
	bad("/cards?holder_email=ada", "holder_email invalid_format")
	bad("/transactions?from=2026-01-01", "from invalid_format")
	bad("/transactions?to=yesterday", "to invalid_format")
	bad("/transactions?from=2026-01-01T00:00:00+01:00", "from invalid_format") // the plus is decoded as a space
	s.Get("/transactions?from=2026-01-01T00:00:00%2B01:00").Want(200)
	bad("/transactions?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from invalid_value")
	got := s.Get("/cards?limit=0&status=x&holder_email=y&program_id=").Want(400)
	if have := slices.Sorted(slices.Values(got.Details())); !slices.Equal(have, []string{"holder_email invalid_format", "limit too_small", "program_id invalid_value", "status invalid_value"}) {
		t.Errorf("details %q", have)
	}
}

// TestFiltersByInvalidIDs checks that a filter by an invalid id matches nothing, and that a value that
// is not valid text is refused.
func TestFiltersByInvalidIDs(t *testing.T) {
	t.Parallel()
	s := start(t)
	newThings(s)
	for _, filter := range []string{"/cards?program_id=", "/transactions?program_id=", "/transactions?location_id=", "/transactions?card_id="} {
		for _, id := range append(strangeIDs, strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("語", 300)) {
			if strings.Contains(id, "\x00") || !isUTF8(id) {
				got := s.Get(filter + url.QueryEscape(id)).Want(400)
				if len(got.Details()) != 1 || !strings.HasSuffix(got.Details()[0], " invalid_value") {
					t.Errorf("%s%.40q: %s", filter, id, got.Body)
				}
				continue
			}
			if got := s.Get(filter + url.QueryEscape(id)); string(got.Body) != `{"data":[],"next_cursor":null,"limit":50}` {
				t.Errorf("%s%.40q: %d %s", filter, id, got.Status, got.Body)
			}
		}
	}
	for _, ref := range []string{"' OR '1'='1", "%", "_", "*", "a\tb", `\`, "\u202e", "NULL", "null"} {
		if got := s.Get("/cards?external_ref=" + url.QueryEscape(ref)).Want(200); len(got.At("data").([]any)) > 0 {
			t.Errorf("external_ref=%q: %s", ref, got.Body)
		}
	}
}
