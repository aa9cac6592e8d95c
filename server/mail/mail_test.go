package mail

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"punchcard/server/mail/mailtest"
	"punchcard/store"
)

func TestSent(t *testing.T) {
	run(t, nil, func(f *fixture) {
		card := f.issue("ada@example.com")
		at := time.Now()
		m := f.nextMessage()
		if m.From != "cards@example.com" || m.To != "ada@example.com" || m.UTF8 {
			t.Errorf("sent from %s to %s, SMTPUTF8 %t", m.From, m.To, m.UTF8)
		}
		h, body := m.Parsed(t)
		want := "Open this link on your phone to add the card Coffee:\r\n\r\n" + card.InstallURL + "\r\n"
		if body != want {
			t.Errorf("the text is %q, want %q", body, want)
		}
		if from, err := h.AddressList("From"); err != nil || len(from) != 1 || *from[0] != *f.conf.From {
			t.Errorf("From is %v, %v", from, err)
		}
		if to, err := h.AddressList("To"); err != nil || len(to) != 1 || to[0].Address != "ada@example.com" || to[0].Name != "" {
			t.Errorf("To is %v, %v", to, err)
		}
		if date, err := h.Date(); err != nil || !date.Equal(at.Truncate(time.Second)) {
			t.Errorf("Date is %v, %v, want %v", date, err, at)
		}
		if h.Get("Auto-Submitted") != "auto-generated" || h.Get("Subject") != "Your card: Coffee" ||
			!strings.HasSuffix(h.Get("Message-Id"), "@example.com>") {
			t.Errorf("the header is %v", h)
		}
		f.want(0, Sent)
	})
}

// TestOneConnection checks that queued messages use one connection, which is
// closed after idleTime.
func TestOneConnection(t *testing.T) {
	run(t, nil, func(f *fixture) {
		f.stopSender()
		for i := range 5 {
			f.issue(fmt.Sprintf("p%d@example.com", i))
		}
		f.startSender()
		for range 5 {
			f.nextMessage()
		}
		time.Sleep(idleTime / 2)
		f.issue("ada@example.com")
		if m := f.nextMessage(); m.Conn != 1 {
			t.Errorf("the sixth arrived over connection %d", m.Conn)
		}
		time.Sleep(idleTime + time.Second)
		f.issue("ada@example.com")
		if m := f.nextMessage(); m.Conn != 2 {
			t.Errorf("the seventh arrived over connection %d", m.Conn)
		}
	})
}

// TestStaleConnection checks that a connection that the server has closed costs no
// attempt.
func TestStaleConnection(t *testing.T) {
	run(t, nil, func(f *fixture) {
		f.issue("ada@example.com")
		f.nextMessage()
		f.srv.Close()
		next := &pipeNet{conns: f.net.conns, closed: make(chan struct{})}
		f.srv = &mailtest.Server{Got: f.srv.Got}
		f.srv.Serve(next)
		f.issue("ada@example.com")
		f.nextMessage()
		if outcomes := f.takeOutcomes(); outcomes != Sent+" "+Sent || f.log.String() != "" {
			t.Errorf("outcomes %q, logged %s", outcomes, f.log)
		}
	})
}

// TestClosingConnection checks that a connection that the server closes with a 421
// costs no attempt either.
func TestClosingConnection(t *testing.T) {
	run(t, func(f *fixture) {
		mails := 0
		f.srv.Mail = func(string) error {
			if mails++; mails == 2 {
				return mailtest.Refusal(421, "you were silent for too long")
			}
			return nil
		}
	}, func(f *fixture) {
		f.issue("ada@example.com")
		f.nextMessage()
		f.issue("ada@example.com")
		if m := f.nextMessage(); m.Conn != 2 || f.takeOutcomes() != Sent+" "+Sent || f.log.String() != "" {
			t.Errorf("got %+v, logged %s", m, f.log)
		}
	})
}

