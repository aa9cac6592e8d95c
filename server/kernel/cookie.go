package kernel

import (
	"net/http"
	"regexp"
	"strings"
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

// browserCookieSuffix follows the name of the session cookie in that of the cookie by which
// a browser is known.
const browserCookieSuffix = "-browser"

// BrowserCookieFor returns the name of the cookie by which a browser is known after a
// sign-in; see [store.Tx.KnowBrowser]. The rest is as CookieFor says.
func BrowserCookieFor(publicURL string, insecure bool, loopback bool) (name string, secure bool, ok bool) {
	name, secure, ok = CookieFor(publicURL, insecure, loopback)
	return name + browserCookieSuffix, secure, ok
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

// deviceCookieAge is how long browsers keep the cookie of a device after a visit of the till
// page, in seconds: 400 days, which is as long as they keep any.
const deviceCookieAge = 400 * 24 * 60 * 60

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
	c := &http.Cookie{Name: DeviceCookieName(publicURL), Value: token, Path: "/till/", HttpOnly: true, Secure: IsHTTPS(publicURL),
		SameSite: http.SameSiteStrictMode, MaxAge: deviceCookieAge}
	if token == "" {
		c.MaxAge = -1
	}
	return c
}

var deviceToken = regexp.MustCompile(`^tdk_(live|test)_[A-Za-z0-9_-]{43}$`)

// IsDeviceToken reports whether a text has the form of a device's token.
func IsDeviceToken(text string) bool { return deviceToken.MatchString(text) }
