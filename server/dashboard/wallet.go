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
	question(walletPath+"/remove", func(v *visit) (web.ConfirmPage, error) {
		c := v.danger(walletPath, "Switch Apple Wallet off?", "The certificate and the request are removed, with their keys. Passes on "+
			"phones are no longer brought up to date.", "Switch it off")
		c.Consequences = []string{
			v.T("Cards, stamps and prizes stay as they are, and tills go on reading the passes."),
			v.T("To bring the same passes up to date again, make a new request and choose the same pass type at Apple."),
		}
		s, err := read[store.AppleStatus](v, operation.GetAppleWallet)
		c.Check = v.although(s.Passes)
		return c, err
	}, action{
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
	question(walletPath+"/google/remove", func(v *visit) (web.ConfirmPage, error) {
		c := v.danger(walletPath, "Switch Google Wallet off?", "The account is removed, with its key. Cards on phones are no longer "+
			"brought up to date.", "Switch it off")
		c.Consequences = []string{
			v.T("Cards, stamps and prizes stay as they are, and tills go on reading the cards."),
			v.T("Google goes on showing the names of holders, also of those that you erase meanwhile, until you set it up again."),
		}
		s, err := read[store.GoogleStatus](v, operation.GetGoogleWallet)
		c.Check = v.although(s.Cards)
		return c, err
	}, action{
		op: operation.RemoveGoogleWallet, asksAgain: true, to: walletPath, done: "Google Wallet is switched off.",
	}),
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
	Form      *web.Form
	Apple     store.AppleStatus
	State     web.Badge
	Facts     []web.Fact
	Attention *attention // about the certificate
	Problem   *attention // why nothing can be set up; nil: it can
	Steps     []web.Step

	Google      store.GoogleStatus
	GoogleState web.Badge
	GoogleFacts []web.Fact
}

func showWallet(v *visit, f *web.Form) error {
	s, err := read[store.AppleStatus](v, operation.GetAppleWallet)
	if err != nil {
		return err
	}
	waits := s.RequestedAt.Valid
	p := walletPage{Frame: v.frame("Wallet", walletPath), Form: f, Apple: s, Problem: v.unreachable()}
	p.Tabs = v.walletTabs(walletPath)
	p.Steps = []web.Step{
		{Label: v.T("Make the request"), Done: waits, Current: !waits},
		{Label: v.T("Go to Apple"), Current: waits},
		{Label: v.T("Give the certificate")},
	}
	p.State = v.badge("Off", "")
	if waits {
		p.State = v.badge("Waits for the certificate", "info")
	}
	if s.EndsAt.Valid {
		left := ""
		if s.State != store.AppleEnded {
			left = v.T("{0} day left|{0} days left", s.DaysLeft.V)
		}
		p.State = map[string]web.Badge{
			store.AppleRunning: v.badge("On", "good"),
			store.AppleEnding:  v.badge("Ends soon", "warn"),
			store.AppleEnded:   v.badge("Ended", "bad"),
		}[s.State]
		p.Facts = []web.Fact{
			v.fact("Pass type", s.PassType.V),
			v.fact("Team", s.Team.V),
			v.fact("Organization", s.Organization.V),
			v.fact("Valid until", v.Date(s.EndsAt.V.Std()), left),
		}
	}
	if s.State == store.AppleEnding || s.State == store.AppleEnded {
		a := v.appleEnding(s.EndsAt.V)
		a.Action = web.Action{}
		p.Attention = &a
	}
	p.Facts = append(p.Facts, v.fact("Address in the passes", s.PublicURL,
		v.T("A phone keeps this address with its pass for ever. Decide for it before you set this up.")))
	if err := v.addGoogle(&p); err != nil {
		return err
	}
	return v.render("wallet", p)
}

// addGoogle adds to the page of wallets how far Google Wallet is set up.
func (v *visit) addGoogle(p *walletPage) (err error) {
	p.Google, err = read[store.GoogleStatus](v, operation.GetGoogleWallet)
	if p.GoogleState = v.badge("Off", ""); p.Google.State == store.GoogleOff {
		return err
	}
	p.GoogleState = v.badge("On", "good")
	if p.Google.State == store.GoogleDemo {
		p.GoogleState = v.badge("Demo mode", "warn")
	}
	p.GoogleFacts = []web.Fact{
		v.fact("Issuer", p.Google.IssuerID.V),
		v.fact("Service account", p.Google.ClientEmail.V),
		v.fact("Cards on phones", v.Number(p.Google.Cards), v.T("As far as Google reports it.")),
	}
	if !p.Form.Failed() {
		p.Form.Values = url.Values{"issuer_id": {p.Google.IssuerID.V}, "publishing": {strconv.FormatBool(p.Google.State == store.GoogleRunning)}}
	}
	return err
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
		a.Action = v.link("Renew it", walletPath, "", "")
	}
	return a
}

// sendAppleRequest sends the request as a file of the kind that Keychain Access makes.
func sendAppleRequest(v *visit, r operation.AppleRequest) error {
	v.download("application/pkcs10", "punchcard.certSigningRequest")
	_, err := v.w.Write([]byte(r.Request))
	return err
}
