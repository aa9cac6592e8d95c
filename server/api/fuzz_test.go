package api_test

import (
	"net/http"
	"punchcard/server/servertest"
	"strings"
	"testing"
)

// FuzzBodies sends arbitrary bodies. The answer must never be a server error, must conform to the
// document, and may be a success only for JSON.
func FuzzBodies(f *testing.F) {
	server := servertest.Start(f)
	for _, c := range brokenBodies {
		if len(c.body) < 10_000 {
			f.Add([]byte(c.body))
		}
	}
	for _, body := range sampleBodies {
		f.Add([]byte(body))
	}
	for _, body := range []string{``, `{}`, `{"holder_name":"\ud83d\ude00","holder_email":"a@b.example","external_ref":"x","expires_at":"2999-12-31T23:59:59.999999999+23:59","send_email":false}`,
		`{"total_stamps":1e3,"discount_percent":null,"name_localizations":{"it":"a","fr":"b"},"scoped_location_ids":[],"location_scope":"all_locations"}`,
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
