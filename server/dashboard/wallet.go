package dashboard

import (
	"net/url"
	"strconv"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const (
	walletPath = settingsPath + "/wallet"
	pushesPath = walletPath + "/pushes"
)

// walletPages are the pages on which passes in wallets of phones are set up.
var walletPages = []binding{
	page(pushesPath, showPushes),
	form(walletPath, showWallet, action{
		op:      operation.SetAppleCertificate,
		upload:  "file",
		maxFile: 1 << 20,
		to:      walletPath,
		done:    "Apple Wallet is set up.",
	}),
	post(walletPath+"/request", action{
		op:    operation.RequestAppleCertificate,
		again: showWallet,
		to:    walletPath,
		done:  "The request is made. Download it and upload it at Apple.",
	}),
	post(walletPath+"/request/file", action{op: operation.RequestAppleCertificate, again: showWallet, then: then(sendAppleRequest)}),
	confirm(walletPath+"/remove", reader[store.AppleStatus](operation.GetAppleWallet), askAppleOff, action{
		op: operation.RemoveAppleWallet, asksAgain: true, to: walletPath, done: "Apple Wallet is switched off.",
	}),
	post(walletPath+"/google", action{
		op:      operation.SetGoogleWallet,
		upload:  "account",
		maxFile: 16 << 10,
		again:   showWallet,
		to:      walletPath,
		done:    "Google Wallet is set up.",
	}),
	confirm(walletPath+"/google/remove", reader[store.GoogleStatus](operation.GetGoogleWallet), askGoogleOff, action{
		op: operation.RemoveGoogleWallet, asksAgain: true, to: walletPath, done: "Google Wallet is switched off.",
	}),
}

// askAppleOff asks whether Apple Wallet is to be switched off.
func askAppleOff(v *visit, s store.AppleStatus) web.ConfirmPage {
	c := v.danger(walletPath, "Switch Apple Wallet off?", "The certificate and the request are removed, with their keys. Passes on "+
		"phones are no longer brought up to date.", "Switch it off")
	c.Consequences = []string{
		v.T("Cards, stamps and prizes stay as they are, and tills go on reading the passes."),
		v.T("To bring the same passes up to date again, make a new request and choose the same pass type at Apple."),
	}
	c.Check = v.although(s.Passes)
	return c
}

// askGoogleOff asks whether Google Wallet is to be switched off.
func askGoogleOff(v *visit, s store.GoogleStatus) web.ConfirmPage {
	c := v.danger(walletPath, "Switch Google Wallet off?", "The account is removed, with its key. Cards on phones are no longer "+
		"brought up to date.", "Switch it off")
	c.Consequences = []string{
		v.T("Cards, stamps and prizes stay as they are, and tills go on reading the cards."),
		v.T("Google goes on showing the names of holders, also of those that you erase meanwhile, until you set it up again."),
	}
	c.Check = v.although(s.Cards)
	return c
}

// although returns what an owner agrees to who switches a wallet off while passes are on phones; empty: none are.
func (v *visit) although(passes int64) string {
	if passes == 0 {
		return ""
	}
	return v.T("Do it although {0} pass is on a phone|Do it although {0} passes are on phones", passes)
}

// walletPage is the page of wallets.
type walletPage struct {
	web.Frame
	Tabs      []web.NavItem
	Apple     store.AppleStatus
	Google    store.GoogleStatus
	Attention *attention // about the certificate
	Problem   *attention // why nothing can be set up; nil: it can
}

func showWallet(v *visit) error {
	apple, err := read[store.AppleStatus](v, operation.GetAppleWallet)
	if err != nil {
		return err
	}
	google, err := read[store.GoogleStatus](v, operation.GetGoogleWallet)
	if err != nil {
		return err
	}
	p := walletPage{
		Frame:   v.frame("Wallet", walletPath),
		Tabs:    v.walletTabs(walletPath),
		Apple:   apple,
		Google:  google,
		Problem: v.unreachable(),
	}
	if apple.State == store.AppleEnding || apple.State == store.AppleEnded {
		ending := v.appleEnding(apple.EndsAt.V)
		p.Attention = &ending
	}
	if google.State != store.GoogleOff && !v.shown.Failed() {
		v.shown.Values = url.Values{
			"issuer_id":  {google.IssuerID.V},
			"publishing": {strconv.FormatBool(google.State == store.GoogleRunning)},
		}
	}
	return v.render("wallet", p)
}

// appleEnding returns what a person reads about a certificate that ends within 30 days or has ended.
func (v *visit) appleEnding(ends store.Time) attention {
	a := attention{
		Tone:  "warn",
		Title: v.T("The certificate for Apple Wallet ends on {0}", v.Date(ends.Std())),
		Text:  v.T("Passes on phones are not brought up to date after that. Make a new certificate at Apple: it takes ten minutes."),
	}
	if ends < v.now() {
		a.Tone, a.Title = "bad", v.T("The certificate for Apple Wallet has ended")
		a.Text = v.T("Passes on phones are no longer brought up to date. Make a new certificate at Apple: it takes ten minutes.")
	}
	if v.allows(kernel.Owner) {
		a.Action = v.link("Renew it", walletPath)
	}
	return a
}

// sendAppleRequest sends the request as a file of the kind that Keychain Access makes.
func sendAppleRequest(v *visit, r operation.AppleRequest) error {
	v.download("application/pkcs10", "punchcard.certSigningRequest")
	_, err := v.w.Write([]byte(r.Request))
	return err
}
