package store

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"testing"
	"time"
)

// pushFields returns the subscription of a browser.
func pushFields(endpoint, notify string) PushFields {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return PushFields{
		Endpoint: set(endpoint),
		Keys:     set(map[string]string{"p256dh": encode(key.PublicKey().Bytes()), "auth": encode(make([]byte, 16))}),
		Notify:   set(notify),
	}
}

// subscribe has a browser show notices about the card of a page.
func (f *fixture) subscribePage(token string, fields PushFields) error {
	return f.do(func(tx *Tx) error {
		tx.CheckedTarget = fields.Endpoint.V
		return tx.Subscribe(token, "en", fields)
	})
}

// subscribeTo has a browser with an endpoint show notices about all changes.
func (f *fixture) subscribeTo(token, endpoint string) {
	f.t.Helper()
	succeed(f.subscribePage(token, pushFields(endpoint, NotifyAll)))
}

// pushes returns the queue.
func (f *fixture) pushes() (list []Push) {
	f.reads(func(v *View) { list = check(v.Pushes(100)) })
	return list
}

type targets = map[int64]TargetOutcome

// TestPushQueue checks that the changes of a card with subscriptions are queued as one, that one that is made
// while an attempt is in flight stays, and that failures are tried again pushAttempts times.
func TestPushQueue(t *testing.T) {
	f := startTill(t)
	program, _ := f.ladder(true, 10)
	card := f.issue(program, CardFields{}).ID
	stamp := func() {
		t.Helper()
		if _, err := f.stamp(card, 1); err != nil {
			t.Fatal(err)
		}
	}
	root := f.key(KindCard, card)
	stamp()
	if list := f.pushes(); len(list) > 0 {
		t.Fatalf("a card without a subscription is queued: %v", list)
	}
	f.subscribeTo(f.pageToken(root, 0), "https://push.invalid/1")
	record := func(o targets) {
		t.Helper()
		f.must(func(tx *Tx) error { return tx.RecordPush(PushOutcome{f.pushes()[0], o}) })
	}
	told := targets{1: {Told: Some("{}")}}
	record(nil)
	if len(f.pushes()) != 1 {
		t.Error("nobody has noted what the card shows, and it left the queue")
	}
	record(told)
	if list := f.pushes(); len(list) > 0 {
		t.Fatalf("after the first look at the card: %v", list)
	}
	stamp()
	stamp()
	list := f.pushes()
	if len(list) != 1 || list[0].Root != root || list[0].Copy != CopyBrowser {
		t.Fatalf("after two stamps the queue is %v", list)
	}
	stamp()
	f.must(func(tx *Tx) error { return tx.RecordPush(PushOutcome{list[0], told}) })
	if n := len(f.pushes()); n != 1 {
		t.Fatalf("a change during the attempt: %d are queued, want 1", n)
	}
	record(told)
	stamp()
	// list[0] was read before other attempts have emptied the queue, and counts more changes than there are since.
	f.must(func(tx *Tx) error { return tx.RecordPush(PushOutcome{list[0], told}) })
	if n := len(f.pushes()); n != 1 {
		t.Fatalf("a change after another attempt: %d are queued, want 1", n)
	}
	due := f.pushes()[0].Due
	retry := targets{1: {Wait: time.Minute}}
	record(retry)
	if again := f.pushes()[0]; again.Due < due.Add(time.Minute) {
		t.Errorf("after a failure: %+v", again)
	}
	stamp()
	if again := f.pushes()[0]; again.Due >= due.Add(time.Minute) {
		t.Errorf("a change waits for the attempt at another browser: %+v", again)
	}
	record(nil)
	if again := f.pushes()[0]; again.Due < due.Add(time.Minute) {
		t.Errorf("after a change the next attempt at the browser that failed: %+v", again)
	}
	for range pushAttempts - 1 {
		record(retry)
	}
	if again := f.pushes(); len(again) > 0 {
		t.Errorf("after the last attempt: %+v", again)
	}
	f.checkFile()
}

