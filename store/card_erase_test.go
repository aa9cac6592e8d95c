package store

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// personal is a text that all data of the holder contain. After an erasure no table may contain it.
const personal = "Zebedee"

// erasable is a chain of two cards with all data that a holder leaves: remembered responses, events
// of both versions, and metadata in the ledger.
type erasable struct {
	*fixture
	l     ledgerCase
	cards []string
}

func startErasable(t *testing.T) erasable {
	f := start(t, Options{Mail: func(Mail) {}})
	e := erasable{fixture: f, l: f.withLedger()}
	f.hook(e.l.program, hookFields{})
	f.hook(e.l.program, hookFields{v1: true})
	remember := func(key string, write func(tx *Tx) (id string, body any, err error)) (id string) {
		f.must(func(tx *Tx) (err error) {
			var out any
			if id, out, err = write(tx); err != nil {
				return err
			}
			body, _ := json.Marshal(out)
			return tx.Remember(idempotencyKey(KeyScope(1), key, key), Remembered{Status: 201, Body: body})
		})
		return id
	}
	root := remember("issue", func(tx *Tx) (string, any, error) {
		c, err := tx.IssueCard(
			f.a,
			e.l.program,
			CardFields{HolderName: set(personal + " \"the\u00e9\\ first\""), HolderEmail: set(personal + "@Example.com"),
				ExternalRef: set(personal + "-1"), SendEmail: set(true)},
			SourceAPI,
		)
		return c.ID, c, err
	})
	e.cards = []string{root, f.child(root)}
	remember("patch", func(tx *Tx) (string, any, error) {
		d, err := tx.UpdateCard(f.a, e.cards[1], CardPatch{HolderName: set(personal + " the second")})
		return d.ID, d, err
	})
	remember("reissue", func(tx *Tx) (string, any, error) {
		c, err := tx.ReissueCard(f.a, root, ReissueFields{HolderEmail: set("second-" + strings.ToLower(personal) + "@example.com")})
		return c.ID, c, err
	})
	for _, id := range e.cards {
		f.ledger(f.a, id, e.l.program, e.l.location, "stamp", 2)
	}
	f.sql("UPDATE transactions SET metadata=? WHERE card_id<>?", fmt.Sprintf(`{"note":"%s was here"}`, personal), f.key(KindCard, e.l.card))
	return e
}

// traces returns the rows that contain personal.
func (e erasable) traces() (lines []string) {
	for _, line := range strings.Split(e.dump(), "\n") {
		// Blobs are quoted as hexadecimal.
		for _, mark := range []string{
			personal, strings.ToLower(personal), fmt.Sprintf("%X", personal),
			fmt.Sprintf("%X", strings.ToLower(personal)),
		} {
			if strings.Contains(line, mark) {
				lines = append(lines, line)
				break
			}
		}
	}
	return lines
}

// TestEraseLeavesNothingOfThePerson checks that an erasure removes the holder's data from all tables,
// keeps the rows of the ledger, and does not change another card's rows.
func TestEraseLeavesNothingOfThePerson(t *testing.T) {
	t.Parallel()
	const theLedger = "SELECT concat_ws(',', id, card_id, program_id, location_id, type, stamps_delta, created_at) " +
		"FROM transactions ORDER BY id"
	for i := range 2 { // the index of the card that the operation names
		e := startErasable(t)
		if n := len(e.traces()); n < 2+3+2+4 { // at least: cards, responses, v2 events, ledger rows
			t.Fatalf("only %d rows name the person before the erase", n)
		}
		bystander := e.lines("SELECT concat_ws(',', id, card_id, metadata) FROM transactions WHERE card_id=?", e.key(KindCard, e.l.card))
		ledger := e.lines(theLedger)
		e.clock.move(time.Second)
		e.erase(e.cards[i])

		if left := e.traces(); len(left) > 0 {
			t.Errorf("rows that still name the person: %.300q", left)
		}
		e.selectsLines(ledger, theLedger)
		e.selects(0, "SELECT count(*) FROM transactions WHERE metadata IS NOT NULL AND card_id<>?", e.key(KindCard, e.l.card))
		e.selectsLines(bystander,
			"SELECT concat_ws(',', id, card_id, metadata) FROM transactions WHERE card_id=?", e.key(KindCard, e.l.card))
		for _, id := range e.cards {
			refused(t, errorOf(e.read(id)), NotFound)
			refused(t, e.do(func(tx *Tx) error { return tx.EraseCard(e.a.Shop, id) }), NotFound)
		}
		e.checkFile()
	}
}

