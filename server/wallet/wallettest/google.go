package wallettest

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Google is Google Wallet: its token endpoint, its API of loyalty classes and objects, the keys of its callbacks, and the phones
// of its users. It refuses what Google refuses.
type Google struct {
	URL string // of the API; the keys are at URL/keys

	// Answer answers a valid request of the API in place of Google, unless it returns false. nil: Google answers. It may be changed
	// between requests alone.
	Answer func(w http.ResponseWriter, r *http.Request) bool
	// Client loads logos and reports what phones do. It must be set before the first request; nil: a plain one. Context ends its
	// requests; nil: nothing does.
	Client  *http.Client
	Context context.Context

	server       *server
	root         *ecdsa.PrivateKey // signs intermediate keys
	intermediate *ecdsa.PrivateKey // signs callbacks

	mu        sync.Mutex
	accounts  map[string]*googleAccount // by email
	tokens    map[string]googleToken
	resources map[string]map[string]any          // classes and objects by path and id
	phones    map[string]bool                    // ids of objects that are on a phone
	holders   map[string]map[*GooglePhone]string // by id of an object: what the phones call it
	requests  []GoogleRequest
	notices   []GoogleNotice
}

// GoogleRequest is a request of the API.
type GoogleRequest struct {
	Method, Path string // such as PATCH loyaltyObject/3388000000012345678.card
	Status       int
	At           time.Time
}

// GoogleNotice is what a phone showed about an object.
type GoogleNotice struct {
	ObjectID string
	Text     string // of a message; empty: that the object has changed
	at       time.Time
}

type googleAccount struct {
	key      *rsa.PublicKey
	issuer   string
	tokenURL string
}

type googleToken struct {
	email string
	until time.Time
}

// googleScope is the scope of the API.
const googleScope = "https://www.googleapis.com/auth/wallet_object.issuer"

// googleRate is how many requests Google takes in a second from an issuer.
const googleRate = 20

// NewGoogle starts Google on a loopback address. Close stops it.
func NewGoogle() *Google {
	g := &Google{
		root:         newECKey(),
		intermediate: newECKey(),
		accounts:     map[string]*googleAccount{},
		tokens:       map[string]googleToken{},
		resources:    map[string]map[string]any{},
		phones:       map[string]bool{},
		holders:      map[string]map[*GooglePhone]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", g.serveToken)
	mux.HandleFunc("GET /keys", g.serveKeys)
	mux.HandleFunc("/walletobjects/v1/", g.serveAPI)
	g.server = newServer(mux, nil)
	g.URL = g.server.URL
	return g
}

func newECKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// Close stops Google.
func (g *Google) Close() { g.server.Close() }

// Account returns the file of a new service account that may use an issuer.
func (g *Google) Account(issuer string) []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	email := fmt.Sprintf("wallet-%s@demo.iam.gserviceaccount.com", strings.ToLower(rand.Text()[:8]))
	g.mu.Lock()
	g.accounts[email] = &googleAccount{&key.PublicKey, issuer, g.URL + "/token"}
	g.mu.Unlock()
	return accountFile(email, g.URL+"/token", der)
}

// Revoke ends an account and its tokens, as deleting its key does.
func (g *Google) Revoke(email string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.accounts, email)
	maps.DeleteFunc(g.tokens, func(_ string, t googleToken) bool { return t.email == email })
}

// Requests returns the requests of the API so far.
func (g *Google) Requests() []GoogleRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.requests)
}

// Notices returns what phones have shown so far.
func (g *Google) Notices() []GoogleNotice {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.notices)
}

// verifyJWT returns the claims of a token that an account has signed with RS256, and the account.
func (g *Google) verifyJWT(token string) (*googleAccount, map[string]any, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, nil, errors.New("the token has not three parts")
	}
	var head, claims map[string]any
	for i, part := range []*map[string]any{&head, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(raw, part)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, nil, err
	}
	issuer, _ := claims["iss"].(string)
	g.mu.Lock()
	account := g.accounts[issuer]
	g.mu.Unlock()
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	switch {
	case head["alg"] != "RS256" || head["typ"] != "JWT":
		return nil, nil, fmt.Errorf("the head of the token is %v", head)
	case account == nil:
		return nil, nil, errors.New("invalid grant: account not found")
	case rsa.VerifyPKCS1v15(account.key, crypto.SHA256, sum[:], signature) != nil:
		return nil, nil, errors.New("invalid JWT signature")
	}
	return account, claims, nil
}

// serveToken gives a token for an assertion (RFC 7523).
func (g *Google) serveToken(w http.ResponseWriter, r *http.Request) {
	refuse := func(code, description string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": description})
	}
	if r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		refuse("unsupported_grant_type", "Invalid grant_type: "+r.PostFormValue("grant_type"))
		return
	}
	account, claims, err := g.verifyJWT(r.PostFormValue("assertion"))
	if err != nil {
		refuse("invalid_grant", err.Error())
		return
	}
	now := time.Now()
	begin, _ := claims["iat"].(float64)
	end, _ := claims["exp"].(float64)
	switch {
	case claims["aud"] != account.tokenURL:
		refuse("invalid_grant", "Invalid JWT: wrong audience")
		return
	case claims["scope"] != googleScope:
		refuse("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
		return
	case begin > float64(now.Add(time.Minute).Unix()), end < float64(now.Unix()), end-begin > 3600:
		refuse("invalid_grant", "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.")
		return
	}
	token := "ya29." + rand.Text()
	g.mu.Lock()
	g.tokens[token] = googleToken{claims["iss"].(string), now.Add(time.Hour)}
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"access_token": token, "expires_in": 3599, "token_type": "Bearer"})
}

