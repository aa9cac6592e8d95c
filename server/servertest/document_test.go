package servertest

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestDocument changes answers in ways that violate the document, and checks that each violation is
// found.
func TestDocument(t *testing.T) {
	s := Start(t)
	for _, c := range []struct {
		client *Server
		path   string
	}{{s, "/cards?limit=1"}, {s.Till(s.TillToken), "/me"}} {
		good := c.client.Get(c.path).Want(200)
		failed := c.client.With("").Get(c.path).Want(401)
		for name, change := range map[string]func(r *Reply){
			"none":                 func(*Reply) {},
			"a field more":         func(r *Reply) { r.Body = append([]byte(`{"more":1,`), r.Body[1:]...) },
			"no fields":            func(r *Reply) { r.Body = []byte("{}") },
			"another type":         func(r *Reply) { r.Body = []byte("[]") },
			"no JSON":              func(r *Reply) { r.Body = []byte("{") },
			"an unknown status":    func(r *Reply) { r.Status = 418 },
			"a header missing":     func(r *Reply) { r.Header.Del("X-Request-Id") },
			"another Content-Type": func(r *Reply) { r.Header.Set("Content-Type", "text/html") },
			"an unknown path":      func(r *Reply) { r.Request.URL.Path = "/nowhere" },
			"an error's code":      func(r *Reply) { *r = *failed; r.Body = bytes.Replace(r.Body, []byte("unauth"), []byte("UNAUTH"), 1) },
		} {
			changed := *good
			changed.Header = good.Header.Clone()
			request := good.Request.Clone(t.Context())
			changed.Request = request
			change(&changed)
			if err := c.client.source.get(c.client.Client).check(&changed); (err != nil) != (name != "none") {
				t.Errorf("%s with %s: %v", c.path, name, err)
			}
		}
	}
	r := s.Fetch("GET", s.URL+"/nowhere", nil, http.Header{"Authorization": {"Bearer " + s.Key}}).Want(404)
	if s.source.get(s.Client).check(r) != nil ||
		!strings.HasPrefix(r.Header.Get("X-Request-Id"), "req_") {
		t.Errorf("a path that does not exist: %s", r.Body)
	}
}
