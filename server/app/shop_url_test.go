package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestShopLinks checks which links begin with the public URL of a shop and which with that of the server, and
// that a change holds at once, whoever makes it.
func TestShopLinks(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	program, location := s.ProgramIDs["standard"], s.LocationIDs[0]
	shop := s.Row(store.KindShop, s.ShopID)
	other := s.Control("POST", "/shops", servertest.Fields{"name": "Other"}).Want(201).Str("shop_id")
	calls := 0
	links := func(beginning string) {
		t.Helper()
		check := func(what, link, want string) {
			t.Helper()
			if !strings.HasPrefix(link, want+"/") {
				t.Errorf("%s: %q, want %s", what, link, want)
			}
		}
		calls++
		email := fmt.Sprintf("ada%d@example.com", calls)
		card := s.Post("/programs/"+program+"/cards", servertest.Fields{"holder_email": email, "send_email": true}).Want(201)
		check("issue", card.Str("install_url"), beginning)
		again := s.Post("/cards/"+card.Str("id")+"/install-link", servertest.Fields{}).Want(200).Str("install_url")
		check("new link", again, beginning)
		at := strings.Replace(again, beginning, s.Origin, 1)
		made := anyURL.On(t).Fetch("POST", at+"/install", []byte(`{"platform":"apple"}`), http.Header{"Content-Type": {"application/json"}})
		check("page of the card", made.Want(200).Str("card_url"), beginning)
		servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
			form := store.EnrolmentFields{Enabled: store.Given(true), Slug: store.Given("coffee"), MaxCards: store.Given[int64](9)}
			e, err := tx.UpdateEnrolment(shop, program, form)
			check("enrolment", e.URL.V, beginning)
			p, perr := tx.CreatePairing(shop, store.NewDevice{LocationID: location, Name: "Bar"})
			check("pairing", p.URL, beginning)
			_, ierr := tx.Invite(shop, email, store.RoleManager)
			return errors.Join(err, perr, ierr, tx.RequestCardLinks(store.LostFields{Email: store.Given(email)}, netip.Addr{}))
		})
		var mail struct{ Data []struct{ To, Text string } }
		s.Control("GET", "/emails", nil).Decode(&mail)
		all := ""
		for _, m := range mail.Data {
			if m.To == email {
				all += m.Text + "\n"
			}
		}
		for _, want := range []string{beginning + "/i/", beginning + "/c/", s.Origin + "/invite/"} {
			if !strings.Contains(all, want) {
				t.Errorf("no mail has %s: %s", want, all)
			}
		}
	}
	set := func(id string, to any) *servertest.Reply {
		return s.ControlAPI().Patch("/shops/"+id, servertest.Fields{"public_url": to})
	}
	links(s.Origin)
	if got := set(s.ShopID, "https://Pizza.Example/").Want(200).Str("public_url"); got != "https://pizza.example" {
		t.Errorf("the public URL is stored as %s", got)
	}
	links("https://pizza.example")
	set(other, "https://pizza.example:8443").Want(409, "conflict")
	set(other, "http://other.example").Invalid("public_url invalid_value")
	set(other, "https://localhost").Invalid("public_url invalid_value")
	set(s.ShopID, nil).Want(200)
	servertest.Write(t, s.Beside(), func(tx *store.Tx) error { // as a command does
		_, err := tx.UpdateShop(shop, store.ShopFields{PublicURL: store.Given("https://kiosk.example:8443")}, "")
		return err
	})
	links("https://kiosk.example:8443")
	set(s.ShopID, nil).Want(200)
	links(s.Origin)
}

