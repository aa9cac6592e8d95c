package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"punchcard/server/mail/mailtest"
	"punchcard/server/servertest"
)

// TestMailSurvivesKills kills the server at random moments while it sends mail. Every link that was
// answered must arrive. Only mail in progress at a kill may arrive again, with the same Message-ID.
func TestMailSurvivesKills(t *testing.T) {
	t.Parallel()
	const seed, rounds = 20261121, 12
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, rounds))
	accepted := newProgress()
	s := &mailtest.Server{Data: func(*mailtest.Message) error { accepted.add(); return nil }}
	flags := []string{"--smtp-url", "smtp://" + mailServer(t, s, "127.0.0.1:0"), "--mail-from", sender, "--api-key-rate-limit-per-minute", "0", "--mail-per-hour", "0"}
	f := newShop(t, flags...)
	k := f.makeKey("create", "--name", "CRM")
	program := newProgram(f.api(k), `{"type":"prepaid","name":"Prepaid","initial_balance_cents":0}`)
	links := map[string]string{} // recipients by the links in the answers
	for round := range rounds {
		from := accepted.count()
		var writers sync.WaitGroup
		var mu sync.Mutex
		for w := range 4 {
			writers.Go(func() {
				for i := 0; ; i++ {
					to := fmt.Sprintf("p%d-%d-%d@example.com", round, w, i)
					var made card
					if !issueWithMail(t, f.api(k), program, to, &made) {
						return
					}
					mu.Lock()
					links[made.InstallURL[strings.Index(made.InstallURL, "/i/"):]] = to
					mu.Unlock()
				}
			})
		}
		want := from + 1 + chance.Int64N(40)
		if !accepted.waitUntil(func() bool { return accepted.count() >= want }) {
			t.Fatalf("round %d: no mail:\n%s", round, f.server.stderr)
		}
		f.server.signal(syscall.SIGKILL)
		f.server.wait()
		writers.Wait()
		f.server = startServe(t, f.db, flags...)
	}
	read, ids := 0, map[string]map[string]int{} // how often each Message-ID arrived, by link
	missing := func() (n int) {
		all := s.All()
		for _, m := range all[read:] {
			h, body := m.Parsed(t)
			link := linkInMail.FindString(body)
			link = link[strings.Index(link, "/i/"):]
			if ids[link] == nil {
				ids[link] = map[string]int{}
			}
			ids[link][h.Get("Message-Id")]++
			if to, known := links[link]; known && to != m.To {
				t.Errorf("a link for %s was sent to %s", to, m.To)
			}
		}
		read = len(all)
		for link := range links {
			if ids[link] == nil {
				n++
			}
		}
		return n
	}
	late := time.After(waitLimit)
	for n := missing(); n > 0; n = missing() {
		select {
		case <-s.Got:
		case <-late:
			t.Fatalf("%d of %d links did not arrive", n, len(links))
		}
	}
	f.server.stop()
	missing()
	repeats := 0
	for link, seen := range ids {
		if len(seen) != 1 {
			t.Errorf("%s arrived as %v", link, seen)
		}
		for _, n := range seen {
			repeats += n - 1
		}
	}
	if repeats > rounds {
		t.Errorf("%d mails arrived again after %d kills", repeats, rounds)
	}
	t.Logf("%d links, %d again", len(links), repeats)
	f.list("check")
}

// issueWithMail issues a card and requests its link by mail. It returns false if there was no
// answer.
func issueWithMail(t *testing.T, c *servertest.Client, program, to string, v *card) bool {
	r := c.On(t).Try(context.Background(), "POST", "/programs/"+program+"/cards", fmt.Sprintf(`{"holder_email":%q,"send_email":true}`, to))
	return r.Err == nil && r.Status == 201 && json.Unmarshal(r.Body, v) == nil
}

// TestMailAfterKill kills the server while the mail server has a message that it has not yet
// accepted, after the request for the mail was answered.
func TestMailAfterKill(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}, 10), make(chan struct{})
	var once sync.Once
	s := &mailtest.Server{Rcpt: func(string) error {
		reached <- struct{}{}
		first := false
		once.Do(func() { first = true })
		if first {
			<-release
			return errors.New("too late")
		}
		return nil
	}}
	flags := []string{"--smtp-url", "smtp://" + mailServer(t, s, "127.0.0.1:0"), "--mail-from", sender}
	f := newShop(t, flags...)
	api := f.api(f.makeKey("create", "--name", "CRM"))
	made := issueCard(api, newProgram(api, `{"type":"prepaid","name":"Prepaid","initial_balance_cents":0}`), `{"holder_email":"zoe@example.com","send_email":true}`)
	<-reached
	f.server.signal(syscall.SIGKILL)
	f.server.wait()
	close(release)
	if n := len(s.All()); n != 0 {
		t.Fatalf("%d mails were accepted before", n)
	}
	f.server = startServe(t, f.db, flags...)
	if _, body := waitForMail(t, s).Parsed(t); !strings.Contains(body, made.InstallURL[strings.Index(made.InstallURL, "/i/"):]) {
		t.Errorf("got %q", body)
	}
	f.server.stop()
}
