package dev_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestHistory checks that POST /dev/history makes a fixture one with a past and the same ready
// line, that a second call does so too, that what was made before is gone, and that a reset gives
// it the state of its start.
func TestHistory(t *testing.T) {
	r := start(t, func(c *app.Config) { c.Dev.Clock = app.NewClock(time.Date(2026, 5, 18, 15, 30, 0, 0, time.UTC)) })
	activity := func() int64 {
		return servertest.Decode[store.AnalyticsSummary](r.Get("/analytics/summary").Want(200)).Activity30d
	}
	first := r.Control("POST", "/reset", nil)
	for _, body := range []any{
		fields{"days": 0}, fields{"days": 367}, fields{"days": "90"}, fields{"days": 1.5}, fields{"shop_id": r.ShopID},
		[]int{90},
	} {
		callControl(r, "POST", "/history", body).Want(400)
	}
	if n := activity(); n != 0 {
		t.Errorf("after refusals there are %d rows", n)
	}
	r.Advance("26h")
	r.Control("POST", "/receiver", nil)
	for range 2 {
		if again := r.Control("POST", "/history", fields{"days": 9}); string(again.Body) != string(first.Body) {
			t.Errorf("the ready line is\n%s\nnot\n%s", again.Body, first.Body)
		}
		if n := activity(); n < 50 || n > 1000 {
			t.Errorf("9 days have %d rows", n)
		}
	}
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
	to := r.Fetch("POST", r.Origin+"/dev/history", []byte("as=owner"), h).Want(http.StatusTemporaryRedirect).Header.Get("Location")
	in := r.Fetch("POST", r.Origin+to, []byte("as=owner"), h).Want(http.StatusSeeOther)
	cookie, _, _ := strings.Cut(in.Header.Get("Set-Cookie"), ";")
	page := r.Fetch("GET", r.Origin+"/dashboard/statistics", nil, http.Header{"Cookie": {cookie}}).Want(http.StatusOK)
	if n := len(page.Body); n > 100_000 {
		t.Errorf("the page of statistics has %d bytes", n)
	}
	if n := activity(); n < 1000 {
		t.Errorf("the form of the start page made %d rows", n)
	}
	r.Control("POST", "/reset", nil)
	if n := activity(); n != 0 {
		t.Errorf("after the reset there are %d rows", n)
	}
}

// TestHistoryAtStart checks that a fixture can begin with a history, to which a reset returns, and
// that one with a seed, or a clock too early for a history, has none.
func TestHistoryAtStart(t *testing.T) {
	t.Parallel()
	r := serve(t, func(c *app.Config) { c.Dev.History = 5 })
	cards := countCards(r)
	fetchPage(r, "POST", r.Origin+"/dev/demo-card").Want(http.StatusSeeOther)
	r.Control("POST", "/reset", nil)
	if n := countCards(r); n != cards || n == 0 {
		t.Errorf("%d cards at the start, %d after a reset", cards, n)
	}

	f := require.Must(seed.Parse("small.json", []byte(`{"shops": [{"locations": [{"ref": "here"}]}]}`)))
	r = serve(t, func(c *app.Config) { c.Dev.Seed = f })
	callControl(r, "POST", "/history", nil).Want(422)
	if page := fetchPage(r, "GET", r.Origin+"/").Want(200); strings.Contains(string(page.Body), "/dev/history") {
		t.Error("the start page of a seed offers a history")
	}
	r = serve(t, func(c *app.Config) { c.Dev.Clock = app.NewClock(time.Date(1990, 3, 1, 0, 0, 0, 0, time.UTC)) })
	if got := callControl(r, "POST", "/history", nil).Want(400); !strings.Contains(string(got.Body), "1990") {
		t.Errorf("%s", got.Body)
	}
}
