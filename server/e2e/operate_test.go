package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// TestAccessLog checks that the access log has the caller and route of each request, and no content
// of it.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	db, ready := demoFile(t)
	p := startServe(t, db, "--access-log", "--trusted-proxy", "127.0.0.0/8,10.0.0.0/8")
	api := p.api(ready.APIKey)
	card := issueCard(api, ready.ProgramIDs["standard"], map[string]string{
		"holder_name":  "Grace Hopper",
		"holder_email": "grace@example.com",
		"external_ref": "member-77",
	})
	api.Get("/cards?external_ref=member-77&holder_email=grace%40example.com").Want(200)
	api.Call("PATCH", "/cards/"+card.ID, `{"holder_name": 3}`, "Idempotency-Key", "order-of-grace").Want(400, "validation_failed")
	p.api("tsk_test_guessed").Get("/me").Want(401, "unauthenticated")
	token := card.InstallURL[strings.LastIndexByte(card.InstallURL, '/')+1:]
	http.Get(p.origin + "/i/" + token)
	p.outside().Get("/files/grace@example.com").Want(404)
	p.till(ready.TillToken).Call("POST", "/cards/"+card.ID+"/stamps", `{"metadata": {"note": "for Grace"}}`, "X-Staff-Pin", "47110815").
		Want(201)
	for from, client := range map[string]string{
		"203.0.113.7, 10.1.2.3": "203.0.113.7",
		"nonsense":              "127.0.0.1",
	} {
		id := api.Call("GET", "/me", nil, "X-Forwarded-For", from).Want(200).Header.Get("X-Request-Id")
		p.await(p.stderr, contains(id))
		for line := range strings.Lines(p.stderr.String()) {
			if strings.Contains(line, id) && !strings.Contains(line, `"client":"`+client+`"`) {
				t.Errorf("X-Forwarded-For %.60q: %s, want the client %s", from, line, client)
			}
		}
	}
	p.stop()
	text := p.stderr.String()
	type entry struct {
		Msg, Method, Route, Client, Caller string
		Status                             int
	}
	var got []string
	for line := range strings.Lines(text) {
		var e entry
		if json.Unmarshal([]byte(line), &e) != nil || e.Msg != "request" {
			continue
		}
		if e.Route != "/api/public/v1/me" || e.Status != http.StatusOK { // those of the clients above
			got = append(got, strings.Join([]string{e.Method, e.Route, http.StatusText(e.Status), e.Caller[:min(4, len(e.Caller))]}, " "))
		}
	}
	want := []string{"POST /api/public/v1/programs/:id/cards Created key_", "GET /api/public/v1/cards OK key_",
		"PATCH /api/public/v1/cards/:id Bad Request key_",
		"GET /api/public/v1/me Unauthorized ", "GET /i/:token OK ", "GET  Not Found ", "POST /till/v1/cards/:code/stamps Created dev_"}
	slices.Sort(got) // a line is written after its answer
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, secret := range []string{
		"Grace", "Hopper", "grace", "member-77", token, ready.APIKey, ready.TillToken, "tsk_test_guessed", "47110815",
		"order-of-grace",
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the log contains %s", secret)
		}
	}
}

