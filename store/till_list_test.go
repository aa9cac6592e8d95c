package store

import (
	"fmt"
	"net/netip"
	"testing"
)

// runTillLists runs the operations on staff and pairings, the lists of tills, and actions of a
// member of staff who is signed in.
func runTillLists(k till, program string) {
	f := k.fixture
	member := must(f, func(tx *Tx) (StaffMember, error) {
		return tx.CreateStaff(f.a.Shop, k.location, "Ada", StaffPIN{Some("$argon2id")})
	})
	must(f, func(tx *Tx) (StaffMember, error) {
		return tx.SetStaffMemberPIN(f.a.Shop, member.ID, StaffPIN{Some("$argon2id$")})
	})
	for _, disabled := range []bool{true, false} {
		must(f, func(tx *Tx) (StaffMember, error) { return tx.SetStaffDisabled(f.a.Shop, member.ID, disabled) })
	}
	key := f.key(KindStaff, member.ID)
	must(f, func(tx *Tx) (string, error) { return tx.NewStaffToken(k.device, key) })
	f.must(func(tx *Tx) error { return tx.EndStaffSession(k.device, key) })
	f.must(func(tx *Tx) error { return tx.AuditTillSearch(k.device) })
	signedIn := k.device
	signedIn.Staff = Staff{key, "Ada"}
	card := must(f, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueAtCounter(signedIn, program, CounterFields{HolderName: set("Ada"), Once: once(900)})
	}).ID
	var row, back Stamped
	row = must(f, func(tx *Tx) (Stamped, error) {
		return tx.Stamp(signedIn, card, StampFields{Count: set[int64](12), OccurredAt: set(f.clock.at()), Once: once(901)})
	})
	back = must(f, func(tx *Tx) (Stamped, error) {
		return tx.Reverse(signedIn, row.Transaction.ID, UseFields{Once: once(902)})
	})
	for _, offer := range []func(CreatedPairing) (token, code string){func(p CreatedPairing) (string, string) { return p.Token, "" }, func(p CreatedPairing) (string, string) { return "", p.Code }} {
		p := must(f, func(tx *Tx) (CreatedPairing, error) {
			return tx.CreatePairing(f.a.Shop, NewDevice{LocationID: k.location, Name: "Phone"})
		})
		must(f, func(tx *Tx) (Device, error) {
			token, code := offer(p)
			d, _, err := tx.AcceptPairing(token, code, netip.MustParseAddr("192.0.2.1"))
			return d, err
		})
	}
	f.do(func(tx *Tx) error {
		_, _, err := tx.AcceptPairing("", "zzzzzzzz", netip.MustParseAddr("192.0.2.1"))
		return err
	})
	f.view(func(v *View) error {
		check(v.Staff(f.a.Shop))
		check(v.TillTransactions(k.device, 50))
		check(v.TillToday(k.device))
		check(v.TillSearch(f.a.Shop, "ada"))
		for _, w := range []Repeat{{Once: once(901), Types: []string{TransactionStamp}, Code: card}, {Once: once(902), Types: []string{TransactionReversal}, Reverses: row.Transaction.ID},
			{Once: once(901), Types: []string{TransactionStamp}, Code: v.s.cardCode(1<<40, 0)}} {
			if _, _, _, err := v.Repeated(k.device, w); err != nil {
				f.t.Error(err)
			}
		}
		_, _, err := v.RepeatedIssue(k.device, Repeat{Once: once(900), Program: program})
		return err
	})
	if row.Transaction.Staff == nil || back.Transaction.Staff == nil {
		f.t.Error("the rows name nobody")
	}
}

// TestStaff checks that a shop can change its own staff only, and how many a location may have.
func TestStaff(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	add := func(shop int64, location, name string) (StaffMember, error) {
		return attempt(k.fixture, func(tx *Tx) (StaffMember, error) {
			return tx.CreateStaff(shop, location, name, StaffPIN{Some("$argon2id")})
		})
	}
	other := k.shop(ShopFields{})
	_, err := add(other.Shop, k.location, "Eve")
	refused(t, err, NotFound)
	first := check(add(k.a.Shop, k.location, "Ada"))
	for i := range maxStaff - 1 {
		check(add(k.a.Shop, k.location, fmt.Sprint("Bob ", i)))
	}
	_, err = add(k.a.Shop, k.location, "Grace")
	refused(t, err, Unprocessable)
	for _, change := range []func(tx *Tx) (StaffMember, error){
		func(tx *Tx) (StaffMember, error) { return tx.SetStaffDisabled(other.Shop, first.ID, true) },
		func(tx *Tx) (StaffMember, error) {
			return tx.SetStaffMemberPIN(other.Shop, first.ID, StaffPIN{Some("x")})
		},
	} {
		_, err := attempt(k.fixture, change)
		refused(t, err, NotFound)
	}
	disable := func(disabled bool) (StaffMember, error) {
		return attempt(k.fixture, func(tx *Tx) (StaffMember, error) { return tx.SetStaffDisabled(k.a.Shop, first.ID, disabled) })
	}
	if m := check(disable(true)); !m.DisabledAt.Valid {
		t.Errorf("%+v", m)
	}
	before := k.dump()
	check(disable(true))
	if after := k.dump(); after != before {
		t.Errorf("disabling again wrote %s", firstDifference(before, after))
	}
	check(add(k.a.Shop, k.location, "Grace"))
	_, err = disable(false)
	refused(t, err, Unprocessable)
	k.checkFile()
}
