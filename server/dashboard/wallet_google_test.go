package dashboard_test

import (
	"encoding/json"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
)

// TestGoogleAccount gives faulty accounts and the right one, and checks what the page says of them.
// TestAccountFaults of the package google has each fault.
func TestGoogleAccount(t *testing.T) {
	const (
		at     = "/dashboard/settings/wallet"
		set    = at + "/google"
		issuer = "3388000000012345678"
	)
	g := wallettest.NewGoogle()
	t.Cleanup(g.Close)
	s := start(t, func(c *app.Config) { c.GoogleWalletURL = g.URL })
	account := g.Account(issuer)
	owner := s.as("owner")
	owner.get(set + "/remove").press(set + "/remove") // the account of the demo shop
	give := func(file []byte, issuer string) *page { return owner.upload(set, "account", file, "issuer_id", issuer) }
	changed := func(field, value string) []byte {
		var f map[string]string
		require.NoError(t, json.Unmarshal(account, &f))
		f[field] = value
		raw, _ := json.Marshal(f)
		return raw
	}
	s.Unchanged(func() {
		give([]byte("account"), issuer).want(400).problem("account", "This is not the key of a service account")
		give(changed("private_key", "secret"), issuer).want(400).problem("account", "This is not the key of a service account").
			lacks("secret")
		give(make([]byte, 16<<10+1), issuer).want(400).problem("account")
		give(nil, issuer).want(400).problem("account")
		give(account, "").want(400).problem("issuer_id")
		give(account, "33-88").want(400).problem("issuer_id", "This is not the number of an issuer.")
		give(account, "1234567890").want(400).problem("issuer_id", "The service account may not use this issuer.")
		gone := changed("client_email", "gone@demo.iam.gserviceaccount.com")
		give(gone, issuer).want(400).problem("account", "Google does not accept this key.")
	})
	owner.get(at).shows("Google Wallet", "Off").lacks("Switch Google Wallet off")
	give(account, issuer).next().has("Google Wallet is set up.", "Demo mode", "Your issuer is in demo mode", issuer, "gserviceaccount.com")
	if made := g.Requests()[len(g.Requests())-1]; made.Path != "loyaltyClass" || made.Status != 200 {
		t.Errorf("the last request is %v", made)
	}
	owner.upload(set, "account", nil, "issuer_id", issuer, "publishing", "true").next().has("Google Wallet is set up.").lacks("demo mode")
	owner.get("/dashboard/activity").shows("Set the account for Google Wallet").lacks("PRIVATE KEY")
	owner.get(set + "/remove").shows("Google goes on showing the names of holders")
	owner.get(set+"/remove").press(set+"/remove").next().has("Google Wallet is switched off.", "Off")
	give(nil, issuer).want(400).problem("account")
}
