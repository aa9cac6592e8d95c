package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/apple"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
	sending "punchcard/webhook"
)

const killPassType = "pass.com.example.card"

// passHolder is an iPhone with the pass of a card.
type passHolder struct {
	card     string
	token    string // with which it is woken
	reader   wallettest.PassReader
	pass     *wallettest.Pass
	modified string // of the pass
	updated  string // of the last list of changed passes
	woken    chan struct{}

	mu    sync.Mutex
	shows string // balance and program of the pass
}

// request makes a request, and returns an answer with one of the statuses alone.
func (p *passHolder) request(ctx context.Context, method, url, body string, statuses ...int) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if p.pass != nil {
		req.Header.Set("Authorization", "ApplePass "+p.pass.Token)
		req.Header.Set("If-Modified-Since", p.modified)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && !slices.Contains(statuses, resp.StatusCode) {
		err = fmt.Errorf("%s %s: %d %s", method, url, resp.StatusCode, raw)
	}
	return resp, raw, err
}

// take reads the pass of a URL, unless the phone has it already.
func (p *passHolder) take(ctx context.Context, url string) error {
	resp, raw, err := p.request(ctx, "GET", url, "", http.StatusOK, http.StatusNotModified)
	if err != nil || resp.StatusCode == http.StatusNotModified {
		return err
	}
	pass, err := p.reader.Read(raw)
	if err != nil {
		return err
	}
	shows := ""
	for _, f := range pass.Fields("en") {
		if f.Key == "balance" || f.Key == "program" {
			shows += f.Value + " "
		}
	}
	p.pass, p.modified = pass, resp.Header.Get("Last-Modified")
	p.mu.Lock()
	p.shows = shows
	p.mu.Unlock()
	return nil
}

// service returns the URL of a path of the web service of the pass.
func (p *passHolder) service(path string) string { return p.pass.WebServiceURL + "/v1" + path }

// update does what a phone does that was woken: it asks whether its pass has changed, and reads it again.
func (p *passHolder) update(ctx context.Context) error {
	list := p.service("/devices/" + p.token + "/registrations/" + killPassType + "?passesUpdatedSince=" + p.updated)
	resp, raw, err := p.request(ctx, "GET", list, "", http.StatusOK, http.StatusNoContent)
	if err != nil || resp.StatusCode == http.StatusNoContent {
		return err
	}
	var changed struct{ LastUpdated string }
	if err := json.Unmarshal(raw, &changed); err != nil {
		return err
	}
	if err := p.take(ctx, p.service("/passes/"+killPassType+"/"+p.pass.Serial)); err != nil {
		return err
	}
	p.updated = changed.LastUpdated
	return nil
}

// passServer is the configuration of a server in a process of its own. It is not the binary, since the authority of Apple, which it
// trusts, issues no certificates for tests.
type passServer struct {
	DB, Listen, ApplePushURL string
	Issuer                   []byte // certificate of the authority for passes
	Root                     []byte // certificate of the service that wakes phones
}

// passServerVariable is the variable that makes a process of the tests a server of passes. Its value is JSON of a passServer.
const passServerVariable = "E2E_PASS_SERVER"

// servePasses serves what a variable says until SIGTERM.
func servePasses(variable string) error {
	var p passServer
	if err := json.Unmarshal([]byte(variable), &p); err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	c := app.Config{DB: p.DB, Listen: p.Listen, Log: log, Limits: app.DefaultLimits(), ApplePushURL: p.ApplePushURL}
	c.AppleRoots = x509.NewCertPool()
	c.Limits.TillRateLimitPerMinute, c.Limits.WebhookBackoffBase = new(int), 10*time.Millisecond
	c.Guard = &sending.Guard{Loopback: true}
	var err1, err2 error
	c.PassIssuer, err1 = x509.ParseCertificate(p.Issuer)
	root, err2 := x509.ParseCertificate(p.Root)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	c.AppleRoots.AddCert(root)
	a, err := app.Start(c)
	if err != nil {
		return err
	}
	log.Info("serving", "origin", a.Origin)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	return a.Stop(context.Background())
}

// passShop is a shop whose server is killed while phones have passes of its cards.
type passShop struct {
	*shopFile
	conf                          passServer
	till                          string // its token
	api                           *servertest.Client
	program                       string
	phones                        map[string]*passHolder // by push token
	starts, stamps, pushes, reads *progress              // reads: of passes by phones
}

// serve starts the server.
func (s *passShop) serve() {
	conf, _ := json.Marshal(s.conf)
	cmd := exec.Command(require.Must(os.Executable()))
	cmd.Env = environment([]string{passServerVariable + "=" + string(conf)})
	s.server = launchCommand(s.t, cmd)
	s.server.awaitServing()
	s.starts.add()
}

