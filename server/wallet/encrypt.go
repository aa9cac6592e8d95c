package wallet

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"time"
)

// maxPayload is the maximum size of a notice in bytes: push services take a body of 4096 bytes.
const maxPayload = 4096 - 16 - 4 - 1 - 65 - 1 - 16

// encrypt returns the body of a request to a push service: a payload that only the browser with a public
// key and a secret can read (RFC 8291, with one record of RFC 8188). own and salt are new for each body. It may append to the payload.
func encrypt(payload, publicKey, auth []byte, own *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	browser, err := ecdh.P256().NewPublicKey(publicKey)
	if err != nil {
		return nil, err
	}
	shared, err := own.ECDH(browser)
	if err != nil {
		return nil, err
	}
	derive := func(secret, salt []byte, info string, size int) []byte {
		key, _ := hkdf.Key(sha256.New, secret, salt, info, size) // which has no error for keys as short as these
		return key
	}
	public := own.PublicKey().Bytes()
	secret := derive(shared, auth, "WebPush: info\x00"+string(publicKey)+string(public), 32)
	key := derive(secret, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce := derive(secret, salt, "Content-Encoding: nonce\x00", 12)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	const lastRecord = 2
	recordSize := []byte{0, 0, 4096 >> 8, 0}
	header := slices.Concat(salt, recordSize, []byte{byte(len(public))}, public)
	return gcm.Seal(header, nonce, append(payload, lastRecord), nil), nil
}

// encryptNew is encrypt with a new key and salt.
func encryptNew(payload, publicKey, auth []byte) ([]byte, error) {
	own, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	return encrypt(payload, publicKey, auth, own, salt)
}

// authorization returns the header Authorization of a request to the endpoint of a browser, by which its push service recognises the
// server (VAPID, RFC 8292). subject is how the service reaches the operator, a mailto: or https URL.
func authorization(key *ecdsa.PrivateKey, endpoint, subject string, now time.Time) (string, error) {
	service, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("the endpoint is no URL")
	}
	claims, _ := json.Marshal(map[string]any{ // texts and numbers have no error
		"aud": service.Scheme + "://" + service.Host,
		"exp": now.Add(12 * time.Hour).Unix(), // of at most a day
		"sub": subject,
	})
	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(token))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", err
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "vapid t=" + token + "." + encode(signature) + ", k=" + encode(public), nil
}
