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
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"punchcard/server/mail/mailtest"
	"punchcard/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a store, a mail server and a sender between them, in a bubble whose
// time passes when nobody has anything to do.
type rig struct {
	t       *testing.T
	ctx     context.Context
	store   *store.Store
	shop    store.Access
	program string
	srv     *mailtest.Server
	wire    *wire
	conf    Config
	sender  *Sender
	log     *lines

	mu       sync.Mutex
	outcomes []string
}

// lines is a log that may be read meanwhile.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// wire joins dialler and listener by pipes, which wait as a bubble understands
// it.
type wire struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	down  bool
	panic string // what the sender's end panics at, if it is to write it
	dials []time.Time
	addr  string // that was dialled last
	open  int    // ends that the sender holds
}

// end is the sender's end of a pipe.
type end struct {
	net.Conn
	once sync.Once
	w    *wire
}

func (e *end) Close() error {
	e.once.Do(func() {
		e.w.mu.Lock()
		defer e.w.mu.Unlock()
		e.w.open--
	})
	return e.Conn.Close()
}

func (e *end) Write(b []byte) (int, error) {
	e.w.mu.Lock()
	at := e.w.panic
	e.w.mu.Unlock()
	if at != "" && bytes.Contains(b, []byte(at)) {
		panic("cannot write for Grace Hopper: " + string(b))
	}
	return e.Conn.Write(b)
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error   { w.once.Do(func() { close(w.closed) }); return nil }
func (w *wire) Addr() net.Addr { return &net.TCPAddr{} }

func (w *wire) dial(_ context.Context, _, addr string) (net.Conn, error) {
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
	return &end{Conn: near, w: w}, nil
}

func (w *wire) set(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

const password = "sesame-opens"

// run tests in a bubble. prepare, if set, sees the rig before anything runs.
func run(t *testing.T, prepare func(r *rig), test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, ctx: t.Context(), srv: &mailtest.Server{Got: make(chan mailtest.Message, 1000)}, log: &lines{},
			wire: &wire{conns: make(chan net.Conn, 100), closed: make(chan struct{})}}
		r.conf = Config{From: &mail.Address{Name: "Caffè Lux", Address: "cards@example.com"},
			Server: Server{Host: "mail.example.com", Port: 587, Security: Unencrypted, Dial: r.wire.dial}}
		if prepare != nil {
			prepare(r)
		}
		var err error
		if r.store, err = store.Open(filepath.Join(t.TempDir(), "cards.db"), store.Options{QueueMail: true, PublicURL: "https://cards.example.com"}); err != nil {
			t.Fatal(err)
		}
		r.write(func(tx *store.Tx) (err error) {
			if r.shop.Shop, _, err = tx.CreateShop(store.ShopFields{}); err != nil {
				return err
			}
			p, err := tx.CreateProgram(r.shop, store.ProgramFields{Type: store.Given("standard"), Name: store.Given("Coffee"), TotalStamps: store.Given(int64(10)), IconKey: store.Given("cup")})
			if err != nil {
				return err
			}
			r.program = p.ID
			_, err = tx.ProgramAction(r.shop, p.ID, store.Publish)
			return err
		})
		r.srv.Serve(r.wire)
		r.begin()
		test(r)
		r.end()
		if r.wire.mu.Lock(); r.wire.open != 0 {
			t.Errorf("%d connections are open", r.wire.open)
		}
		r.wire.mu.Unlock()
		r.srv.Close()
		if found, err := r.store.Check(); err != nil || len(found) > 0 {
			t.Errorf("check: %q, %v", found, err)
		}
		if err := r.store.Close(); err != nil {
			t.Error(err)
		}
		r.quiet()
	})
}

func (r *rig) begin() {
	conf := r.conf
	conf.Store, conf.Log = r.store, slog.New(slog.NewJSONHandler(r.log, nil))
	conf.Observe = func(o string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.outcomes = append(r.outcomes, o)
	}
	r.sender = New(conf)
	if err := r.sender.Start(); err != nil {
		r.t.Fatal(err)
	}
}

// end stops the sender, once.
func (r *rig) end() {
	if r.sender != nil {
		r.sender.Stop(r.ctx)
		r.sender = nil
	}
}

func (r *rig) write(do func(*store.Tx) error) {
	r.t.Helper()
	if err := r.store.Write(r.ctx, store.Write{Actor: store.Actor{Type: "system"}, Do: do}); err != nil {
		r.t.Fatal(err)
	}
}

// issue makes a card and has its link mailed.
func (r *rig) issue(to string) (card store.IssuedCard) {
	r.srv.Sync()
	defer r.srv.Sync()
	r.t.Helper()
	r.write(func(tx *store.Tx) (err error) {
		card, err = tx.IssueCard(r.shop, r.program, store.CardFields{HolderName: store.Given("Grace Hopper"), HolderEmail: store.Given(to), SendEmail: store.Given(true)}, store.SourceAPI)
		return err
	})
	return card
}

// got is the next message that the server took. Time passes until then.
func (r *rig) got() mailtest.Message {
	r.srv.Sync()
	defer r.srv.Sync()
	r.t.Helper()
	select {
	case m := <-r.srv.Got:
		synctest.Wait()
		return m
	case <-time.After(60 * 24 * time.Hour):
		r.t.Fatalf("no mail came:\n%s", r.log)
	}
	panic("not reached")
}

func (r *rig) queued() (n int64) {
	r.srv.Sync()
	defer r.srv.Sync()
	r.t.Helper()
	synctest.Wait()
	if err := r.store.View(0, func(v *store.View) (err error) {
		n, err = v.CountMails(1000)
		return err
	}); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// audited are the details of a card's mail_refused rows in the audit log.
func (r *rig) audited(card string) (details []string) {
	r.srv.Sync()
	defer r.srv.Sync()
	r.t.Helper()
	var log store.Page[store.AuditRow]
	if err := r.store.View(0, func(v *store.View) (err error) {
		log, err = v.AuditLog(r.shop.Shop, store.PageQuery{})
		return err
	}); err != nil {
		r.t.Fatal(err)
	}
	for _, row := range log.Data {
		if row.Action == "card.mail_refused" && row.TargetID == card && row.ActorType == "system" {
			details = append(details, row.Detail.V)
		}
	}
	return details
}

// told are the outcomes since the last call.
func (r *rig) told() string {
	r.srv.Sync()
	defer r.srv.Sync()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.outcomes, " ")
	r.outcomes = nil
	return s
}

// quiet holds the log to name nobody and no secret.
func (r *rig) quiet() {
	for _, secret := range []string{"@", "Grace", "Hopper", password, "/i/", "Coffee"} {
		if strings.Contains(r.log.String(), secret) {
			r.t.Errorf("the log holds %q:\n%s", secret, r.log)
		}
	}
}

// near tells whether a pause is what it should be, or up to a tenth more.
func near(got, want time.Duration) bool { return got >= want && got <= want+want/10+time.Millisecond }
