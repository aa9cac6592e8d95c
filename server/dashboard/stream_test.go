package dashboard_test

import (
	"net/http"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest/require"
)

// events opens the stream of the first page.
func (s *demo) events(b *browser) *http.Response {
	s.T.Helper()
	req := require.Must(http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.Origin+"/dashboard/events", nil))
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	resp := require.Must(s.HTTP.Do(req))
	s.T.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestStreamsOfAPerson checks that a person has at most six streams of events open at once, in
// several sessions too, and takes none from others.
func TestStreamsOfAPerson(t *testing.T) {
	s := start(t)
	open := func(role string) *http.Response { return s.events(s.as(role)) }
	var first *http.Response
	for range 6 {
		resp := open("manager")
		if resp.StatusCode != 200 {
			t.Fatalf("status %d", resp.StatusCode)
		}
		first = resp
	}
	for role, want := range map[string]int{"manager": 429, "owner": 200} {
		resp := open(role)
		if resp.StatusCode != want {
			t.Errorf("one more stream, of the %s: status %d, want %d", role, resp.StatusCode, want)
		}
	}
	first.Body.Close() // and the server notices it
	for status := 0; status != 200; {
		require.NoError(t, t.Context().Err())
		resp := open("manager")
		status = resp.StatusCode
	}
}

// TestStreamsOfAll checks that there are at most --dashboard-streams streams of events at once.
func TestStreamsOfAll(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.DashboardStreams = 2 })
	for i, role := range []string{"owner", "manager", "viewer"} {
		want := http.StatusOK
		if i == 2 {
			want = http.StatusTooManyRequests
		}
		if resp := s.events(s.as(role)); resp.StatusCode != want {
			t.Errorf("stream %d: status %d, want %d", i+1, resp.StatusCode, want)
		}
	}
}