// TestHealthcheckTrustsOneCertificate asks a server with its own certificate by the variables of
// serve.
func TestHealthcheckTrustsOneCertificate(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	servertest.WriteCertificate(t, dir, "first")
	servertest.WriteCertificate(t, other, "first")
	cert := filepath.Join(dir, "cert.pem")
	p := startServe(t, filepath.Join(dir, "shop.db"), "--tls-cert", cert, "--tls-key", filepath.Join(dir, "key.pem"), "--listen",
		"0.0.0.0:0")
	listen := "PUNCHCARD_LISTEN=0.0.0.0" + p.origin[strings.LastIndex(p.origin, ":"):]
	if r := execute(t, []string{listen, "PUNCHCARD_TLS_CERT=" + cert}, "healthcheck"); r != (result{}) {
		t.Errorf("%+v", r)
	}
	if r := execute(t, nil, "healthcheck", p.origin, "--tls-cert", cert); r != (result{}) {
		t.Errorf("%+v", r)
	}
	execute(t, []string{
		listen, "PUNCHCARD_TLS_CERT=" + filepath.Join(other, "cert.pem"),
	}, "healthcheck").refused(t, "not ready", "another certificate than "+filepath.Join(other, "cert.pem"))
	execute(t, []string{listen, "PUNCHCARD_TLS_CERT=" + filepath.Join(dir, "key.pem")}, "healthcheck").refused(t, "has no certificate")
	execute(t, []string{listen}, "healthcheck").refused(t, "not ready")
	execute(t, nil, "healthcheck", p.origin).refused(t, "not ready") // the system does not trust it
	p.clientsLeave = true
}

// TestOwnCertificate checks that a server with its own certificate speaks HTTP/2 and 1.1 and uses a
// renewed certificate without a restart, and that it keeps the old one while the new one is
// invalid.
func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first := servertest.WriteCertificate(t, dir, "first")
	p := startServe(t, filepath.Join(dir, "shop.db"), "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(p.origin, "https://127.0.0.1:") {
		t.Fatalf("the origin is %s", p.origin)
	}
	// Each request has a new connection, since the test is about the handshake.
	ask := func(pool *x509.CertPool, protocols ...string) (name, proto string, err error) {
		tr := &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool, NextProtos: protocols},
			ForceAttemptHTTP2: len(protocols) == 0,
			DisableKeepAlives: true,
		}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get(p.origin + "/healthz")
		if err != nil {
			return "", "", err
		}
		resp.Body.Close()
		return resp.TLS.PeerCertificates[0].Subject.CommonName, resp.Proto, nil
	}
	if name, proto, err := ask(first); name != "first" || proto != "HTTP/2.0" || err != nil {
		t.Errorf("%s %s %v", name, proto, err)
	}
	if _, proto, err := ask(first, "http/1.1"); proto != "HTTP/1.1" || err != nil {
		t.Errorf("%s %v", proto, err)
	}
	old := &tls.Config{RootCAs: first, MaxVersion: tls.VersionTLS11}
	if c, err := tls.Dial("tcp", strings.TrimPrefix(p.origin, "https://"), old); err == nil {
		c.Close()
		t.Error("TLS 1.1 was accepted")
	}
	second := servertest.WriteCertificate(t, dir, "second")
	later := time.Now().Add(time.Second) // a file system may have a resolution of a second
	os.Chtimes(cert, later, later)
	if name, _, err := ask(second); name != "second" || err != nil {
		t.Errorf("after the renewal: %s %v", name, err)
	}
	noError(t, os.WriteFile(key, bytes.Repeat([]byte("?"), 100), 0o600))
	if name, _, err := ask(second); name != "second" || err != nil {
		t.Errorf("with a bad key: %s %v", name, err)
	}
	if text := p.stderr.String(); !strings.Contains(text, `"msg":"the certificate ends soon","host":"first"`) ||
		!strings.Contains(text, `"days_left":0`) {
		t.Errorf("the log does not contain that the certificate ends within the hour:\n%s", text)
	}
	if !strings.Contains(p.stderr.String(), "the new certificate is not taken") {
		t.Errorf("the log does not contain the bad key:\n%s", p.stderr)
	}
	p.signal(os.Interrupt) // stop would report the bad key, which is logged as an error
	if err := p.wait(); err != nil {
		t.Error(err)
	}
}

