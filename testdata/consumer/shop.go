// Package shop is the web site of an imaginary shop that gives its members loyalty
// cards: an example of a module that is tested against punchcard.
package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Members manages the members' cards on a punchcard server.
type Members struct {
	URL     string // of the API
	Key     string
	Program string // id
	HTTP    *http.Client
	Backoff time.Duration // between attempts
}

// Card is what the web site shows of a card.
type Card struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	Stamps     int    `json:"stamps_count"`
	InstallURL string `json:"install_url"`
}

// Join gives a member a card. Repeated calls give the same card.
func (m *Members) Join(ctx context.Context, member string, until time.Time) (c Card, err error) {
	body := map[string]any{"external_ref": member, "expires_at": until}
	err = m.call(ctx, "POST", "/programs/"+m.Program+"/cards", "join-"+member, body, &c)
	return c, err
}

// Show returns a card.
func (m *Members) Show(ctx context.Context, id string) (c Card, err error) {
	err = m.call(ctx, "GET", "/cards/"+id, "", nil, &c)
	return c, err
}

// call makes a request, up to three times if it fails with a status of 5xx or without
// an answer. This is safe with the same Idempotency-Key.
func (m *Members) call(ctx context.Context, method, path, key string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		status, answer, err := m.once(ctx, method, path, key, text)
		switch {
		case err == nil && status < 300:
			return json.Unmarshal(answer, out)
		case err == nil && status < 500:
			return fmt.Errorf("%s %s: %d %s", method, path, status, answer)
		case attempt == 3 && err == nil:
			return fmt.Errorf("%s %s: %d %s", method, path, status, answer)
		case attempt == 3:
			return err
		}
		select {
		case <-time.After(m.Backoff):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Members) once(ctx context.Context, method, path, key string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, m.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+m.Key)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := m.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// Stamps receives webhooks and counts the stamps of each card.
type Stamps struct {
	signatures *standardwebhooks.Webhook

	mu    sync.Mutex
	seen  map[string]bool // ids of events
	total map[string]int  // by card
}

// NewStamps returns a receiver of a webhook's deliveries.
func NewStamps(secret string) (*Stamps, error) {
	signatures, err := standardwebhooks.NewWebhook(secret)
	return &Stamps{signatures: signatures, seen: map[string]bool{}, total: map[string]int{}}, err
}

// Of returns the number of stamps that a card was given.
func (s *Stamps) Of(card string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total[card]
}

// Take counts a delivery, but not its repetitions. It returns an error if the
// signature is invalid.
func (s *Stamps) Take(header http.Header, body []byte) error {
	if err := s.signatures.Verify(body, header); err != nil {
		return err
	}
	var e struct {
		Event   string `json:"event"`
		EventID string `json:"event_id"`
		Data    struct {
			Card  string `json:"card_instance_id"`
			Delta int    `json:"stamps_delta"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Event == "stamp.assigned" && !s.seen[e.EventID] {
		s.seen[e.EventID] = true
		s.total[e.Data.Card] += e.Data.Delta
	}
	return nil
}
