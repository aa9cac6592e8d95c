package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// brokenBodies are bodies that are no valid JSON object. The tests of server/wire have more, with their
// details.
var brokenBodies = []string{
	`{`, `[]`, `null`, `"x"`, `1`, `{}{}`, `{} x`, "\xef\xbb\xbf{}", "{\"holder_name\":\"\xff\"}", `{"holder_name":"\u0000"}`,
	`{"holder_name":"A","holder_name":"A"}`, strings.Repeat(`{"a":`, 100_000),
}

// sendReader makes a request of unknown length, with a Content-Type only if one is given.
func sendReader(s *servertest.Server, method, path string, body io.Reader, contentType ...string) *servertest.Reply {
	s.T.Helper()
	r := s.FetchReader(method, s.URL+path, io.MultiReader(body), http.Header{
		"Authorization": {"Bearer " + s.Key},
		"Content-Type":  contentType,
	})
	r.Check()
	return r
}

// FuzzBodies sends arbitrary bodies. The answer must never be a server error, must conform to the
// document, and may be a success only for JSON or a blank body.
func FuzzBodies(f *testing.F) {
	server := servertest.Start(f)
	for _, body := range brokenBodies {
		f.Add([]byte(body))
	}
	for _, body := range sampleBodies {
		f.Add([]byte(body))
	}
	for _, body := range []string{``, `{}`,
		`{"holder_name":"\ud83d\ude00","external_ref":"x","expires_at":"2999-12-31T23:59:59.999999999+23:59","send_email":false}`,
		`{"total_stamps":1e3,"discount_percent":null,"name_localizations":{"it":"a","fr":"b"},"scoped_location_ids":[]}`,
		`{"total_stamps":123456789012345678901234567890,"default_expire_after_days":-1e400,"repeat_after_reset":null}`,
		`{"expires_at":"9999-12-31T23:59:59-23:59"}`, `{"expires_at":"0001-01-01T00:00:00+23:59"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := server.On(t)
		h := http.Header{"Authorization": {"Bearer " + s.Key}}
		for _, c := range []struct{ method, path string }{
			{"POST", "/programs/" + s.ProgramIDs["standard"] + "/cards"},
			{"PATCH", "/programs/" + s.ProgramIDs["private"]},
		} {
			got := s.Fetch(c.method, s.URL+c.path, body, h)
			got.Check()
			switch {
			case got.Status >= 500:
				t.Errorf("%s %s: %d %s", c.method, c.path, got.Status, got.Body)
			case got.Status < 300 && len(strings.Trim(string(body), " \t\r\n")) > 0:
				parseObject(t, string(body))
			case got.Status == 400:
				if len(got.Details()) == 0 {
					t.Errorf("no details: %s", got.Body)
				}
			}
		}
	})
}
