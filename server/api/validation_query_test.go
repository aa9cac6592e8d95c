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

// TestQueryParameters sends each query parameter of each list empty, without a value, repeated and
// valid, and sends queries with unknown parameters and queries that are not well-formed. The tests of
// server/wire have invalid values of each type.
func TestQueryParameters(t *testing.T) {
	s := start(t)
	doc := readDocument(s)
	// Valid values of the parameters. The value of type depends on the list.
	good := map[string]string{
		"limit": "5", "external_ref": "a", "holder_email": "a@example.com", "program_id": "p", "location_id": "l", "card_id": "c",
		"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "status": "active",
		"phone": "+390612345678", "code": "4006381333931",
	}
	for _, r := range listRoutes(t, doc) {
		for _, name := range queryOf(doc, r) {
			value := good[name]
			if name == "type" {
				value = map[string]string{"listPrograms": "standard", "listTransactions": "stamp"}[r.ID]
			}
			at := r.Path + "?" + name
			for _, query := range []string{"", "=", "=" + url.QueryEscape(value) + "&" + name + "=" + url.QueryEscape(value),
				"=&" + name + "="} {
				s.Get(at + query).Invalid(name + " invalid_value")
			}
			if name != "cursor" {
				s.Get(at + "=" + url.QueryEscape(value)).Want(200)
			}
		}
		plain := string(s.Get(r.Path).Want(200).Body)
		for _, q := range strings.Fields("?x=1&x=2 ?x ?&& ?= ?LIMIT=0 ?limit[]=0 ?offset=5&page=2 ?x=%00&y=%FF ?%00=1 ?") {
			if got := s.Get(r.Path + q).Want(200); string(got.Body) != plain {
				t.Errorf("%s%s: %s", r.Path, q, got.Body)
			}
		}
		for _, q := range []string{"?x=%zz", "?limit=%", "?limit=5%2", "?a;b", "?%=1"} {
			s.Get(r.Path+q).Want(400, "validation_failed")
		}
	}
}
