package command

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/till"
	"punchcard/store"
)

// tillFlags are the flags of the commands of a till. The token of the device comes from
// PUNCHCARD_TILL_TOKEN, since other programs can read arguments.
type tillFlags struct {
	URL  string     `name:"url" env:"PUNCHCARD_TILL_URL" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Where the server answers."`
	PIN  secretFlag `name:"pin" env:"-" help:"Send the location's staff PIN, which is asked for or read from standard input."`
	JSON bool       `name:"json" env:"-" help:"Print the answer of the server."`

	token, pin string // set with the first request
	http       http.Client
	raw        []byte // the latest answer
}

// The bounds of a request of a till.
const (
	tillTimeout  = 30 * time.Second
	tillAnswer   = 4 << 20 // bytes
	tillAttempts = 3       // of a request that gets no answer; the reference makes it once
)

// noRedirect makes a client return a redirect as the answer, so that a secret goes to no other host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// open checks the flags and the token before the first request, and asks for the PIN if there is one.
func (c *tillFlags) open() (err error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("--url (PUNCHCARD_TILL_URL): must be the http or https URL of the server, such as https://cards.example.com")
	}
	c.http = http.Client{Timeout: tillTimeout, CheckRedirect: noRedirect}
	if c.token = os.Getenv("PUNCHCARD_TILL_TOKEN"); !kernel.IsDeviceToken(c.token) {
		return errors.New("PUNCHCARD_TILL_TOKEN: must be the token of a device, which begins tdk_; make one with: punchcard device create")
	}
	if c.PIN {
		c.pin, err = readPIN()
	}
	return err
}

// get reads a path of the till API.
func (c *tillFlags) get(path string, out any) error { return c.call("GET", path, nil, out) }

// post writes, once whatever becomes of the connection.
func (c *tillFlags) post(path string, fields map[string]any, out any) error {
	var b [16]byte
	rand.Read(b[:])
	fields["client_reference"] = fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return c.call("POST", path, body, out)
}

// call sends a request, again if there is no answer, and decodes the answer.
func (c *tillFlags) call(method, path string, body []byte, out any) (err error) {
	if c.token == "" {
		if err := c.open(); err != nil {
			return err
		}
	}
	for range tillAttempts {
		var status int
		if status, err = c.send(method, path, body); err == nil {
			err = c.decode(status, out)
		}
		if status != 0 && status < 500 || errors.Is(err, errNoServer) || errors.Is(err, errNoHost) {
			return err
		}
	}
	return err
}

var (
	// errNoServer is the error of a connection that is refused.
	errNoServer = errors.New("no server answers there; start it with: punchcard serve")
	// errNoHost is the error of a name that no DNS server knows.
	errNoHost = errors.New("the host has no address")
)

// send sends a request once and returns the status of the answer.
func (c *tillFlags) send(method, path string, body []byte) (int, error) {
	req, err := http.NewRequest(method, strings.TrimRight(c.URL, "/")+till.Prefix+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if method == "POST" {
		req.Header.Set("Content-Type", "application/json")
		if c.pin != "" {
			req.Header.Set("X-Staff-Pin", c.pin)
		}
	}
	resp, err := c.http.Do(req)
	var refused *net.OpError
	switch {
	case errors.As(err, new(*net.DNSError)):
		return 0, fmt.Errorf("--url %s: %w", c.URL, errNoHost)
	case errors.As(err, &refused) && refused.Op == "dial":
		return 0, fmt.Errorf("--url %s: %w", c.URL, errNoServer)
	case err != nil:
		return 0, fmt.Errorf("--url %s: no answer: %w", c.URL, err)
	}
	defer resp.Body.Close()
	c.raw, err = io.ReadAll(io.LimitReader(resp.Body, tillAnswer))
	return resp.StatusCode, err
}

// decode decodes an answer. A refusal is an error with the server's sentence.
func (c *tillFlags) decode(status int, out any) error {
	if status < 300 && json.Unmarshal(c.raw, out) == nil {
		return nil
	}
	var e struct{ Error kernel.Error }
	if json.Unmarshal(c.raw, &e) != nil || e.Error.Message == "" {
		return fmt.Errorf("--url %s: answered %d, not as a punchcard server does", c.URL, status)
	}
	message := strings.NewReplacer("spend_cents", "--spend", "amount_cents", "AMOUNT").Replace(e.Error.Message)
	var faults []string
	for _, d := range e.Error.Details {
		faults = append(faults, tillFlag(d.Field)+" "+strings.TrimPrefix(strings.TrimSuffix(d.Message, "."), d.Field+" "))
	}
	if faults != nil {
		message = strings.Join(faults, "; ")
	}
	switch {
	case e.Error.Code == store.Unauthenticated:
		message = "PUNCHCARD_TILL_TOKEN: " + message
	case e.Error.Code == store.InvalidCredentials && c.pin == "":
		message += " With --pin the command asks for it."
	}
	return errors.New(message)
}

// tillFlag returns what a command calls a field of the till API.
func tillFlag(field string) string {
	switch field {
	case "amount_cents":
		return "AMOUNT"
	case "spend_cents":
		return "--spend"
	case "prize_id":
		return "PRIZE"
	}
	return flagOf(field)
}

// show prints the latest answer with --json, and otherwise sentences.
func (c *tillFlags) show(sentences ...string) error {
	if c.JSON {
		_, err := Out.Write(append(printableJSON(bytes.TrimSpace(c.raw)), '\n'))
		return err
	}
	for _, s := range sentences {
		printf(Out, "%s\n", s)
	}
	return nil
}
