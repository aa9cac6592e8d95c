package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest/require"
)

// TestPublic checks what is served without a key.
func TestPublic(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ path, kind, body string }{
		{"/healthz", "application/json", `{"status":"ok"}`},
		{"/readyz", "application/json", `{"status":"ready"}`},
		{"/openapi.json", "application/json", ""},
		{"/docs", "text/html; charset=utf-8", ""},
		{"/till/docs", "text/html; charset=utf-8", ""},
	} {
		r := s.Fetch("GET", s.Origin+c.path, nil, nil).Want(200)
		if kind := r.Header.Get("Content-Type"); kind != c.kind {
			t.Errorf("%s is %s", c.path, kind)
		}
		if c.body != "" && string(r.Body) != c.body {
			t.Errorf("%s: %s", c.path, r.Body)
		}
		if !strings.HasPrefix(r.Header.Get("X-Request-Id"), "req_") {
			t.Errorf("%s has no request id", c.path)
		}
		post := s.Fetch("POST", s.Origin+c.path, nil, nil).Want(405, "bad_request")
		if allow := post.Header.Get("Allow"); !strings.Contains(allow, "GET") {
			t.Errorf("%s allows %q", c.path, allow)
		}
	}
	// These paths do not exist below the API's prefix, and the API's paths do not exist outside of it.
	for _, path := range []string{"/healthz", "/openapi.json", "/docs", "/pricing"} {
		s.Get(path).Want(404, "not_found")
	}
	for _, path := range []string{"/me", "/cards", "/healthz/", "/docs/x"} {
		s.Fetch("GET", s.Origin+path, nil, nil).Want(404, "not_found")
	}
}

// TestPublicURL checks the URLs in the document and in answers behind a public URL.
func TestPublicURL(t *testing.T) {
	s := start(t, func(c *app.Config) { c.PublicURL = "https://cards.example.com/shop/" })
	servers := []fields{{"url": "https://cards.example.com/shop/api/public/v1"}}
	s.Fetch("GET", s.Origin+"/openapi.json", nil, nil).WantOK(fields{"servers": servers})
	issue := s.URL + "/programs/" + s.ProgramIDs["access"] + "/cards"
	if url := s.Fetch("POST", issue, nil, http.Header{"Authorization": {"Bearer " + s.Key}}).Want(201).
		Str("install_url"); !strings.HasPrefix(url, "https://cards.example.com/shop/i/") {
		t.Errorf("install_url %s", url)
	}
}

func TestPricing(t *testing.T) {
	s := start(t)
	s.Fetch("GET", s.Origin+"/pricing", nil, nil).Want(404, "not_found")

	const text = `{ "currency": "EUR", "plans": [{"name":"Business API","cents":1900}] }`
	file := filepath.Join(t.TempDir(), "pricing.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	s = start(t, func(c *app.Config) { c.PricingFile = file })
	r := s.Fetch("GET", s.Origin+"/pricing", nil, nil).Want(200)
	if string(r.Body) != text || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %s", r.Header.Get("Content-Type"), r.Body)
	}
	s.Fetch("POST", s.Origin+"/pricing", nil, nil).Want(405, "bad_request")

	for _, bad := range []string{"", "{", "nonsense"} {
		require.NoError(t, os.WriteFile(file, []byte(bad), 0o600))
		c := app.Config{DB: filepath.Join(t.TempDir(), "p.db"), Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), PricingFile: file}
		if _, err := app.Start(c); err == nil || !strings.HasPrefix(err.Error(), "--pricing-file (PUNCHCARD_PRICING_FILE): ") {
			t.Errorf("%q as pricing file: %v", bad, err)
		}
	}
	if _, err := app.Start(app.Config{Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), PricingFile: file + "x"}); err == nil ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("a missing pricing file: %v", err)
	}
}
