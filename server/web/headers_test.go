package web

import (
	"net/http"
	"strings"
	"testing"
)

// TestHeaders checks the policy of a page.
func TestHeaders(t *testing.T) {
	h := http.Header{}
	SetHeaders(h)
	if got := h.Get("Content-Security-Policy"); got != CSP {
		t.Errorf("the policy is %q", got)
	}
	for _, directive := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
		"worker-src 'none'", "manifest-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	} {
		if !strings.Contains(CSP+";", directive+";") {
			t.Errorf("the policy lacks %s", directive)
		}
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Content-Type": "text/html; charset=utf-8", "X-Frame-Options": "DENY"} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(h.Get("Permissions-Policy"), "camera=()") {
		t.Errorf("Permissions-Policy: %q", h.Get("Permissions-Policy"))
	}
	SetHeaders(h, "")
	if got := h.Get("Content-Security-Policy"); got != CSP {
		t.Errorf("the policy without a style is %q", got)
	}
}

// TestStyle checks that the policy permits the style element of a page as it is written.
func TestStyle(t *testing.T) {
	const css = `.preview{--brand:#b0241c}`
	templates := parseSamples(t)
	data := newSample(PrinterFor("en"), "Giulia")
	data.Style = css
	if text := render(t, templates, "cards", data, PrinterFor("en")); !strings.Contains(text, "<style>"+css+"</style>") {
		t.Error("the style element is not there, or it is changed")
	}
	h := http.Header{}
	SetHeaders(h, css)
	policy := h.Get("Content-Security-Policy")
	if !strings.Contains(policy, "style-src 'self' "+StyleSource(css)+"; img-src") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
}

// TestAllowInstallation checks what the policy of a page that can be installed permits
// beyond that of others.
func TestAllowInstallation(t *testing.T) {
	h := http.Header{}
	SetHeaders(h, `.a{}`)
	before := h.Get("Content-Security-Policy")
	AllowInstallation(h)
	want := strings.NewReplacer("worker-src 'none'", "worker-src 'self'", "manifest-src 'none'", "manifest-src 'self'").Replace(before)
	if got := h.Get("Content-Security-Policy"); got != want || got == before {
		t.Errorf("the policy is %q, want %q", got, want)
	}
}
