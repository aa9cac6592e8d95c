package punchtest_test

import (
	"testing"
	"time"

	"punchcard/server/punchtest"
	"punchcard/server/servertest/require"
)

const uuid = "0b6f7c0e-5d0a-4d51-9d4b-3f0f5a2f7c11"

// TestStaff checks what members of staff do at a till.
func TestStaff(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	at := s.NewLocation(punchtest.LocationFields{RequireStaffPIN: true, StaffPIN: "4711"}).ID
	till := s.Till(at)
	ada := s.NewStaff(at, "Ada", "2468")
	if me := till.Me(); len(me.Staff) != 1 || me.Staff[0] != (punchtest.NamedStaff{ID: ada.ID, Name: "Ada"}) || me.Location.ID != at ||
		!me.AcceptsCardIDs ||
		me.RestoreID == "" ||
		me.Device.Name != "Till" {
		t.Errorf("%+v", me)
	}
	card := s.Issue(s.Programs["standard"], punchtest.CardFields{HolderName: "Grace Hopper", HolderEmail: "grace@example.com"}).ID
	refuses(t, "without a session", "invalid_credentials", failure(till.Try().Stamp(card, 1)))
	refuses(t, "a wrong PIN", "invalid_credentials", failure(till.Try().SignIn(ada.ID, "1111")))
	signed := till.SignIn(ada.ID, "2468")
	if row := signed.Stamp(card, 1).Transaction; row.Staff == nil || row.Staff.Name != "Ada" {
		t.Errorf("%+v", row)
	}
	refuses(t, "a search without a session", "invalid_credentials", failure(till.Try().Search("grace")))
	found := signed.Search("grace")
	if len(found) != 1 || found[0].Name != "Grace Hopper" || found[0].Email == "grace@example.com" {
		t.Fatalf("%+v", found)
	}
	held := signed.Lookup(found[0].Handle).HeldCode
	signed.Stamp(found[0].Handle, 1)
	s.Clock.Advance(10 * time.Minute)
	refuses(t, "an old handle", "not_found", failure(signed.Try().Stamp(found[0].Handle, 1)))
	if r := till.PIN("4711").Stamp(held, 1); r.Card.StampsCount != 3 {
		t.Errorf("%+v", r)
	}
	end := func(how string, do func(), pin string) {
		t.Helper()
		signed := till.SignIn(ada.ID, pin)
		signed.Stamp(card, 1)
		do()
		if _, err := signed.Try().Stamp(card, 1); refusal(t, err).Code != "invalid_credentials" {
			t.Errorf("%s: %v", how, err)
		}
	}
	end("time", func() { s.Clock.Advance(15 * time.Minute) }, "2468")
	end("another PIN", func() { s.SetStaffPIN(ada.ID, "13579") }, "2468")
	end("disabled", func() { s.DisableStaff(ada.ID) }, "13579")
	s.EnableStaff(ada.ID)
	signed = till.SignIn(ada.ID, "13579")
	signed.SignOut()
	refuses(t, "signed out", "invalid_credentials", failure(signed.Try().Stamp(card, 1)))
}

// TestPairing checks that a code makes one till.
func TestPairing(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	p := s.NewPairing(s.Locations[1])
	till := require.Must(s.Pair(p.Code))
	if till.Location != s.Locations[1] || p.URL != s.Origin+"/till/pair/"+p.Token ||
		!p.ExpiresAt.Equal(p.ExpiresAt.Truncate(time.Millisecond)) {
		t.Errorf("%+v, %+v", till, p)
	}
	till.Stamp(newCard(s), 1)
	refuses(t, "again", "link_expired", failure(s.Pair(p.Code)))
	p = s.NewPairing(s.Locations[1])
	s.Clock.Advance(10 * time.Minute)
	refuses(t, "too late", "link_expired", failure(s.Pair(p.Code)))
}

// TestLateStamps checks a till that sends a stamp late, twice.
func TestLateStamps(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s := punchtest.Start(t, punchtest.Clock(at))
	till, card := s.Till(s.Locations[0]), newCard(s)
	s.Clock.Advance(25 * time.Hour)
	late := till.ClientReference(uuid).OccurredAt(at)
	first, again := late.Stamp(card, 2), late.Stamp(card, 2)
	if row := first.Transaction; !row.OccurredAt.Equal(at) || row.ClientReference != uuid || again.Transaction.ID != row.ID ||
		again.Card.StampsCount != 2 {
		t.Errorf("%+v\n%+v", first, again)
	}
	refuses(t, "another action", "conflict", failure(late.Try().Redeem(card, s.Prizes(s.Programs["standard"])[0].ID)))
	refuses(t, "too late", "validation_failed", failure(till.OccurredAt(at.AddDate(0, 0, -7)).Try().Stamp(card, 1)))
	const other = "0b6f7c0e-5d0a-4d51-9d4b-3f0f5a2f7c12"
	back := till.ClientReference(other).Reverse(uuid)
	if back.Card.StampsCount != 0 || back.Transaction.ClientReference != other {
		t.Errorf("%+v", back)
	}
	if rows := till.Transactions(); len(rows) != 2 || rows[0].Type != "reversal" || !rows[1].OccurredAt.Equal(at) {
		t.Errorf("%+v", rows)
	}
	const third = "0b6f7c0e-5d0a-4d51-9d4b-3f0f5a2f7c13"
	issue := till.ClientReference(third)
	if a, b := issue.Issue(s.Programs["access"], punchtest.CardFields{}),
		issue.Issue(s.Programs["access"], punchtest.CardFields{}); a.ID != b.ID {
		t.Errorf("two cards: %+v, %+v", a, b)
	}
}
