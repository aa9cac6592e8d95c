package wallet_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
)

const passType = wallettest.DemoPassType

// phone is an iPhone that has the pass of a card.
type phone struct {
	*shop
	reader       wallettest.PassReader
	pass         *wallettest.Pass
	lastModified string
	lastUpdated  string // of the last list
}

// startApple serves a shop that has set up Apple Wallet, and the service that wakes phones.
func startApple(t testing.TB) (*phone, *wallettest.APNs) {
	t.Helper()
	apns := wallettest.NewAPNs()
	t.Cleanup(apns.Close)
	s := start(t, func(c *app.Config) { c.ApplePushURL, c.AppleRoots = apns.URL, apns.Roots })
	p := &phone{shop: s, reader: wallettest.Demo().Reader()}
	p.take(s.Fetch("GET", s.page+"/card.pkpass", nil, nil))
	return p, apns
}

// take reads the pass in an answer, and returns what the phone tells its owner.
func (p *phone) take(r *servertest.Reply) (notices []string) {
	p.T.Helper()
	pass, err := p.reader.Read(r.Want(200).Body)
	if err != nil {
		p.T.Fatalf("the phone refuses the pass: %v", err)
	}
	if p.pass != nil {
		notices = pass.Notices(p.pass, "en")
	}
	p.pass, p.lastModified = pass, r.Header.Get("Last-Modified")
	return notices
}

