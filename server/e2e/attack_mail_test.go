package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"punchcard/server/mail/mailtest"
)

// TestAttackMailFlood mails one person, and then many, with a leaked key as often as it
// can. The one mailbox gets five messages, and the shop sends no more than its quota, also
// across a kill.
func TestAttackMailFlood(t *testing.T) {
	t.Parallel()
	s := &mailtest.Server{}
	flags := []string{"--smtp-url", "smtp://" + mailServer(t, s, "127.0.0.1:0"), "--mail-from", sender, "--mail-per-hour", "8"}
	f := newShop(t, flags...)
	k := f.makeKey("create", "--name", "CRM")
	program := newProgram(f.api(k), prepaidCard)
	issue := func(to string) card {
		return issueCard(f.api(k), program, fmt.Sprintf(`{"holder_email":%q,"send_email":true}`, to))
	}
	// The message that was under way at the kill may arrive twice, with one Message-ID.
	to, ids := map[string]int{}, map[string]bool{}
	receive := func(n int) {
		t.Helper()
		for n > 0 {
			m := waitForMail(t, s)
			h, _ := m.Parsed(t)
			if id := h.Get("Message-Id"); !ids[id] {
				ids[id] = true
				to[strings.ToLower(m.To)]++
				n--
			}
		}
	}
	var last card
	for i := range 9 {
		last = issue([]string{"zoe@example.com", "ZOE@EXAMPLE.com"}[i%2])
	}
	receive(5)
	f.server.signal(syscall.SIGKILL)
	f.server.wait()
	f.server = startServe(t, f.db, flags...)
	for i := range 6 {
		issue(fmt.Sprintf("p%d@example.com", i))
	}
	receive(3)
	f.server.await(f.server.stderr, func(text string) bool { return strings.Count(text, "mail waits for a quota") >= 3 })
	newClient(t, f.server.origin+last.InstallURL[strings.Index(last.InstallURL, "/i/"):], "").Get("").
		Want(200) // the link of a mail that waits
	f.server.stop()
	if n := len(s.All()); n > 9 || to["zoe@example.com"] != 5 || len(to) != 4 {
		t.Errorf("mail went to %v, %d in all", to, n)
	}
	checkFile(t, f.db)
}
