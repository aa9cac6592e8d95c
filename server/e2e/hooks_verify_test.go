package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// delivered is an entry of the delivery log.
type delivered struct {
	EventID        string `json:"event_id"`
	ResponseStatus *int   `json:"response_status"`
	Attempts       int
	LastError      *string `json:"last_error"`
	DeliveredAt    *string `json:"delivered_at"`
}

// subscriber is a webhook of the demo shop and the requests that make it send.
type subscriber struct {
	t    *testing.T
	p    *process
	api  *servertest.Client
	path string
	hook webhook
	n    int
}

// sentRequest is a delivery as received.
type sentRequest struct {
	header http.Header
	body   []byte
}

// subscribe creates a webhook for card events whose receiver keeps the deliveries.
func subscribe(t *testing.T) (s *subscriber, came chan sentRequest) {
	t.Helper()
	p := startDev(t)
	came = make(chan sentRequest, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		came <- sentRequest{r.Header, body}
	}))
	t.Cleanup(receiver.Close)
	s = &subscriber{t: t, p: p, api: p.demo(), path: "/programs/" + p.ready.ProgramIDs["standard"] + "/webhooks"}
	s.api.Post(s.path, map[string]any{"url": receiver.URL, "events": []string{"card.added"}}).Want(201).Decode(&s.hook)
	s.path += "/" + s.hook.ID
	return s, came
}

// patch changes the webhook.
func (s *subscriber) patch(fields any) {
	s.t.Helper()
	s.api.Call("PATCH", s.path, fields).Want(200).Decode(&s.hook)
}

// send issues a card and returns the log entry of its delivery.
func (s *subscriber) send() delivered {
	s.t.Helper()
	s.n++
	issueCard(s.api, s.p.ready.ProgramIDs["standard"], map[string]string{
		"external_ref": fmt.Sprint("guest-", s.n),
		"holder_name":  "Zoë O’Connor 漢",
	})
	s.p.outside().Post("/dev/settle", nil).Want(200)
	var log struct{ Items []delivered }
	s.api.Get(s.path + "/deliveries?limit=1").Want(200).Decode(&log)
	return log.Items[0]
}

// TestVerifyGo runs the Go receiver of webhook/README.md.
func TestVerifyGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "verify")
	if out, err := exec.Command("go", "build", "-o", path, "testdata/verify/verify.go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkReceiver(t, path)
}

// receiverProgram is a receiver in another process, and the webhook that sends to it.
type receiverProgram struct {
	*process
	s   *subscriber
	url string
}

// startReceiver starts a receiver for the webhook of s.
func startReceiver(t *testing.T, s *subscriber, command ...string) *receiverProgram {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = environment([]string{"PORT=0", "WEBHOOK_SECRET=" + s.hook.Secret})
	r := &receiverProgram{process: &process{t: t, cmd: cmd, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}, s: s}
	cmd.Stdout, cmd.Stderr = r.stdout, r.stderr
	noError(t, cmd.Start())
	go func() {
		r.err = cmd.Wait()
		close(r.ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-r.ended
	})
	r.await(r.stdout, func(text string) bool {
		line, _, whole := strings.Cut(text, "\n")
		r.url = "http://" + strings.TrimPrefix(line, "listening on ") + "/hook"
		return whole
	})
	return r
}

