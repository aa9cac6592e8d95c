package store

import (
	"fmt"
	"net/netip"
	"testing"
)

// runTillLists runs the operations on staff and pairings, the lists of tills, and actions of a
// member of staff who is signed in.
func runTillLists(k till, program string) {
	f, shop := k.fixture, k.a.Shop
	signedIn := k.device
	f.writes(func(tx *Tx) {
		member := check(tx.CreateStaff(shop, StaffPatch{Name: set("Ada")}, StaffPIN{Some("$argon2id")}))
		check(tx.UpdateStaff(shop, member.ID, StaffPatch{LocationIDs: set([]string{k.location})}))
		check(tx.SetStaffMemberPIN(shop, member.ID, StaffPIN{Some("$argon2id$")}))
		for _, disabled := range []bool{true, false} {
			check(tx.SetStaffDisabled(shop, member.ID, disabled))
		}
		signedIn.Staff = Staff{f.key(KindStaff, member.ID), "Ada"}
		check(tx.NewStaffToken(k.device, signedIn.Staff.Key))
		succeed(tx.EndStaffSession(k.device, signedIn.Staff.Key), tx.AuditTillSearch(k.device))
	})
	var card string
	var row, back Stamped
	f.writes(func(tx *Tx) {
		ada := HolderFields{HolderName: set("Ada")}
		card = check(tx.IssueAtCounter(signedIn, program, CounterFields{HolderFields: ada, Once: once(900)})).ID
		row = check(tx.Stamp(signedIn, card, StampFields{Count: setInt(12), OccurredAt: set(tx.Now), Once: once(901)}))
		back = check(tx.Reverse(signedIn, row.Transaction.ID, UseFields{Once: once(902)}))
	})
	if row.Transaction.Staff == nil || back.Transaction.Staff == nil {
		f.t.Error("the rows name nobody")
	}
	at := netip.MustParseAddr("192.0.2.1")
	f.writes(func(tx *Tx) {
		phone := NewDevice{LocationID: k.location, Name: "Phone"}
		first(tx.AcceptPairing(check(tx.CreatePairing(shop, phone)).Token, "", at))
		first(tx.AcceptPairing("", check(tx.CreatePairing(shop, phone)).Code, at))
	})
	f.do(func(tx *Tx) error {
		_, _, err := tx.AcceptPairing("", "zzzzzzzz", at)
		return err
	})
	f.reads(func(v *View) {
		check(v.Staff(shop))
		check(v.TillTransactions(k.device, 50))
		check(v.TillToday(k.device))
		check(v.TillSearch(shop, "ada"))
		stamp := []string{TransactionStamp}
		for _, w := range []Repeat{
			{Once: once(901), Types: stamp, Code: card},
			{Once: once(902), Types: []string{TransactionReversal}, Reverses: row.Transaction.ID},
			{Once: once(901), Types: stamp, Code: v.s.cardCode(1<<40, 0)},
		} {
			if _, _, _, err := v.Repeated(k.device, w); err != nil {
				f.t.Error(err)
			}
		}
		first(v.RepeatedIssue(k.device, Repeat{Once: once(900), Program: program}))
	})
}

// TestStaff checks that a shop can change its own staff only, and how many a location may have.
func TestStaff(t *testing.T) {
	k := startTill(t)
	add := func(shop int64, name string, locations ...string) (StaffMember, error) {
		return attempt(k.fixture, func(tx *Tx) (StaffMember, error) {
			return tx.CreateStaff(shop, StaffPatch{Name: set(name), LocationIDs: set(locations)}, StaffPIN{Some("$argon2id")})
		})
	}
	update := func(id string, f StaffPatch) (StaffMember, error) {
		return attempt(k.fixture, func(tx *Tx) (StaffMember, error) { return tx.UpdateStaff(k.a.Shop, id, f) })
	}
	other, elsewhere := k.shop(ShopFields{}), k.fixture.location()
	refused(t, errorOf(add(other.Shop, "Eve", k.location)), ValidationFailed)
	first := check(add(k.a.Shop, "Ada", k.location))
	for i := range maxStaff - 1 {
		check(add(k.a.Shop, fmt.Sprint("Bob ", i), k.location))
	}
	for _, locations := range [][]string{{k.location}, {elsewhere, k.location}, nil} {
		refused(t, errorOf(add(k.a.Shop, "Grace", locations...)), Unprocessable)
	}
	moved := check(add(k.a.Shop, "Grace", elsewhere))
	for _, locations := range [][]string{{k.location}, nil} {
		refused(t, errorOf(update(moved.ID, StaffPatch{LocationIDs: set(locations)})), Unprocessable)
	}
	for _, change := range []func(tx *Tx) (StaffMember, error){
		func(tx *Tx) (StaffMember, error) { return tx.UpdateStaff(other.Shop, first.ID, StaffPatch{}) },
		func(tx *Tx) (StaffMember, error) { return tx.SetStaffDisabled(other.Shop, first.ID, true) },
		func(tx *Tx) (StaffMember, error) {
			return tx.SetStaffMemberPIN(other.Shop, first.ID, StaffPIN{Some("x")})
		},
	} {
		refused(t, errorOf(attempt(k.fixture, change)), NotFound)
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
	check(update(moved.ID, StaffPatch{LocationIDs: set([]string{})}))
	refused(t, errorOf(disable(false)), Unprocessable)
	k.checkFile()
}
