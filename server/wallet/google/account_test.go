package google

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"sync"
	"testing"

	"punchcard/server/servertest/require"
)

// keyPEM returns a private key as an account file has it.
func keyPEM(key any) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: require.Must(x509.MarshalPKCS8PrivateKey(key))}))
}

// goodKey returns a key that accounts may have, the same in all tests.
var goodKey = sync.OnceValue(func() *rsa.PrivateKey { return require.Must(rsa.GenerateKey(rand.Reader, 2048)) })

// accountFile returns a valid account file with changes.
func accountFile(key string, changes map[string]any) []byte {
	f := map[string]any{
		"type":           "service_account",
		"client_email":   "wallet@demo.iam.gserviceaccount.com",
		"private_key":    key,
		"private_key_id": "1",
		"token_uri":      "https://oauth2.googleapis.com/token",
	}
	for name, value := range changes {
		f[name] = value
	}
	raw, _ := json.Marshal(f)
	return raw
}

// TestAccountFaults checks that each fault of an account file has an error of its own.
func TestAccountFaults(t *testing.T) {
	t.Parallel()
	good := keyPEM(goodKey())
	ec := keyPEM(require.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)))
	weak := keyPEM(require.Must(rsa.GenerateKey(rand.Reader, 1024)))
	if a, err := ParseAccount(accountFile(good, nil)); err != nil || a.Email != "wallet@demo.iam.gserviceaccount.com" {
		t.Fatalf("a valid file: %v, %v", a, err)
	}
	file := func(name string, value any) []byte { return accountFile(good, map[string]any{name: value}) }
	said := map[string]bool{}
	for _, c := range []struct {
		file []byte
		want string
	}{
		{[]byte("PK\x03\x04"), "not the JSON file"},
		{[]byte(`["a"]`), "not the JSON file"},
		{file("type", 3), "not the JSON file"},
		{file("padding", strings.Repeat("x", maxAccountFile)), "larger than"},
		{[]byte(`{"installed":{"client_id":"1"}}`), "has no type"},
		{file("type", "authorized_user"), "another type"},
		{file("client_email", ""), "no client_email"},
		{file("client_email", "wallet@demo\r\nX: y"), "no email address"},
		{file("private_key", ""), "no private_key"},
		{file("private_key", "MIIEvQ"), "not PEM"},
		{file("private_key", strings.Replace(good, "MII", "AII", 1)), "cannot be read"},
		{file("private_key", ec), "not an RSA key"},
		{file("private_key", weak), "less than 2048 bits"},
		{file("token_uri", ""), "no token_uri"},
		{file("token_uri", "http://oauth2.googleapis.com/token"), "no https URL"},
		{file("token_uri", "https://user@oauth2.googleapis.com/token"), "no https URL"},
		{file("token_uri", "file:///etc/passwd"), "no https URL"},
	} {
		_, err := ParseAccount(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.file, err, c.want)
			continue
		}
		said[err.Error()] = true
	}
	if len(said) != 13 {
		t.Errorf("%d different errors, want 13", len(said))
	}
}

// FuzzParseAccount checks that no file stops the server, and that what is read can sign.
func FuzzParseAccount(f *testing.F) {
	good := keyPEM(goodKey())
	f.Add(accountFile(good, nil))
	f.Add(accountFile(good, map[string]any{"token_uri": "http://[::1]:1/token"}))
	f.Add([]byte(`{"type":"service_account","client_email":"a@b","private_key":"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----","token_uri":"https://a"}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := ParseAccount(file)
		if err != nil {
			return
		}
		if token, err := a.sign(map[string]any{"iss": a.Email}); err != nil || strings.Count(token, ".") != 2 {
			t.Errorf("sign: %q, %v", token, err)
		}
	})
}