// serveKeys answers the root keys of callbacks.
func (g *Google) serveKeys(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Header().Set("Content-Type", "application/json")
	key := signingKey(g.root, time.Now().AddDate(1, 0, 0))
	key["protocolVersion"] = "ECv2SigningOnly"
	json.NewEncoder(w).Encode(map[string]any{"keys": []any{key}})
}

// signingKey returns a public key as Google writes it.
func signingKey(key *ecdsa.PrivateKey, end time.Time) map[string]string {
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		panic(err)
	}
	return map[string]string{
		"keyValue":      base64.StdEncoding.EncodeToString(der),
		"keyExpiration": strconv.FormatInt(end.UnixMilli(), 10),
	}
}

// googleError is a refusal of the API.
type googleError struct {
	status  int
	reason  string
	message string
}

func (e *googleError) Error() string { return e.message }

func refuseGoogle(status int, reason, format string, args ...any) error {
	return &googleError{status, reason, fmt.Sprintf(format, args...)}
}

// statusRecorder remembers the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (w *statusRecorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// serveAPI answers a request of the API.
func (g *Google) serveAPI(rw http.ResponseWriter, r *http.Request) {
	w := &statusRecorder{rw, http.StatusOK}
	path := strings.TrimPrefix(r.URL.Path, "/walletobjects/v1/")
	g.mu.Lock()
	i := len(g.requests)
	g.requests = append(g.requests, GoogleRequest{Method: r.Method, Path: path, At: time.Now()})
	g.mu.Unlock()
	resource, err := g.answer(w, r, path)
	if err != nil {
		e := err.(*googleError)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(e.status)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
			"code":    e.status,
			"message": e.message,
			"errors":  []any{map[string]any{"message": e.message, "domain": "walletobjects", "reason": e.reason}},
		}})
	} else if resource != nil {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(resource)
	}
	g.mu.Lock()
	g.requests[i].Status = w.status
	g.mu.Unlock()
}

// answer checks who makes a request and how often, and does what is asked for. It returns nil if Answer has answered.
func (g *Google) answer(w http.ResponseWriter, r *http.Request, path string) (map[string]any, error) {
	account, err := g.caller(r)
	if err != nil {
		return nil, err
	}
	if g.Answer != nil && g.Answer(w, r) {
		return nil, nil
	}
	body := map[string]any{}
	if r.Method != http.MethodGet {
		if r.Header.Get("Content-Type") != "application/json" {
			return nil, refuseGoogle(400, "parseError", "The content type must be application/json.")
		}
		raw, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, refuseGoogle(400, "parseError", "Invalid JSON payload received: %v", err)
		}
	}
	kind, id, _ := strings.Cut(path, "/")
	id, action, _ := strings.Cut(id, "/")
	if kind != "loyaltyClass" && kind != "loyaltyObject" {
		return nil, refuseGoogle(404, "notFound", "No such path.")
	}
	if id == "" {
		id, _ = body["id"].(string)
	} else if body["id"] != nil && body["id"] != id {
		return nil, refuseGoogle(400, "invalidResource", "The id in the path differs from the one in the body.")
	}
	if issuer, name, ok := strings.Cut(id, "."); !ok || name == "" || issuer != account.issuer {
		return nil, refuseGoogle(403, "permissionDenied", "Permission denied: %s is not of an issuer of the service account.", id)
	}
	switch method := r.Method; {
	case method == http.MethodPost && action == "" && path == kind:
		return g.insert(kind, id, body)
	case method == http.MethodPost && action == "addMessage" && kind == "loyaltyObject":
		return g.addMessage(id, body)
	case method == http.MethodPatch && action == "":
		return g.patch(kind, id, body)
	case method == http.MethodGet && action == "":
		if found := g.get(kind, id); found != nil {
			return found, nil
		}
		return nil, refuseGoogle(404, "resourceNotFound", "%s %s not found.", kind, id)
	}
	return nil, refuseGoogle(404, "notFound", "No such method.")
}

// caller returns the account that makes a request, unless it makes too many.
func (g *Google) caller(r *http.Request) (*googleAccount, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	token := g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	account := g.accounts[token.email]
	if account == nil || time.Now().After(token.until) {
		return nil, refuseGoogle(401, "authError", "Request had invalid authentication credentials.")
	}
	recent := 0
	for _, q := range slices.Backward(g.requests) {
		if time.Since(q.At) > time.Second {
			break
		}
		recent++
	}
	if recent > googleRate {
		return nil, refuseGoogle(429, "rateLimitExceeded", "Quota exceeded for quota metric 'Requests'.")
	}
	return account, nil
}