// TestErasedPayloads checks that payloads stay valid and are unchanged except for the holder's
// data.
func TestErasedPayloads(t *testing.T) {
	e := startErasable(t)
	payloads := func(version string) []string {
		return e.lines(
			"SELECT ifnull(CAST(payload_"+version+" AS TEXT), '') FROM events WHERE card_id IN (?,?) AND name<>'card.deleted' ORDER BY id",
			e.key(KindCard, e.cards[0]),
			e.key(KindCard, e.cards[1]),
		)
	}
	v1, v2 := payloads("v1"), payloads("v2")
	e.erase(e.cards[0])
	if after := payloads("v1"); fmt.Sprint(after) != fmt.Sprint(v1) {
		t.Errorf("the v1 payloads are %v, were %v", after, v1)
	}
	after := payloads("v2")
	if len(after) != 3 || len(v2) != 3 { // card.added, and card.reissued of each card
		t.Fatalf("%d payloads after, %d before, want 3", len(after), len(v2))
	}
	for i := range after {
		var was, is map[string]any
		succeed(json.Unmarshal([]byte(v2[i]), &was))
		if err := json.Unmarshal([]byte(after[i]), &is); err != nil {
			t.Fatalf("%s: %v", after[i], err)
		}
		card := was["card"].(map[string]any)
		holder := card["holder"].(map[string]any)
		if card["external_ref"] == nil || holder["name"] == nil || holder["email"] == nil {
			t.Errorf("before the erase the payload lacks the person: %s", v2[i])
		}
		card["external_ref"], holder["name"], holder["email"] = nil, nil, nil
		if fmt.Sprint(is) != fmt.Sprint(was) {
			t.Errorf("the payload is %v, want %v", is, was)
		}
	}
	// Each card has one card.deleted event without personal data.
	for _, p := range e.lines("SELECT CAST(payload_v2 AS TEXT) FROM events WHERE name='card.deleted'") {
		var env struct {
			Card struct {
				ID, State string
				Holder    struct{ Name, Email *string }
			}
		}
		if err := json.Unmarshal([]byte(p), &env); err != nil || env.Card.State != "deleted" || env.Card.Holder.Name != nil ||
			env.Card.Holder.Email != nil {
			t.Errorf("card.deleted says %s, %v", p, err)
		}
	}
	e.selects(2, "SELECT count(*) FROM events WHERE name='card.deleted'")
}

// TestEraseInTheWriteThatIssued checks that a card that is issued and erased in one write leaves no
// personal data, not even in the event of its issue.
func TestEraseInTheWriteThatIssued(t *testing.T) {
	e := startErasable(t)
	e.must(func(tx *Tx) error {
		if err := tx.EraseCard(e.a.Shop, e.cards[0]); err != nil {
			return err
		}
		c, err := tx.IssueCard(e.a, e.l.program, CardFields{HolderName: set(personal)}, SourceAPI)
		if err != nil {
			return err
		}
		return tx.EraseCard(e.a.Shop, c.ID)
	})
	if left := e.traces(); len(left) > 0 {
		t.Errorf("rows that still name the person: %.300q", left)
	}
}

// TestEraseOverwrites checks that after an erasure the bytes of the file and its WAL do not contain
// personal data, not even in pages that are no longer used.
func TestEraseOverwrites(t *testing.T) {
	e := startErasable(t)
	// The metadata fills most of a page. Other cards are written after it.
	long := fmt.Sprintf(`{"note":"%s"}`, strings.Repeat(personal+" ", 400))
	f, till := e.fixture, e.fixture.till()
	f.must(func(tx *Tx) error {
		return errorOf(tx.Stamp(till.device, e.cards[0], StampFields{Metadata: Metadata{set(json.RawMessage(long))}}))
	})
	for i := range 60 {
		f.cardOf(e.l.program, fmt.Sprint("Neighbour ", i))
	}
	if n := bytesNaming(t, f.path, personal); n == 0 {
		t.Fatal("the file does not contain the name before the erasure")
	}
	f.erase(e.cards[0])
	if n := bytesNaming(t, f.path, personal); n != 0 {
		t.Errorf("the file and its WAL contain the name %d times after the erasure", n)
	}
	f.checkPages()
}

// TestWipePages checks that also the copies of rows that SQLite has moved to other pages are overwritten.
func TestWipePages(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Coffee"))
	var cards []string
	for part := range 30 { // in no order, so that pages are split
		f.writes(func(tx *Tx) {
			for i := range 50 {
				n := (50*part + i) * 7919 % 1500
				fields := CardFields{HolderEmail: set(fmt.Sprintf("x%04d@stays.test", n))}
				if n%5 == 0 {
					fields = CardFields{HolderName: set(personal), HolderEmail: set(fmt.Sprintf("x%04d@erased.test", n))}
				}
				card := check(tx.IssueCard(f.a, program, fields, SourceAPI)).ID
				if n%5 == 0 {
					cards = append(cards, card)
				}
			}
		})
	}
	for part := range slices.Chunk(cards, 30) {
		f.writes(func(tx *Tx) {
			for _, card := range part {
				succeed(tx.EraseCard(f.a.Shop, card))
			}
		})
	}
	if n := bytesNaming(t, f.path, "@erased.test"); n == 0 {
		t.Error("no page has remains: the test checks nothing")
	}
	for more := true; more; {
		more = must(f, func(tx *Tx) (bool, error) { return tx.WipePages(50) })
	}
	if n := bytesNaming(t, f.path, "@erased.test") + bytesNaming(t, f.path, personal); n != 0 {
		t.Errorf("the file and its WAL contain erased people %d times", n)
	}
	if again := must(f, func(tx *Tx) (bool, error) { return tx.WipePages(50) }); again {
		t.Error("pages are searched without an erasure")
	}
	f.checkPages()
}

// bytesNaming counts the occurrences of a text in a file and its WAL, whatever their case. Another
// process reads them, since closing the file in this one would release SQLite's locks.
func bytesNaming(t *testing.T, path, text string) (n int) {
	for _, p := range []string{path, path + "-wal"} {
		out := check(exec.Command("cat", p).Output())
		n += strings.Count(strings.ToLower(string(out)), strings.ToLower(text))
	}
	return n
}
