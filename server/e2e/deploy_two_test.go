//go:build unix

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// twoServers are two servers behind a proxy that has the hosts of deploy/Caddyfile.two.
type twoServers struct {
	t       *testing.T
	proxy   *httptest.Server
	ports   map[string]string   // of deploy/Caddyfile.two, by host
	servers map[string]*url.URL // by port
	replace *strings.Replacer   // of the paths in deploy/README.md
	lines   map[string][]string // commands of deploy/README.md, by their first words
}

// newTwoServers starts the proxy, which passes the requests of all hosts to port 8080 until after is
// set.
func newTwoServers(t *testing.T, folder string) *twoServers {
	t.Helper()
	two := &twoServers{t: t, ports: map[string]string{}, servers: map[string]*url.URL{}, lines: map[string][]string{}}
	caddy := string(require.Must(os.ReadFile("deploy/Caddyfile.two")))
	for _, m := range regexp.MustCompile(`(?m)^(\S+) \{\n\timport punchcard 127\.0\.0\.1:(\d+)\n\}`).FindAllStringSubmatch(caddy, -1) {
		two.ports[m[1]] = "8080"
	}
	two.replace = strings.NewReplacer("/var/lib/punchcard", folder, "127.0.0.1:8080", "127.0.0.1:0", "127.0.0.1:8081", "127.0.0.1:0")
	for line := range strings.Lines(string(require.Must(os.ReadFile("deploy/README.md")))) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), "punchcard "); ok {
			words := strings.Fields(args)
			two.lines[words[0]] = append(two.lines[words[0]], args)
		}
	}
	two.proxy = httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(two.servers[two.ports[r.In.Host]])
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}})
	t.Cleanup(two.proxy.Close)
	return two
}

// reload gives the hosts the ports that the file says.
func (two *twoServers) reload() {
	caddy := string(require.Must(os.ReadFile("deploy/Caddyfile.two")))
	for host := range two.ports {
		_, rest, _ := strings.Cut(caddy, "\n"+host+" {\n\timport punchcard 127.0.0.1:")
		two.ports[host], _, _ = strings.Cut(rest, "\n")
	}
}

// args returns the arguments of the command of the README with a number among those that begin with a
// word.
func (two *twoServers) args(word string, n int) []string {
	two.t.Helper()
	if n >= len(two.lines[word]) {
		two.t.Fatalf("deploy/README.md has %d commands punchcard %s", len(two.lines[word]), word)
	}
	return strings.Fields(two.replace.Replace(two.lines[word][n]))
}

// serve starts the server of a command of the README, at a port.
func (two *twoServers) serve(n int, port string) *process {
	two.t.Helper()
	args := append(two.args("serve", n), "--log-format", "json", "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
	p := launch(two.t, nil, args...)
	p.clientsLeave = true
	p.awaitServing()
	two.servers[port] = require.Must(url.Parse(p.origin))
	return p
}

// call makes a request to the proxy for a host. It returns the status with the Location, and the body.
func (two *twoServers) call(method, host, path, token, body string) (outcome, answer string) {
	two.t.Helper()
	r := require.Must(http.NewRequest(method, two.proxy.URL+path, strings.NewReader(body)))
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp := require.Must(http.DefaultTransport.RoundTrip(r))
	defer resp.Body.Close()
	return strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Location"))), string(require.Must(io.ReadAll(resp.Body)))
}

// TestTwoServers follows deploy/README.md: it moves a shop from one server to another behind the proxy.
// At the host name that moves along, the page of a card, a till, a key and webhooks go on; at the old
// one everything leads to it.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	const old, own = "cards.example.com", "pizza.example.com"
	folder := t.TempDir()
	two := newTwoServers(t, folder)
	if len(two.ports) != 2 || two.ports[own] == "" {
		t.Fatalf("the hosts of deploy/Caddyfile.two are %v", two.ports)
	}
	db := filepath.Join(folder, "shop.db")
	noError(t, os.WriteFile(db, database(), 0o600))
	first := two.serve(0, "8080")
	f := &shopFile{t: t, db: db, server: first}
	f.run("shop", "create", "--name", "Pizza")
	f.run("location", "create", "--shop", "Pizza", "--name", "Nord", "--address", "Via Po 1", "--city", "Torino", "--postal-code", "10123",
		"--country-code", "IT")
	key := f.makeKey("create", "--name", "CRM", "--shop", "Pizza").Secret
	till := f.makeDevice("--shop", "Pizza", "--location", "Nord", "--accept-card-ids").Token
	program := newProgram(first.api(key),
		`{"type":"standard","name":"Pizza","total_stamps":10,"repeat_after_reset":true,"icon_key":"pizza"}`)
	deliveries := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		deliveries <- string(body)
	}))
	t.Cleanup(receiver.Close)
	first.api(key).Post("/programs/"+program+"/webhooks", fmt.Sprintf(`{"url":%q,"events":["stamp.*"]}`, receiver.URL)).Want(201)
	execute(t, nil, two.args("shop", 0)...).ok(t)
	made := issueCard(first.api(key), program, `{"external_ref":"a"}`)
	link, begins := strings.CutPrefix(made.InstallURL, "https://"+own)
	if !begins {
		t.Fatalf("the link is %s", made.InstallURL)
	}
	check := func(host, page, write string) {
		t.Helper()
		for what, call := range map[string][5]string{
			"page": {"GET", link, "", "", page},
			"till": {"POST", "/till/v1/cards/" + made.ID + "/stamps", till, `{"count":1}`, write},
			"key":  {"POST", "/api/public/v1/programs/" + program + "/cards", key, `{}`, write},
		} {
			if got, body := two.call(call[0], host, call[1], call[2], call[3]); got != call[4] {
				t.Errorf("%s at %s: %s %s, want %s", what, host, got, body, call[4])
			}
		}
	}
	event := func() string {
		select {
		case body := <-deliveries:
			return body
		case <-t.Context().Done():
			return ""
		}
	}
	check(own, "200", "201")
	event()
	r := execute(t, nil, append(two.args("shop", 1), "--quiet")...)
	if r.code != 0 || !strings.Contains(r.stdout, "Pair the tills (1) again") || !strings.Contains(r.stdout, "to that server: https://"+own) {
		t.Fatalf("%+v", r)
	}
	check(own, "503", "410") // the proxy does not lead there yet
	second := two.serve(1, "8081")
	two.reload()
	check(own, "200", "201")
	if body := event(); !strings.Contains(body, made.ID) {
		t.Errorf("the webhook got %s", body)
	}
	check(old, "307 https://"+own+link, "410")
	if len(deliveries) > 0 {
		t.Errorf("there were %d more deliveries", len(deliveries))
	}
	for _, p := range []*process{first, second} {
		p.stop()
	}
	checkFile(t, db)
	checkFile(t, filepath.Join(folder, "pizza.db"))
}
