package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// CSP is the content security policy of a page. Scripts, styles, pictures and event
// streams come from the page's own origin; pictures may be data URLs too.
const CSP = cspBeforeStyle + cspAfterStyle

const (
	cspBeforeStyle = "default-src 'none'; script-src 'self'; style-src 'self'"
	cspAfterStyle  = "; img-src 'self' data:; connect-src 'self'; " + notInstalled +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

// The directives of a page that cannot be installed, and of one that can.
const (
	notInstalled = "worker-src 'none'; manifest-src 'none'; "
	installed    = "worker-src 'self'; manifest-src 'self'; "
)

// AllowInstallation changes the headers of a page so that it may have a manifest and a
// service worker.
func AllowInstallation(h http.Header) {
	const policy = "Content-Security-Policy"
	h.Set(policy, strings.Replace(h.Get(policy), notInstalled, installed, 1))
}

// permissions forbids the page all devices.
const permissions = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"

// AllowForms changes the headers of a page behind a cookie, or one that sets one, so that
// browsers say the page's origin with its forms: without a referrer they say the origin null
// over plain http. Other
// origins do not get the page's address.
func AllowForms(h http.Header) { h.Set("Referrer-Policy", "same-origin") }

// SetHeaders sets the headers of a page that is personal: it may load only what CSP
// permits, is stored nowhere, sends its address to nobody, is framed by nobody and may
// use no device. styles are the texts of its style elements, such as Frame.Style.
func SetHeaders(h http.Header, styles ...string) {
	policy := CSP
	if len(styles) > 0 && strings.Join(styles, "") != "" {
		policy = cspBeforeStyle
		for _, css := range styles {
			policy += " " + StyleSource(css)
		}
		policy += cspAfterStyle
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Permissions-Policy", permissions)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// ScannerCSP is the policy of a page that scans QR codes. Beyond CSP it permits a decoder
// in WebAssembly, a worker that runs it, a service worker and a manifest.
var ScannerCSP = strings.NewReplacer("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'", "worker-src 'none'", "worker-src 'self'",
	"manifest-src 'none'", "manifest-src 'self'").
	Replace(CSP)

// ScannerPermissions permits a page that scans the camera, and no other device.
var ScannerPermissions = strings.Replace(permissions, "camera=()", "camera=(self)", 1)

// SetScannerHeaders is SetHeaders for a page that scans QR codes.
func SetScannerHeaders(h http.Header) {
	SetHeaders(h)
	h.Set("Content-Security-Policy", ScannerCSP)
	h.Set("Permissions-Policy", ScannerPermissions)
}

// Write answers with a status and a body, whose length it announces.
func Write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

// StyleSource returns the source expression of a style element with the given text.
func StyleSource(css string) string {
	sum := sha256.Sum256([]byte(css))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
