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

// TestAppleCertificate gives faulty certificates and the right one, a .p12 file with a wrong and the right password, and checks
// where that may be done, and after which proof. TestCheck of the package apple has each fault.
func TestAppleCertificate(t *testing.T) {
	const at = "/dashboard/settings/wallet"
	authority := require.Must(wallettest.NewAuthority())
	clock := app.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	db := filepath.Join(t.TempDir(), "test.db")
	s := start(t, func(c *app.Config) { c.Dev.Clock, c.PassIssuer, c.DB = clock, authority.Certificate, db })
	now, shop := s.App.Store.Now().Std(), s.Row(store.KindShop, s.ShopID)
	owner := s.as("owner")
	owner.get(at + "/remove").press(at + "/remove").next() // the certificate of the demo shop
	s.Unchanged(func() { owner.upload(at, "file", []byte("certificate")).want(422).has("Make the request first.") })
	owner.get(at).want(200).press(at+"/request").next().has("The request is made.", "Waits for the certificate")
	file := owner.post(at+"/request/file", nil).want(200)
	request := []byte(file.body)
	if name := file.header.Get("Content-Disposition"); name != `attachment; filename="punchcard.certSigningRequest"` {
		t.Error(name)
	}
	if again := owner.post(at+"/request/file", nil).want(200); again.body != file.body {
		t.Error("a second download is another request")
	}
	issue := func(request []byte, until time.Time) []byte {
		t.Helper()
		return require.Must(authority.Issue(request, wallettest.Order{From: now.AddDate(0, 0, -2), Until: until}))
	}
	der, foreign, err := apple.NewRequest()
	require.NoError(t, err)
	key := require.Must(apple.ParseKey(der))
	right := issue(request, now.AddDate(0, 0, 200))
	s.Unchanged(func() {
		for says, file := range map[string][]byte{
			"This is not the certificate.":                                                       []byte("certificate"),
			"This certificate was made with another request.":                                    issue(foreign, now.AddDate(0, 0, 200)),
			"This certificate ended on 2026-02-28, and the clock of this server says 2026-03-01": issue(request, now.AddDate(0, 0, -1)),
			"": make([]byte, 1<<20+1),
		} {
			owner.upload(at, "file", file).want(400).problem("file", says)
		}
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

	owner.upload(at, "file", issue(request, now.AddDate(0, 0, 300))).next().has("Apple Wallet is set up.") // of the same request

	leaf := require.Must(x509.ParseCertificate(issue(foreign, now.AddDate(0, 0, 10))))
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
	alone.tokens["owner"] = alone.signIn("boss", "owner", shop) // the clock has ended the sessions of the fixture
	alone.Unchanged(func() {
		alone.as("owner").get(at).shows("Phones cannot open", "since phones would keep this one").lacks("Check and save")
		alone.as("owner").upload(at, "file", right).want(422).has("Phones cannot open the address of this shop")
		alone.as("owner").post(at+"/request", nil).want(422).has("Phones cannot open the address of this shop")
	})
	alone.Stop()
}