// newPassShop serves a shop that has set up Apple Wallet, with phones that have passes of cards.
func newPassShop(t *testing.T, phones int) *passShop {
	authority, apns := require.Must(wallettest.NewAuthority()), wallettest.NewAPNs()
	t.Cleanup(apns.Close)
	s := &passShop{
		shopFile: &shopFile{t: t, db: newDatabase(t)},
		phones:   map[string]*passHolder{},
		starts:   newProgress(),
		stamps:   newProgress(),
		pushes:   newProgress(),
		reads:    newProgress(),
	}
	s.conf = passServer{s.db, fmt.Sprintf("127.0.0.1:%d", freePort(t)), apns.URL, authority.Certificate.Raw, certificateOf(apns.URL)}
	s.serve()
	s.api = s.newAPI("CRM")
	s.till = s.tillToken()
	s.program = newProgram(s.api, `{"type":"prepaid","name":"Card 0","initial_balance_cents":0}`)

	key, request, err := apple.NewRequest()
	noError(t, err)
	beside := require.Must(store.Open(s.db, store.Options{MustExist: true}))
	defer beside.Close()
	servertest.Write(t, beside, func(tx *store.Tx) error {
		_, err := tx.SetAppleCertificate(1, store.AppleWallet{
			PassType:     killPassType,
			Team:         "TEAM000001",
			Organization: "Example",
			Certificate:  require.Must(authority.Issue(request, wallettest.Order{})),
			Key:          key,
			NotAfter:     store.TimeOf(time.Now().AddDate(1, 0, 0)),
		})
		return err
	})
	reader := wallettest.PassReader{Roots: x509.NewCertPool(), AllowHTTP: true}
	reader.Roots.AddCert(authority.Root)
	for i := range phones {
		made := issueCard(s.api, s.program, `{}`)
		p := &passHolder{card: made.ID, token: fmt.Sprintf("%02x", i), reader: reader, woken: make(chan struct{}, 1)}
		var h store.HolderCard
		noError(t, beside.View(0, func(v *store.View) (err error) {
			h, err = v.HolderCard(path.Base(made.InstallURL))
			return err
		}))
		noError(t, p.take(t.Context(), s.server.origin+"/c/"+h.PageToken+"/card.pkpass"))
		registration := p.service("/devices/" + p.token + "/registrations/" + killPassType + "/" + p.pass.Serial)
		if _, _, err := p.request(t.Context(), "POST", registration, `{"pushToken":"`+p.token+`"}`, http.StatusCreated); err != nil {
			t.Fatal(err)
		}
		s.phones[p.token] = p
		go s.read(p)
	}
	go s.wake(apns.Woken)
	return s
}

// certificateOf returns the certificate of a server.
func certificateOf(url string) []byte {
	conn := require.Must(tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true}))
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Raw
}

// wake gives the pushes that arrive to their phones.
func (s *passShop) wake(tokens <-chan string) {
	for {
		select {
		case <-s.t.Context().Done():
			return
		case token := <-tokens:
			s.pushes.add()
			select {
			case s.phones[token].woken <- struct{}{}:
			default:
			}
		}
	}
}

// read reads the pass of a phone whenever the phone is woken, and after the next start of the server if that fails.
func (s *passShop) read(p *passHolder) {
	end := s.t.Context()
	for {
		select {
		case <-end.Done():
			return
		case <-p.woken:
		}
		for {
			_, started := s.starts.read()
			if p.update(end) == nil {
				s.reads.add()
				break
			}
			select {
			case <-end.Done():
				return
			case <-started:
			}
		}
	}
}

// TestPassesSurviveKills kills the server after a top-up or a change of the program, when a push arrives, and at random moments. After
// each restart all phones must come to show the balances of their cards and the name of the program.
func TestPassesSurviveKills(t *testing.T) {
	t.Parallel()
	const seed = 20261127
	chance := rand.New(rand.NewPCG(seed, uint64(*killsFlag)))
	s := newPassShop(t, 4)
	name := "Card 0"
	rename := func(n int) {
		name = fmt.Sprint("Card ", n)
		s.api.Patch("/programs/"+s.program, `{"name":"`+name+`"}`).Want(200)
	}
	for round := range 1 + *killsFlag {
		var writers sync.WaitGroup
		for _, p := range s.phones {
			till := s.server.till(s.till)
			writers.Go(func() {
				for topUp(t, till, p.card) {
					s.stamps.add()
				}
			})
		}
		what := []*progress{s.stamps, s.pushes, s.reads, s.pushes}[round%4]
		if what == s.reads || chance.IntN(4) == 0 {
			rename(round + 1)
		}
		if want := what.count() + 1 + chance.Int64N(20); !what.waitUntil(func() bool { return what.count() >= want }) {
			t.Fatalf("round %d: no progress:\n%s", round, s.server.stderr)
		}
		if round%4 == 3 {
			rename(round + 1)
		}
		s.server.signal(syscall.SIGKILL)
		s.server.wait()
		writers.Wait()
		s.serve()
		for _, p := range s.phones {
			s.await(p, round, name)
		}
	}
	s.server.stop()
	checkFile(t, s.db)
}

// await waits until a phone shows the balance of its card and the name of the program.
func (s *passShop) await(p *passHolder, round int, name string) {
	s.t.Helper()
	var c struct {
		CurrentValue int64 `json:"current_value"`
	}
	s.api.Get("/cards/" + p.card).Want(200).Decode(&c)
	want, shows := fmt.Sprintf("%d.00 EUR %s ", c.CurrentValue/100, name), ""
	if !s.reads.waitUntil(func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		shows = p.shows
		return shows == want
	}) {
		s.t.Fatalf("after round %d a phone shows %q, want %q", round, shows, want)
	}
}
