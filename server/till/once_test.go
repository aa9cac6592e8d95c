package till_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/store"
)

// uuid returns the n-th reference.
func uuid(n int) string { return fmt.Sprintf("0b6f7c0e-5d0a-4d51-9d4b-%012d", n) }

// TestClientReference checks that a write with a reference is made once, also when it is
// repeated without a staff PIN and while the location is disabled, long after its idempotency
// key is forgotten. For each action and for changes of the card see the tests of the store.
func TestClientReference(t *testing.T) {
	s, d, location, card := guarded(t)
	path := "/cards/" + card + "/stamps"
	body := fields{"count": 2, "client_reference": uuid(1)}
	s.Unchanged(func() { d.Post(path, body).Want(401, "invalid_credentials") })
	first := d.Post(path, body, pinHeader, "2468", "Idempotency-Key", "k").Want(201)
	first.Shows(fields{"transaction.client_reference": uuid(1), "transaction.occurred_at": nil, "transaction.staff": nil})
	if first.Header.Get("Idempotent-Replayed") != "" {
		t.Error("the first answer is marked as replayed")
	}
	again := func() {
		t.Helper()
		s.Unchanged(func() {
			for _, headers := range [][]string{nil, {pinHeader, "0000"}, {"Idempotency-Key", "k"}, {"Idempotency-Key", "other"}} {
				r := d.Post(path, fields{"count": 7, "client_reference": strings.ToUpper(uuid(1))}, headers...).Want(201)
				if r.Header.Get("Idempotent-Replayed") != "true" || r.Str("transaction.id") != first.Str("transaction.id") {
					t.Errorf("with %q: %s", headers, r.Body)
				}
			}
		})
	}
	again()
	s.Advance("2000h")
	setLocation(s, location, "disable")
	again()
	setLocation(s, location, "enable")
	other := s.Issue(s.ProgramIDs["standard"], nil)
	s.Unchanged(func() { stamp(d, other, body).Want(409, "conflict") })
	back := reverse(d, uuid(1), fields{"client_reference": uuid(2)}, pinHeader, "2468").Want(201).Str("transaction.id")
	s.Unchanged(func() {
		reverse(d, first.Str("transaction.id"), fields{"client_reference": uuid(2)}).Want(201).Shows(fields{"transaction.id": back})
	})
	for _, wrong := range []any{"", "x", uuid(1) + "0", strings.ReplaceAll(uuid(1), "-", ""), 7} {
		s.Unchanged(func() {
			r := s.Post(path, fields{"client_reference": wrong}).Want(400, "validation_failed")
			if !strings.HasPrefix(r.Details()[0], "client_reference ") {
				t.Errorf("%v: %q", wrong, r.Details())
			}
		})
	}
}

// TestIssueWithReference checks that a repeated issue shows the same install link, which works, also
// after a reissue, until the card is erased, and that another write with its reference is a conflict.
func TestIssueWithReference(t *testing.T) {
	s := start(t)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	first := s.Post(path, fields{"client_reference": uuid(1), "holder_name": "Ada"}).Want(201)
	var again string
	s.Unchanged(func() {
		r := s.Post(path, fields{"client_reference": uuid(1)}).Want(201)
		again = r.Str("install_url")
		r.Same(first)
		s.Post("/programs/"+s.ProgramIDs["access"]+"/cards", fields{"client_reference": uuid(1)}).Want(409, "conflict")
	})
	if r := s.Fetch("GET", again, nil, nil); r.Status != 200 {
		t.Errorf("the link answers %d", r.Status)
	}
	card := first.Str("id")
	s.REST().Post("/cards/"+card+"/reissue", nil).Want(200)
	s.Unchanged(func() {
		if r := s.Post(path, fields{"client_reference": uuid(1)}).Want(201); r.Str("install_url") != again {
			t.Errorf("after a reissue: %s", r.Body)
		}
		stamp(s, card, fields{"client_reference": uuid(1)}).Want(409, "conflict")
	})
	s.Control("POST", "/cards/"+card+"/delete", nil)
	s.Unchanged(func() { s.Post(path, fields{"client_reference": uuid(1)}).Want(404, "not_found") })
}

// TestReferenceRace checks that one of several concurrent requests with a reference writes, and
// that all are answered with its transaction.
func TestReferenceRace(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	ids := servertest.Simultaneously(16, func(i int) string {
		return stamp(s, card, fields{"client_reference": uuid(1)}, "Idempotency-Key", fmt.Sprint(i%4)).Want(201).Str("transaction.id")
	})
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("the answers name %q", ids)
		}
	}
	if n := countTransactions(s); n != "1" {
		t.Errorf("%s rows", n)
	}
}

// TestReferenceIsNoOracle checks that unknown short codes count as guesses also with a
// reference that was used.
func TestReferenceIsNoOracle(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	body := fields{"client_reference": uuid(1)}
	stamp(s, card, body).Want(201)
	for i := range 10 {
		s.Post(fmt.Sprintf("/cards/zzzzzzz%d/stamps", i), body).Want(201)
	}
	s.Post("/cards/zzzzzzzz/stamps", body).Want(429, "rate_limited")
	stamp(s, card, body).Want(201)
}

// TestOccurredAt checks which times a till may send as that of a transaction.
func TestOccurredAt(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	now := s.App.Store.Now()
	give := func(at store.Time) fields { return fields{"occurred_at": at.String()} }
	s.Unchanged(func() {
		stamp(s, card, give(now.Add(-7*24*time.Hour-time.Minute))).Invalid("occurred_at invalid_value")
		stamp(s, card, fields{"occurred_at": "yesterday"}).Invalid("occurred_at invalid_format")
	})
	yesterday := now.Add(-24 * time.Hour)
	stamp(s, card, give(yesterday)).Want(201).Shows(fields{"transaction.occurred_at": yesterday.String()})
	s.Get("/cards/" + card).WantOK(fields{"transactions.0.occurred_at": yesterday.String()})
	// A repeat is answered also when the stamp has become too old to be sent.
	late := give(yesterday)
	late["client_reference"] = uuid(1)
	id := stamp(s, card, late).Want(201).Str("transaction.id")
	const days = int64(8 * 24 * time.Hour / time.Millisecond)
	s.SQL("UPDATE transactions SET occurred_at=occurred_at-? WHERE id=?", days, s.Row(store.KindTransaction, id))
	late["occurred_at"] = yesterday.Add(-8 * 24 * time.Hour).String()
	stamp(s, card, late).Want(201).Shows(fields{"transaction.id": id})
}
