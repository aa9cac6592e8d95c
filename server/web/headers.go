package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// CSP is the content security policy of a page. Scripts, styles, pictures and event
// streams come from the page's own origin; pictures may be data URLs too.
const CSP = cspBeforeStyle + cspAfterStyle

const (
	cspBeforeStyle = "default-src 'none'; script-src 'self'; style-src 'self'"
	cspAfterStyle  = "; img-src 'self' data:; connect-src 'self'; worker-src 'none'; manifest-src 'none'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

// permissions forbids the page all devices.
const permissions = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"

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

// StyleSource returns the source expression of a style element with the given text.
func StyleSource(css string) string {
	sum := sha256.Sum256([]byte(css))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
