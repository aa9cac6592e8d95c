//go:build browser

package browser

import (
	"net/url"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// TestForeignOrigin opens pages of another origin in the browser of an owner who is signed
// in. The host is the same, so that the browser sends the session's cookie.
func TestForeignOrigin(t *testing.T) {
	t.Parallel()
	d := startDemo(t, plainNames)
	evil := servePages(t, map[string]string{
		"/form": goodHead + `<form method="post" action="` + d.Origin + `/dashboard/new/location">` +
			`<input type="hidden" name="name" value="Evil">
			<input type="hidden" name="country_code" value="IT"><button>Win a coffee</button></form></main></body></html>`,
		"/frame": goodHead + `<iframe title="Framed" src="` + d.Origin + `/dashboard"></iframe></main></body></html>`,
	}, "Content-Security-Policy", "default-src * 'unsafe-inline'")

	p := Open(t, evil+"/form", View{Cookie: d.signIn("owner")})
	d.Unchanged(func() {
		p.Press("Win a coffee")
		p.Wait("Not allowed", "This form came from another website")
	})
	if p.Status() != 403 || p.Cookie("punchcard") == nil {
		t.Errorf("status %d, cookie %v", p.Status(), p.Cookie("punchcard"))
	}
	p.ExpectProblems()

	p = Open(t, evil+"/frame", View{Cookie: d.signIn("owner")})
	origin := require.Must(url.Parse(d.Origin))
	p.wait("the refusal of the frame", func() (bool, error) {
		for _, problem := range p.Problems() {
			if strings.Contains(problem, "frame-ancestors") || strings.Contains(problem, origin.Host) {
				return true, nil
			}
		}
		return false, nil
	})
	p.ExpectProblems()
	if strings.Contains(p.Text(), "Today") {
		t.Error("the dashboard is shown in a frame")
	}
}