// TestShopHosts checks that a server without https answers on the host of a shop as if it were its own, with
// cookies for https, on no other host, and no longer once the shop has another.
func TestShopHosts(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "test.db")
	made := servertest.Start(t, func(c *app.Config) { c.DB = db })
	session := made.Control("POST", "/sign-in", servertest.Fields{"as": "manager"}).Str("token")
	shop := made.Row(store.KindShop, made.ShopID)
	made.Stop()
	s := servertest.Start(t, func(c *app.Config) { c.Dev, c.DB, c.AllowHosts = nil, db, []string{"lan.example", "pizza.example"} })
	set := func(to store.Opt[string]) {
		servertest.Write(t, s.Beside(), func(tx *store.Tx) error {
			_, err := tx.UpdateShop(shop, store.ShopFields{PublicURL: to}, "")
			return err
		})
	}
	send := func(host, method, path, body string, headers ...string) *http.Response {
		t.Helper()
		r := require.Must(http.NewRequest(method, s.App.Origin+path, strings.NewReader(body)))
		r.Host = host
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer := require.Must(http.DefaultTransport.RoundTrip(r))
		answer.Body.Close()
		return answer
	}
	check := func(host string, wantPages int, cookiePrefix [2]string) {
		t.Helper()
		pair := func(origin string) string {
			var p store.CreatedPairing
			servertest.Write(t, s.Beside(), func(tx *store.Tx) (err error) {
				p, err = tx.CreatePairing(shop, store.NewDevice{LocationID: made.LocationIDs[0], Name: "Bar"})
				return err
			})
			answer := send(host, "POST", "/till/pair/"+p.Token, "", "Content-Type", "application/x-www-form-urlencoded", "Origin", origin)
			for _, c := range answer.Cookies() {
				return fmt.Sprint(answer.StatusCode, " ", c.Name, " ", c.Secure)
			}
			return fmt.Sprint(answer.StatusCode)
		}
		want := fmt.Sprint(303, " ", cookiePrefix[1], "punchcard-till ", cookiePrefix[1] != "")
		if wantPages != 200 {
			want = "403"
		}
		if got := pair("https://" + host); got != want {
			t.Errorf("pairing at %s: %s, want %s", host, got, want)
		}
		if got := pair("https://evil.example"); got != "403" {
			t.Errorf("pairing at %s by another origin: %s", host, got)
		}
		for _, prefix := range []string{"", "__Host-"} {
			want := wantPages
			if want == 200 && prefix != cookiePrefix[0] {
				want = 303 // to the sign-in
			}
			if got := send(host, "GET", "/dashboard", "", "Cookie", prefix+"punchcard="+session).StatusCode; got != want {
				t.Errorf("the dashboard at %s with the cookie %spunchcard: %d, want %d", host, prefix, got, want)
			}
		}
		for _, prefix := range []string{"", "__Secure-"} {
			want := 200
			if wantPages != 200 && prefix == "" { // the name that the server expects on other hosts
				want = 403
			} else if prefix != cookiePrefix[1] {
				want = 401
			}
			cookie := prefix + "punchcard-till=" + made.TillToken
			answer := send(host, "GET", "/till/v1/me", "", "Content-Type", "application/json", "Cookie", cookie)
			if answer.StatusCode != want {
				t.Errorf("the till API at %s with the cookie %spunchcard-till: %d, want %d", host, prefix, answer.StatusCode, want)
			}
		}
		if got := send(host, "GET", "/api/public/v1/me", "", "Authorization", "Bearer "+made.APIKey).StatusCode; got != 200 {
			t.Errorf("the REST API at %s: %d", host, got)
		}
	}
	plain, secure := [2]string{}, [2]string{"__Host-", "__Secure-"}
	own, _ := url.Parse(s.App.Origin)
	check("shop.example", 403, plain)
	set(store.Given("https://shop.example:8443"))
	check("shop.example:8443", 200, secure)
	check("Shop.Example.", 200, secure) // behind a proxy
	check("shop.example.evil.example", 403, plain)
	check("xshop.example", 403, plain)
	check(own.Host, 200, plain)
	set(store.Given("https://pizza.example"))
	check("shop.example:8443", 403, plain)
	check("pizza.example", 200, secure) // although --allow-host names it too
	set(store.Opt[string]{Set: true, Null: true})
	if got := send("pizza.example", "GET", "/dashboard", "", "Cookie", "__Host-punchcard="+session).StatusCode; got != 303 {
		t.Errorf("the dashboard at a host that the shop no longer has: %d", got)
	}
}
