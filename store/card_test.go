package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// liveModel is the expected state of a shop's cards after random operations. It does not use the
// store's counters.
type liveModel struct {
	*fixture
	rng      *rand.Rand
	most     int             // max_cards of the shop
	programs map[string]bool // false if deleted
	cards    []*liveCard
}

type liveCard struct {
	id, program, ref         string
	expires                  Null[Time]
	locked, archived, erased bool
}

func (m *liveModel) status(c *liveCard) string {
	switch {
	case c.archived:
		return StatusArchived
	case c.expires.Valid && c.expires.V <= m.clock.at():
		return StatusExpired
	case c.locked:
		return StatusLocked
	}
	return StatusInvited
}

func (m *liveModel) isLive(c *liveCard) bool {
	return !c.erased && slices.Contains([]string{StatusInvited, StatusLocked}, m.status(c))
}

func (m *liveModel) live() (n int) {
	for _, c := range m.cards {
		if m.isLive(c) {
			n++
		}
	}
	return n
}

// refIsTaken reports whether another live card of the program has the reference.
func (m *liveModel) refIsTaken(program, ref string, but *liveCard) bool {
	return ref != "" && slices.ContainsFunc(m.cards, func(c *liveCard) bool {
		return c != but && c.program == program && c.ref == ref && m.isLive(c)
	})
}

func (m *liveModel) pick() *liveCard {
	if len(m.cards) == 0 {
		return nil
	}
	return m.cards[m.rng.IntN(len(m.cards))]
}

func (m *liveModel) expiry() Opt[Time] {
	switch m.rng.IntN(3) {
	case 0:
		return Opt[Time]{}
	case 1:
		return set(m.clock.at().Add(time.Duration(1+m.rng.IntN(20)) * time.Minute))
	}
	return set(m.clock.at().Add(time.Duration(1+m.rng.IntN(5)) * time.Hour))
}

func (m *liveModel) ref() string {
	if m.rng.IntN(3) == 0 {
		return ""
	}
	return fmt.Sprint("person", m.rng.IntN(12))
}

func optional(s string) Opt[string] { return Opt[string]{V: s, Set: s != ""} }

// expect fails the test unless an operation was refused with code, or succeeded if code
// is empty.
func (m *liveModel) expect(what string, err error, code Code) {
	m.t.Helper()
	e, ok := AsError(err)
	if err != nil && !ok || code == "" && err != nil || code != "" && (!ok || e.Code != code) {
		m.t.Fatalf("%s: got %v, want %q", what, err, code)
	}
}

func (m *liveModel) issue() {
	var open []string
	for p, alive := range m.programs {
		if alive {
			open = append(open, p)
		}
	}
	if len(open) == 0 {
		return
	}
	slices.Sort(open)
	c := &liveCard{program: open[m.rng.IntN(len(open))], ref: m.ref()}
	at := m.expiry()
	c.expires = at.Value()
	var want Code
	switch {
	case m.live() >= m.most:
		want = Unprocessable
	case m.refIsTaken(c.program, c.ref, nil):
		want = Conflict
	}
	err := m.do(func(tx *Tx) error {
		out, err := tx.IssueCard(m.a, c.program, CardFields{ExternalRef: optional(c.ref), ExpiresAt: at, HolderName: set("Ada")}, SourceAPI)
		c.id = out.ID
		return err
	})
	m.expect(fmt.Sprintf("issue with %d of %d live", m.live(), m.most), err, want)
	if err == nil {
		m.cards = append(m.cards, c)
	}
}

// checkRevival returns the code with which making an expired card live is refused, or "".
func (m *liveModel) checkRevival(c *liveCard, ref string) Code {
	switch {
	case m.refIsTaken(c.program, ref, c):
		return Conflict
	case m.live() >= m.most:
		return Unprocessable
	}
	return ""
}

func (m *liveModel) patch(c *liveCard) {
	f := CardPatch{}
	ref := c.ref
	if m.rng.IntN(2) == 0 {
		if ref = m.ref(); ref == "" {
			f.ExternalRef = null[string]()
		} else {
			f.ExternalRef = set(ref)
		}
	}
	switch m.rng.IntN(3) {
	case 0:
		f.ExpiresAt = m.expiry()
	case 1:
		f.ExpiresAt = null[Time]()
	}
	var want Code
	status := m.status(c)
	switch {
	case c.erased:
		want = NotFound
	case !f.ExternalRef.Set && !f.ExpiresAt.Set:
	case status == StatusArchived:
		want = Conflict
	case status == StatusExpired && f.ExpiresAt.Set:
		want = m.checkRevival(c, ref)
	case status != StatusExpired && ref != c.ref && m.refIsTaken(c.program, ref, c):
		want = Conflict
	}
	err := m.do(func(tx *Tx) error { return errorOf(tx.UpdateCard(m.a, c.id, f)) })
	m.expect(fmt.Sprintf("patch of a card %s to %+v", status, f), err, want)
	if err == nil {
		c.ref, c.expires = ref, f.ExpiresAt.Apply(c.expires)
	}
}

func (m *liveModel) reissue(c *liveCard) {
	at := m.expiry()
	var want Code
	status := m.status(c)
	switch {
	case c.erased:
		want = NotFound
	case status == StatusArchived:
		want = Conflict
	case status == StatusExpired:
		want = m.checkRevival(c, c.ref)
	}
	err := m.do(func(tx *Tx) error { return errorOf(tx.ReissueCard(m.a, c.id, ReissueFields{ExpiresAt: at})) })
	m.expect("reissue of a card "+status, err, want)
	if err == nil {
		if status == StatusExpired {
			c.expires = Null[Time]{}
		}
		c.expires, c.locked = at.Apply(c.expires), false
	}
}

