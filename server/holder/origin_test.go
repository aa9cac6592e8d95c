package holder_test

import (
	"net/http"
	"testing"
)

// TestFormOfAnotherOrigin checks that an installation is refused from a page of another
// origin, whatever its content type, and that a browser on plain http, which sends the
// origin null, can send the form.
func TestFormOfAnotherOrigin(t *testing.T) {
	s := start(t)
	_, link := issueCard(s, s.ProgramIDs["standard"], fields{})
	page := s.Origin + pageOf(s, link)
	at := link
	send := func(contentType, body string, headers ...string) int {
		t.Helper()
		return fetch(s, "POST", at+"/install", body, append(headers, "Content-Type", contentType)...).Status
	}
	foreign := []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"} // TestCheckOrigin of kernel has all headers
	s.Unchanged(func() {
		for contentType, body := range map[string]string{
			formType: "platform=apple", "application/json": `{"platform":"apple"}`, "text/plain": `{"platform":"apple"}`, "": "",
		} {
			if got := send(contentType, body, foreign...); got != http.StatusForbidden {
				t.Errorf("with %q: %d, want 403", contentType, got)
			}
		}
	})
	for _, at = range []string{page, link} {
		if got := send(formType, "platform=apple", foreign...); got != http.StatusForbidden {
			t.Errorf("%s from another origin: %d, want 403", at, got)
		}
		if got := send(formType, "platform=apple", "Origin", "null"); got != http.StatusSeeOther {
			t.Errorf("%s from plain http: %d, want 303", at, got)
		}
	}
}
