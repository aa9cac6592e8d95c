package dev

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/store"
)

// TestDelayBeyondWriteTimeout checks that an answer is sent though a fault delays
// it beyond the server's time-out for writing.
func TestDelayBeyondWriteTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	for _, when := range []string{faultBefore, faultAfter} {
		f := NewFaults(context.Background(), &kernel.Kernel{}, testAPIs)
		if _, err := f.add(nil, httprouter.Params{}, faultBody{
			DelayMS: store.Given(3 * timeout.Milliseconds()), When: store.Given(when),
		}); err != nil {
			t.Fatal(err)
		}
		j := NewJournal(time.Now, openStore(t), testAPIs)
		srv := httptest.NewUnstartedServer(
			j.Wrap(f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "late") }))),
		)
		srv.Config.WriteTimeout = timeout
		srv.Start()
		resp, err := http.Get(srv.URL + "/api/public/v1/me")
		if err != nil {
			t.Fatal(when, err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "late" {
			t.Errorf("%s: %q, %v", when, b, err)
		}
		resp.Body.Close()
		srv.Close()
	}
}
