package store

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// ask requests the links of the shop's cards that have an email.
func (m *mailing) ask(email string) {
	m.must(func(tx *Tx) error {
		return tx.RequestCardLinks(LostFields{Email: set(email), ShopID: set(m.ID(KindShop, m.a.Shop)), Language: set("de")}, netip.Addr{})
	})
}

// lost returns how many requests wait for their mail.
func (m *mailing) lost() int64 { return m.number("SELECT count(*) FROM lost_mails") }

// sendLost sends what is due and returns the messages about lost cards.
func (m *mailing) sendLost() (sent []Mail) {
	for _, mail := range m.sendDue(m.lost) {
		if mail.Kind == MailLost {
			sent = append(sent, mail)
		}
	}
	return sent
}

// issue issues a card with an email, whose link is not mailed.
func (m *mailing) issue(to string) string {
	return m.cardTo(m.program, to)
}

// TestLostCards checks that a request is answered by one message with the links of all cards
// that have the email, except for archived cards and those of another email.
func TestLostCards(t *testing.T) {
	m := startMailing(t, 0)
	first, archived, second := m.issue("Ada@example.com"), m.issue("ada@example.com"), m.issue("ada@EXAMPLE.com")
	m.issue("eve@example.com")
	m.issue("\u212Aate@example.com") // with the Kelvin sign, which is not a k
	m.archive(archived)
	m.reissue(first, ReissueFields{})
	for _, email := range []string{"ADA@example.com", "ada@example.com", "nobody@example.com", "kate@example.com"} {
		m.ask(email)
	}
	if n := m.lost(); n != 3 {
		t.Errorf("%d requests wait, want 3", n)
	}
	sent := m.sendLost()
	if len(sent) != 1 || sent[0].To != "ada@EXAMPLE.com" || sent[0].Language != "de" || len(sent[0].Lost) != 2 {
		t.Fatalf("sent %+v", sent)
	}
	for i, id := range []string{second, first} {
		m.reads(func(v *View) {
			if h := check(v.CardPage(path.Base(sent[0].Lost[i].Link))); h.Card.ID != id {
				t.Errorf("link %d is of %s, want %s", i, h.Card.ID, id)
			}
		})
	}
	// A request that names no shop finds the cards of all shops.
	other := m.shop(ShopFields{Name: set("Other")})
	m.in(other).cardTo(m.fixture.in(other).program(stamps("Cake")), "ada@example.com")
	m.must(func(tx *Tx) error {
		return tx.RequestCardLinks(LostFields{Email: set("ada@example.com")}, netip.Addr{})
	})
	if sent := m.sendLost(); len(sent) != 1 || len(sent[0].Lost) != 3 {
		t.Errorf("a request that names no shop sent %+v", sent)
	}
	// An erasure deletes the requests that name its email.
	m.ask("ada@example.com")
	m.erase(second)
	if n := m.lost(); n != 0 {
		t.Errorf("%d requests still name an email that was erased", n)
	}
	m.checkFile()
}

// TestLostCardsAlike checks that a request with an email that no card has prepares the same
// statements and writes the same rows as one with an email that cards have.
func TestLostCardsAlike(t *testing.T) {
	m := startMailing(t, 0)
	for range 3 {
		m.issue("known@example.com")
	}
	numbered := regexp.MustCompile(`^\d+,|'[\w-]{43}'|^'lost_mails',\d+|^X'\w+'|,\d+$`) // keys, tokens, hashes and the last key differ
	added := func(email string) (lines []string) {
		m.sql("DELETE FROM sign_in_failures")
		before := m.dump()
		m.ask(email)
		for line := range strings.SplitSeq(m.dump(), "\n") {
			if !strings.Contains(before, line) {
				line = strings.ReplaceAll(line, email, "EMAIL")
				lines = append(lines, numbered.ReplaceAllString(line, "#"))
			}
		}
		m.sendLost()
		return lines
	}
	m.ask("unknown@example.com")
	statements := len(m.writer.Statements())
	m.sql("DELETE FROM lost_mails")
	added("known@example.com")
	m.sql("DELETE FROM sent_mails")
	known, unknown := added("known@example.com"), added("stranger@example.com")
	if !slices.Equal(known, unknown) || len(known) == 0 {
		t.Errorf("rows for a known email\n%s\nfor an unknown one\n%s", strings.Join(known, "\n"), strings.Join(unknown, "\n"))
	}
	if n := len(m.writer.Statements()); n < statements {
		t.Errorf("the requests prepared %d statements, want at least %d", n, statements)
	}
	// A request with a known email needs no statement beyond those of one with an unknown email.
	f := startMailing(t, 0)
	f.issue("known@example.com")
	f.ask("unknown@example.com")
	had := slices.Clone(f.writer.Statements())
	f.ask("known@example.com")
	for _, sql := range f.writer.Statements() {
		if !slices.Contains(had, sql) {
			t.Errorf("only a known email needs: %s", sql)
		}
	}
}