// call makes a request of the web service that the pass names.
func (p *phone) call(method, path, body string, headers ...string) *servertest.Reply {
	p.T.Helper()
	h := http.Header{"Authorization": {"ApplePass " + p.pass.Token}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return p.Fetch(method, p.pass.WebServiceURL+"/v1"+path, []byte(body), h)
}

// registration returns the path of a device's registration for the pass.
func (p *phone) registration(device string) string {
	return "/devices/" + device + "/registrations/" + passType + "/" + p.pass.Serial
}

// changed lists the passes of a device that have changed since the last list.
func (p *phone) changed(device string) []string {
	p.T.Helper()
	r := p.call("GET", "/devices/"+device+"/registrations/"+passType+"?passesUpdatedSince="+p.lastUpdated, "")
	if r.Status == http.StatusNoContent {
		return nil
	}
	var list struct {
		LastUpdated   string
		SerialNumbers []string
	}
	r.Want(200).Decode(&list)
	p.lastUpdated = list.LastUpdated
	return list.SerialNumbers
}

// fetch reads the pass again.
func (p *phone) fetch() *servertest.Reply {
	p.T.Helper()
	return p.call("GET", "/passes/"+passType+"/"+p.pass.Serial, "", "If-Modified-Since", p.lastModified)
}

// field returns a field of the pass.
func (p *phone) field(key string) string {
	for _, f := range p.pass.Fields("en") {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// woken waits for two pushes, and returns which phones they woke.
func woken(t testing.TB, apns *wallettest.APNs) []string {
	t.Helper()
	tokens := []string{servertest.Await(t, apns.Woken, "a push"), servertest.Await(t, apns.Woken, "a push")}
	slices.Sort(tokens)
	return tokens
}

// TestApplePass has a phone add a card, learn of its stamps and of its end, and forget it.
func TestApplePass(t *testing.T) {
	p, apns := startApple(t)
	if p.pass.Style != "storeCard" || p.field("count") != "0/5" || p.field("holder") != "Ada" || p.pass.Voided {
		t.Errorf("the pass has %v", p.pass.Fields("en"))
	}
	p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`, "Authorization", "ApplePass x").Want(401)
	p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`, "Authorization", p.pass.Token).Want(401)
	p.call("POST", p.registration("phone"), `{"pushToken":"../x"}`).Want(400)
	p.call("POST", p.registration("phone"), `{`).Want(400)
	p.call("POST", strings.Replace(p.registration("phone"), passType, "pass.other", 1), `{"pushToken":"aa11"}`).Want(401)
	p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`).Want(201)
	p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`).Want(200)
	p.call("POST", p.registration("tablet"), `{"pushToken":"bb22"}`).Want(201)
	p.settle()
	if len(apns.Woken) > 0 || p.fetch().Status != http.StatusNotModified {
		t.Error("a pass that has not changed wakes phones, or is sent again")
	}
	p.lastUpdated = "0"
	p.changed("phone")
	if p.changed("stranger") != nil || p.changed("phone") != nil {
		t.Error("passes without a change are listed")
	}

	apns.Fail(wallettest.APNsFailure{Status: 503}, wallettest.APNsFailure{Status: 429})
	p.stamp(3)
	p.Advance("2h")
	p.settle()
	both := []string{"aa11", "bb22"}
	if got := woken(t, apns); len(apns.Woken) > 0 || !slices.Equal(got, both) {
		t.Errorf("the phones that were woken are %q", got)
	}
	if got := p.changed("phone"); !slices.Equal(got, []string{p.pass.Serial}) {
		t.Errorf("the passes that have changed are %q", got)
	}
	notices := p.take(p.fetch())
	if p.field("count") != "3/5" || !slices.Equal(notices, []string{"Espresso is ready."}) {
		t.Errorf("the phone says %q of the pass %v", notices, p.pass.Fields("en"))
	}
	if p.fetch().Status != http.StatusNotModified || p.changed("phone") != nil {
		t.Error("the pass is sent or listed once more")
	}
	p.stamp(1)
	if notices = p.take(p.fetch()); !slices.Equal(notices, []string{"You have 4/5 stamps."}) {
		t.Errorf("the phone says %q of a stamp", notices)
	}
	woken(t, apns)

	p.Call("PATCH", "/programs/"+p.program, fields{"brand_color_hex": "#00AA55"}).Want(200)
	p.settle()
	if got := woken(t, apns); !slices.Equal(got, both) {
		t.Errorf("a change of the program wakes %q", got)
	}
	if notices = p.take(p.fetch()); notices != nil {
		t.Errorf("the phone says %q of a colour", notices)
	}

	apns.Fail(wallettest.APNsFailure{Status: 410, Reason: "Unregistered", Since: time.Now().AddDate(10, 0, 0).UnixMilli()})
	p.stamp(1)
	again := p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`).Status
	again += p.call("POST", p.registration("tablet"), `{"pushToken":"bb22"}`).Status
	if again != http.StatusOK+http.StatusCreated {
		t.Error("of two phones, of which one has ended, not one was registered again")
	}
	p.take(p.fetch())
	p.changed("phone")

	p.Call("POST", "/cards/"+p.card+"/reissue", fields{}).Want(200)
	p.settle()
	if got := p.changed("phone"); !slices.Equal(got, []string{p.pass.Serial}) {
		t.Errorf("after a reissue the passes that have changed are %q", got)
	}
	r := p.fetch()
	p.take(r)
	if !p.pass.Voided || p.field("holder") != "" || bytes.Contains(r.Body, []byte("Ada")) {
		t.Errorf("the pass that has ended has %v", p.pass.Fields("en"))
	}
	if p.fetch().Status != http.StatusNotModified || p.changed("phone") != nil {
		t.Error("the phone that has read the end is still known")
	}
	p.call("DELETE", p.registration("tablet"), "").Want(200)
	p.call("DELETE", p.registration("tablet"), "").Want(200)
	p.end(apns)
	p.call("POST", "/log", `{"logs":["Ada's pass is broken"]}`).Want(200)

	p.beginMove()
	p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`).Want(503)
}

