package wallet_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/wallet/wallettest"
)

// wire sends the requests of a phone, and changes what comes and goes.
type wire struct {
	request    func(*http.Request)
	answer     func(path string, h http.Header, body []byte) []byte
	complaints int // that were sent
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/v1/log") {
		w.complaints++
	}
	if w.request != nil {
		w.request(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || w.answer == nil {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(w.answer(r.URL.Path, resp.Header, body)))
	return resp, err
}

// TestPhoneComplains checks that the stand-in of a phone notices a server that breaks one of Apple's rules.
func TestPhoneComplains(t *testing.T) {
	s := start(t)
	inList := func(old, new string) *wire {
		return &wire{answer: func(path string, _ http.Header, body []byte) []byte {
			if strings.Contains(path, "/registrations/") && bytes.Contains(body, []byte("lastUpdated")) {
				return bytes.Replace(body, []byte(old), []byte(new), 1)
			}
			return body
		}}
	}
	inPass := func(change func(h http.Header, body []byte)) *wire {
		return &wire{
			request: func(r *http.Request) { r.Header.Del("If-Modified-Since") },
			answer: func(path string, h http.Header, body []byte) []byte {
				if strings.Contains(path, "/v1/passes/") {
					change(h, body)
				}
				return body
			},
		}
	}
	for _, c := range []struct {
		says string
		wire *wire
	}{
		{"", &wire{}},
		{"is listed and sent, and has not changed", inPass(func(http.Header, []byte) {})},
		{"the server answers 401", &wire{request: func(r *http.Request) {
			if strings.Contains(r.URL.Path, "/v1/passes/") {
				r.Header.Set("Authorization", "Bearer x")
			}
		}}},
		{"the list: ", inList(`"lastUpdated":"`, `"lastUpdated":1,"x":"`)},
		{"is listed, and the phone does not have it", inList(`"serialNumbers":["`, `"serialNumbers":["x`)},
		{`its content type is "text/plain"`, inPass(func(h http.Header, _ []byte) { h.Set("Content-Type", "text/plain") })},
		{"Last-Modified: ", inPass(func(h http.Header, _ []byte) { h.Del("Last-Modified") })},
		{"zip: ", inPass(func(_ http.Header, body []byte) { clear(body) })},
	} {
		p := &wallettest.Phone{Device: "phone", PushToken: "aa11", Reader: wallettest.Demo().Reader(), Client: &http.Client{}}
		if _, err := p.Add(t.Context(), s.page+"/card.pkpass", "card"); err != nil {
			t.Fatal(err)
		}
		p.Client.Transport = c.wire
		p.Wake(t.Context())
		if got := p.State(); !strings.Contains(got.Problem, c.says) || (c.says == "") != (got.Problem == "") || len(got.Passes) != 1 {
			t.Errorf("the phone complains that %q, want %q", got.Problem, c.says)
		}
		if sent := c.wire.complaints > 0; sent != (c.says != "") {
			t.Errorf("a complaint that %q is sent: %t", c.says, sent)
		}
	}
	p := &wallettest.Phone{Device: "phone", PushToken: "aa11", Client: &http.Client{}}
	for _, path := range []string{"/c/none/card.pkpass", "/healthz"} {
		if _, err := p.Add(t.Context(), s.Origin+path, ""); err == nil || len(p.State().Passes) > 0 {
			t.Errorf("the phone takes %s: %v", path, err)
		}
	}
}
