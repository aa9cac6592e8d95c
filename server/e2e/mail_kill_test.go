package e2e

import (
	"context"
	"encoding/json"
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

// mailedLinks are install links that were requested by mail, and what of them has arrived.
type mailedLinks struct {
	t      *testing.T
	server *mailtest.Server
	read   int                       // messages that missing has read
	ids    map[string]map[string]int // how often each Message-ID arrived, by link

	mu         sync.Mutex
	recipients map[string]string // by link, of those that were answered
}

// request requests links by mail until there is no answer. name is part of the addresses.
func (l *mailedLinks) request(api *servertest.Client, program, name string) {
	for i := 0; ; i++ {
		to := fmt.Sprintf("%s-%d@example.com", name, i)
		var made card
		if !issueWithMail(l.t, api, program, to, &made) {
			return
		}
		l.mu.Lock()
		l.recipients[made.InstallURL[strings.Index(made.InstallURL, "/i/"):]] = to
		l.mu.Unlock()
	}
}

// missing reads what has arrived since the last call, and returns how many of the answered links
// have not arrived.
func (l *mailedLinks) missing() (n int) {
	all := l.server.All()
	for _, m := range all[l.read:] {
		h, body := m.Parsed(l.t)
		link := linkInMail.FindString(body)
		link = link[strings.Index(link, "/i/"):]
		if l.ids[link] == nil {
			l.ids[link] = map[string]int{}
		}
		l.ids[link][h.Get("Message-Id")]++
		if to, known := l.recipients[link]; known && to != m.To {
			l.t.Errorf("a link for %s was sent to %s", to, m.To)
		}
	}
	l.read = len(all)
	for link := range l.recipients {
		if l.ids[link] == nil {
			n++
		}
	}
	return n
}

// repeats returns how many mails arrived again. Each link must have arrived with one Message-ID.
func (l *mailedLinks) repeats() (n int) {
	for link, seen := range l.ids {
		if len(seen) != 1 {
			l.t.Errorf("%s arrived as %v", link, seen)
		}
		for _, times := range seen {
			n += times - 1
		}
	}
	return n
}

// TestMailSurvivesKills kills the server at random moments while it sends mail. Every link that was
// answered must arrive. Only mail in progress at a kill may arrive again, with the same Message-ID.
func TestMailSurvivesKills(t *testing.T) {
	t.Parallel()
	const seed = 20261121
	rounds := *killsFlag
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, uint64(rounds)))
	accepted := newProgress()
	s := &mailtest.Server{Data: func(*mailtest.Message) error { accepted.add(); return nil }}
	flags := []string{
		"--smtp-url", "smtp://" + mailServer(t, s, "127.0.0.1:0"), "--mail-from", sender, "--api-key-rate-limit-per-minute", "0",
		"--mail-per-hour", "0",
	}
	f := newShop(t, flags...)
	k := f.makeKey("create", "--name", "CRM")
	program := newProgram(f.api(k), prepaidCard)
	links := &mailedLinks{t: t, server: s, ids: map[string]map[string]int{}, recipients: map[string]string{}}
	for round := range rounds {
		from := accepted.count()
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() { links.request(f.api(k), program, fmt.Sprintf("p%d-%d", round, w)) })
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
	late := time.After(3 * waitLimit) // a busy machine sends few mails a second
	for n := links.missing(); n > 0; n = links.missing() {
		select {
		case <-s.Got:
		case <-late:
			t.Fatalf("%d of %d links did not arrive", n, len(links.recipients))
		}
	}
	f.server.stop()
	links.missing()
	repeats := links.repeats()
	if repeats > rounds {
		t.Errorf("%d mails arrived again after %d kills", repeats, rounds)
	}
	t.Logf("%d links, %d again", len(links.recipients), repeats)
	checkFile(t, f.db)
}

// issueWithMail issues a card and requests its link by mail. It returns false if there was no
// answer.
func issueWithMail(t *testing.T, c *servertest.Client, program, to string, v *card) bool {
	r := c.On(t).Try(context.Background(), "POST", "/programs/"+program+"/cards", fmt.Sprintf(`{"holder_email":%q,"send_email":true}`, to))
	return r.Err == nil && r.Status == 201 && json.Unmarshal(r.Body, v) == nil
}
