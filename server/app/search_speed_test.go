//go:build unix

package app_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/store"
)

// customer is what BenchmarkSearch looks for a customer by.
type customer struct{ given, family, email, phone, barcode, short string }

// newCustomer returns the i-th customer. There are 20 given names and 224 family names.
func newCustomer(i int) customer {
	given := []string{"Giulia", "Marco", "Francesca", "Luca", "Chiara", "Andrea", "Sara", "Matteo", "Elena", "Paolo", "Anna", "Davide",
		"Marta", "Simone", "Laura", "Pietro", "Zoë", "Jörg", "Renée", "Tomás"}
	start := []string{"Bian", "Ros", "Fer", "Rus", "Rom", "Gal", "Cos", "Fon", "Con", "Ric", "O’Con", "D’An", "Mül", "Mar", "Ber", "Vil"}
	end := []string{"chi", "si", "rari", "so", "ano", "lo", "ta", "tana", "ti", "ci", "nor", "gelo", "ler", "tini"}
	return customer{
		given:   given[i%len(given)],
		family:  start[i/len(given)%len(start)] + end[i/len(given)/len(start)%len(end)],
		email:   fmt.Sprintf("m%d@example.com", i),
		phone:   fmt.Sprintf("+39333%07d", i*7919%10_000_000),
		barcode: fmt.Sprintf("C-%06d", i),
		short:   fmt.Sprintf("k%07d", i),
	}
}

// prefix returns the first n characters of a text.
func prefix(text string, n int) string { return string([]rune(text)[:n]) }

// fillCustomers issues a card to each of n customers, not over HTTP. Half of them have stamps, and all were seen.
func fillCustomers(b *testing.B, s *servertest.Server, n int) {
	access, first := store.Access{Shop: s.Ready.Shop()}, ""
	for done := 0; done < n; {
		servertest.Write(b, s.App.Store, func(tx *store.Tx) error {
			for range min(2000, n-done) {
				c := newCustomer(done)
				card, err := tx.IssueCard(access, s.ProgramIDs["standard"], store.CardFields{
					HolderName: opt(c.given + " " + c.family), HolderEmail: opt(c.email),
				}, store.SourceAPI)
				if err != nil {
					return err
				}
				contact := store.ContactPatch{Birthday: opt(fmt.Sprintf("%02d-10", 1+done%12)), Codes: opt([]string{c.barcode})}
				contact.Phone = opt(c.phone)
				if _, err = tx.UpdateContact(access, card.ID, contact); err != nil {
					return err
				}
				if done == 0 {
					first = card.ID
				}
				done++
			}
			return nil
		})
	}
	s.SQL(`UPDATE cards SET short_code=printf('k%07d', id-?), stamps_count=(id%2)*(id/2%10), last_seen_day=19000+id*7919%800,
		activated_at=created_at`, s.Row(store.KindCard, first))
	for indexed := ""; indexed != "1"; {
		indexed = s.Value("SELECT max(cards.id)-indexed_cards<1024 FROM cards, meta")
	}
}

// searchSample is how many searches of a kind are measured. A device may make 200 in a day, and 20 in a minute.
const searchSample = 120