// TestSubscriptionsEnd checks what ends subscriptions, and that nothing stays of them.
func TestSubscriptionsEnd(t *testing.T) {
	f := start(t)
	f.location()
	program := ""
	for name, end := range map[string]func(id string){
		"reissue": func(id string) { f.reissue(id, ReissueFields{}) },
		"archive": func(id string) { f.archive(id) },
		"erase":   f.erase,
		"merge":   func(id string) { check(till{fixture: f}.merge(f.cardOf(program, "Ada"), id)) },
		"unsubscribe": func(id string) {
			token := f.pageToken(f.key(KindCard, id), 0)
			f.must(func(tx *Tx) error { return tx.Unsubscribe(token, PushEnd{set("https://push.invalid/1")}) })
		},
		"gone": func(string) {
			gone := f.number("SELECT max(id) FROM push_subscriptions")
			f.must(func(tx *Tx) error {
				return tx.RecordPush(PushOutcome{Push: f.pushes()[0], Targets: targets{gone: {Gone: true}}})
			})
		},
		"delete the program": func(string) { f.deleteProgram(program) },
	} {
		program = f.program(stamps(name))
		card := f.cardOf(program, "Ada")
		f.subscribeTo(f.pageToken(f.key(KindCard, card), 0), "https://push.invalid/1")
		end(card)
		f.selects(0, "SELECT (SELECT count(*) FROM push_subscriptions)+(SELECT count(*) FROM cards WHERE copies<>0)")
		if list := f.pushes(); len(list) > 0 {
			t.Errorf("%s: %v is still to be sent", name, list)
		}
	}
}

// TestSubscriptions checks who may subscribe, how many there are, and that a browser which subscribes again has its
// new keys.
func TestSubscriptions(t *testing.T) {
	f := start(t)
	card := f.card(f.program(stamps("Coffee")))
	token := f.pageToken(f.key(KindCard, card), 0)
	for i := range maxSubscriptions + 2 {
		f.subscribeTo(token, fmt.Sprintf("https://push.invalid/%d", i))
	}
	f.selects(maxSubscriptions, "SELECT count(*) FROM push_subscriptions")
	f.selects(0, "SELECT count(*) FROM push_subscriptions WHERE endpoint IN ('https://push.invalid/0', 'https://push.invalid/1')")
	fields := pushFields("https://push.invalid/5", NotifyPrizes)
	succeed(f.subscribePage(token, fields))
	f.selects(1, "SELECT count(*) FROM push_subscriptions WHERE notify='prizes' AND public_key=?", fields.key("p256dh"))
	refused(t, f.subscribePage(f.pageToken(1<<20, 0), fields), NotFound)
	refused(t, f.subscribePage(f.pageToken(f.key(KindCard, card), 1), fields), Gone)
	for _, keys := range []map[string]string{nil, {"p256dh": "x", "auth": "AAAA"}, {"p256dh": fields.Keys.V["auth"]}} {
		bad := fields
		bad.Keys = set(keys)
		refused(t, f.subscribePage(token, bad), ValidationFailed)
	}
	unchecked := f.do(func(tx *Tx) error { return tx.Subscribe(token, "en", fields) })
	if _, refused := AsError(unchecked); unchecked == nil || refused {
		t.Errorf("an endpoint whose addresses nobody has checked: %v", unchecked)
	}
	f.archive(card)
	refused(t, f.subscribePage(token, fields), Gone)
}

// TestPushKey checks that the key of a file depends on its secret alone.
func TestPushKey(t *testing.T) {
	t.Parallel()
	key := func(secret string) *ecdsa.PrivateKey {
		ids := check(newIDs([]byte(secret)))
		return ids.PushKey()
	}
	if first := key("the first secret"); !first.Equal(key("the first secret")) || first.Equal(key("the other secret")) {
		t.Error("the keys of two secrets are equal, or those of one differ")
	}
}
