package holder_test

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

type fields = servertest.Fields

// start serves a new demo shop whose clock stands still.
func start(t *testing.T, options ...func(*app.Config)) *servertest.Server {
	t.Helper()
	servertest.Parallel(t)
	logged := func(c *app.Config) {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	}
	return servertest.Start(t, append([]func(*app.Config){servertest.Frozen, logged}, options...)...)
}

// fetch makes a request for a card's page with only the given headers.
func fetch(s *servertest.Server, method, url, body string, headers ...string) *servertest.Reply {
	s.T.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	r := s.Fetch(method, url, []byte(body), h)
	if !strings.HasPrefix(r.Header.Get("X-Request-Id"), "req_") {
		s.T.Errorf("%s has no request id", r.What)
	}
	return r
}

// callTill makes a request of the demo shop's till.
func callTill(s *servertest.Server, method, path string, body any) *servertest.Reply {
	s.T.Helper()
	return s.Till(s.TillToken).Call(method, path, body)
}

// readPage reads a card's page.
func readPage(s *servertest.Server, link string) *servertest.Reply {
	s.T.Helper()
	return fetch(s, "GET", link, "", "Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
}

// newProgram creates a published program.
func newProgram(s *servertest.Server, f fields) string {
	s.T.Helper()
	id := s.Call("POST", "/programs", f).NewID()
	s.Call("POST", "/programs/"+id+"/publish", fields{}).Want(200)
	return id
}

// issueCard issues a card and returns it with its link.
func issueCard(s *servertest.Server, program string, f fields) (card, link string) {
	s.T.Helper()
	r := s.Call("POST", "/programs/"+program+"/cards", f).Want(201)
	return r.Str("id"), r.Str("install_url")
}

// checkRefused checks that the page of a link and the form on it are refused, for browsers and for programs, and
// that they write nothing.
func checkRefused(s *servertest.Server, link string, status int, code, message string) {
	s.T.Helper()
	s.Unchanged(func() {
		for _, accept := range []string{"text/html", "application/json"} {
			for _, r := range []*servertest.Reply{
				fetch(s, "GET", link, "", "Accept", accept),
				fetch(s, "POST", link+"/install", "platform=apple", "Accept", accept, "Content-Type", formType),
			} {
				if accept == "text/html" {
					checkPage(r.Want(status))
					checkText(r, "This card cannot be shown", message, r.Header.Get("X-Request-Id"))
					if body := string(r.Body); !strings.Contains(body, `="/lost`) && !strings.Contains(body, `<a href="/i/`) {
						s.T.Errorf("the page has no way back: %s", r.Body)
					}
				} else if r.Want(status, code); r.Str("error.request_id") != r.Header.Get("X-Request-Id") ||
					!strings.Contains(r.Str("error.message"), message) {
					s.T.Errorf("%s", r.Body)
				}
			}
		}
		fetch(s, "POST", link+"/install", `{"platform":"apple"}`, "Content-Type", "application/json").Want(status, code)
	})
}

// pageText returns the visible text of a page.
func pageText(r *servertest.Reply) string {
	return space.ReplaceAllString(html.UnescapeString(markup.ReplaceAllString(string(r.Body), " ")), " ")
}

// pageOf returns the path of the page of an install link's card.
func pageOf(s *servertest.Server, link string) string {
	s.T.Helper()
	return strings.TrimPrefix(s.CardPage(link), s.Origin)
}

// checkText checks that a page shows texts.
func checkText(r *servertest.Reply, parts ...string) {
	r.T.Helper()
	for _, p := range parts {
		if !strings.Contains(pageText(r), p) {
			r.T.Errorf("the page does not contain %q: %s", p, pageText(r))
		}
	}
}

// pageCode returns the short code that a card's page shows.
func pageCode(r *servertest.Reply) string {
	r.T.Helper()
	m := typed.FindStringSubmatch(string(r.Body))
	if m == nil {
		r.T.Fatalf("no code: %s", r.Body)
	}
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], ""))
}

// loads matches what a page loads from elsewhere than the server's own paths, and code in
// the page itself.
var loads = regexp.MustCompile(`(?i)<script>|\son\w+=|javascript:|<iframe|(src|href|action)="(/?[^/"]|//)|url\(|@import`)

// ownPaths matches the attributes that lead to the server's own pages and files.
var ownPaths = regexp.MustCompile(`(src|href|action)="(/(assets|logo|i|c|join)/|/lost|#)`)

// checkPage checks the rules for every page.
func checkPage(r *servertest.Reply) {
	r.T.Helper()
	csp := r.Header.Get("Content-Security-Policy")
	for _, p := range []string{
		"default-src 'none'", "script-src 'self'", "img-src 'self' data:", "connect-src 'self'", "worker-src 'self'",
		"manifest-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	} {
		if !strings.Contains(csp+";", p+";") {
			r.T.Errorf("CSP %q lacks %s", csp, p)
		}
	}
	checkStyles(r)
	if m := loads.FindString(ownPaths.ReplaceAllString(string(r.Body), "")); m != "" {
		r.T.Errorf("the page loads or executes something, %q: %s", m, r.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff",
	} {
		if r.Header.Get(name) != want {
			r.T.Errorf("%s: %q", name, r.Header.Get(name))
		}
	}
	if strings.Contains(string(r.Body), "ZgotmplZ") {
		r.T.Error("the template refused a value")
	}
	if len(r.Body) > 60_000 {
		r.T.Errorf("the page has %d bytes", len(r.Body))
	}
}

// checkStyles checks that the policy has the hashes of the page's styles and no others.
func checkStyles(r *servertest.Reply) {
	r.T.Helper()
	csp := r.Header.Get("Content-Security-Policy")
	_, rest, _ := strings.Cut(csp, "style-src ")
	allowed, _, _ := strings.Cut(rest, ";")
	have := []string{"'self'"}
	for _, m := range regexp.MustCompile(`(?s)<style[^>]*>(.*?)</style>`).FindAllStringSubmatch(string(r.Body), -1) {
		sum := sha256.Sum256([]byte(m[1]))
		have = append(have, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	if strings.Join(have, " ") != allowed || strings.Contains(csp, "unsafe") ||
		regexp.MustCompile(`(?i)<[^>]*\sstyle=`).MatchString(string(r.Body)) {
		r.T.Errorf("the page's styles are %s, the policy is %s: %s", have, csp, r.Body)
	}
}
