package app_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/mail"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
	"punchcard/store/backup"
	"punchcard/webhook"
)

// serviceTest makes the server's services on one store. Their work continues until it is canceled.
type serviceTest struct {
	t        *testing.T
	st       *store.Store
	receiver *httptest.Server
	begun    map[string]chan struct{} // by service; each start of work sends an element
}

func newServiceTest(t *testing.T) *serviceTest {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "shop.db"), store.Options{QueueMail: true, PublicURL: "https://cards.example.com"})
	noError(t, err)
	b := &serviceTest{t: t, st: st, begun: map[string]chan struct{}{}}
	for _, name := range []string{"webhooks", "mail", "backups"} {
		b.begun[name] = make(chan struct{}, 100)
	}
	b.receiver = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b.begun["webhooks"] <- struct{}{}
		io.Copy(io.Discard, r.Body) // the server notices that the client has left only after that
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		b.receiver.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// queue queues one webhook and one mail.
func (b *serviceTest) queue() {
	b.t.Helper()
	ready := require.Must(seed.Demo(b.st, ""))
	shop, program := store.Access{Shop: ready.Shop()}, ready.ProgramIDs["standard"]
	servertest.Write(b.t, b.st, func(tx *store.Tx) error {
		tx.CheckedTarget = b.receiver.URL
		if _, err := tx.CreateWebhook(shop, program, store.WebhookFields{
			URL:    opt(b.receiver.URL),
			Events: opt([]string{"card.added"}),
		}); err != nil {
			return err
		}
		_, err := tx.IssueCard(
			shop, program,
			store.CardFields{HolderName: opt("Ada"), HolderEmail: opt("ada@example.com"), SendEmail: opt(true)},
			store.SourceAPI,
		)
		return err
	})
}

func opt[T any](v T) store.Opt[T] { return store.Opt[T]{V: v, Set: true} }

// service returns the service of that name.
func (b *serviceTest) service(name string) app.Service {
	b.t.Helper()
	log := slog.New(slog.DiscardHandler)
	switch name {
	case "webhooks":
		return webhook.New(
			webhook.Config{Store: b.st, Guard: &webhook.Guard{Loopback: true}, Timeout: time.Minute, BackoffBase: time.Second, Log: log},
		)
	case "mail":
		return mail.New(
			mail.Config{
				Store: b.st,
				Log:   log,
				From:  &netmail.Address{Address: "cards@example.com"},
				Server: mail.Server{Host: "mail.example.com", Port: 587,
					Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
						b.begun["mail"] <- struct{}{}
						<-ctx.Done()
						return nil, ctx.Err()
					}},
			},
		)
	case "housekeeping":
		return app.NewHousekeeping(b.st, log)
	case "backups":
		return app.NewBackups(&app.Backups{Every: time.Hour, Keep: 1, Dir: b.t.TempDir(),
			Copy: func(ctx context.Context, _, _ string, _ backup.Options) (int64, error) {
				b.begun["backups"] <- struct{}{}
				<-ctx.Done()
				return 0, ctx.Err()
			}}, b.st, log)
	case "all":
		return app.Services{b.service("webhooks"), b.service("mail"), b.service("housekeeping"), b.service("backups")}
	}
	b.t.Fatalf("unknown service %s", name)
	return nil
}

// forEachService runs a test with each service and with all together, twice on the same store, and
// checks that no goroutine is left.
func forEachService(t *testing.T, queue bool, test func(t *testing.T, b *serviceTest, name string)) {
	for _, name := range []string{"webhooks", "mail", "housekeeping", "backups", "all"} {
		t.Run(name, func(t *testing.T) {
			b := newServiceTest(t)
			if queue {
				b.queue()
			}
			before := goleak.IgnoreCurrent()
			for range 2 { // the second time on what the first has left
				test(t, b, name)
			}
			if err := goleak.Find(before); err != nil {
				t.Error(err)
			}
		})
	}
}

func mustStart(t *testing.T, s app.Service, want error) {
	t.Helper()
	if err := s.Start(); !errors.Is(err, want) {
		t.Errorf("Start returned %v, want %v", err, want)
	}
}

func TestServiceStartsAndStopsOnce(t *testing.T) {
	forEachService(t, false, func(t *testing.T, b *serviceTest, name string) {
		s := b.service(name)
		for range 2 {
			mustStart(t, s, nil)
		}
		for range 2 {
			s.Stop(context.Background())
			mustStart(t, s, context.Canceled)
		}
	})
}

func TestServiceStopsWithoutStart(t *testing.T) {
	forEachService(t, true, func(t *testing.T, b *serviceTest, name string) {
		s := b.service(name)
		for range 2 {
			s.Stop(context.Background())
			mustStart(t, s, context.Canceled)
		}
		for name, begun := range b.begun {
			if len(begun) > 0 {
				t.Errorf("%s did some work", name)
			}
		}
	})
}

// TestServiceCancelsWork checks that work in progress is canceled when the context of a Stop is
// done, also if an earlier Stop waits, and that the next start does the work again.
func TestServiceCancelsWork(t *testing.T) {
	expired, cancel := context.WithCancel(context.Background())
	cancel()
	forEachService(t, true, func(t *testing.T, b *serviceTest, name string) {
		for _, waiting := range []bool{false, true} {
			s := b.service(name)
			mustStart(t, s, nil)
			for other, begun := range b.begun {
				if other == name || name == "all" {
					<-begun
				}
			}
			var first sync.WaitGroup
			if waiting {
				first.Go(func() { s.Stop(context.Background()) })
			}
			s.Stop(expired)
			first.Wait()
		}
		if err := b.st.View(0, func(v *store.View) error {
			mails, err := v.CountMails(10)
			if err != nil {
				return err
			}
			deliveries, err := v.CountPendingDeliveries(10)
			if mails != 1 || deliveries != 1 {
				t.Errorf("%d mails and %d deliveries are queued, want one each", mails, deliveries)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestServiceIsSafeForConcurrentUse(t *testing.T) {
	expired, cancel := context.WithCancel(context.Background())
	cancel()
	forEachService(t, true, func(t *testing.T, b *serviceTest, name string) {
		for range 10 {
			s := b.service(name)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { s.Start() })
				all.Go(func() { s.Stop(expired) })
			}
			all.Wait()
			mustStart(t, s, context.Canceled)
		}
	})
}

// slowService is a service whose Stop takes until its context is done.
type slowService struct {
	fails            error
	started, stopped bool
}

func (s *slowService) Start() error { s.started = s.fails == nil; return s.fails }

func (s *slowService) Stop(ctx context.Context) { <-ctx.Done(); s.stopped = true }

func TestServicesShareTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fails := errors.New("cannot start")
		list := []*slowService{{}, {}, {fails: fails}, {}}
		all := app.Services{list[0], list[1], list[2], list[3]}
		mustStart(t, all, fails)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		all.Stop(ctx)
		if took := time.Since(begun); took != 20*time.Second {
			t.Errorf("took %v, want 20 s", took)
		}
		for n, s := range list {
			if s.started != (n < 2) || !s.stopped {
				t.Errorf("service %d: started %t, stopped %t", n, s.started, s.stopped)
			}
		}
	})
}
