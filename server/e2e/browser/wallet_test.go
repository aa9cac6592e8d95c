//go:build browser

package browser

import (
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
)

// TestAppleWallet sets up Apple Wallet as the owner of a shop does: the request, a faulty certificate, the right one, the warning
// before its end, and the renewal.
func TestAppleWallet(t *testing.T) {
	t.Parallel()
	authority, other := require.Must(wallettest.NewAuthority()), require.Must(wallettest.NewAuthority())
	clock := app.NewClock(time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC))
	s := servertest.Start(t, func(c *app.Config) { c.Dev.Clock, c.PassIssuer = clock, authority.Certificate })
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error { // the demo shop has it
		_, err := tx.RemoveAppleWallet(s.Row(store.KindShop, s.ShopID), store.RemoveFields{})
		return err
	})
	until := s.App.Store.Now().Std().AddDate(1, 0, 0)
	p := Open(t, s.Origin+"/dashboard/settings/wallet", View{Cookie: signIn(s, "owner")})
	give := func(certificate []byte, err error, want string) {
		t.Helper()
		p.must(nil, err)
		p.ChooseFile("Certificate", writeFile(t, "pass.cer", certificate))
		p.In("The .cer file that Apple has made.").Press("Check and save")
		p.Wait(want)
	}
	p.CheckNow()
	p.Press("Make the request")
	p.Wait("The request is made.", "Waits for the certificate")
	p.CheckNow()
	name, request := p.Download("Download the request")
	if name != "punchcard.certSigningRequest" {
		t.Errorf("the request is saved as %s", name)
	}
	issue := func(a *wallettest.Authority, o wallettest.Order) ([]byte, error) {
		if o.Until.IsZero() {
			o.From, o.Until = until.AddDate(-2, 0, 0), until
		}
		return a.Issue(request, o)
	}
	certificate, err := issue(other, wallettest.Order{})
	give(certificate, err, "This certificate was not issued by Apple for passes.")
	p.CheckNow()
	certificate, err = issue(authority, wallettest.Order{})
	give(certificate, err, "Apple Wallet is set up.")
	p.Wait("pass.com.example.card", "365 days left")
	p.CheckNow()
	p.ExpectProblems() // the refusals

	// Sessions end while nobody is there.
	s.Advance("340d")
	p = Open(t, s.Origin+"/dashboard", View{Cookie: signIn(s, "owner")})
	p.Wait("The certificate for Apple Wallet ends on 1 Mar 2027")
	p.Follow("Renew it")
	p.Wait("Ends soon", "25 days left")
	p.Press("Make the request")
	p.Wait("Choose the identifier pass.com.example.card.")
	p.CheckNow()
	_, request = p.Download("Download the request")
	until = until.AddDate(1, 0, 0)
	certificate, err = issue(authority, wallettest.Order{PassType: "pass.com.example.other"})
	give(certificate, err, "This certificate is for pass.com.example.other of the team TEAM000001.")
	certificate, err = issue(authority, wallettest.Order{})
	give(certificate, err, "Apple Wallet is set up.")
	p.Wait("391 days left")
	p.ExpectProblems()

	s.Advance("400d")
	p = Open(t, s.Origin+"/dashboard/settings/wallet", View{Cookie: signIn(s, "owner")})
	p.Wait("Ended", "The certificate for Apple Wallet has ended")
	p.Follow("Switch Apple Wallet off")
	p.Press("Switch it off")
	p.Wait("Apple Wallet is switched off.")
}
