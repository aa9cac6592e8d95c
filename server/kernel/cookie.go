package kernel

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"punchcard/store"
)

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

// BrowserSuffix follows the name of the session cookie in that of the cookie by which a browser is
// known after a sign-in; see [store.Tx.KnowBrowser].
const BrowserSuffix = "-browser"

// Cookie returns a cookie that no script and no other site can use. An empty value ends it.
func Cookie(name, value string, secure bool, lifetime time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name:     name,
		Value:    value,
		Path:     "/",
		Secure:   secure,
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
		MaxAge:   int(lifetime.Seconds()),
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// SessionCookie returns the cookie with the token of a session, over plain http too.
func SessionCookie(publicURL, token string) *http.Cookie {
	name, secure, _ := CookieFor(publicURL, true, true)
	return Cookie(name, token, secure, store.SessionLifetime)
}

// IsHTTPS reports whether a URL begins with https.
func IsHTTPS(url string) bool {
	return len(url) > len("https://") && strings.EqualFold(url[:len("https://")], "https://")
}

// Names of the cookie with a device's token. Browsers take the first name only from https.
const (
	secureDeviceCookie = "__Secure-punchcard-till"
	plainDeviceCookie  = "punchcard-till"
)

// deviceCookieLifetime is how long browsers keep the cookie of a device after a visit of the till
// page: as long as they keep any.
const deviceCookieLifetime = 400 * 24 * time.Hour

// DeviceCookieName returns the name of the cookie with the token of a device.
func DeviceCookieName(publicURL string) string {
	if IsHTTPS(publicURL) {
		return secureDeviceCookie
	}
	return plainDeviceCookie
}

// DeviceCookie returns the cookie with the token of a device for the till page, or, with
// an empty token, the one that ends the cookie. Pages of other sites cannot use it. Unlike
// that of a session it is also set over plain http, so that a till works in a shop's own
// network.
func DeviceCookie(publicURL, token string) *http.Cookie {
	c := Cookie(DeviceCookieName(publicURL), token, IsHTTPS(publicURL), deviceCookieLifetime)
	c.Path, c.SameSite = "/till/", http.SameSiteStrictMode
	return c
}

var deviceToken = regexp.MustCompile(`^tdk_(live|test)_[A-Za-z0-9_-]{43}$`)

// IsDeviceToken reports whether a text has the form of a device's token.
func IsDeviceToken(text string) bool { return deviceToken.MatchString(text) }
