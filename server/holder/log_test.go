package holder_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// TestLog checks that a request with a server error is logged with its id, for browsers and programs, and
// without the link's token, and that the complaints of phones about passes are counted, also of a log that is
// cut, and that none is kept.
func TestLog(t *testing.T) {
	t.Parallel()
	log := &servertest.Log{}
	s := servertest.Start(t, servertest.Frozen, func(c *app.Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) })
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"logs":["of Ada","of Ada"]}`, 2},
		{`{"logs":["of Ada","of Ada","` + strings.Repeat("Ada", 2000) + `"]}`, 1},
	} {
		fetch(s, "POST", s.Origin+"/wallet/apple/v1/log", c.body).Want(200)
		if !log.Has(fmt.Sprintf("complaints=%d", c.want)) || log.Has("Ada") {
			t.Errorf("%.40s is logged as %s", c.body, log)
		}
	}
	link := s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", nil).Want(201).Str("install_url")
	token := link[strings.LastIndexByte(link, '/')+1:]
	if err := s.App.Store.Close(); err != nil { // every request fails from now on
		t.Fatal(err)
	}
	for _, r := range []*servertest.Reply{
		readPage(s, link),
		fetch(s, "GET", link, ""),
		fetch(s, "POST", link+"/install", `{"platform":"apple"}`, "Content-Type", "application/json"),
		fetch(s, "POST", link+"/install", "platform=apple", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html"),
	} {
		if r.Status != 500 || !log.Has("request_id="+r.Header.Get("X-Request-Id")) {
			t.Errorf("%s: %d, not logged: %s", r.What, r.Status, log)
		}
	}
	if log.Has(token) {
		t.Errorf("the link's token is logged: %s", log)
	}
}
