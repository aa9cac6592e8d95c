package mail

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/mail"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"punchcard/server/mail/mailtest"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a store, a mail server and a sender between them, in a synctest
// bubble.
type fixture struct {
	t       *testing.T
	ctx     context.Context
	store   *store.Store
	path    string // of its file
	shop    store.Access
	program string
	limits  store.Limits // zero: the defaults
	back    atomic.Int64 // how far the store's clock was set back
	srv     *mailtest.Server
	net     *pipeNet
	conf    Config
	sender  *Sender
	log     *servertest.Log

	mu       sync.Mutex
	outcomes []string
}

// pipeNet is a listener and its dialler, connected by pipes, since the time of a
// bubble does not pass while a goroutine waits for a real connection.
type pipeNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	down  bool
	panic string // writing this text makes the connection panic; empty: nothing does
	dials []time.Time
	addr  string // address that was dialled last
	open  int    // number of connections that the sender has not closed
}

// clientConn is the sender's end of a pipe.
type clientConn struct {
	net.Conn
	once sync.Once
	w    *pipeNet
}

func (e *clientConn) Close() error {
	e.once.Do(func() {
		e.w.mu.Lock()
		defer e.w.mu.Unlock()
		e.w.open--
	})
	return e.Conn.Close()
}

func (e *clientConn) Write(b []byte) (int, error) {
	e.w.mu.Lock()
	at := e.w.panic
	e.w.mu.Unlock()
	if at != "" && bytes.Contains(b, []byte(at)) {
		panic("cannot write for Grace Hopper: " + string(b))
	}
	return e.Conn.Write(b)
}

func (w *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *pipeNet) Close() error   { w.once.Do(func() { close(w.closed) }); return nil }
func (w *pipeNet) Addr() net.Addr { return &net.TCPAddr{} }

func (w *pipeNet) dial(_ context.Context, _, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addr = addr
	w.dials = append(w.dials, time.Now())
	if w.down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	near, far := net.Pipe()
	w.conns <- far
	w.open++
	return &clientConn{Conn: near, w: w}, nil
}

func (w *pipeNet) set(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

const password = "sesame-opens"

// run runs a test in a bubble. prepare, if not nil, is called before anything is
// started.
func run(t *testing.T, prepare func(f *fixture), test func(f *fixture)) {
	t.Helper()
	servertest.Parallel(t)
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, ctx: t.Context(), srv: &mailtest.Server{Got: make(chan mailtest.Message, 1000)}, log: &servertest.Log{},
			net: &pipeNet{conns: make(chan net.Conn, 100), closed: make(chan struct{})}}
		f.conf = Config{From: &mail.Address{Name: "Caffè Lux", Address: "cards@example.com"},
			Server: Server{Host: "mail.example.com", Port: 587, Security: Unencrypted, Dial: f.net.dial}}
		if prepare != nil {
			prepare(f)
		}
		var err error
		f.path = filepath.Join(t.TempDir(), "cards.db")
		if f.store, err = store.Open(f.path, store.Options{
			QueueMail: true,
			PublicURL: "https://cards.example.com",
			Limits:    f.limits,
			Now:       func() time.Time { return time.Now().Add(-time.Duration(f.back.Load())) },
		}); err != nil {
			t.Fatal(err)
		}
		f.write(func(tx *store.Tx) (err error) {
			if f.shop.Shop, _, err = tx.CreateShop(store.ShopFields{}); err != nil {
				return err
			}
			p, err := tx.CreateProgram(f.shop, store.ProgramFields{
				Type:        store.Given("standard"),
				Name:        store.Given("Coffee"),
				TotalStamps: store.Given(int64(10)),
				IconKey:     store.Given("cup"),
			})
			if err != nil {
				return err
			}
			f.program = p.ID
			_, err = tx.ProgramAction(f.shop, p.ID, store.Publish)
			return err
		})
		f.srv.Serve(f.net)
		f.startSender()
		test(f)
		f.stopSender()
		if f.net.mu.Lock(); f.net.open != 0 {
			t.Errorf("%d connections are open", f.net.open)
		}
		f.net.mu.Unlock()
		f.srv.Close()
		if found, err := f.store.Check(); err != nil || len(found) > 0 {
			t.Errorf("check: %q, %v", found, err)
		}
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
		f.checkLog()
	})
}