// TestTemporary checks that a deferred message is tried again after 1, 2 and 4
// minutes, and that others are sent in between.
func TestTemporary(t *testing.T) {
	var asked []time.Time
	run(t, func(f *fixture) {
		f.srv.Data = func(m *mailtest.Message) error {
			if m.To != "slow@example.com" {
				return nil
			}
			asked = append(asked, time.Now())
			switch len(asked) {
			case 1, 3:
				return mailtest.Refusal(451, "slow@example.com: try again")
			case 2:
				return mailtest.Refusal(452, "full")
			}
			return nil
		}
	}, func(f *fixture) {
		f.issue("slow@example.com")
		f.issue("ada@example.com")
		if m := f.nextMessage(); m.To != "ada@example.com" {
			t.Errorf("the first message is to %s", m.To)
		}
		f.nextMessage()
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			if wait := asked[i+1].Sub(asked[i]); !near(wait, want) {
				t.Errorf("pause %d is %v, want %v", i, wait, want)
			}
		}
		f.want(0, "failed sent failed failed sent")
		if n := strings.Count(f.log.String(), `"code":45`); n != 3 {
			t.Errorf("%d failures are logged:\n%s", n, f.log)
		}
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for code, at := range map[int]string{550: "RCPT", 554: "DATA"} {
		run(t, func(f *fixture) {
			refuse := func(to string) error {
				if to == "nobody@example.com" {
					return mailtest.Refusal(code, "nobody@example.com: no such user")
				}
				return nil
			}
			if at == "RCPT" {
				f.srv.Rcpt = refuse
			} else {
				f.srv.Data = func(m *mailtest.Message) error { return refuse(m.To) }
			}
		}, func(f *fixture) {
			f.issue("ada@example.com")
			f.nextMessage()
			card := f.issue("nobody@example.com")
			f.issue("ada@example.com")
			f.nextMessage()
			if outcomes := f.takeOutcomes(); outcomes != "sent refused sent" || f.queued() != 0 || f.srv.Conns() != 1 {
				t.Errorf("%s: outcomes %q, %d queued, %d connections", at, outcomes, f.queued(), f.srv.Conns())
			}
			if !f.log.Has(card.ID) {
				t.Errorf("the log does not name the card:\n%s", f.log)
			}
			if got, want := f.audited(card.ID), fmt.Sprintf(`{"smtp_code":%d}`, code); len(got) != 1 || got[0] != want {
				t.Errorf("the audit log has %q, want %s", got, want)
			}
		})
	}
}

// TestStop checks that Stop waits for the current message, but no longer than its
// context lasts.
func TestStop(t *testing.T) {
	t.Parallel()
	for patience, done := range map[time.Duration]bool{10 * time.Second: false, time.Minute: true} {
		run(t, func(f *fixture) {
			f.srv.Data = func(*mailtest.Message) error { time.Sleep(30 * time.Second); return nil }
		}, func(f *fixture) {
			f.issue("ada@example.com")
			f.issue("eve@example.com")
			synctest.Wait()
			begun := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			f.sender.Stop(ctx)
			f.sender = nil
			took, want := time.Since(begun), min(patience, 30*time.Second)
			if left := f.queued(); took != want || left != map[bool]int64{true: 1, false: 2}[done] {
				t.Errorf("with %v: it took %v and left %d", patience, took, left)
			}
			if f.log.Has("put off") {
				t.Errorf("the log:\n%s", f.log)
			}
			time.Sleep(time.Minute)
		})
	}
}

// TestObsoleteMessage checks that a message is dropped if its card was erased or expired while it
// waited, and held while the card is locked, and sent when it is unlocked.
func TestObsoleteMessage(t *testing.T) {
	run(t, func(f *fixture) { f.net.down = true }, func(f *fixture) {
		erased, locked, expired := f.issue("erased@example.com"), f.issue("locked@example.com"), f.issue("expired@example.com")
		synctest.Wait()
		f.write(func(tx *store.Tx) error { return tx.EraseCard(f.shop.Shop, erased.ID) })
		f.lock(locked.ID, true)
		f.write(func(tx *store.Tx) error {
			_, err := tx.UpdateCard(f.shop, expired.ID, store.CardPatch{ExpiresAt: store.Given(store.TimeOf(time.Now().Add(time.Hour)))})
			return err
		})
		time.Sleep(time.Hour + time.Minute)
		f.net.set(false)
		time.Sleep(time.Hour)
		if n := len(f.srv.All()); n != 0 || f.queued() != 1 {
			t.Errorf("%d sent, %d queued:\n%s", n, f.queued(), f.log)
		}
		begun := time.Now()
		f.lock(locked.ID, false)
		if m := f.nextMessage(); m.To != "locked@example.com" || f.queued() != 0 || !time.Now().Equal(begun) {
			t.Errorf("then the message to %s, after %v", m.To, time.Since(begun))
		}
	})
}

// TestRestart checks that a new sender sends what the one before it left.
func TestRestart(t *testing.T) {
	run(t, func(f *fixture) { f.net.down = true }, func(f *fixture) {
		f.issue("ada@example.com")
		time.Sleep(2 * time.Hour)
		f.stopSender()
		f.net.set(false)
		f.startSender()
		begun := time.Now()
		f.nextMessage()
		if wait := time.Since(begun); wait != 0 {
			t.Errorf("sent after %v", wait)
		}
	})
}

// TestOtherProcess checks that mail that another process, such as a command, adds to the file
// is sent at once if changes are watched, and otherwise within clockInterval.
func TestOtherProcess(t *testing.T) {
	t.Parallel()
	for name, watched := range map[string]bool{"watched": true, "not watched": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testOtherProcess(t, watched)
		})
	}
}

