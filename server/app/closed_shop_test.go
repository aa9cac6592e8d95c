package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestClosedShop checks what each face answers about a shop that is being moved, that has moved, and
// that was deleted by another process. The clients of the APIs compare the answers with the documents.
func TestClosedShop(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	link := s.Post("/cards/"+card+"/install-link", servertest.Fields{}).Str("install_url")
	shop := s.Row(store.KindShop, s.ShopID)
	write := func(do func(*store.Tx) error) { servertest.Write(t, s.Beside(), do) }
	write(func(tx *store.Tx) error {
		form := store.EnrolmentFields{Enabled: store.Given(true), Slug: store.Given("coffee"), MaxCards: store.Given[int64](9)}
		_, err := tx.UpdateEnrolment(shop, s.ProgramIDs["standard"], form)
		return err
	})
	var invitation, pairing string
	write(func(tx *store.Tx) error {
		l, err := tx.Invite(shop, "new@example.com", store.RoleViewer)
		if err != nil {
			return err
		}
		p, err := tx.CreatePairing(shop, store.NewDevice{Name: "Till 2", LocationID: s.LocationIDs[0]})
		invitation, pairing = s.Origin+l.URL, s.Origin+"/till/pair/"+p.Token
		return err
	})
	session := s.Control("POST", "/sign-in", servertest.Fields{"as": "manager"})
	call := func(method, url, body string, headers ...string) *servertest.Reply {
		h := http.Header{"Accept": {"text/html, application/json, text/event-stream"}, "Content-Type": {"application/json"}}
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return anyURL.On(t).Fetch(method, url, []byte(body), h)
	}
	judge := func(r *servertest.Reply) string {
		got := fmt.Sprint(r.Status)
		if to := r.Header.Get("Location"); to != "" {
			got += " " + strings.TrimPrefix(to, s.Origin)
		}
		if r.Status == 410 && !strings.Contains(string(r.Body), "https://new.example.com") && !strings.Contains(r.What, "/invite/") {
			t.Errorf("%s: %s", r.What, r.Body)
		}
		if got := r.Header.Get("Retry-After"); (r.Status == 503) != (got == "10") {
			t.Errorf("%s: %d with Retry-After %q", r.What, r.Status, got)
		}
		if r.Status == 307 && r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached", r.What)
		}
		return got
	}
	calls := []struct{ what, open, moving, moved, deleted string }{
		{"rest read", "200", "200", "410", "401"},
		{"rest write", "201", "503", "410", "401"},
		{"till read", "200", "200", "410", "401"},
		{"till write", "201", "503", "410", "401"},
		{"mcp", "200", "200", "410", "401"},
		{"link", "200", "200", "307", "404"},
		{"form", "200", "200", "307", "404"},
		{"lost", "200", "200", "307", "404"},
		{"invitation", "200", "200", "307", "410"},
		{"pairing", "200", "200", "307", "200"},
		{"dashboard", "200", "200", "307", "200"}, // the page of a person without a shop
	}
	request := func(what string) *servertest.Reply {
		switch what {
		case "rest read":
			return s.Get("/cards")
		case "rest write":
			return s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", "{}")
		case "till read":
			return s.Till(s.TillToken).Get("/me")
		case "till write":
			return s.Till(s.TillToken).Post("/programs/"+s.ProgramIDs["standard"]+"/cards", "{}")
		case "mcp":
			return call("POST", s.Origin+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization", "Bearer "+s.MCPKey)
		case "link":
			return call("GET", link, "")
		case "invitation":
			return call("GET", invitation, "")
		case "pairing":
			return call("GET", pairing, "")
		case "form":
			return call("GET", s.Origin+"/join/coffee", "")
		case "lost":
			return call("GET", s.Origin+"/lost?shop="+s.ShopID, "")
		}
		return call("GET", s.Origin+"/dashboard", "", "Cookie", session.Str("cookie")+"="+session.Str("token"))
	}
	answer := func(what string) string { return judge(request(what)) }
	check := func(state string, want func(i int) string) {
		t.Helper()
		for i, c := range calls {
			got := answer(c.what)
			status, to, _ := strings.Cut(got, " ")
			if status != want(i) || status == "307" && !strings.HasPrefix(to, "https://new.example.com/") {
				t.Errorf("%s, %s: %s, want %s", state, c.what, got, want(i))
			}
		}
	}
	check("open", func(i int) string { return calls[i].open })
	var began store.Time
	write(func(tx *store.Tx) error {
		m, err := tx.BeginMove(shop, "https://new.example.com")
		began = m.Began
		return err
	})
	check("moving", func(i int) string { return calls[i].moving })
	write(func(tx *store.Tx) error {
		_, err := tx.FinishMove(shop, began)
		return err
	})
	check("moved", func(i int) string { return calls[i].moved })
	if got := judge(call("POST", pairing, "")); got != "307 https://new.example.com"+strings.TrimPrefix(pairing, s.Origin) {
		t.Errorf("the form of a pairing: %s", got)
	}
	// While the host of the shop still leads to the old server, no browser is led in circles.
	movedTo := func(url string) {
		s.SQL("UPDATE shops SET moved_to=? WHERE id=?", url, shop)
		s.SQL("UPDATE meta SET auth_epoch=auth_epoch+1")
	}
	movedTo("https://" + strings.TrimPrefix(s.Origin, "http://"))
	for _, what := range []string{"link", "dashboard"} {
		if got := answer(what); got != "503" {
			t.Errorf("moved with its host, %s: %s", what, got)
		}
	}
	movedTo("https://new.example.com")
	write(func(tx *store.Tx) error {
		_, err := tx.DeleteShop(shop, s.Value("SELECT name FROM shops WHERE id=?", shop))
		return err
	})
	check("deleted", func(i int) string { return calls[i].deleted })
}
