//go:build browser

package browser

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
	"punchcard/webhook"
)

// walletPhones are an iPhone, an Android phone and a browser's push service, with the stand-ins of Apple and Google that
// reach them.
type walletPhones struct {
	authority *wallettest.Authority
	google    *wallettest.Google
	push      *wallettest.PushService
	apple     *wallettest.Phone
	android   *wallettest.GooglePhone
	address   string // of the server, to which all their requests go
}

// shopURL is the public URL of the server, since wallets are not set up for one of this machine alone.
const shopURL = "https://cards.example.com"

// startWalletPhones starts the stand-ins, and returns with them the options of a server that uses them.
func startWalletPhones(t *testing.T) (w *walletPhones, options func(*app.Config)) {
	t.Helper()
	dir := t.TempDir()
	roots := servertest.WriteCertificate(t, dir, "127.0.0.1")
	w = &walletPhones{authority: require.Must(wallettest.NewAuthority()), google: wallettest.NewGoogle(), push: wallettest.NewPushService()}
	client := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, w.address)
		},
	}}
	t.Cleanup(client.CloseIdleConnections)
	apns := wallettest.NewAPNs()
	t.Cleanup(func() { apns.Close(); w.google.Close(); w.push.Close() })
	w.google.Client = client
	w.apple = &wallettest.Phone{Device: "iphone", PushToken: strings.Repeat("a1", 32), Client: client}
	w.apple.Reader.Roots = x509.NewCertPool()
	w.apple.Reader.Roots.AddCert(w.authority.Root)
	w.android = &wallettest.GooglePhone{Google: w.google, Client: client}
	apns.Wake = func(token string) bool {
		if err := w.apple.Wake(context.Background()); err != nil {
			t.Errorf("the woken phone: %v", err)
		}
		return token == w.apple.PushToken
	}
	return w, func(c *app.Config) {
		c.TLSCert, c.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		c.PublicURL = shopURL
		c.Guard = &webhook.Guard{Loopback: true}
		c.PassIssuer, c.ApplePushURL, c.AppleRoots = w.authority.Certificate, apns.URL, apns.Roots
		c.GoogleWalletURL, c.GoogleKeysURL = w.google.URL, w.google.URL+"/keys"
	}
}

// awaitField waits until the only pass of a phone has a field with a value.
func awaitField(t *testing.T, state func() wallettest.PhoneState, key, want string) {
	t.Helper()
	limit := time.After(servertest.Patience)
	for {
		s := state()
		if s.Problem != "" {
			t.Fatalf("the phone complains: %s", s.Problem)
		}
		for _, f := range s.Passes[0].Fields("en") {
			if f.Key == key && f.Value == want {
				return
			}
		}
		select {
		case <-s.Changed:
		case <-limit:
			t.Fatalf("the pass has not %s %q: %+v", key, want, s.Passes[0].Fields("en"))
		}
	}
}

// setUpWallets sets up Apple Wallet and Google Wallet with what the stand-ins of Apple and Google make.
func (p *Page) setUpWallets(t *testing.T, w *walletPhones) {
	const issuer = "3388000000012345678"
	t.Helper()
	p.goTo("Wallet")
	p.Press("Make the request")
	_, request := p.Download("Download the request")
	until := time.Now().AddDate(1, 0, 0)
	certificate := require.Must(w.authority.Issue(request, wallettest.Order{From: until.AddDate(-1, -1, 0), Until: until}))
	p.ChooseFile("Certificate", writeFile(t, "pass.cer", certificate))
	p.In("The .cer file that Apple has made.").Press("Check and save")
	p.Wait("Apple Wallet is set up.")
	p.ChooseFile("Key of the service account", writeFile(t, "account.json", w.google.Account(issuer)))
	p.Fill("Number of the issuer", issuer)
	p.Check("Google has granted publishing access")
	p.In("Google has granted publishing access").Press("Check and save")
	p.Wait("Google Wallet is set up.")
}

// openNewTill pairs a till in a tab of its own.
func (p *Page) openNewTill() *Page {
	p.t.Helper()
	p.goTo("Locations")
	p.Follow("Tills")
	p.newTill("Corner", "Phone")
	link := regexp.MustCompile(`https://\S+/till/pair/\S+`).FindString(p.Text())
	till := openIn(newTab(p.t, p.tab.ctx), link, View{Width: 390})
	till.Press("Pair this device")
	till.Wait("Find the card", "Corner")
	return till
}

// TestWallets goes from an empty file to a stamp that arrives on an iPhone, on an Android phone and as a notice of Chromium. All is done
// on the pages, as an owner, a barista and a customer do it.
func TestWallets(t *testing.T) {
	t.Parallel()
	w, options := startWalletPhones(t)
	s, link := startEmpty(t, options)
	w.address = strings.TrimPrefix(s.App.Origin, "https://")
	chromium := startWhole(t, chromedp.IgnoreCertErrors,
		chromedp.Flag("host-resolver-rules", "MAP cards.example.com:443 "+w.address))
	p := openIn(newTab(t, chromium), link, View{})
	p.setUp(func() {})
	p.firstProgram()
	p.setUpWallets(t, w)
	till := p.openNewTill()
	install := p.issueCard()
	card := shopURL + strings.TrimPrefix(s.CardPage(install), s.Origin)

	if _, err := w.apple.Add(t.Context(), card+"/card.pkpass", ""); err != nil {
		t.Fatalf("the iPhone: %v", err)
	}
	if _, err := w.android.Add(t.Context(), card+"/google", ""); err != nil {
		t.Fatalf("the Android phone: %v", err)
	}
	awaitField(t, w.apple.State, "count", "0/12")
	awaitField(t, w.android.State, "count", "0/12")
	client := servertest.NewClient(t, s.Origin, "").Via(w.apple.Client)
	phone := require.Must(w.push.Subscribe(client.Fetch("GET", card+"/push", nil, nil).Want(200).Str("public_key")))
	b := newTab(t, chromium, chromedp.WithNewBrowserContext())
	b.setNotifications(shopURL, browser.PermissionSettingGranted)
	script := require.Must(expressionOf(subscribed, []any{phone.JSON("all")}))
	b.onEachPage(script)
	holder := openIn(b, install, View{Width: 390})
	holder.Wait("Ada Lovelace", "0 of 12 stamps")
	holder.Follow("open the page of the card")
	holder.Press("Tell me when something changes")
	holder.Press("With every change")
	holder.Wait("This browser tells you about every change of the card.")

	_, short := s.Codes(install)
	till.Fill("Code of the card", short)
	till.Press("Show")
	till.Wait("Ada Lovelace", "0 of 12 stamps")
	till.give(1)
	awaitField(t, w.apple.State, "count", "1/12")
	awaitField(t, w.android.State, "count", "1/12")
	holder.Wait("1 of 12 stamps")
	b.observeNotices()
	b.deliver(shopURL, servertest.Await(t, phone.Notices, "the notice"))
	b.awaitNotice("Blue Finch Coffee: 1 of 12 stamps")
	p.goTo("Wallet")
	p.Follow("Passes and pushes")
	p.Wait("Finch card")
}
