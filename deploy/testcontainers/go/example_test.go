package punchcard_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	punchcard "example.com/punchcard/testcontainers"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// post sends body to url with a key, if there is one, and decodes the answer into out.
func post(t *testing.T, url, key, body string, out any) {
	t.Helper()
	send(t, http.MethodPost, url, key, body, out)
}

func send(t *testing.T, method, url, key, body string, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		t.Fatalf("%s %s: %s", method, url, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
}

// stampCard issues a card, stamps it, verifies the webhook that tells of it, and moves the clock.
func stampCard(t *testing.T, s *punchcard.Server) {
	var receiver struct{ ID, URL string } // in the server itself
	post(t, s.Origin+"/dev/receiver", "", `{}`, &receiver)
	program := s.URL + "/programs/" + s.ProgramIDs["standard"]
	var webhook struct{ Secret string }
	post(t, program+"/webhooks", s.APIKey, `{"url": "`+receiver.URL+`", "events": ["stamp.assigned"]}`, &webhook)

	var card struct{ ID string }
	post(t, program+"/cards", s.APIKey, `{"holder_name": "Ada"}`, &card)
	var stamped struct {
		Card struct {
			Stamps int `json:"stamps_count"`
		}
	}
	post(t, s.TillURL+"/cards/"+card.ID+"/stamps", s.TillToken, `{"count": 3}`, &stamped)
	if stamped.Card.Stamps != 3 {
		t.Errorf("the card has %d stamps", stamped.Card.Stamps)
	}

	var got struct {
		Requests []struct {
			Headers map[string]string
			Body    string
		}
	}
	send(t, http.MethodGet, s.Origin+"/dev/receiver/"+receiver.ID+"?wait=1", "", "", &got)
	header := http.Header{}
	for name, value := range got.Requests[0].Headers {
		header.Set(name, value)
	}
	verifier, err := standardwebhooks.NewWebhook(webhook.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify([]byte(got.Requests[0].Body), header); err != nil {
		t.Error(err)
	}

	post(t, s.Origin+"/dev/clock", "", `{"advance": "26h"}`, &struct{}{})
}
