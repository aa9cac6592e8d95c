package dashboard_test

import (
	"net/http"
	"testing"
)

// TestStreamsOfAPerson checks that a person has at most six streams of events open at once, in
// several sessions too, and takes none from others.
func TestStreamsOfAPerson(t *testing.T) {
	t.Parallel()
	s := start(t)
	open := func(role string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Origin+"/dashboard/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(s.as(role).cookie)
		resp, err := s.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	var first *http.Response
	for range 6 {
		resp := open("manager")
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
		first = resp
	}
	for role, want := range map[string]int{"manager": http.StatusTooManyRequests, "owner": http.StatusOK} {
		resp := open(role)
		defer resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("one more stream, of the %s: status %d, want %d", role, resp.StatusCode, want)
		}
	}
	first.Body.Close() // and the server notices it
	for status := 0; status != http.StatusOK; {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		resp := open("manager")
		defer resp.Body.Close()
		status = resp.StatusCode
	}
}
