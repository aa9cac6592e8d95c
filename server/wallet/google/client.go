package google

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"punchcard/server/wallet/request"
)

// DefaultURL is the URL of the API.
const DefaultURL = "https://walletobjects.googleapis.com"

const (
	scope     = "https://www.googleapis.com/auth/wallet_object.issuer"
	tokenLife = time.Hour // as long as Google permits
)

// Client calls the API as a service account.
type Client struct {
	Account   *Account
	URL       string            // of the API, such as DefaultURL
	Transport http.RoundTripper // makes the requests
	// Wait waits until the API may be called once more: Google limits how often.
	Wait func(ctx context.Context) error

	mu    sync.Mutex
	token string
	until time.Time // when token is not used any more
}

// Error is an answer that refuses a request.
type Error struct {
	Status     int
	Reason     string // Google's word for it, such as permissionDenied or invalid_grant
	Message    string // of Google, in English; it may repeat what was sent
	RetryAfter string // the header; empty: Google does not say
	Token      bool   // the account is refused, not a request about a resource
}

// Error returns nothing of what was sent, so that it can be logged.
func (e *Error) Error() string { return fmt.Sprintf("Google answers %d %s", e.Status, e.Reason) }

// Status returns the status of the answer that is an error, 0 if there is none.
func Status(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// Resource is a Class or an Object.
type Resource interface {
	path() string // with its id, such as loyaltyClass/1.coffee
}

// Insert makes a resource. If there is one with its id, it is changed.
func (c *Client) Insert(ctx context.Context, r Resource) error {
	err := c.call(ctx, http.MethodPost, path.Dir(r.path()), r)
	if Status(err) == http.StatusConflict {
		err = c.Patch(ctx, r)
	}
	return err
}

// Patch changes a resource that exists.
func (c *Client) Patch(ctx context.Context, r Resource) error {
	return c.call(ctx, http.MethodPatch, r.path(), r)
}

// AddMessage adds a message to an object, about which phones notify.
func (c *Client) AddMessage(ctx context.Context, objectID string, m Message) error {
	m.MessageType = "TEXT_AND_NOTIFY"
	return c.call(ctx, http.MethodPost, "loyaltyObject/"+objectID+"/addMessage", map[string]Message{"message": m})
}

// call makes a request of the API. A token that Google does not accept any more is replaced once.
func (c *Client) call(ctx context.Context, method, path string, body any) (err error) {
	raw, _ := json.Marshal(body) // texts have no error
	token := ""
	for try := 0; ; try++ {
		if token, err = c.accessToken(ctx, token); err != nil {
			return err
		}
		if err = c.Wait(ctx); err != nil {
			return err
		}
		_, err = do(ctx, c.Transport, method, c.URL+"/walletobjects/v1/"+path, raw, http.Header{
			"Authorization": {"Bearer " + token},
			"Content-Type":  {"application/json"},
		}, nil)
		if Status(err) != http.StatusUnauthorized || try > 0 {
			return err
		}
	}
}

// accessToken returns a token that is not the refused one. It is used until a minute before its end.
func (c *Client) accessToken(ctx context.Context, refused string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now() // Google compares it with its own clock
	if c.token != "" && c.token != refused && now.Before(c.until) {
		return c.token, nil
	}
	assertion, err := c.Account.sign(map[string]any{
		"iss":   c.Account.Email,
		"scope": scope,
		"aud":   c.Account.TokenURL,
		"iat":   now.Unix(),
		"exp":   now.Add(tokenLife).Unix(),
	})
	if err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"` // seconds
	}
	_, err = do(ctx, c.Transport, http.MethodPost, c.Account.TokenURL, []byte(form.Encode()),
		http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, &answer)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Token = true
	}
	switch {
	case err != nil:
		return "", err
	case answer.AccessToken == "" || strings.ContainsFunc(answer.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", &Error{Status: http.StatusBadGateway, Reason: "without a token", Token: true}
	}
	c.token = answer.AccessToken
	c.until = now.Add(time.Duration(min(max(answer.ExpiresIn, 0), int64(tokenLife/time.Second)))*time.Second - time.Minute)
	return c.token, nil
}

// do makes a request, and returns the header of the answer, which it decodes if that is asked for.
func do(ctx context.Context, t http.RoundTripper, method, target string, body []byte, header http.Header, answer any) (http.Header, error) {
	resp, raw, err := request.Send(ctx, t, method, target, header, body)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, refusal(resp, raw)
	case answer != nil && json.Unmarshal(raw, answer) != nil:
		return nil, &Error{Status: http.StatusBadGateway, Reason: "without JSON"}
	}
	return resp.Header, nil
}

// refusal returns the error of an answer, in either of the two forms that Google uses.
func refusal(resp *http.Response, raw []byte) *Error {
	e := &Error{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
	var api struct {
		Error struct {
			Message, Status string
			Errors, Details []struct{ Reason string }
		}
	}
	var token struct {
		Error       string
		Description string `json:"error_description"`
	}
	switch {
	case json.Unmarshal(raw, &api) == nil:
		e.Reason, e.Message = api.Error.Status, api.Error.Message
		for _, d := range append(api.Error.Errors, api.Error.Details...) {
			if d.Reason != "" {
				e.Reason = d.Reason
			}
		}
	case json.Unmarshal(raw, &token) == nil:
		e.Reason, e.Message = token.Error, token.Description
	}
	e.Reason, e.Message = printable(e.Reason, 64), printable(e.Message, 300)
	return e
}

// printable returns up to max characters of ASCII of a text, so that it can be logged and shown.
func printable(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), max)]
}