func testOtherProcess(t *testing.T, watched bool) {
	var changed chan struct{}
	run(t, func(f *fixture) {
		if watched {
			changed = make(chan struct{})
			f.conf.Watch = func(ctx context.Context, f func()) {
				for {
					select {
					case <-ctx.Done():
						return
					case <-changed:
						f()
					}
				}
			}
		}
	}, func(f *fixture) {
		synctest.Wait()
		own := f.store
		var err error
		if f.store, err = store.Open(f.path, store.Options{QueueMail: true, PublicURL: "https://cards.example.com"}); err != nil {
			t.Fatal(err)
		}
		f.issue("ada@example.com")
		noError(t, f.store.Close())
		f.store = own
		begun, limit := time.Now(), clockInterval
		if watched {
			changed <- struct{}{}
			limit = 0
		}
		if m := f.nextMessage(); m.To != "ada@example.com" || time.Since(begun) > limit {
			t.Errorf("sent to %s after %v", m.To, time.Since(begun))
		}
	})
}

// TestQuota checks that messages over the quota of an hour wait without an attempt, also across a
// restart of the sender, and that messages over the quota of an address wait for a day.
func TestQuota(t *testing.T) {
	perHour := store.DefaultLimits()
	perHour.MailPerHour = 2
	run(t, func(f *fixture) { f.limits = perHour }, func(f *fixture) {
		for i := range 4 {
			f.issue(fmt.Sprintf("p%d@example.com", i))
		}
		f.nextMessage()
		f.nextMessage()
		time.Sleep(time.Hour - time.Minute)
		f.stopSender()
		f.startSender()
		f.want(2, "sent sent")
		begun := time.Now()
		f.nextMessage()
		f.nextMessage()
		if wait := time.Since(begun); wait < time.Minute || wait > 2*time.Minute {
			t.Errorf("the others were sent after %v more", wait)
		}
	})
	run(t, nil, func(f *fixture) {
		for range 6 {
			f.issue("ada@example.com")
		}
		for range 5 {
			f.nextMessage()
		}
		begun := time.Now()
		f.nextMessage()
		if wait := time.Since(begun); wait < 23*time.Hour || wait > 24*time.Hour {
			t.Errorf("the sixth was sent after %v", wait)
		}
	})
}
