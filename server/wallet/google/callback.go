package google

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// DefaultKeysURL is the URL of the keys that callbacks are signed with in the end.
const DefaultKeysURL = "https://pay.google.com/gp/m/issuer/keys"

// How callbacks are signed.
const (
	protocol = "ECv2SigningOnly"
	sender   = "GooglePayPasses"
)

const (
	maxKeysAge   = 24 * time.Hour // if the answer with the keys does not say how long it may be kept
	keysInterval = time.Minute    // minimum time between requests for the keys
	maxTried     = 20             // root keys, and signatures of an intermediate key, that are tried
)

// Keys verify callbacks by the root keys of Google, which they fetch and keep until they expire.
type Keys struct {
	URL       string            // such as DefaultKeysURL
	Transport http.RoundTripper // makes the requests

	mu    sync.Mutex
	roots []root
	until time.Time // when roots must be fetched again
	asked time.Time // when they were asked for last
}

// root is a key that signs intermediate keys.
type root struct {
	key *ecdsa.PublicKey
	end time.Time
}

// Event is what a holder did with an object, as a callback says it.
type Event struct {
	Issuer, Name string    // of the object
	Saved        bool      // false: it was removed from a phone
	Nonce        string    // the same in each attempt to deliver this callback
	Expires      time.Time // when the callback cannot be sent again
}

// ErrKeys is returned while the root keys cannot be fetched, so that nothing can be verified.
var ErrKeys = errors.New("the keys of Google cannot be fetched")

// callback is the body of a callback.
type callback struct {
	ProtocolVersion string `json:"protocolVersion"`
	Signature       string `json:"signature"`
	SignedMessage   string `json:"signedMessage"`
	Intermediate    struct {
		SignedKey  string   `json:"signedKey"`
		Signatures []string `json:"signatures"`
	} `json:"intermediateSigningKey"`
}

// Long texts are refused by their lengths: each start of the program would compile a large bound in an expression, which
// takes a millisecond.
var (
	resourceID = regexp.MustCompile(`^(\d{1,20})\.([\w.-]+)$`)
	nonceForm  = regexp.MustCompile(`^[\w-]+$`)
)

// Verify returns what the body of a callback says, if Google has signed it for its issuer and it has not expired at a time.
func (k *Keys) Verify(ctx context.Context, body []byte, at time.Time) (e Event, err error) {
	var c callback
	if err := json.Unmarshal(body, &c); err != nil {
		return e, errors.New("the body is no JSON object of a callback")
	}
	if c.ProtocolVersion != protocol {
		return e, fmt.Errorf("the protocolVersion must be %s", protocol)
	}
	if e, err = parseEvent(c.SignedMessage); err != nil {
		return e, err
	}
	roots, err := k.get(ctx, at)
	if err != nil {
		return e, err
	}
	signed := digest(sender, protocol, c.Intermediate.SignedKey)
	signatures := c.Intermediate.Signatures[:min(len(c.Intermediate.Signatures), maxTried)]
	trusted := slices.ContainsFunc(roots, func(r root) bool {
		return slices.ContainsFunc(signatures, func(s string) bool { return verify(r.key, signed, s) })
	})
	if !trusted {
		return e, errors.New("the intermediate key is signed by none of the keys of Google")
	}
	var value keyValue
	json.Unmarshal([]byte(c.Intermediate.SignedKey), &value)
	intermediate, err := value.parse()
	switch {
	case err != nil:
		err = fmt.Errorf("the intermediate key: %w", err)
	case !at.Before(intermediate.end):
		err = errors.New("the intermediate key has expired")
	case !verify(intermediate.key, digest(sender, e.Issuer, protocol, c.SignedMessage), c.Signature):
		err = errors.New("the signature is wrong")
	case !at.Before(e.Expires):
		err = errors.New("the callback has expired")
	}
	return e, err
}

// parseEvent reads the signed message of a callback.
func parseEvent(message string) (e Event, err error) {
	var m struct {
		ClassID, ObjectID, EventType, Nonce string
		ExpTimeMillis                       int64
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		return e, errors.New("the signedMessage is no JSON object of an event")
	}
	class, object := resourceID.FindStringSubmatch(m.ClassID), resourceID.FindStringSubmatch(m.ObjectID)
	switch {
	case class == nil || object == nil || class[1] != object[1] || len(class[2]) > 200 || len(object[2]) > 200:
		return e, errors.New("classId and objectId must be ids of one issuer")
	case m.EventType != "save" && m.EventType != "del":
		return e, errors.New("the eventType must be save or del")
	case len(m.Nonce) > 100 || !nonceForm.MatchString(m.Nonce):
		return e, errors.New("the nonce must have 1 to 100 letters, digits and hyphens")
	}
	return Event{object[1], object[2], m.EventType == "save", m.Nonce, time.UnixMilli(m.ExpTimeMillis)}, nil
}

// digest returns the hash of texts, each with its length before it, which is what is signed.
func digest(texts ...string) []byte {
	h := sha256.New()
	for _, text := range texts {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(text))))
		h.Write([]byte(text))
	}
	return h.Sum(nil)
}

// verify reports whether a signature in base64 is that of a hash.
func verify(key *ecdsa.PublicKey, hash []byte, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && ecdsa.VerifyASN1(key, hash, raw)
}

// keyValue is a key as Google writes it.
type keyValue struct {
	KeyValue        string `json:"keyValue"`      // base64 of a SubjectPublicKeyInfo
	KeyExpiration   string `json:"keyExpiration"` // milliseconds since 1970
	ProtocolVersion string `json:"protocolVersion"`
}

// parse returns the key that a value holds.
func (v keyValue) parse() (root, error) {
	der, _ := base64.StdEncoding.DecodeString(v.KeyValue) // what is no base64 is no key either
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(*ecdsa.PublicKey)
	if err != nil || !ok || key.Curve != elliptic.P256() {
		return root{}, errors.New("it is no public key of P-256")
	}
	end, err := strconv.ParseInt(v.KeyExpiration, 10, 64)
	if err != nil {
		return root{}, errors.New("its end is no number")
	}
	return root{key, time.UnixMilli(end)}, nil
}

var maxAge = regexp.MustCompile(`(?i)(?:^|[ ,])max-age=(\d{1,9})(?:$|[ ,])`)

// get returns the root keys. They are asked for again when the answer that had them may be kept no longer, or one has expired.
func (k *Keys) get(ctx context.Context, at time.Time) (roots []root, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at.Before(k.until) {
		return k.roots, nil
	}
	if since := at.Sub(k.asked); since >= 0 && since < keysInterval {
		return nil, ErrKeys
	}
	k.asked = at
	var answer struct {
		Keys []keyValue `json:"keys"`
	}
	ctx = context.WithoutCancel(ctx) // others wait for the keys too
	header, err := do(ctx, k.Transport, http.MethodGet, k.URL, nil, http.Header{}, &answer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	age := maxKeysAge
	if m := maxAge.FindStringSubmatch(header.Get("Cache-Control")); m != nil {
		age, _ = time.ParseDuration(m[1] + "s") // of at most nine digits
	}
	until := at.Add(min(max(age, keysInterval), maxKeysAge))
	for _, v := range answer.Keys {
		if r, err := v.parse(); err == nil && v.ProtocolVersion == protocol && at.Before(r.end) && len(roots) < maxTried {
			roots = append(roots, r)
			until = slices.MinFunc([]time.Time{until, r.end}, time.Time.Compare)
		}
	}
	if roots == nil {
		return nil, ErrKeys
	}
	k.roots, k.until = roots, until
	return roots, nil
}
