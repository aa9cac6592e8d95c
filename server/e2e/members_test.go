package e2e

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// member is a line of the list that a shop imports.
type member struct{ ref, name, email, program string }

func readMembers(t *testing.T) (members []member) {
	t.Helper()
	f := require.Must(os.Open("testdata/members.csv"))
	defer f.Close()
	lines := require.Must(csv.NewReader(f).ReadAll())
	for _, l := range lines[1:] {
		members = append(members, member{l[0], l[1], l[2], l[3]})
	}
	if len(members) != 1000 {
		t.Fatalf("%d members", len(members))
	}
	return members
}

// expected returns the cards that the import must result in: one for each person and program, and
// one for each line without a reference.
func expected(members []member) (cards map[member]int, people int) {
	cards, seen := map[member]int{}, map[[2]string]bool{}
	for _, m := range members {
		if m.ref != "" && seen[[2]string{m.program, m.ref}] {
			continue
		}
		seen[[2]string{m.program, m.ref}] = true
		cards[m]++
		people++
	}
	return cards, people
}

// fields returns the body that issues the member's card.
func (m member) fields() map[string]string {
	f := map[string]string{"holder_name": m.name}
	if m.ref != "" {
		f["external_ref"] = m.ref
	}
	if m.email != "" {
		f["holder_email"] = m.email
	}
	return f
}

// asMember returns the member of a card; it is the inverse of fields.
func (c card) asMember(programs map[string]string) member {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	m := member{text(c.ExternalRef), text(c.HolderName), text(c.HolderEmail), "?"}
	for name, id := range programs {
		if id == c.ProgramID {
			m.program = name
		}
	}
	return m
}

// The three ways in which a connection of the import is lost.
const (
	lostBefore = iota
	lostWithin
	lostAfter
	lostWays
)

var errLost = errors.New("the connection was lost")

// lossyTransport is a transport that loses one in twenty connections. What happens to a request
// depends on its Idempotency-Key and the number of attempts, and so not on the order of requests.
type lossyTransport struct {
	seed  uint64
	next  http.RoundTripper
	tries sync.Map // Idempotency-Key: *atomic.Uint64
	lost  [lostWays]atomic.Int64
}

func (d *lossyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	key := req.Header.Get("Idempotency-Key")
	n, _ := d.tries.LoadOrStore(key, new(atomic.Uint64))
	chance := rand.New(rand.NewPCG(d.seed, n.(*atomic.Uint64).Add(1)<<32|hash(key)))
	if chance.IntN(20) != 0 {
		return d.next.RoundTrip(req)
	}
	way := chance.IntN(lostWays)
	d.lost[way].Add(1)
	conn, err := net.Dial("tcp", req.URL.Host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var text strings.Builder
	if err := req.Write(&text); err != nil {
		return nil, err
	}
	length := map[int]int{lostBefore: 0, lostWithin: 1 + chance.IntN(text.Len()-1), lostAfter: text.Len()}[way]
	io.WriteString(conn, text.String()[:length])
	return nil, errLost
}

func hash(key string) (h uint64) {
	for _, b := range []byte(key) {
		h = h*31 + uint64(b)
	}
	return h & (1<<32 - 1)
}

// importer imports a list of members with 16 workers. Each line has its own Idempotency-Key, which
// every retry repeats.
type importer struct {
	t              *testing.T
	api            *servertest.Client
	programs       map[string]string // ids by name
	http           *http.Client
	lossyTransport *lossyTransport
	// waitForServer returns when the server has restarted.
	waitForServer func()
	// onAnswer is called after every answered line.
	onAnswer func()

	mu         sync.Mutex
	cards      map[string]member // by id in the answer
	duplicates map[member]int    // number of conflicts of a member who has the card
}

func newImporter(t *testing.T, api *servertest.Client, programs map[string]string, seed uint64) *importer {
	d := &lossyTransport{seed: seed, next: &http.Transport{MaxIdleConnsPerHost: 16}}
	return &importer{
		t:              t,
		api:            api,
		programs:       programs,
		http:           &http.Client{Transport: d},
		lossyTransport: d,
		cards:          map[string]member{},
		duplicates:     map[member]int{},
	}
}

func (im *importer) run(members []member) {
	lines := make(chan int)
	var wg sync.WaitGroup
	for range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range lines {
				im.line(i, members[i])
			}
		}()
	}
	for i := range members {
		lines <- i
	}
	close(lines)
	wg.Wait()
	im.http.CloseIdleConnections()
}

// line sends one member until there is an answer.
func (im *importer) line(i int, m member) {
	for range 1000 {
		r := im.api.On(im.t).Via(im.http).
			Try(context.Background(), "POST", "/programs/"+im.programs[m.program]+"/cards", m.fields(), "Idempotency-Key",
				fmt.Sprintf("import-line-%d", i))
		if r.Err == nil {
			im.answered(r, m)
			return
		}
		im.waitForServer()
	}
	im.t.Errorf("line %d: no answer after 1000 tries", i)
}

func (im *importer) answered(r *servertest.Reply, m member) {
	r.Check()
	im.mu.Lock()
	defer im.mu.Unlock()
	switch {
	case r.Status == 201:
		var made card
		r.Decode(&made)
		if before, again := im.cards[made.ID]; again {
			im.t.Errorf("%s is the answer for %+v and for %+v", made.ID, before, m)
		}
		if made.asMember(im.programs) != m {
			im.t.Errorf("the answer for %+v is %+v", m, made)
		}
		im.cards[made.ID] = m
	case r.Status == 409 && r.Str("error.code") == "conflict":
		im.duplicates[m]++
	default:
		im.t.Errorf("%+v: status %d %s", m, r.Status, r.Body)
	}
	im.onAnswer()
}

// check compares the cards with the list of members.
func (im *importer) check(members []member) {
	im.t.Helper()
	want, people := expected(members)
	if n := len(im.cards); n != people {
		im.t.Errorf("%d cards were answered, want %d", n, people)
	}
	refused := 0
	for m, n := range im.duplicates {
		if m.ref == "" {
			im.t.Errorf("%+v was refused", m)
		}
		refused += n
	}
	if refused != len(members)-people {
		im.t.Errorf("%d lines were refused, want %d", refused, len(members)-people)
	}
	for _, c := range listCards(im.api, 100) {
		m := c.asMember(im.programs)
		if want[m]--; want[m] < 0 {
			im.t.Errorf("unexpected card: %+v", m)
		}
		if im.cards[c.ID] != m {
			im.t.Errorf("%s is of %+v, but was the answer for %+v", c.ID, m, im.cards[c.ID])
		}
		if c.Status != "invited" {
			im.t.Errorf("%s is %s", c.ID, c.Status)
		}
	}
	for m, n := range want {
		if n > 0 {
			im.t.Errorf("%d cards are missing of %+v", n, m)
		}
	}
	for way := range im.lossyTransport.lost {
		if n := im.lossyTransport.lost[way].Load(); n < 5 {
			im.t.Errorf("only %d connections were lost in way %d", n, way)
		}
	}
}