// TestPrizeNotices checks that a phone says that a prize is ready when stamps have made it so, also if a newer card has begun, and
// neither when stamps are taken back nor when the prize is redeemed.
func TestPrizeNotices(t *testing.T) {
	p, _ := startApple(t)
	card := p.Call("POST", "/programs/"+p.ProgramIDs["standard"]+"/cards", fields{}).Want(201)
	p.card, p.page, p.pass = card.Str("id"), p.CardPage(card.Str("install_url")), nil
	p.take(p.Fetch("GET", p.page+"/card.pkpass", nil, nil))
	till := p.Till(p.TillToken)
	const ten = "Free coffee / Slice of cake is ready."
	last := ""
	check := func(what string, want ...string) {
		t.Helper()
		if got := p.take(p.fetch()); !slices.Equal(got, want) {
			t.Errorf("of %s the phone says %q, want %q", what, got, want)
		}
	}
	stamp := func(n int, want ...string) {
		t.Helper()
		r := till.Call("POST", "/cards/"+p.card+"/stamps", fields{"count": n}).Want(201)
		last = r.Str("transaction.id")
		check("stamps", want...)
	}
	stamp(6, "Croissant is ready.")
	stamp(4, ten)
	till.Call("POST", "/transactions/"+last+"/reversal", fields{}).Want(201)
	check("a reversal", "You have 6/10 stamps.")
	stamp(3, "You have 9/10 stamps.")
	stamp(3, "You have 2/10 stamps.", ten)
	stamp(1, "You have 3/10 stamps.")
	coffee := p.Call("GET", "/programs/"+p.ProgramIDs["standard"]+"/prizes", nil).Want(200).Str("data.1.id")
	till.Call("POST", "/cards/"+p.card+"/redemptions", fields{"prize_id": coffee}).Want(201)
	check("a redemption")
}

// end checks what the page and a phone with the pass of another card get while the certificate has ended, and that the phone is woken
// once there is a new one.
func (p *phone) end(apns *wallettest.APNs) {
	p.T.Helper()
	card := p.Call("POST", "/programs/"+p.program+"/cards", fields{}).Want(201)
	p.card, p.page, p.pass, p.lastUpdated = card.Str("id"), p.CardPage(card.Str("install_url")), nil, "0"
	const button = "Add to Apple Wallet"
	if page := p.Fetch("GET", p.page+"?lang=en", nil, nil).Want(200); !bytes.Contains(page.Body, []byte(button)) {
		p.T.Error("the page has no button")
	}
	p.take(p.Fetch("GET", p.page+"/card.pkpass", nil, nil))
	p.call("POST", p.registration("watch"), `{"pushToken":"cc33"}`).Want(201)
	for len(apns.Woken) > 0 {
		<-apns.Woken
	}
	p.SQL("UPDATE apple_wallets SET not_after=not_after-100*365*86400000")
	if page := p.Fetch("GET", p.page+"?lang=en", nil, nil).Want(200); bytes.Contains(page.Body, []byte(button)) {
		p.T.Error("the page has a button though the certificate has ended")
	}
	r := p.Fetch("GET", p.page+"/card.pkpass?lang=en", nil, http.Header{"Accept": {"text/html"}}).Want(503)
	if !bytes.Contains(r.Body, []byte("cannot add cards to Apple Wallet at present")) || r.Header.Get("Retry-After") == "" {
		p.T.Errorf("the download says %s", r.Body)
	}
	p.stamp(1)
	p.Advance("3d")
	if p.changed("watch") != nil || p.fetch().Want(503).Header.Get("Retry-After") != "3600" || len(apns.Woken) > 0 {
		p.T.Error("a phone is woken, or told of a pass that it cannot read")
	}
	p.call("POST", p.registration("phone"), `{"pushToken":"dd44"}`).Want(201)
	p.SQL("UPDATE apple_wallets SET not_after=not_after+100*365*86400000")
	p.Advance("2h")
	if got := woken(p.T, apns); !slices.Contains(got, "cc33") {
		p.T.Errorf("after a renewal %q were woken", got)
	}
	if got := p.changed("watch"); !slices.Equal(got, []string{p.pass.Serial}) {
		p.T.Errorf("after a renewal %q have changed", got)
	}
	p.take(p.fetch())
}

// beginMove begins to move the shop to another server.
func (s *shop) beginMove() {
	s.T.Helper()
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
		_, err := tx.BeginMove(s.Row(store.KindShop, s.ShopID), "https://new.example.com")
		return err
	})
}
