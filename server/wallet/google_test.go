package wallet_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
)

const issuer = "3388000000012345678"

// android is a phone with Google Wallet, and the shop whose card it has.
type android struct {
	*shop
	google *wallettest.Google
	log    *servertest.Log
	object string // id
	seen   int    // requests of Google that calls has returned
}

// startGoogle serves a shop that has set up Google Wallet.
func startGoogle(t *testing.T) *android {
	t.Helper()
	g := wallettest.NewGoogle()
	t.Cleanup(g.Close)
	var log servertest.Log
	s := start(t, func(c *app.Config) {
		c.GoogleWalletURL, c.GoogleKeysURL, c.Log = g.URL, g.URL+"/keys", slog.New(slog.NewTextHandler(&log, nil))
	})
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		_, err := tx.SetGoogleWallet(s.Row(store.KindShop, s.ShopID), store.GoogleWallet{Issuer: issuer, Account: g.Account(issuer)})
		return err
	})
	return &android{shop: s, google: g, log: &log}
}

// save opens the link of the card's page and adds the card to the phone.
func (a *android) save() {
	a.T.Helper()
	r := a.Fetch("GET", a.page+"/google", nil, nil).Want(303)
	id := require.Must(a.google.Save(r.Header.Get("Location")))
	a.object = id
}

// shows returns what the object has at a path of names.
func (a *android) shows(path ...string) string {
	a.T.Helper()
	var value any = a.google.Object(a.object)
	for _, name := range path {
		inner, _ := value.(map[string]any)
		value = inner[name]
	}
	s, _ := value.(string)
	return s
}

// calls returns the requests since the last call, without the paths' ids, and their statuses.
func (a *android) calls() string {
	var all []string
	for _, r := range a.google.Requests() {
		kind, rest, _ := strings.Cut(r.Path, "/")
		_, action, _ := strings.Cut(rest, "/")
		all = append(all, strings.TrimSpace(r.Method+" "+kind+" "+action)+" "+strconv.Itoa(r.Status))
	}
	n := a.seen
	a.seen = len(all)
	return strings.Join(all[n:], ", ")
}

// callback sends a callback, and returns the status of the answer.
func (a *android) callback(body []byte) int {
	return a.Fetch("POST", a.Origin+"/wallet/google/callback", body, http.Header{"Content-Type": {"application/json"}}).Status
}

// saved returns how many cards are on phones, as the callbacks say.
func (a *android) saved() (n int64) {
	err := a.App.Store.View(0, func(v *store.View) error {
		s, err := v.GoogleStatus(a.Row(store.KindShop, a.ShopID))
		n = s.Cards
		return err
	})
	require.NoError(a.T, err)
	return n
}

// expect checks the requests since the last call, what the object shows, and the notices that the phone has shown.
func (a *android) expect(when, calls, balance string, notices int) {
	a.T.Helper()
	if got := a.calls(); got != calls {
		a.T.Errorf("%s: the requests are %s, want %s", when, got, calls)
	}
	if got := a.shows("loyaltyPoints", "balance", "string"); got != balance {
		a.T.Errorf("%s: the phone shows %q, want %q", when, got, balance)
	}
	if got := len(a.google.Notices()); got != notices {
		a.T.Errorf("%s: %d notices were shown, want %d", when, got, notices)
	}
}