// TestCertificateEnds serves with a certificate that has ended. The server says so and goes on, though clients refuse it, and takes
// the next certificate at the next connection.
func TestCertificateEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ended := servertest.WriteCertificateUntil(t, dir, "ended", time.Now().Add(-time.Minute))
	cert := filepath.Join(dir, "cert.pem")
	p := startServe(t, filepath.Join(dir, "shop.db"), "--tls-cert", cert, "--tls-key", filepath.Join(dir, "key.pem"))
	p.await(p.stderr, func(text string) bool {
		return strings.Contains(text, `"msg":"the certificate has ended","host":"ended"`)
	})
	ask := func(conf *tls.Config) (status int, err error) {
		resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}).Get(p.origin + "/readyz")
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}
	if status, err := ask(&tls.Config{InsecureSkipVerify: true}); status != 200 {
		t.Errorf("whoever takes the certificate gets %d, %v", status, err)
	}
	status, err := ask(&tls.Config{RootCAs: ended})
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); !ok || e.Reason != x509.Expired {
		t.Errorf("others get %d, %v", status, err)
	}
	renewed := servertest.WriteCertificate(t, dir, "renewed")
	later := time.Now().Add(time.Second) // a file system may have a resolution of a second
	os.Chtimes(cert, later, later)
	if status, err := ask(&tls.Config{RootCAs: renewed}); status != 200 {
		t.Errorf("after the renewal: %d, %v", status, err)
	}
	if !strings.Contains(p.stderr.String(), `"msg":"a new certificate"`) {
		t.Errorf("the log does not have the renewal:\n%s", p.stderr)
	}
	p.clientsLeave = true
}

// TestMetrics checks a scrape of a shop: the lines match patterns, are well-formed, and contain no
// personal data or secrets.
func TestMetrics(t *testing.T) {
	t.Parallel()
	db, ready := demoFile(t)
	p := startServe(t, db, "--metrics-listen", "127.0.0.1:0", "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
	api := p.api(ready.APIKey)
	card := issueCard(api, ready.ProgramIDs["standard"], map[string]string{
		"holder_name":  "Grace Hopper",
		"holder_email": "grace@example.com",
	})
	for range 3 {
		api.Get("/cards/" + card.ID).Want(200)
	}
	api.Get("/cards/crd_nothing").Want(404)
	p.outside().Get("/somewhere/grace@example.com").Want(404)
	p.api(ready.APIKey).Call("BREW", "/cards", nil).Want(405, "bad_request")
	p.outside().Get("/i/" + card.InstallURL[strings.LastIndexByte(card.InstallURL, '/')+1:])

	resp := require.Must(http.Get(p.metrics))
	raw, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp.Status, err)
	}
	text := string(raw)
	for _, line := range []string{
		`punchcard_http_requests_total{code="200",method="GET",route="/api/public/v1/cards/:id"} 3`,
		`punchcard_http_requests_total{code="404",method="GET",route="/api/public/v1/cards/:id"} 1`,
		`punchcard_http_requests_total{code="201",method="POST",route="/api/public/v1/programs/:id/cards"} 1`,
		`punchcard_http_requests_total{code="404",method="any",route=""} 1`,
		`punchcard_http_requests_total{code="200",method="GET",route="/i/:token"} 1`,
		`punchcard_http_request_duration_seconds_count{method="GET",route="/api/public/v1/cards/:id"} 4`,
		`punchcard_webhook_queue 0`,
		`punchcard_build_info{version="` + version(t) + `"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the scrape lacks %s", line)
		}
	}
	for _, secret := range []string{"grace", "Hopper", card.ID, ready.APIKey, card.InstallURL, ready.ShopID} {
		if strings.Contains(text, secret) {
			t.Errorf("the scrape contains %s", secret)
		}
	}
	problems := require.Must(promlint.New(strings.NewReader(text)).Lint())
	for _, f := range problems {
		if strings.HasPrefix(f.Metric, "punchcard_") {
			t.Errorf("%s: %s", f.Metric, f.Text)
		}
	}
	p.outside().Get("/metrics").Want(404, "not_found")
}

func version(t *testing.T) string {
	return strings.Fields(execute(t, nil, "version").stdout)[1]
}