func (m *liveModel) lock(c *liveCard, lock bool) {
	var want Code
	switch status := m.status(c); {
	case c.erased:
		want = NotFound
	case status == StatusArchived, status == StatusExpired:
		want = Conflict
	}
	err := m.do(func(tx *Tx) error { return errorOf(tx.SetCardLocked(m.a.Shop, c.id, lock)) })
	m.expect(fmt.Sprintf("lock %t of a card %s", lock, m.status(c)), err, want)
	if err == nil {
		c.locked = lock
	}
}

func (m *liveModel) archive(c *liveCard) {
	want := Code("")
	if c.erased {
		want = NotFound
	}
	err := m.do(func(tx *Tx) error { return errorOf(tx.ArchiveCard(m.a.Shop, c.id)) })
	m.expect("archive", err, want)
	c.archived = true
}

func (m *liveModel) erase(c *liveCard) {
	want := Code("")
	if c.erased {
		want = NotFound
	}
	err := m.do(func(tx *Tx) error { return tx.EraseCard(m.a.Shop, c.id) })
	m.expect("erase", err, want)
	c.erased, c.archived, c.ref = true, true, ""
}

func (m *liveModel) deleteProgram() {
	for p, alive := range m.programs {
		if alive {
			m.must(func(tx *Tx) error { return tx.DeleteProgram(m.a.Shop, p) })
			m.programs[p] = false
			for _, c := range m.cards {
				c.archived = c.archived || c.program == p
			}
			break
		}
	}
	id := m.program(stamps("Next"))
	m.programs[id] = true
}

// compare compares all cards and the counter with the model.
func (m *liveModel) compare() {
	m.t.Helper()
	m.checkFile()
	for _, c := range m.cards {
		d, err := m.read(c.id)
		if c.erased {
			m.expect("read of an erased card", err, NotFound)
			continue
		}
		if err != nil || d.Status != m.status(c) || d.ExternalRef.V != c.ref || d.ExpiresAt != c.expires {
			m.t.Fatalf("card %s is %s, %v, %v, %v; the model says %s, %q, %v", c.id, d.Status, d.ExternalRef, d.ExpiresAt, err, m.status(c), c.ref, c.expires)
		}
	}
	// The counter may include cards that have expired but are not yet marked, each of which is due.
	counted := m.number("SELECT live_cards FROM shops WHERE id=?", m.a.Shop)
	due := m.number("SELECT count(*) FROM cards WHERE shop_id=? AND live=1 AND expires_at<=?", m.a.Shop, m.clock.at())
	if got := counted - due; got != int64(m.live()) {
		m.t.Fatalf("live_cards is %d with %d due: %d live; the model says %d", counted, due, got, m.live())
	}
}

// TestCardsUnderRandomOperations compares cards and the number of live cards with a model after
// random operations.
func TestCardsUnderRandomOperations(t *testing.T) {
	t.Parallel()
	rng := chance(t)
	runs := 6
	if testing.Short() { // see sample
		runs = 1
	}
	for run := range runs {
		f := start(t)
		m := &liveModel{fixture: f, rng: rng, most: 5 + rng.IntN(25), programs: map[string]bool{}}
		m.must(func(tx *Tx) error {
			return errorOf(tx.UpdateShop(f.a.Shop, ShopFields{MaxCards: set(int64(m.most))}, ""))
		})
		for range 2 {
			m.programs[f.program(stamps("Coffee"))] = true
		}
		for step := range 200 {
			c := m.pick()
			switch n := rng.IntN(100); {
			case n < 40 || c == nil:
				m.issue()
			case n < 52:
				m.patch(c)
			case n < 62:
				m.reissue(c)
			case n < 72:
				m.lock(c, rng.IntN(2) == 0)
			case n < 77:
				m.archive(c)
			case n < 81:
				m.erase(c)
			case n < 82:
				m.deleteProgram()
			case n < 92:
				f.clock.move(time.Duration(rng.IntN(30)) * time.Minute)
			default:
				m.most = 3 + rng.IntN(25)
				m.must(func(tx *Tx) error {
					return errorOf(tx.UpdateShop(f.a.Shop, ShopFields{MaxCards: set(int64(m.most))}, ""))
				})
			}
			if step%20 == 0 {
				m.compare()
			}
		}
		m.compare()
		t.Logf("run %d: %d cards, %d live of %d", run, len(m.cards), m.live(), m.most)
		f.Close()
	}
}

// TestMaxCardsWithManyExpired checks max_cards when more cards expire at once than one statement
// marks as expired.
func TestMaxCardsWithManyExpired(t *testing.T) {
	t.Parallel()
	f := start(t)
	program := f.program(stamps("Coffee"))
	soon := f.clock.at().Add(time.Minute)
	f.must(func(tx *Tx) error {
		for range 700 {
			if _, err := tx.IssueCard(f.a, program, CardFields{ExpiresAt: set(soon)}, SourceAPI); err != nil {
				return err
			}
		}
		_, err := tx.UpdateShop(f.a.Shop, ShopFields{MaxCards: set(int64(700))}, "")
		return err
	})
	issue := func() error {
		return f.do(func(tx *Tx) error { return errorOf(tx.IssueCard(f.a, program, CardFields{}, SourceAPI)) })
	}
	refused(t, issue(), Unprocessable)
	f.clock.move(time.Minute - time.Millisecond)
	refused(t, issue(), Unprocessable)
	f.clock.move(time.Millisecond)
	for i := range 700 {
		if err := issue(); err != nil {
			t.Fatalf("new card %d after the old ones expired: %v", i+1, err)
		}
	}
	refused(t, issue(), Unprocessable)
	if n := f.number("SELECT live_cards FROM shops"); n < 700 {
		t.Errorf("live_cards is %d with 700 live", n)
	}
	f.checkFile()
}