// TestGoogleObject follows a card on a phone from the link to its end. Google fails now and then.
func TestGoogleObject(t *testing.T) {
	a := startGoogle(t)
	const patch = "PATCH loyaltyObject 200"
	a.save()
	a.expect("added", "POST loyaltyClass 200, POST loyaltyObject 200", "0/5", 0)
	if a.shows("accountName") != "Ada" || a.shows("barcode", "value") == "" || a.saved() != 1 {
		t.Errorf("the object is %v, and %d cards are on phones", a.google.Object(a.object), a.saved())
	}
	a.save()
	a.settle()
	a.expect("added again", "", "0/5", 0)

	a.stamp(1)
	a.expect("a stamp", patch, "1/5", 0)
	a.stamp(2)
	a.expect("a prize", patch, "3/5", 1)
	a.Call("PATCH", "/programs/"+a.program, fields{"brand_color_hex": "#00AA55", "name": "Best coffee"}).Want(200)
	a.settle()
	a.expect("another program", "PATCH loyaltyClass 200, "+patch, "3/5", 1)
	if class := a.google.Class(a.shows("classId")); class["programName"] != "Best coffee" {
		t.Errorf("the class is %v", class)
	}

	servertest.Write(t, a.App.Store, func(tx *store.Tx) error {
		tested, err := tx.TestPush(a.Row(store.KindShop, a.ShopID), a.card)
		if want := (store.TestedPush{Google: 1}); tested != want {
			t.Errorf("a test goes to %+v, want %+v", tested, want)
		}
		return err
	})
	a.settle()
	a.expect("a test push", patch, "3/5", 1)

	err := a.App.Store.View(0, func(v *store.View) error {
		sent, err := v.SentPushes(a.Row(store.KindShop, a.ShopID))
		if len(sent) != 1 || sent[0].Target != store.TargetGoogle || sent[0].State != store.PushSent || sent[0].CardID != a.card {
			t.Errorf("the last pushes are %v", sent)
		}
		return err
	})
	require.NoError(t, err)

	// Google fails, then asks for a pause of a second. The stamp arrives after that.
	fail := []int{503, 429}
	a.google.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if len(fail) == 0 {
			return false
		}
		if fail[0] == 429 {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(fail[0])
		fail = fail[1:]
		return true
	}
	a.stamp(1)
	a.expect("refused", "PATCH loyaltyObject 503", "3/5", 1)
	a.Advance("1h")
	a.settle()
	a.expect("later", "PATCH loyaltyObject 429, "+patch, "4/5", 1)
	if r := a.google.Requests(); r[len(r)-1].At.Sub(r[len(r)-2].At) < 900*time.Millisecond {
		t.Error("Google was not left alone for a second")
	}
	if !a.log.Has("the answer is 503") || a.log.Has("the answer is 429") {
		t.Errorf("the log should have the 503 alone: %s", a.log)
	}

	// A callback counts once, and one that Google has not signed counts never.
	event := wallettest.GoogleEvent{ClassID: a.shows("classId"), ObjectID: a.object, Type: "del", Nonce: "once"}
	other := event
	other.ClassID = strings.Replace(event.ClassID, issuer, "1234567890", 1)
	other.ObjectID = strings.Replace(event.ObjectID, issuer, "1234567890", 1)
	for says, body := range map[string][]byte{
		"of another issuer": a.google.Sign(other),
		"changed":           bytes.Replace(a.google.Sign(event), []byte("once"), []byte("twice"), 1),
		"too long":          bytes.Repeat([]byte(" "), 70<<10),
	} {
		if status := a.callback(body); status != 401 && status != 400 || a.saved() != 1 {
			t.Errorf("a callback that is %s is answered with %d, and %d cards are on phones", says, status, a.saved())
		}
	}
	again := event
	again.Type, again.Nonce = "save", "again"
	for _, body := range [][]byte{a.google.Sign(again), a.google.Sign(again), a.google.Sign(event)} {
		if status := a.callback(body); status != 200 || a.saved() != 1 {
			t.Errorf("a callback is answered with %d, and %d cards are on phones", status, a.saved())
		}
	}
	event.Nonce = "twice"
	if status := a.callback(a.google.Sign(event)); status != 200 || a.saved() != 0 {
		t.Errorf("the last callback is answered with %d, and %d cards are on phones", status, a.saved())
	}

	// A reissue ends the object, and the new card has one of its own.
	first := a.object
	a.Call("POST", "/cards/"+a.card+"/reissue", fields{}).Want(200)
	a.Fetch("GET", a.page+"/google", nil, nil).Want(410)
	a.settle()
	a.ended("reissued", first)
	a.page = a.CardPage(a.Call("POST", "/cards/"+a.card+"/install-link", fields{}).Want(200).Str("install_url"))
	a.save()
	if a.object == first || a.shows("accountName") != "Ada" {
		t.Errorf("after a reissue the object is %v", a.google.Object(a.object))
	}

	// A week before the end of the card the phone says so once. At the end, time alone changes the object.
	a.calls()
	end := a.App.Store.Now().Std().AddDate(0, 0, 10)
	a.Call("PATCH", "/cards/"+a.card, fields{"expires_at": end.Format(time.RFC3339)}).Want(200)
	a.settle()
	a.expect("with an end", patch, "4/5", 1)
	for range 2 {
		a.Advance("80h")
		a.settle()
	}
	a.expect("a week before", patch+", POST loyaltyObject addMessage 200", "4/5", 2)
	if text := a.google.Notices()[1].Text; !strings.Contains(text, end.Format("2006")) || a.shows("state") != "ACTIVE" {
		t.Errorf("the phone says %q of a card that is %s", text, a.shows("state"))
	}
	a.Advance("100h")
	a.settle()
	a.expect("at the end", patch, "4/5", 2)
	if a.shows("state") != "EXPIRED" {
		t.Errorf("the card is %s", a.shows("state"))
	}

	// The account's end delays an erasure, and does not prevent it.
	shop := a.Row(store.KindShop, a.ShopID)
	servertest.Write(t, a.App.Store, func(tx *store.Tx) error {
		if _, err := tx.RemoveGoogleWallet(shop, store.RemoveFields{}); err == nil {
			t.Error("the account is removed while a card is on a phone, which nobody has agreed to")
		}
		_, err := tx.RemoveGoogleWallet(shop, store.RemoveFields{Yes: store.Opt[bool]{V: true, Set: true}})
		return cmp.Or(err, tx.EraseCard(shop, a.card))
	})
	a.settle()
	if a.shows("accountName") != "Ada" {
		t.Error("an account that was removed is used")
	}
	servertest.Write(t, a.App.Store, func(tx *store.Tx) error {
		_, err := tx.SetGoogleWallet(shop, store.GoogleWallet{Issuer: issuer, Account: a.google.Account(issuer)})
		return err
	})
	a.settle()
	a.ended("erased", a.object)
	a.Fetch("GET", a.page+"/google", nil, nil).Want(404)
}

// ended checks that an object shows nothing about its holder.
func (a *android) ended(when, id string) {
	a.T.Helper()
	object := a.google.Object(id)
	raw, _ := json.Marshal(object)
	if object["state"] != "INACTIVE" || bytes.Contains(raw, []byte("Ada")) || object["barcode"] != nil || object["linksModuleData"] != nil {
		a.T.Errorf("%s: the object is %s", when, raw)
	}
}

// TestGoogleHeld checks that a card that waits since Google has asked for a pause does not count as one that failed.
func TestGoogleHeld(t *testing.T) {
	a := startGoogle(t)
	a.save()
	a.settle()
	servertest.Write(t, a.App.Store, func(tx *store.Tx) error { return tx.HoldGoogleCalls(issuer, time.Now().Add(time.Hour)) })
	a.calls()
	a.stamp(1)
	a.expect("during the pause", "", "0/5", 0)
	err := a.App.Store.View(0, func(v *store.View) error {
		sent, err := v.SentPushes(a.Row(store.KindShop, a.ShopID))
		if len(sent) != 1 || sent[0].State != store.PushSent || !sent[0].NextAttemptAt.Valid {
			t.Errorf("the last pushes are %+v", sent)
		}
		return err
	})
	require.NoError(t, err)
}