// BenchmarkSearch measures the searches of a till and of the dashboard among 200,000 customers with names, phone numbers and
// codes, each for another customer, and the filters of the dashboard's list. It reports the median and the 99th percentile of
// the slowest kind. With -v it logs a line for each.
//
//	go test ./server/app -run '^$' -bench Search -benchtime 1x -v
func BenchmarkSearch(b *testing.B) {
	s := servertest.Start(b, servertest.Frozen, func(c *app.Config) {
		c.DB, c.Dev.Bare = filepath.Join(b.TempDir(), "search.db"), true
	})
	n := servertest.Sized(200_000, 300)
	fillCustomers(b, s, n)
	v := signInTo(b, s.App)
	texts := []struct {
		kind string
		text func(c customer) string
	}{
		{"given name", func(c customer) string { return c.given }},
		{"part of a family name", func(c customer) string { return prefix(c.family, 3) }},
		{"both names", func(c customer) string { return c.given + " " + c.family }},
		{"parts of both names", func(c customer) string { return prefix(c.given, 2) + " " + prefix(c.family, 4) }},
		{"4 digits of a phone number", func(c customer) string { return c.phone[len(c.phone)-4:] }},
		{"phone number", func(c customer) string { return c.phone }},
		{"address", func(c customer) string { return c.email }},
		{"foreign code", func(c customer) string { return c.barcode }},
		{"short code", func(c customer) string { return c.short }},
		{"nobody", func(c customer) string { return c.short + "x" }},
	}
	filters := []string{"", "&prize_due=true", "&status=active", "&status=locked", "&prize_due=true&seen=30"}
	lists := []string{"", "sort=last_visit", "sort=stamps", "sort=balance", "status=active", "status=locked", "prize_due=true", "seen=30",
		"seen=-90", "birthday=1", "birthday=1&sort=stamps", "program_id=" + s.ProgramIDs["standard"],
		"prize_due=true&seen=-90&sort=last_visit"}
	for b.Loop() {
		var till, dashboard slowest
		for _, t := range texts {
			d := newTillSearch(b, s)
			till.add(b, "till: "+t.kind, func(i int) float64 {
				if i%20 == 19 { // a device may search 20 times a minute
					s.Advance("1m")
				}
				return d.search(t.text(newCustomer(rand.IntN(n))))
			})
			for _, filter := range filters {
				dashboard.add(b, "dashboard: "+t.kind+filter, func(int) float64 {
					return v.time("/dashboard/cards?q=" + url.QueryEscape(t.text(newCustomer(rand.IntN(n)))) + filter)
				})
			}
		}
		for _, list := range lists {
			dashboard.add(b, "dashboard: "+list, func(int) float64 { return v.time("/dashboard/cards?" + list) })
		}
		b.ReportMetric(till.median, "till-ms")
		b.ReportMetric(till.p99, "till-p99-ms")
		b.ReportMetric(till.cpu, "till-cpu-ms")
		b.ReportMetric(dashboard.cpu, "dashboard-cpu-ms")
		b.ReportMetric(dashboard.median, "dashboard-ms")
		b.ReportMetric(dashboard.p99, "dashboard-p99-ms")
	}
}

// slowest are the times in milliseconds of the slowest kind of request. cpu is the mean of the processor time of server and
// client, which says more on a machine with other work.
type slowest struct{ median, p99, cpu float64 }

// add measures a kind of request, and once before that does not count.
func (s *slowest) add(b *testing.B, kind string, ask func(i int) float64) {
	ask(0)
	var took []float64
	before := processorTime(b)
	for i := range servertest.Sized(searchSample, 3) {
		took = append(took, ask(i))
	}
	cpu := (processorTime(b) - before).Seconds() * 1000 / float64(len(took))
	p99 := percentile99(took)
	median := took[len(took)/2]
	b.Logf("%6.2f ms, 99 %%: %6.2f ms, processor %6.2f ms: %s", median, p99, cpu, kind)
	s.median, s.p99, s.cpu = max(s.median, median), max(s.p99, p99), max(s.cpu, cpu)
}

// processorTime returns the processor time that the process has used.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	noError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// time gets a page and returns how long it took in milliseconds.
func (v *visitor) time(path string) float64 {
	return v.c.time(v.b, request("GET", path, "", v.cookie, ""))
}

// time sends a request and returns how long the answer took in milliseconds.
func (c *conn) time(b *testing.B, req []byte) float64 {
	start := time.Now()
	status, body, err := c.roundTrip(req, true)
	if err != nil || status != 200 {
		b.Fatalf("%.200s: status %d, %v %.300s", req, status, err, body)
	}
	return float64(time.Since(start).Microseconds()) / 1000
}

// searchPIN is the PIN of the member of staff who searches.
const searchPIN = "2468"

// tillSearch is a till at which a member of staff searches.
type tillSearch struct {
	b       *testing.B
	c       *conn
	session string // the header
}

// newTillSearch begins a session at the demo till on the next day, on which the device may search again.
func newTillSearch(b *testing.B, s *servertest.Server) *tillSearch {
	s.Advance("25h")
	var member store.StaffMember
	servertest.Write(b, s.App.Store, func(tx *store.Tx) (err error) {
		member, err = tx.CreateStaff(s.Ready.Shop(), store.StaffPatch{Name: opt("Ada")}, store.HashStaffPIN(store.Some(searchPIN)))
		return err
	})
	t := &tillSearch{b: b, c: dial(b, s.Origin[len("http://"):])}
	b.Cleanup(func() { t.c.c.Close() })
	session := s.Till(seed.TillToken).Post("/session", servertest.Fields{"staff_id": member.ID, "pin": searchPIN}).Want(201)
	t.session = "X-Staff-Session: " + session.Str("token") + "\r\n"
	return t
}

// search searches and returns how long it took in milliseconds.
func (t *tillSearch) search(text string) float64 {
	return t.c.time(t.b, request("GET", "/till/v1/search?q="+url.QueryEscape(text), seed.TillToken, t.session, ""))
}
