package kernel

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// styleSource returns the source expression, for a content security policy, of the
// first style element in a page or template. It is the hash of the element's text.
func styleSource(page string) string {
	_, rest, _ := strings.Cut(page, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(css))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// closedPolicy is the content security policy of answers that load nothing.
const closedPolicy = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pagePolicy is the content security policy of pages without scripts, without their
// style-src. It names what default-src forbids already, so that a page that needs more
// changes one of these.
const pagePolicy = closedPolicy + "; script-src 'none'; img-src 'none'; connect-src 'none'; worker-src 'none'; manifest-src 'none'"

// Header values that many answers share. They are never changed.
var (
	jsonType   = []string{"application/json"}
	noStore    = []string{"no-store"}
	noSniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	closed     = []string{closedPolicy}
	noDevices  = []string{"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"}
)

// setSecurityHeaders sets the headers that stop a browser from loading anything
// for an answer, from framing it, from sending its address to others, and from
// letting it use a camera or another device. Answers that need a key do not need
// them: a browser does not request these by itself.
func setSecurityHeaders(h http.Header) {
	h["X-Content-Type-Options"], h["Referrer-Policy"], h["Content-Security-Policy"] = noSniff, noReferrer, closed
	h["Permissions-Policy"] = noDevices
}

// SecurityHeaders sets the security headers on every answer of a handler.
func SecurityHeaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		h.ServeHTTP(w, r)
	})
}
