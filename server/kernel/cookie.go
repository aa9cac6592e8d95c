package kernel

import "strings"

// Names of the session cookie. Browsers take a cookie with the first name only from
// https, for this host alone and for all paths, so that no other host below the same
// domain can set it.
const (
	secureCookie = "__Host-punchcard"
	plainCookie  = "punchcard"
)

// CookieFor returns the name of the session cookie and whether it has the attribute
// Secure. Whether the server is reached by https is known from its public URL, never
// from a header. loopback says that the request is for this machine's loopback address
// (see [IsLoopback]); insecure is --insecure-cookies. ok is false if the server must
// refuse to sign anybody in: over plain http the cookie would be readable on the way.
//
// The cookie is also HttpOnly and SameSite=Lax, and its Path is /.
func CookieFor(publicURL string, insecure bool, loopback bool) (name string, secure bool, ok bool) {
	switch {
	case IsHTTPS(publicURL):
		return secureCookie, true, true
	case insecure || loopback:
		return plainCookie, false, true
	}
	return "", false, false
}

// IsHTTPS reports whether a URL begins with https.
func IsHTTPS(url string) bool {
	return len(url) > len("https://") && strings.EqualFold(url[:len("https://")], "https://")
}
