package api_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/routers"

	"punchcard/server/app"
)

// FuzzBodies sends any bytes as a body: the answer is never a fault of the
// server, always as documented, and a success only for JSON.
func FuzzBodies(f *testing.F) {
	a, err := app.Start(app.Config{DB: filepath.Join(f.TempDir(), "fuzz.db"), Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), Dev: &app.Dev{Clock: app.NewClock(time.Time{})}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			f.Error(err)
		}
	})
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
	var once sync.Once
	var doc routers.Router
	f.Fuzz(func(t *testing.T, body []byte) {
		s := &server{t: t, app: a, base: a.Ready.BaseURL, key: a.Ready.APIKey, Ready: a.Ready}
		once.Do(func() { doc = document(t, s) })
		s.doc = doc
		h := http.Header{"Authorization": {"Bearer " + s.key}}
		for _, c := range []struct{ method, path string }{
			{"POST", "/programs/" + s.ProgramIDs["standard"] + "/cards"},
			{"PATCH", "/programs/" + s.ProgramIDs["private"]},
		} {
			got := s.fetch(c.method, s.base+c.path, body, h)
			s.conforms(c.method, s.base+c.path, got)
			switch {
			case got.status >= 500:
				t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
			case got.status < 300 && len(strings.Trim(string(body), " \t\r\n")) > 0:
				parseObject(t, string(body))
			case got.status == 400:
				if len(got.details()) == 0 {
					t.Errorf("no details: %s", got.body)
				}
			}
		}
	})
}
