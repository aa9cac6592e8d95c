package dev

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/store"
)

// TestReceiversAreBounded checks that a receiver keeps the newest thousand requests, that the requests of all
// receivers together take at most 64 MiB, and that the oldest are dropped first, whichever receiver got them.
func TestReceiversAreBounded(t *testing.T) {
	t.Parallel()
	rs := NewReceivers(context.Background(), &kernel.Kernel{}, time.Now, "http://127.0.0.1:1")
	add := func() string {
		t.Helper()
		shown, err := rs.create(nil, httprouter.Params{}, receiverBodyFields{})
		if err != nil {
			t.Fatal(err)
		}
		return shown.ID
	}
	first, second, third := add(), add(), add()
	big := strings.Repeat("x", receiverBody)
	for i := range 1003 {
		rs.record(first, map[string]string{}, fmt.Sprint(i))
	}
	if got := rs.byID[first].requests; len(got) != 1000 || got[0].Body != "3" || got[999].Body != "1002" {
		t.Errorf("%d from %s", len(got), got[0].Body)
	}
	for range 300 {
		rs.record(second, map[string]string{"X-A": "b"}, big)
	}
	rs.record(third, map[string]string{}, big+"y")
	kept := 0
	for _, id := range []string{first, second, third} {
		for _, one := range rs.byID[id].requests {
			kept += one.size
		}
	}
	if n := len(rs.byID[second].requests); kept != rs.size || rs.size > receiversBytes || rs.size < receiversBytes*9/10 ||
		len(rs.byID[first].requests) != 0 ||
		len(rs.byID[third].requests) != 1 ||
		n < 250 {
		t.Errorf("%d bytes are kept and %d counted, %d requests", kept, rs.size, n)
	}
	rs.clear(nil, httprouter.Params{{Key: "id", Value: second}}, struct{}{})
	if want := rs.byID[third].requests[0].size; rs.size != want {
		t.Errorf("%d bytes are counted, want %d", rs.size, want)
	}
}

// TestWaitEndsWithTheFixture checks that a waiting request gets what is there when the fixture ends.
func TestWaitEndsWithTheFixture(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(context.Background())
	rs := NewReceivers(ctx, &kernel.Kernel{}, time.Now, "http://127.0.0.1:1")
	shown, _ := rs.create(nil, httprouter.Params{}, receiverBodyFields{})
	rs.record(shown.ID, map[string]string{}, "{}")
	time.AfterFunc(10*time.Millisecond, end)
	before := time.Now()
	var d receiverDetail
	var err error
	show := func(_ http.ResponseWriter, r *http.Request, p httprouter.Params) {
		d, err = rs.show(r, p, receiverQuery{Wait: store.Given[int64](2), TimeoutMS: store.Given[int64](60000)})
	}
	wait := (&Control{Context: ctx}).lasting(show)
	wait(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), httprouter.Params{{Key: "id", Value: shown.ID}})
	if err != nil || len(d.Requests) != 1 || time.Since(before) > 30*time.Second {
		t.Errorf("%d requests after %s, %v", len(d.Requests), time.Since(before), err)
	}
}
