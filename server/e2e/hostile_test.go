package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// request returns the text of a request with a body.
func request(method, path, key, headers, body string) string {
	return requestHead(method, path, key) + headers + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// startForRawClients starts a server and returns it, a client for checking it afterwards, and the
// path for issuing cards.
func startForRawClients(t *testing.T) (p *process, api *servertest.Client, issue string) {
	t.Helper()
	p = startDev(t)
	p.clientsLeave = true
	return p, p.demo(), "/programs/" + p.ready.ProgramIDs["standard"] + "/cards"
}

func TestAmbiguousHeaders(t *testing.T) {
	t.Parallel()
	p, api, issue := startForRawClients(t)
	key := p.ready.APIKey
	ask := func(text string) *servertest.Reply {
		t.Helper()
		return p.dial(t).send(text).receive("POST")
	}
	ask(request("POST", issue, key, "Authorization: Bearer "+key+"\r\n", "{}")).Want(401, "unauthenticated")
	ask(request("POST", issue, key, "authorization: Bearer "+p.ready.RestrictedAPIKey+"\r\n", "{}")).Want(401, "unauthenticated")
	wantDetail(ask(request("POST", issue, key, "Idempotency-Key: a\r\nIdempotency-Key: b\r\n", "{}")), "Idempotency-Key", "invalid_value")
	wantDetail(ask(request("POST", issue, key, "Idempotency-Key:\r\n", "{}")), "Idempotency-Key", "too_short")
	for _, headers := range []string{"Host: other\r\n", "Content-Length: 1\r\n", "Content-Length: -1\r\n", "Authorization : Bearer x\r\n",
		" folded: x\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: xchunked\r\n", "X-Name: a\x00b\r\n"} {
		if r := ask(request("POST", issue, key, headers, "{}")); r.Status < 400 || r.Status == 500 {
			t.Errorf("%q: status %d %s", headers, r.Status, r.Body)
		}
	}
	for _, line := range []string{
		"POST", "POST /", "POST  / HTTP/1.1", "POST / HTTP/9.9", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"GET http://[::1 HTTP/1.1", "PRI * HTTP/2.0",
	} {
		if r := ask(line + "\r\nHost: localhost\r\n\r\n"); r.Status < 400 || r.Status == 500 {
			t.Errorf("%q: status %d %s", line, r.Status, r.Body)
		}
	}
	if n := len(listCards(api, 50)); n != 0 {
		t.Errorf("%d cards were issued", n)
	}
}

func TestOversizedRequests(t *testing.T) {
	t.Parallel()
	p, api, issue := startForRawClients(t)
	key := p.ready.APIKey

	// Requests that are too long are refused and the connection is closed, so writing may fail.
	big := func(text string, status int) {
		t.Helper()
		w := p.dial(t)
		go io.WriteString(w.Conn, text)
		if r := w.receive("POST"); r.Status != status {
			t.Errorf("%.60q: status %d %s, want %d", text, r.Status, r.Body, status)
		}
		w.wantClosed()
	}
	big(requestHead("GET", "/cards?external_ref="+strings.Repeat("x", 100_000), key)+"\r\n", 431)
	big(requestHead("GET", "/me", key)+"X-Long: "+strings.Repeat("x", 100_000)+"\r\n\r\n", 431)
	big(requestHead("GET", "/me", key)+strings.Repeat("X-Many: x\r\n", 10_000)+"\r\n", 431)
	big(request("POST", issue, key, "", `{"holder_name":"`+strings.Repeat("x", 2<<20)+`"}`), 413)
	big(request("POST", issue, key, "", strings.Repeat(" ", 1<<20)+"{}"), 413)
	big(requestHead("POST", issue, key)+"Content-Length: 9000000000000000000\r\n\r\n", 413)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 64<<10, strings.Repeat(" ", 64<<10))
	big(requestHead("POST", issue, key)+"Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat(chunk, 17)+"2\r\n{}\r\n0\r\n\r\n", 413)

	// A body of exactly 1 MiB is accepted, also in chunks and in single bytes.
	full := "{}" + strings.Repeat(" ", 1<<20-2)
	p.dial(t).send(request("POST", issue, key, "", full)).receive("POST").Want(201)
	p.dial(t).send(requestHead("POST", issue, key) + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" + strings.Repeat(chunk, 15) +
		"0\r\n\r\n").receive("POST").Want(201)
	w := p.dial(t)
	for _, b := range []byte(request("POST", issue, key, "", `{"holder_name":"Byte"}`)) {
		w.send(string(b))
	}
	w.receive("POST").Want(201)

	if n := len(listCards(api, 50)); n != 3 {
		t.Errorf("%d cards, want the 3 that were answered", n)
	}
}

func TestExpectContinue(t *testing.T) {
	t.Parallel()
	p, api, issue := startForRawClients(t)
	const body = `{"holder_name":"Expected"}`
	expect := fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	w := p.dial(t).send(requestHead("POST", issue, api.Key) + expect)
	if resp, err := http.ReadResponse(w.in, nil); err != nil || resp.StatusCode != 100 {
		t.Fatalf("%v, %v", resp, err)
	}
	w.send(body).receive("POST").Want(201)

	// A request that is refused because of its head gets no 100 Continue.
	p.dial(t).send(requestHead("POST", issue, api.Key[:51]+"x")+expect).receive("POST").Want(401, "unauthenticated")
	p.dial(t).send(requestHead("POST", "/nowhere", api.Key)+expect).receive("POST").Want(404, "not_found")
	p.dial(t).send(requestHead("POST", issue, api.Key)+"Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n").receive("POST").
		Want(413, "bad_request")
	if r := p.dial(t).send(requestHead("POST", issue, api.Key) + "Expect: wonders\r\nContent-Length: 2\r\n\r\n{}").
		receive("POST"); r.Status != 417 {
		t.Errorf("another expectation: status %d", r.Status)
	}
}

// TestClientsDisconnect disconnects after every third byte of a request, after parts of a body in
// chunks, and after the whole request.
func TestClientsDisconnect(t *testing.T) {
	t.Parallel()
	p, api, issue := startForRawClients(t)
	text := request("POST", issue, api.Key, "Idempotency-Key: left\r\n", `{"external_ref":"left"}`)
	for cut := 1; cut < len(text); cut += 3 {
		p.dial(t).send(text[:cut]).Close()
	}
	chunked := requestHead("POST", issue, api.Key) + "Transfer-Encoding: chunked\r\n\r\n10\r\n"
	for _, part := range []string{"", `{}`, `{"external_ref":`, `{}              `, "{}              \r\n", "{}              \r\n0\r\n"} {
		p.dial(t).send(chunked + part).Close()
	}
	// A request without the last byte of its body is refused, also when the client closes its side.
	w := p.dial(t).send(text[:len(text)-1])
	noError(t, w.Conn.(interface{ CloseWrite() error }).CloseWrite())
	w.receive("POST").Want(400, "bad_request")
	w.wantClosed()
	if n := len(listCards(api, 50)); n != 0 {
		t.Fatalf("%d cards of incomplete requests", n)
	}
	// The Idempotency-Key is still unused.
	made := p.dial(t).send(text).receive("POST").Want(201)
	again := p.dial(t).send(text).receive("POST").Want(201)
	if string(made.Body) != string(again.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replayed: %s", again.Body)
	}

	// A client that disconnects after the last byte has the card.
	whole := request("POST", issue, api.Key, "Idempotency-Key: whole\r\n", `{"external_ref":"whole"}`)
	p.dial(t).send(whole).Close()
	p.dial(t).send(whole).receive("POST").Want(201)
	if n := len(listCards(api, 50)); n != 2 {
		t.Errorf("%d cards, want 2", n)
	}
}