// startSender starts a sender.
func (f *fixture) startSender() {
	conf := f.conf
	conf.Store, conf.Log = f.store, slog.New(slog.NewJSONHandler(f.log, nil))
	conf.Observe = func(o string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.outcomes = append(f.outcomes, o)
	}
	f.sender = New(conf)
	noError(f.t, f.sender.Start())
}

// stopSender stops the sender if it runs.
func (f *fixture) stopSender() {
	if f.sender != nil {
		f.sender.Stop(f.ctx)
		f.sender = nil
	}
}

func (f *fixture) write(do func(*store.Tx) error) {
	f.t.Helper()
	noError(f.t, f.store.Write(f.ctx, store.Write{Actor: store.Actor{Type: "system"}, Do: do}))
}

// issue issues a card whose link is mailed to an address.
func (f *fixture) issue(to string) (card store.IssuedCard) {
	f.srv.Sync()
	defer f.srv.Sync()
	f.t.Helper()
	f.write(func(tx *store.Tx) (err error) {
		card, err = tx.IssueCard(
			f.shop,
			f.program,
			store.CardFields{HolderName: store.Given("Grace Hopper"), HolderEmail: store.Given(to), SendEmail: store.Given(true)},
			store.SourceAPI,
		)
		return err
	})
	return card
}

// nextMessage waits for the next message that the server accepts.
func (f *fixture) nextMessage() mailtest.Message {
	f.srv.Sync()
	defer f.srv.Sync()
	f.t.Helper()
	select {
	case m := <-f.srv.Got:
		synctest.Wait()
		return m
	case <-time.After(60 * 24 * time.Hour):
		f.t.Fatalf("no mail arrived:\n%s", f.log)
	}
	panic("not reached")
}

func (f *fixture) queued() (n int64) {
	f.srv.Sync()
	defer f.srv.Sync()
	f.t.Helper()
	synctest.Wait()
	noError(f.t, f.store.View(0, func(v *store.View) (err error) {
		n, err = v.CountMails(1000)
		return err
	}))
	return n
}

// audited returns the details of a card's mail_refused rows in the audit log.
func (f *fixture) audited(card string) (details []string) {
	f.srv.Sync()
	defer f.srv.Sync()
	f.t.Helper()
	var log store.Page[store.AuditRow]
	noError(f.t, f.store.View(0, func(v *store.View) (err error) {
		log, err = v.AuditLog(f.shop.Shop, store.PageQuery{})
		return err
	}))
	for _, row := range log.Data {
		if row.Action == "card.mail_refused" && row.TargetID == card && row.Actor.Type == "system" {
			details = append(details, string(row.Detail))
		}
	}
	return details
}

// takeOutcomes returns the observed outcomes since the last call.
func (f *fixture) takeOutcomes() string {
	f.srv.Sync()
	defer f.srv.Sync()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := strings.Join(f.outcomes, " ")
	f.outcomes = nil
	return s
}

// want checks how many messages are queued, and the outcomes since the last call of takeOutcomes.
func (f *fixture) want(queued int64, outcomes string) {
	f.t.Helper()
	if n, got := f.queued(), f.takeOutcomes(); n != queued || got != outcomes {
		f.t.Errorf("%d are queued, want %d, outcomes %q, want %q", n, queued, got, outcomes)
	}
}

// lock locks or unlocks a card.
func (f *fixture) lock(card string, locked bool) {
	f.t.Helper()
	f.write(func(tx *store.Tx) error {
		_, err := tx.SetCardLocked(f.shop.Shop, card, locked)
		return err
	})
}

// checkLog checks that the log contains no personal data and no secret.
func (f *fixture) checkLog() {
	for _, secret := range []string{"@", "Grace", "Hopper", password, "/i/", "Coffee"} {
		if f.log.Has(secret) {
			f.t.Errorf("the log holds %q:\n%s", secret, f.log)
		}
	}
}

// near reports whether a wait is as long as wanted, or up to a tenth longer.
func near(got, want time.Duration) bool { return got >= want && got <= want+want/10+time.Millisecond }

var noError = require.NoError
