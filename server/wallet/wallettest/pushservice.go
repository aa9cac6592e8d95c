// Package wallettest has stand-ins for what the server sends copies of cards to. They refuse what the real ones refuse.
package wallettest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// PushService is the push service of browsers (RFC 8030). It verifies who sends (RFC 8292), and decrypts
// what is sent (RFC 8291), as a service and its browsers do.
type PushService struct {
	URL    string
	server *server

	mu       sync.Mutex
	browsers []*Browser
}

// Browser is a browser that is subscribed at a push service.
type Browser struct {
	Endpoint string
	Notices  chan []byte // the payloads that arrived
	// Answer answers a request that is valid; nil: 201. It may be changed before a request alone.
	Answer func(http.ResponseWriter)

	service *PushService
	key     *ecdh.PrivateKey
	auth    []byte
	server  []byte // key of the server that subscribed it
}

// NewPushService starts a push service on a loopback address. Close stops it.
func NewPushService() *PushService {
	s := &PushService{}
	s.server = newServer(s, nil)
	s.URL = s.server.URL
	return s
}

// Close stops the service.
func (s *PushService) Close() { s.server.Close() }

// Subscribe subscribes a new browser for the server with a public key in base64url.
func (s *PushService) Subscribe(publicKey string) (*Browser, error) {
	server, err := base64.RawURLEncoding.DecodeString(publicKey)
	if err != nil {
		return nil, err
	}
	if _, err = ecdh.P256().NewPublicKey(server); err != nil {
		return nil, err
	}
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	b := &Browser{service: s, key: key, auth: make([]byte, 16), server: server, Notices: make(chan []byte, 1000)}
	rand.Read(b.auth)
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Endpoint = fmt.Sprintf("%s/push/%d-%s", s.URL, len(s.browsers), rand.Text())
	s.browsers = append(s.browsers, b)
	return b, nil
}

// JSON returns the subscription as a browser gives it to a page, with what it is for.
func (b *Browser) JSON(notify string) string {
	encode := base64.RawURLEncoding.EncodeToString
	raw, _ := json.Marshal(map[string]any{
		"endpoint": b.Endpoint,
		"keys":     map[string]string{"p256dh": encode(b.key.PublicKey().Bytes()), "auth": encode(b.auth)},
		"notify":   notify,
	})
	return string(raw)
}

// ServeHTTP receives a message for a browser. It answers what it refuses with the reason.
func (s *PushService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := s.browser(r.URL.Path)
	if b == nil {
		http.Error(w, "no such subscription", http.StatusNotFound)
		return
	}
	if status, err := b.check(r); err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 4097))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(body) > 4096 {
		http.Error(w, "the message has more than 4096 bytes", http.StatusRequestEntityTooLarge)
		return
	}
	if b.Answer != nil {
		b.Answer(w)
		return
	}
	payload, err := Decrypt(body, b.key, b.auth)
	if err != nil { // a browser drops it
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.Notices <- payload
	w.Header().Set("Location", s.URL+"/message/"+rand.Text())
	w.WriteHeader(http.StatusCreated)
}

// browser returns the browser of an endpoint, nil if there is none.
func (s *PushService) browser(path string) *Browser {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.browsers {
		if strings.HasSuffix(b.Endpoint, path) {
			return b
		}
	}
	return nil
}

var (
	authorizationForm = regexp.MustCompile(`^vapid t=([\w-]+\.[\w-]+)\.([\w-]+), ?k=([\w-]+)$`)
	topicForm         = regexp.MustCompile(`^[\w-]{1,32}$`)
)

// check returns what is wrong with the headers of a request, with the status of the answer.
func (b *Browser) check(r *http.Request) (status int, err error) {
	h := r.Header
	ttl, err := strconv.Atoi(h.Get("TTL"))
	switch {
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, errors.New("the method must be POST")
	case err != nil || ttl < 0:
		return http.StatusBadRequest, errors.New("the TTL must be a number of seconds")
	case h.Get("Content-Encoding") != "aes128gcm":
		return http.StatusBadRequest, errors.New("the encoding must be aes128gcm")
	case h.Get("Topic") != "" && !topicForm.MatchString(h.Get("Topic")):
		return http.StatusBadRequest, errors.New("the topic must have up to 32 characters of base64url")
	}
	return http.StatusForbidden, b.checkVAPID(h.Get("Authorization"))
}

// checkVAPID verifies a header Authorization.
func (b *Browser) checkVAPID(header string) error {
	m := authorizationForm.FindStringSubmatch(header)
	if m == nil {
		return errors.New("the header Authorization must be vapid t=TOKEN, k=KEY")
	}
	decode := base64.RawURLEncoding.DecodeString
	signature, err1 := decode(m[2])
	key, err2 := decode(m[3])
	head, claims, _ := strings.Cut(m[1], ".")
	rawHead, err3 := decode(head)
	rawClaims, err4 := decode(claims)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	var algorithm struct{ Typ, Alg string }
	var c struct {
		Aud, Sub string
		Exp      int64
	}
	if err := errors.Join(json.Unmarshal(rawHead, &algorithm), json.Unmarshal(rawClaims, &c)); err != nil {
		return err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), key)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(m[1]))
	left := time.Until(time.Unix(c.Exp, 0))
	switch {
	case algorithm.Typ != "JWT" || algorithm.Alg != "ES256":
		return fmt.Errorf("the token is %+v", algorithm)
	case string(key) != string(b.server):
		return errors.New("the subscription is of another server")
	case len(signature) != 64 ||
		!ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])):
		return errors.New("the signature is wrong")
	case c.Aud != b.service.URL:
		return fmt.Errorf("the token is for %s", c.Aud)
	case left < 0 || left > 24*time.Hour:
		return fmt.Errorf("the token ends in %s", left)
	case !strings.HasPrefix(c.Sub, "mailto:") && !strings.HasPrefix(c.Sub, "https://"):
		return fmt.Errorf("the subject is %q", c.Sub)
	}
	return nil
}

// Decrypt returns the payload of a message to a browser (RFC 8291).
func Decrypt(body []byte, browser *ecdh.PrivateKey, auth []byte) ([]byte, error) {
	if len(body) < 86 || body[20] != 65 {
		return nil, errors.New("the message has no key of 65 bytes")
	}
	salt, size, sender, sealed := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86], body[86:]
	if int(size) < len(sealed) {
		return nil, fmt.Errorf("it has more than one record of %d bytes", size)
	}
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	shared, err := browser.ECDH(public)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(browser.PublicKey().Bytes()) + string(sender)
	secret, err1 := hkdf.Key(sha256.New, shared, auth, info, 32)
	key, err2 := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, err3 := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: nonce\x00", 12)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	plain = []byte(strings.TrimRight(string(plain), "\x00"))
	if len(plain) == 0 || plain[len(plain)-1] != 2 {
		return nil, errors.New("the record is not the last one")
	}
	return plain[:len(plain)-1], nil
}