// TestPublicMailQuota checks that messages about lost cards use at most a quarter of the shop's quota,
// that an address gets at most five a day, and that requests end after a day.
func TestPublicMailQuota(t *testing.T) {
	m := startMailing(t, 8)
	for i := range 6 {
		m.issue(fmt.Sprintf("p%d@example.com", i))
		m.ask(fmt.Sprintf("p%d@example.com", i))
	}
	var counts []int
	for range 4 {
		counts = append(counts, len(m.sendLost()))
		m.clock.move(shopPeriod)
	}
	if !slices.Equal(counts, []int{2, 2, 2, 0}) {
		t.Errorf("in four hours %v were sent, want 2, 2, 2 and 0", counts)
	}
	m = startMailing(t, 0)
	m.issue("ada@example.com")
	sent := 0
	for range 100 {
		m.ask("ada@example.com")
		sent += len(m.sendLost())
		m.clock.move(time.Minute)
	}
	if sent != mailsPerAddress {
		t.Errorf("an address got %d messages within a day, want %d", sent, mailsPerAddress)
	}
	// A request that has waited for a day is not answered.
	m.clock.move(lostPeriod)
	if sent := m.sendLost(); len(sent) != 0 || m.lost() != 0 {
		t.Errorf("after a day %d were sent and %d wait", len(sent), m.lost())
	}
	m.ask("nobody@example.com")
	m.clock.move(lostPeriod)
	if must(m.fixture, func(tx *Tx) ([]string, error) { return tx.PruneMails(5) }); m.lost() != 0 {
		t.Error("PruneMails left a request that has waited for a day")
	}
}

// TestLostLimit checks that of the requests of one address, or for one email, ten are answered
// within an hour, and that the others look the same.
func TestLostLimit(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(i int) (email, address string){
		"one address": func(i int) (string, string) { return fmt.Sprintf("p%d@example.com", i), "192.0.2.1" },
		"one network": func(i int) (string, string) {
			return fmt.Sprintf("p%d@example.com", i), fmt.Sprintf("2001:db8::%x", i)
		},
		"one email": func(i int) (string, string) { return "Ada@example.com", fmt.Sprintf("192.0.2.%d", i) },
	} {
		m := startMailing(t, 0)
		stored := 0
		for i := range 30 {
			email, address := at(i)
			m.must(func(tx *Tx) error {
				return tx.RequestCardLinks(LostFields{Email: set(email)}, netip.MustParseAddr(address))
			})
			stored += int(m.sql("DELETE FROM lost_mails"))
		}
		if stored != lostAddressRule.max {
			t.Errorf("%s: %d requests were stored, want %d", name, stored, lostAddressRule.max)
		}
		if rows := m.number("SELECT count(*) FROM audit WHERE action='card.request_links'"); name == "one email" && rows != 1 {
			t.Errorf("%s: %d audit rows in a minute", name, rows)
		}
	}
}

// TestLostPage checks to which shop the form for lost cards belongs.
func TestLostPage(t *testing.T) {
	m := startMailing(t, 0)
	id := m.issue("ada@example.com")
	var token string
	old := m.reissue(id, ReissueFields{})
	m.reissue(id, ReissueFields{})
	token = m.pageToken(m.key(KindCard, id), 0)
	shop := m.ID(KindShop, m.a.Shop)
	look := func(what, shop, token, want string) {
		t.Helper()
		m.view(func(v *View) error {
			l, err := v.LostPage(shop, token)
			if want == "none" {
				refused(t, err, NotFound)
				return nil
			}
			if err != nil || l.ShopID != want || !l.Mails {
				t.Errorf("%s: %+v, %v, want %q", what, l, err, want)
			}
			return nil
		})
	}
	look("the only shop", "", "", shop)
	m.shop(ShopFields{})
	look("two shops", "", "", "")
	look("a shop", shop, "", shop)
	look("an unknown shop", "shp_none", "", "none")
	look("an install link that has ended", "", path.Base(old.InstallURL), shop)
	look("the page of a card before a reissue", "", token, shop)
	look("an unknown token", "", strings.Repeat("0", blockLen), "")
}

// BenchmarkRequestCardLinks compares requests with emails that cards have and that none
// has, which must take the same time.
func BenchmarkRequestCardLinks(b *testing.B) {
	for name, email := range map[string]string{"known": "known@example.com", "unknown": "nobody@example.com"} {
		b.Run(name, func(b *testing.B) {
			f := start(b, Options{QueueMail: true})
			program := f.program(stamps("Tea"))
			for range 20 {
				f.cardTo(program, "known@example.com")
			}
			for b.Loop() {
				f.must(func(tx *Tx) error {
					return tx.RequestCardLinks(LostFields{Email: set(email)}, netip.Addr{})
				})
			}
		})
	}
}
