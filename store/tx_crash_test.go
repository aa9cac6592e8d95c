package store

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// crashWriters is the number of goroutines of the child that write at the same time, so that most
// transactions have several cards.
const crashWriters = 16

// issueChild issues numbered cards without a pause until it is killed, and prints the number of
// each card whose issue was acknowledged.
func issueChild(path string) {
	s, err := Open(path, Options{Serve: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var next atomic.Int64
	f := &fixture{Store: s, a: Access{Shop: 1}}
	s.View(0, func(v *View) error {
		n, err := v.conn.Number("SELECT ifnull(max(CAST(substr(external_ref, 2) AS INTEGER)), 0) FROM cards")
		next.Store(n)
		return err
	})
	program := s.ID(KindProgram, 1)
	var wg sync.WaitGroup
	for range crashWriters {
		wg.Go(func() {
			for {
				n := fmt.Sprint("n", next.Add(1))
				err := f.do(func(tx *Tx) error {
					c, err := tx.IssueCard(f.a, program, CardFields{ExternalRef: set(n)}, SourceAPI)
					if err != nil {
						return err
					}
					return tx.Remember(idempotencyKey(2, n, ""), Remembered{Status: 201, Body: []byte(c.ID)})
				})
				if err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				os.Stdout.WriteString(n + "\n")
			}
		})
	}
	wg.Wait()
}

// TestKilledProcessKeepsAcknowledgedWrites kills a process at random moments. The file must have
// every acknowledged write, and of any other write all or nothing.
func TestKilledProcessKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	reopen := func() *fixture {
		return &fixture{Store: open(t, path, Options{Serve: true}), t: t, a: Access{Shop: 1}}
	}
	f := reopen()
	f.a = f.shop(ShopFields{})
	f.hook(f.program(stamps("Coffee")), hookFields{})
	f.Close()
	rng := chance(t)
	answered := map[string]bool{}
	for round := range 4 {
		cmd, out, _ := childProcess(t, "issue", path)
		lines, kill := 0, 1+rng.IntN(150)
		for out.Scan() {
			if !strings.HasPrefix(out.Text(), "n") {
				t.Fatalf("round %d: the child printed %q", round, out.Text())
			}
			answered[out.Text()] = true
			if lines++; lines == kill {
				cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil || lines < kill {
			t.Fatalf("round %d: the child ended after %d lines, not by the kill: %v", round, lines, err)
		}

		f := reopen()
		f.checkPages()
		there := map[string]bool{}
		for _, ref := range f.lines("SELECT external_ref FROM cards") {
			there[ref] = true
		}
		lost := 0
		for n := range answered {
			if !there[n] {
				lost++
			}
		}
		if lost > 0 {
			t.Fatalf("round %d, killed after %d answers: %d of %d answered cards are lost", round, kill, lost, len(answered))
		}
		if more := len(there) - len(answered); more > crashWriters {
			t.Errorf("round %d: %d cards more than were answered, though only %d could be in progress", round, more, crashWriters)
		}
		for _, sql := range []string{
			"SELECT count(*) FROM idempotency i JOIN cards c ON c.id=i.card_id AND i.created_at=c.created_at",
			"SELECT count(*) FROM audit a JOIN cards c ON c.id=a.target_id WHERE a.action='card.issue'",
			"SELECT count(*) FROM events e JOIN cards c ON c.id=e.card_id WHERE e.name='card.added'",
			"SELECT count(*) FROM deliveries",
			"SELECT live_cards FROM shops",
		} {
			f.selects(int64(len(there)), sql)
		}
		f.Close()
		// Writes in progress at the kill that are in the file stay there.
		for n := range there {
			answered[n] = true
		}
	}
	t.Logf("%d cards survived 4 kills", len(answered))
}
