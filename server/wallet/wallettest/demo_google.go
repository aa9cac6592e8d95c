package wallettest

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
)

// What the demo shop of a fixture has set up at Google Wallet. The name of the host is of nobody (RFC 6761), so that the account is
// sent nowhere but to the stand-in.
const (
	DemoGoogleURL = "https://google.test" // of the API; the keys of callbacks are at DemoGoogleURL/keys
	DemoIssuer    = "3388000000012345678"
	DemoEmail     = "wallet@demo.iam.gserviceaccount.com"

	demoTokenURL = DemoGoogleURL + "/token"
)

// Account returns the file of the account at Google Wallet, whose key is Key.
func (d DemoWallet) Account() []byte { return accountFile(DemoEmail, demoTokenURL, d.Key) }

// accountFile returns the file of an account with a key in PKCS #8.
func accountFile(email, tokenURL string, key []byte) []byte {
	file, _ := json.MarshalIndent(map[string]string{
		"type":           "service_account",
		"project_id":     "demo",
		"private_key_id": "0123456789abcdef",
		"private_key":    string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"client_email":   email,
		"client_id":      "100000000000000000000",
		"token_uri":      tokenURL,
	}, "", "  ")
	return file
}

// NewDemoGoogle starts Google, which knows the account of the demo shop. The client loads logos and reports what phones do.
func NewDemoGoogle(client *http.Client) *Google {
	key, err := x509.ParsePKCS8PrivateKey(Demo().Key)
	if err != nil {
		panic(err) // impossible: the tests read it
	}
	g := NewGoogle()
	g.Client = client
	g.accounts[DemoEmail] = &googleAccount{&key.(*rsa.PrivateKey).PublicKey, DemoIssuer, demoTokenURL}
	return g
}