// post sends a delivery to the receiver and returns the status. headers are name, value pairs.
func (r *receiverProgram) post(signature, body string, headers ...string) int {
	r.t.Helper()
	req := require.Must(http.NewRequest("POST", r.url, strings.NewReader(body)))
	if signature != "" {
		req.Header.Set("X-Service-Signature", signature)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.stderr)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// checkReceiver runs a receiver, which must accept the binary's deliveries and nothing else.
func checkReceiver(t *testing.T, command ...string) {
	t.Helper()
	s, came := subscribe(t)
	s.send()
	sent := <-came

	r := startReceiver(t, s, command...)
	s.patch(map[string]string{"url": r.url})
	d := s.send()
	if d.DeliveredAt == nil || d.ResponseStatus == nil || *d.ResponseStatus/100 != 2 || d.Attempts != 1 {
		t.Errorf("an unchanged delivery: %+v\n%s", d, r.stderr)
	}
	r.await(r.stdout, contains("card.added "+d.EventID+"\n"))
	r.checkForgeries(sent)
	r.checkOrder()

	s.patch(`{"rotate_secret":true}`)
	if d := s.send(); d.DeliveredAt != nil || d.ResponseStatus == nil || *d.ResponseStatus/100 != 4 || d.Attempts != 1 {
		t.Errorf("a delivery under a new secret: %+v", d)
	}
}

// checkForgeries checks that the receiver accepts a delivery again, and four minutes after it was
// signed, but not with another body, signature or time.
func (r *receiverProgram) checkForgeries(sent sentRequest) {
	r.t.Helper()
	signature, body := sent.header.Get("X-Service-Signature"), string(sent.body)
	if status := r.post(signature, body); status/100 != 2 {
		r.t.Errorf("the status of a repeated delivery is %d", status)
	}
	at := func(when time.Time) string { return signatureHeader(r.s.hook.Secret, when, sent.body) }
	if status := r.post(at(time.Now().Add(-4*time.Minute)), body); status/100 != 2 {
		r.t.Errorf("the status of a delivery signed four minutes ago is %d", status)
	}
	now, mac, _ := strings.Cut(strings.TrimPrefix(signature, "t="), ",v1=")
	for name, forged := range map[string]struct{ signature, body string }{
		"a changed byte":    {signature, strings.Replace(body, "guest-1", "guest-2", 1)},
		"a byte more":       {signature, body + "\n"},
		"no body":           {signature, ""},
		"no signature":      {"", body},
		"an empty one":      {"t=,v1=", body},
		"half of one":       {signature[:len(signature)-1], body},
		"the time alone":    {"t=" + now, body},
		"the digest alone":  {"v1=" + mac, body},
		"another time":      {"t=1" + now + ",v1=" + mac, body},
		"not a digest":      {"t=" + now + ",v1=" + strings.Repeat("é", 32), body},
		"another secret":    {signatureHeader("whsec_AAAA", time.Now(), sent.body), body},
		"ten minutes ago":   {at(time.Now().Add(-10 * time.Minute)), body},
		"in ten minutes":    {at(time.Now().Add(10 * time.Minute)), body},
		"the secret's name": {"whsec_", body},
	} {
		if status := r.post(forged.signature, forged.body); status/100 != 4 {
			r.t.Errorf("%s: status %d", name, status)
		}
	}
}

// checkOrder sends events of one card in another order than that of their commits, and checks that
// the receiver takes an older one that comes after a newer one as late, and a repeated one not.
func (r *receiverProgram) checkOrder() {
	r.t.Helper()
	event := func(id, sequence string) {
		body := `{"event":"stamp.assigned","event_id":"` + id + `","data":{"card_instance_id":"crd_order"}}`
		if status := r.post(signatureHeader(r.s.hook.Secret, time.Now(), []byte(body)), body, "X-Service-Sequence",
			sequence); status/100 != 2 {
			r.t.Errorf("the status of %s is %d", id, status)
		}
	}
	for _, e := range []struct{ id, sequence string }{
		{"evt_b", "9007199254740990"}, {"evt_a", "9007199254740989"}, {"evt_b", "9007199254740990"}, {"evt_c", "9007199254740991"},
	} {
		event(e.id, e.sequence)
	}
	r.await(r.stdout, contains("stamp.assigned evt_c\n"))
	event("evt_d", "1")
	r.await(r.stdout, contains("late evt_d\n"))
	if text := r.stdout.String(); !strings.Contains(text, "late evt_a\n") || strings.Contains(text, "late evt_b\n") ||
		strings.Contains(text, "late evt_c\n") {
		r.t.Errorf("the receiver says of late events:\n%s", text)
	}
}

// signatureHeader returns a signature header as described in webhook/README.md.
func signatureHeader(secret string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}
