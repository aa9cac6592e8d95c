package wallettest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// maxSaveLink is the maximum length of a link that works in all browsers.
const maxSaveLink = 1800

// Save adds the object of a link to a phone, and reports that to the server. It returns the id of the object.
func (g *Google) Save(link string) (objectID string, err error) {
	token, ok := strings.CutPrefix(link, "https://pay.google.com/gp/v/save/")
	if !ok || len(link) > maxSaveLink {
		return "", fmt.Errorf("the link of %d characters is no link to save a card", len(link))
	}
	account, claims, err := g.verifyJWT(token)
	if err != nil {
		return "", err
	}
	if issued, _ := claims["iat"].(float64); issued == 0 || issued > float64(time.Now().Add(time.Minute).Unix()) {
		return "", errors.New("the link is issued in the future")
	}
	if claims["aud"] != "google" || claims["typ"] != "savetowallet" {
		return "", fmt.Errorf("the link is for %v, %v", claims["aud"], claims["typ"])
	}
	payload, _ := claims["payload"].(map[string]any)
	objects, _ := payload["loyaltyObjects"].([]any)
	if len(objects) != 1 {
		return "", fmt.Errorf("the link has %d objects", len(objects))
	}
	object, _ := objects[0].(map[string]any)
	id := jsonText(object, "id")
	if !strings.HasPrefix(id, account.issuer+".") || g.Object(id) == nil {
		return "", fmt.Errorf("there is no object %s of the issuer", id)
	}
	g.mu.Lock()
	known := g.phones[id]
	g.phones[id] = true
	g.mu.Unlock()
	if known {
		return id, nil
	}
	return id, g.report(id, "save")
}

// Remove removes an object from its phone, and reports that to the server.
func (g *Google) Remove(objectID string) error {
	g.mu.Lock()
	delete(g.phones, objectID)
	g.mu.Unlock()
	return g.report(objectID, "del")
}

// report sends the callback of an event, if the class of the object wants one.
func (g *Google) report(objectID, event string) error {
	class := jsonText(g.Object(objectID), "classId")
	target := jsonText(g.Class(class), "callbackOptions", "url")
	if target == "" {
		return nil
	}
	body := g.Sign(GoogleEvent{ClassID: class, ObjectID: objectID, Type: event})
	resp, err := g.send(http.MethodPost, target, body)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the callback is answered with %d", resp.StatusCode)
	}
	return nil
}

// send makes a request of Google itself. body is JSON, and empty for none.
func (g *Google) send(method, target string, body []byte) (*http.Response, error) {
	ctx := g.Context
	if ctx == nil {
		ctx = context.Background()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return cmp.Or(g.Client, &http.Client{Timeout: 5 * time.Second}).Do(req)
}

// GoogleEvent is what a callback says. What is empty is what Google would send.
type GoogleEvent struct {
	ClassID, ObjectID, Type     string
	Nonce                       string
	Sender, Recipient, Protocol string
	Expires, KeyExpires         time.Time
	Root                        *ecdsa.PrivateKey
}

// Sign returns the body of a callback.
func (g *Google) Sign(e GoogleEvent) []byte {
	issuer, _, _ := strings.Cut(e.ClassID, ".")
	sender := cmp.Or(e.Sender, "GooglePayPasses")
	protocol := cmp.Or(e.Protocol, "ECv2SigningOnly")
	if e.Expires.IsZero() {
		e.Expires = time.Now().Add(time.Hour)
	}
	if e.KeyExpires.IsZero() {
		e.KeyExpires = time.Now().Add(24 * time.Hour)
	}
	message, _ := json.Marshal(map[string]any{
		"classId":       e.ClassID,
		"objectId":      e.ObjectID,
		"eventType":     e.Type,
		"expTimeMillis": e.Expires.UnixMilli(),
		"count":         1,
		"nonce":         cmp.Or(e.Nonce, rand.Text()),
	})
	key, _ := json.Marshal(signingKey(g.intermediate, e.KeyExpires))
	body, _ := json.Marshal(map[string]any{
		"protocolVersion": protocol,
		"signature":       signTexts(g.intermediate, sender, cmp.Or(e.Recipient, issuer), protocol, string(message)),
		"signedMessage":   string(message),
		"intermediateSigningKey": map[string]any{
			"signedKey":  string(key),
			"signatures": []string{signTexts(cmp.Or(e.Root, g.root), sender, protocol, string(key))},
		},
	})
	return body
}

// signTexts signs texts, each with its length before it.
func signTexts(key *ecdsa.PrivateKey, texts ...string) string {
	var signed []byte
	for _, t := range texts {
		signed = append(binary.LittleEndian.AppendUint32(signed, uint32(len(t))), t...)
	}
	sum := sha256.Sum256(signed)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(signature)
}
