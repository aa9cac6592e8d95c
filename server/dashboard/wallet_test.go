package dashboard_test

import (
	"crypto/x509"
	"path/filepath"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/apple"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
)

// removeWallet switches off Apple Wallet, which the demo shop has.
func removeWallet(s *demo, shop int64) {
	s.T.Helper()
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
		_, err := tx.RemoveAppleWallet(shop, store.RemoveFields{})
		return err
	})
}

// TestAppleCertificate gives each faulty certificate and the right one, a .p12 file with a wrong and the right password, and checks
// who may do that, where, and after which proof.
func TestAppleCertificate(t *testing.T) {
	const at = "/dashboard/settings/wallet"
	authority, other := require.Must(wallettest.NewAuthority()), require.Must(wallettest.NewAuthority())
	clock := app.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	db := filepath.Join(t.TempDir(), "test.db")
	s := start(t, func(c *app.Config) { c.Dev.Clock, c.PassIssuer, c.DB = clock, authority.Certificate, db })
	now, shop := s.App.Store.Now().Std(), s.Row(store.KindShop, s.ShopID)
	removeWallet(s, shop)
	owner := s.as("owner")
	s.Unchanged(func() {
		owner.upload(at, "file", []byte("certificate")).want(422).has("Make the request first.")
		s.as("manager").get(at).want(403)
		s.as("manager").upload(at, "file", []byte("certificate")).want(403)
		s.as("manager").post(at+"/request/file", nil).want(403)
	})
	owner.get(at).want(200).press(at+"/request").next().has("The request is made.", "Waits for the certificate")
	file := owner.post(at+"/request/file", nil).want(200)
	request := []byte(file.body)
	if name := file.header.Get("Content-Disposition"); name != `attachment; filename="punchcard.certSigningRequest"` {
		t.Error(name)
	}
	if again := owner.post(at+"/request/file", nil).want(200); again.body != file.body {
		t.Error("a second download is another request")
	}
	issue := func(a *wallettest.Authority, request []byte, o wallettest.Order) []byte {
		t.Helper()
		if o.Until.IsZero() {
			o.From, o.Until = now.AddDate(0, 0, -1), now.AddDate(0, 0, 200)
		}
		return require.Must(a.Issue(request, o))
	}
	der, foreign, err := apple.NewRequest()
	require.NoError(t, err)
	key := require.Must(apple.ParseKey(der))
	changed := func(change func(*x509.Certificate)) []byte {
		return issue(authority, request, wallettest.Order{Change: change})
	}
	right := issue(authority, request, wallettest.Order{})
	s.Unchanged(func() {
		for says, file := range map[string][]byte{
			"This is not the certificate.":                    []byte("certificate"),
			"This is the request.":                            request,
			"This certificate was made with another request.": issue(authority, foreign, wallettest.Order{}),
			"This certificate is not for passes.": changed(func(c *x509.Certificate) {
				c.Subject.CommonName = "Apple Push"
			}),
			"This certificate names no team.": changed(func(c *x509.Certificate) {
				c.Subject.OrganizationalUnit = nil
			}),
			"This certificate names no pass type.":                changed(func(c *x509.Certificate) { c.ExtraExtensions = nil }),
			"This certificate was not issued by Apple for passes": issue(other, request, wallettest.Order{}),
			"This certificate ended on 2026-02-28, and the clock of this server says 2026-03-01": issue(authority, request,
				wallettest.Order{Until: now.AddDate(0, 0, -1)}),
			"This certificate is valid from 2026-03-02 on, and the clock of this server says 2026-03-01": issue(authority, request,
				wallettest.Order{From: now.AddDate(0, 0, 1), Until: now.AddDate(1, 0, 0)}),
		} {
			owner.upload(at, "file", file).want(400).problem("file", says)
		}
		owner.upload(at, "file", make([]byte, 1<<20+1)).want(400).problem("file")
		owner.upload(at, "file", nil).want(400).problem("file")
	})

	// A form with a file is filled in again after a proof.
	s.SQL("UPDATE sessions SET proved_at=proved_at-3600000")
	s.SQL("UPDATE meta SET auth_epoch=auth_epoch+1")
	s.Unchanged(func() {
		waiting := owner.upload(at, "file", right).want(403).has("Confirm that it is you").form("/dashboard/prove")
		if method := waiting.fields.Get("_method"); method != "GET" {
			t.Errorf("the proof goes on with %s", method)
		}
	})
	s.SQL("UPDATE sessions SET proved_at=proved_at+3600000")
	s.SQL("UPDATE meta SET auth_epoch=auth_epoch+1")
	owner.upload(at, "file", right).next().has("Apple Wallet is set up.", "pass.com.example.card", "TEAM000001", "200 days left")
	s.Unchanged(func() {
		owner.upload(at, "file", right).next() // the one in use
		owner.upload(at, "file", []byte("certificate")).want(400).problem("file")
	})

	owner.upload(at, "file", issue(authority, request, wallettest.Order{})).next().has("Apple Wallet is set up.") // of the same request

	leaf := require.Must(x509.ParseCertificate(issue(authority, foreign, wallettest.Order{From: now, Until: now.AddDate(0, 0, 10)})))
	p12 := require.Must(pkcs12.LegacyRC2.Encode(key, leaf, nil, "secret"))
	s.Unchanged(func() {
		owner.upload(at, "file", p12, "password", "wrong").want(400).problem("password", "does not open this file")
	})
	owner.upload(at, "file", p12, "password", "secret").next().has("Apple Wallet is set up.", "Ends soon", "10 days left")
	const ends = "The certificate for Apple Wallet ends on 11 Mar 2026"
	owner.get("/dashboard").shows(ends, "Renew it")
	s.as("viewer").get("/dashboard").shows(ends).lacks("Renew it")
	s.as("operator").get("/dashboard/health").shows(ends, "Needs attention")

	s.Call("POST", "/programs/"+s.ProgramIDs["standard"]+"/cards", object{}).Want(201)
	s.SQL("INSERT INTO apple_passes (card_id, shop_id, generation, hash, modified_at, downloaded, program_id) " +
		"SELECT id, shop_id, 0, x'', 0, 0, program_id FROM cards")
	remove := owner.get(at + "/remove").shows("Do it although 1 pass is on a phone").form(at + "/remove")
	s.Unchanged(func() { owner.post(at+"/remove", nil).want(400).problem("yes", "Passes are on phones, 1 in all") })
	remove.set("yes", "true").send().next().has("Apple Wallet is switched off.")
	s.Stop()

	// Phones cannot open an address of this machine.
	alone := &demo{Server: servertest.Start(t, func(c *app.Config) { c.Dev, c.DB = nil, db }), tokens: s.tokens}
	servertest.Write(t, alone.App.Store, func(tx *store.Tx) error { // whose clock has ended the sessions of the fixture
		user, err := tx.AddUser(store.NewUser{Email: "boss@test.example", Name: "The boss", Language: "en"})
		if err == nil {
			err = tx.AddMember(user, shop, "owner")
		}
		if err == nil {
			_, alone.tokens["owner"], err = tx.BeginSession(store.NewSession{User: user, Shop: shop})
		}
		return err
	})
	alone.Unchanged(func() {
		alone.as("owner").get(at).shows("Phones cannot open", "since phones would keep this one").lacks("Check and save")
		alone.as("owner").upload(at, "file", right).want(422).has("Phones cannot open the address of this shop")
		alone.as("owner").post(at+"/request", nil).want(422).has("Phones cannot open the address of this shop")
	})
	alone.Stop()
}
