// Package google knows the API of Google Wallet: service accounts, classes and objects of loyalty cards, the link that adds one
// to a phone, and the callbacks about what holders do with them.
package google

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"
)

// Account is a service account, as which the server calls the API.
type Account struct {
	Email    string // client_email of the file
	TokenURL string // token_uri of the file

	keyID string
	key   *rsa.PrivateKey
}

// maxAccountFile is the maximum size of an account file in bytes. Google's have less than 3 KiB.
const maxAccountFile = 16 << 10

// ParseAccount reads the JSON file of a service account. Each error says what is wrong with the file, and has nothing of its
// key.
func ParseAccount(file []byte) (*Account, error) {
	var f struct {
		Type         string `json:"type"`
		ClientEmail  string `json:"client_email"`
		PrivateKey   string `json:"private_key"`
		PrivateKeyID string `json:"private_key_id"`
		TokenURI     string `json:"token_uri"`
	}
	switch {
	case len(file) > maxAccountFile:
		return nil, errors.New("is larger than 16 KiB, so it is no key of a service account")
	case json.Unmarshal(file, &f) != nil:
		return nil, errors.New("is not the JSON file of a service account")
	case f.Type == "":
		return nil, errors.New("has no type, so it is no key of a service account")
	case f.Type != "service_account":
		return nil, errors.New("has another type than service_account")
	case f.ClientEmail == "":
		return nil, errors.New("has no client_email")
	case !isEmail(f.ClientEmail):
		return nil, errors.New("has a client_email that is no email address")
	case f.PrivateKey == "":
		return nil, errors.New("has no private_key")
	case f.TokenURI == "":
		return nil, errors.New("has no token_uri")
	case !isTokenURL(f.TokenURI):
		return nil, errors.New("has a token_uri that is no https URL")
	}
	key, err := parseKey(f.PrivateKey)
	if err != nil {
		return nil, err
	}
	return &Account{Email: f.ClientEmail, TokenURL: f.TokenURI, keyID: f.PrivateKeyID, key: key}, nil
}

// isEmail reports whether a text can be the address of a service account.
func isEmail(s string) bool {
	name, host, ok := strings.Cut(s, "@")
	printable := !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	return ok && name != "" && host != "" && len(s) <= 254 && printable
}

// isTokenURL reports whether a URL is an https one, or one of this machine, as fakes have.
func isTokenURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && net.ParseIP(u.Hostname()).IsLoopback()
}

// parseKey reads a private key in PEM.
func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("has a private_key that is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	switch {
	case err != nil:
		return nil, errors.New("has a private_key that cannot be read")
	case !ok:
		return nil, errors.New("has a private_key that is not an RSA key")
	case key.N.BitLen() < 2048:
		return nil, errors.New("has a private_key with less than 2048 bits")
	}
	return key, nil
}

// sign returns a JSON web token with claims, signed with RS256.
func (a *Account) sign(claims map[string]any) (string, error) {
	encode := func(part any) string {
		raw, _ := json.Marshal(part) // texts and numbers have no error
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	token := encode(map[string]string{"alg": "RS256", "typ": "JWT", "kid": a.keyID}) + "." + encode(claims)
	sum := sha256.Sum256([]byte(token))
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return token + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// SaveLink returns the link that adds an object to the phone that opens it. The object must exist, so that the link is short and
// says nothing of the holder.
func (a *Account) SaveLink(objectID string, at time.Time) (string, error) {
	token, err := a.sign(map[string]any{
		"iss":     a.Email,
		"aud":     "google",
		"typ":     "savetowallet",
		"iat":     at.Unix(),
		"origins": []string{},
		"payload": map[string]any{"loyaltyObjects": []map[string]string{{"id": objectID}}},
	})
	return "https://pay.google.com/gp/v/save/" + token, err
}
