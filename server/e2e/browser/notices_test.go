//go:build browser

package browser

import (
	"context"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/backgroundservice"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
)

// subscribed makes pages subscribe at a push service of a test: Chromium subscribes at a service of its maker
// alone. The argument is the subscription as JSON.
const subscribed = `(json) => {
	let subscription = null;
	PushManager.prototype.getSubscription = async () => subscription;
	PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
		if (!userVisibleOnly) throw new Error("a push may stay unseen");
		if ((await Notification.requestPermission()) !== "granted") throw new Error("not permitted");
		return subscription = {
			endpoint: JSON.parse(json).endpoint,
			options: { applicationServerKey },
			toJSON: () => ({ ...JSON.parse(json), notify: undefined }),
			unsubscribe: async () => !(subscription = null),
		};
	};
}`

// startWhole starts a whole Chromium for a test, since the shell without windows shows no notices, and
// returns its context.
func startWhole(t testing.TB, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	ctx, end, err := launch(append(options, chromedp.ExecPath("chromium"))...)
	t.Cleanup(end)
	if err != nil {
		t.Fatalf("start Chromium with notices: %v", err)
	}
	return ctx
}

// setNotifications permits or forbids the pages of a server to show notices.
func (b *tab) setNotifications(origin string, setting browser.PermissionSetting) {
	b.t.Helper()
	b.must(chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
		Permission:       &browser.PermissionDescriptor{Name: "notifications"},
		Setting:          setting,
		Origin:           origin,
		BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	}))
}

// deliver gives the service worker of a server a payload, as Chromium does after it has decrypted it.
func (b *tab) deliver(origin string, payload []byte) {
	b.t.Helper()
	b.must(call(b, serviceworker.Enable, cdp.Empty{}))
	var worker serviceworker.RegistrationID
	b.wait("the service worker", func() (bool, error) {
		b.seen.mu.Lock()
		defer b.seen.mu.Unlock()
		worker = b.seen.worker
		return worker != "", nil
	})
	b.must(call(b, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{
		Origin:         origin,
		RegistrationID: worker,
		Data:           string(payload),
	}))
}

// observeNotices makes the tab report the notices that Chromium shows. A page cannot wait for one: where it asks for its
// notices while Chromium shows one, Chromium may forget that one.
func (b *tab) observeNotices() {
	b.t.Helper()
	b.must(call(b, backgroundservice.StartObserving, backgroundservice.StartObservingParams{
		Service: backgroundservice.ServiceNameNotifications,
	}))
	b.must(call(b, backgroundservice.SetRecording, backgroundservice.SetRecordingParams{
		Service: backgroundservice.ServiceNameNotifications, ShouldRecord: true,
	}))
}

// awaitNotice waits until Chromium has shown a notice, and checks that it is the first one.
func (b *tab) awaitNotice(want string) {
	b.t.Helper()
	b.wait("the notice", func() (bool, error) {
		b.seen.mu.Lock()
		defer b.seen.mu.Unlock()
		if len(b.seen.notices) > 0 && b.seen.notices[0] != want {
			b.t.Fatalf("Chromium shows %q, want %q", b.seen.notices, want)
		}
		return len(b.seen.notices) > 0, nil
	})
}

// TestCardNotices has a holder ask for notices, stamps the card, and has Chromium show what arrives at the push service.
func TestCardNotices(t *testing.T) {
	t.Parallel()
	s := start(t)
	push := wallettest.NewPushService()
	t.Cleanup(push.Close)
	id, link := issue(s, nil)
	card := s.CardPage(link)
	phone := require.Must(push.Subscribe(s.Fetch("GET", card+"/push", nil, nil).Want(200).Str("public_key")))
	b := newTab(t, startWhole(t), chromedp.WithNewBrowserContext())
	b.setNotifications(s.Origin, browser.PermissionSettingGranted)
	script := require.Must(expressionOf(subscribed, []any{phone.JSON("all")}))
	b.onEachPage(script)
	p := openIn(b, card, View{Width: 360})
	p.Wait("Tell me when something changes")
	p.Press("Tell me when something changes")
	p.Press("Correct my data")
	p.Fill("What is wrong, and what is right?", "My name is Élise")
	addStamps(s, id, 2)
	p.Wait("2 of 10 stamps", "With every change") // the newer state leaves open what is open
	var typed string
	b.must(nil, b.eval(&typed, `() => document.getElementById("f-correction").value`))
	if typed != "My name is Élise" {
		t.Errorf("after a newer state of the page the field has %q", typed)
	}
	p.CheckNow()
	p.Press("With every change")
	p.Wait("This browser tells you about every change of the card.")
	p.CheckNow()
	s.Control("POST", "/settle", fields{})
	addStamps(s, id, 1)
	p.Wait("3 of 10 stamps", "This browser tells you about every change of the card.")
	payload := servertest.Await(t, phone.Notices, "the notice")
	t.Logf("%s", payload)
	b.observeNotices()
	b.deliver(s.Origin, payload)
	b.awaitNotice("Caffè Centrale: 3 of 10 stamps")
	var pages []string
	b.must(nil, b.eval(&pages, `async () => (await (await navigator.serviceWorker.ready).getNotifications()).map((n) => n.data)`))
	if want := []string{card[len(s.Origin):]}; !slices.Equal(pages, want) {
		t.Errorf("Chromium keeps notices that open %q, want %q", pages, want)
	}
	p.Press("End the notices")
	p.Wait("Tell me when something changes")
	addStamps(s, id, 1)
	s.Control("POST", "/settle", fields{})
	p.Wait("4 of 10 stamps")
	if len(phone.Notices) > 0 {
		t.Error("a notice arrived after the holder has ended them")
	}
	b.setNotifications(s.Origin, browser.PermissionSettingDenied)
	p.Press("With every change")
	p.Wait("This browser does not let the page show notices.")
	p.CheckNow()
}
