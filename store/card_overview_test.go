package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// startLedger returns a till, the two cards of a chain, and the chain's 14 rows in the ledger,
// newest first. The chain has a claim and a mail that was not sent yet.
func startLedger(t *testing.T) (k till, cards []string, rows []string) {
	f := start(t, Options{QueueMail: true})
	k = f.till()
	program, prizes := k.ladder(true, 5, 10)
	card := f.cardWith(program, CardFields{HolderName: set("Ada"), HolderEmail: set("ada@example.com"), SendEmail: set(true)})
	k.stamped(f.cardOf(program, "Other"), 1)
	note := func(s Stamped) Stamped {
		rows = append(rows, s.Transaction.ID)
		if s.OverflowTransaction != nil {
			rows = append(rows, s.OverflowTransaction.ID)
		}
		f.clock.move(time.Minute)
		return s
	}
	for range 9 {
		note(k.stamped(card, 1))
	}
	cards = []string{card, note(k.stamped(card, 3)).OverflowCard.ID}
	note(k.redeemed(card, prizes[0]))
	for range 2 {
		note(k.stamped(card, 1))
	}
	slices.Reverse(rows)
	return k, cards, rows
}

// TestCardTransactions checks the ledger of a chain in pages, by any of its cards.
func TestCardTransactions(t *testing.T) {
	k, cards, rows := startLedger(t)
	other := k.shop(ShopFields{})
	for _, card := range cards {
		read := func(v *View, q PageQuery) (Page[LedgerEntry], error) { return v.CardTransactions(k.a.Shop, card, q) }
		list := pages(k.fixture, read, func(e LedgerEntry) string { return e.ID })
		for _, limit := range []int64{1, 3, 50} {
			if got := allPages(t, inPagesOf(limit, list), nil); !slices.Equal(got, rows) {
				t.Errorf("by %d: %v, want %v", limit, got, rows)
			}
		}
	}
	refusal := func(shop int64, card string, q PageQuery) error {
		return k.View(0, func(v *View) error { return errorOf(v.CardTransactions(shop, card, q)) })
	}
	refused(t, refusal(other.Shop, cards[0], PageQuery{}), NotFound)
	refused(t, refusal(k.a.Shop, "crd_", PageQuery{}), NotFound)
	refused(t, refusal(k.a.Shop, cards[0], PageQuery{Cursor: set(k.cursor(listTransactions, k.a.Shop, 0, 1))}), ValidationFailed)
}

// TestCardAudit checks that the audit rows of a chain are those about its cards, also if a key issued several in one write.
func TestCardAudit(t *testing.T) {
	k, cards, _ := startLedger(t)
	f := k.fixture
	f.update(cards[1], CardPatch{ExternalRef: set("x")})
	f.lock(cards[0], true)
	f.must(func(tx *Tx) error { return tx.AuditExport(f.a.Shop, PersonQuery{CardIDs: set(cards[:1])}) })
	want := []string{"card.export ada", "card.lock ada", "card.update ada", "card.issue ada"}
	check := func(card string, want []string) {
		t.Helper()
		read := func(v *View, q PageQuery) (Page[AuditRow], error) { return v.CardAudit(f.a.Shop, card, q) }
		list := pages(f, read, func(r AuditRow) string { return r.Action + " " + r.Actor.Name.V })
		for _, limit := range []int64{1, 50} {
			if got := allPages(t, inPagesOf(limit, list), nil); !slices.Equal(got, want) {
				t.Errorf("by %d: %q, want %q", limit, got, want)
			}
		}
	}
	for _, card := range cards {
		check(card, want)
	}
	program := f.program(stamps("Tea"))
	var issued []string
	succeed(f.Write(t.Context(), Write{Actor: Actor{Type: "api_key", Key: 1, Name: "Shop"}, Do: func(tx *Tx) error {
		for range 3 {
			c, err := tx.IssueCard(f.a, program, CardFields{}, SourceAPI)
			if issued = append(issued, c.ID); err != nil {
				return err
			}
		}
		return nil
	}}))
	f.lock(issued[1], true)
	check(issued[1], []string{"card.lock ada", "card.issue Shop"})
	check(issued[2], []string{"card.issue Shop"})
}

// TestCardOverview checks the chain, the prizes and the links of a card.
func TestCardOverview(t *testing.T) {
	k, cards, rows := startLedger(t)
	f := k.fixture
	overview := func() CardOverview {
		return view(f, func(v *View) (CardOverview, error) { return v.CardOverview(f.a.Shop, cards[0]) })
	}
	o := overview()
	if len(o.Chain) != 2 || o.Chain[0].ID != cards[0] || o.Chain[1].ID != cards[1] || o.Chain[0].StampsCount != 10 ||
		o.Source != SourceAPI || o.Card.ID != cards[1] || len(o.EarlierCards) != 1 ||
		!o.EarlierCards[0].Prizes[0].Claimed || len(o.Transactions) != 10 ||
		o.Transactions[0].ID != rows[0] {
		t.Errorf("%+v", o)
	}
	if !o.InstallLinkExpiresAt.Valid || !o.MailDueAt.Valid || len(o.MailedAt) != 0 || o.Platform.Valid {
		t.Errorf("the links: %v %v %v", o.InstallLinkExpiresAt, o.MailDueAt, o.MailedAt)
	}
	m := f.nextMail()
	f.must(func(tx *Tx) error { return tx.SentMail(&m) })
	if o := overview(); o.MailDueAt.Valid || len(o.MailedAt) != 1 {
		t.Errorf("after the mail: %v %v", o.MailDueAt, o.MailedAt)
	}
	f.clock.move(days(60))
	if o := overview(); o.InstallLinkExpiresAt.Valid {
		t.Errorf("a link that has ended: %v", o.InstallLinkExpiresAt)
	}
	f.erase(cards[0])
	refused(t, f.View(0, func(v *View) error { return errorOf(v.CardOverview(f.a.Shop, cards[0])) }), NotFound)
}

// TestExportCard checks that an export has the data of the chain and of nobody else.
func TestExportCard(t *testing.T) {
	k, cards, rows := startLedger(t)
	f := k.fixture
	f.sql("UPDATE transactions SET metadata='{\"receipt\":7}' WHERE id=?", f.key(KindTransaction, rows[0]))
	member := must(f, func(tx *Tx) (StaffMember, error) {
		return tx.CreateStaff(f.a.Shop, StaffPatch{Name: set("Bruno")}, StaffPIN{})
	})
	k.device.Staff = Staff{f.key(KindStaff, member.ID), "Bruno"}
	yesterday := f.clock.at().Add(-24 * time.Hour)
	late := must(f, func(tx *Tx) (Stamped, error) {
		return tx.Stamp(k.device, cards[0], StampFields{OccurredAt: set(yesterday), Once: once(1)})
	}).Transaction.ID
	rows = append(rows, late)
	person := view(f, func(v *View) (PersonExport, error) {
		return v.ExportPerson(f.a.Shop, PersonQuery{CardIDs: set([]string{cards[1]})})
	})
	x := CardExport{person.ExportedAt, person.Shop, person.Chains[0]}
	var ids []string
	for _, row := range x.Transactions {
		ids = append([]string{row.ID}, ids...)
	}
	slices.Sort(ids)
	want := slices.Sorted(slices.Values(rows))
	if !slices.Equal(ids, want) || len(x.Cards) != 2 || x.Cards[0].ID != cards[0] || x.Cards[0].ProgramName != "Coffee" ||
		len(x.Claims) != 1 || x.Claims[0].CardID != cards[0] ||
		x.Claims[0].Threshold != 5 || len(x.Mails) != 1 || x.Mails[0].State != "waiting" || !x.Complete ||
		x.Shop.Name != "My shop" {
		t.Errorf("%+v", x)
	}
	text := fmt.Sprintf("%+v", x)
	for _, secret := range f.lines("SELECT short_code FROM cards WHERE short_code IS NOT NULL UNION ALL SELECT token FROM mails") {
		if strings.Contains(text, secret) {
			t.Errorf("the export has the code or link %s", secret)
		}
	}
	if strings.Contains(text, "Other") || strings.Contains(text, "Bruno") ||
		!slices.ContainsFunc(x.Transactions, func(r ExportedTransaction) bool { return string(r.Metadata) == `{"receipt":7}` }) {
		t.Errorf("%s", text)
	}
	for _, row := range x.Transactions {
		if sent := row.ID == late; sent != (row.OccurredAt == Some(yesterday)) || sent != (row.ClientReference == Some(uuid(1))) ||
			row.OccurredAt.Valid != sent {
			t.Errorf("%+v", row)
		}
		if !json.Valid(row.Metadata) {
			t.Errorf("metadata %q", row.Metadata)
		}
	}
}

// TestExportPerson checks that an export has the cards with an email or a phone number, and no others,
// with what personal.go declares about their holders, and that each card is audited.
func TestExportPerson(t *testing.T) {
	f := start(t)
	f.updateShop(ShopFields{CountryCode: set("IT")})
	coffee, club := f.program(stamps("Coffee")), f.program(access("Club"))
	mine := []string{
		f.cardWith(coffee, CardFields{HolderEmail: set("Ada@example.com"), HolderName: set("Ada")}),
		f.cardTo(club, "ada@EXAMPLE.com"),
	}
	shared := f.cardTo(coffee, "bob@example.com")
	erased := f.cardTo(coffee, "ada@example.com")
	contact := func(card string) {
		f.contact(card, HolderContactPatch{
			ContactPatch: ContactPatch{
				PhoneField: PhoneField{set("06 1234 5678")},
				Birthday:   set("02-29"),
				Codes:      set([]string{"OLD-" + card[4:8]}),
			},
			Note: set("Likes tea"),
		})
	}
	contact(mine[1])
	contact(shared)
	f.sql("UPDATE contacts SET erasure_at=?", f.clock.at())
	f.sql("INSERT INTO apple_devices (card_id, shop_id, generation, device, push_token, created_at) VALUES (?,?,0,'phone','token',0)",
		f.key(KindCard, mine[1]), f.a.Shop)
	f.sql(`INSERT INTO google_objects (card_id, shop_id, program_id, generation, told, saved)
		SELECT id, shop_id, program_id, 0, '{"hash":"x","shown":{"stamps":4}}', 2 FROM cards WHERE id=?`, f.key(KindCard, mine[1]))
	f.sql("UPDATE cards SET opening_stamps=4, initial_value=350, last_seen_day=20000 WHERE id=?", f.key(KindCard, mine[0]))
	f.erase(erased)
	other := f.in(f.shop(ShopFields{}))
	foreign := other.cardTo(other.program(stamps("Theirs")), "ada@example.com")
	export := func(q PersonQuery) (cards []string, x PersonExport) {
		x = view(f, func(v *View) (PersonExport, error) { return v.ExportPerson(f.a.Shop, q) })
		for _, chain := range x.Chains {
			cards = append(cards, chain.Cards[0].ID)
		}
		return cards, x
	}
	cards, x := export(PersonQuery{Person: set(" ADA@example.com ")})
	if !slices.Equal(cards, mine) || x.Chains[0].Cards[0].HolderName.V != "Ada" {
		t.Errorf("by email: %v", cards)
	}
	want := `{"phone":"+390612345678","birthday":"02-29","note":"Likes tea","correction":null,"member_since":null,` +
		`"correction_at":null,"erasure_at":"2026-01-02T03:04:05.678Z","foreign_codes":[{"barcode":"OLD-` +
		mine[1][4:8] + `"}],"push_subscriptions":[],"apple_devices":[{"device":"phone"}]}`
	if got := string(x.Chains[1].Contact); !sameJSON(got, want) {
		t.Errorf("contact %s, want %s", got, want)
	}
	if card := x.Chains[0].Cards[0]; card.Opening != 4 || card.FirstValue.V != 350 || card.LastVisit.V != "2024-10-04" {
		t.Errorf("the card began with %d stamps and %v, and was seen on %s", card.Opening, card.FirstValue, card.LastVisit.V)
	}
	passes := x.Chains[1].GooglePasses
	if len(passes) != 1 || passes[0].Phones != 2 || string(passes[0].Shown) != `{"stamps":4}` || len(x.Chains[0].GooglePasses) > 0 {
		t.Errorf("the passes are %+v", passes)
	}
	for _, number := range []string{"06 12345678", "+39 06 1234 5678"} {
		if cards, _ = export(PersonQuery{Person: set(number)}); !slices.Equal(cards, []string{mine[1], shared}) {
			t.Errorf("by %s: %v", number, cards)
		}
	}
	if cards, _ = export(PersonQuery{CardIDs: set([]string{shared, mine[0], shared})}); !slices.Equal(cards, []string{mine[0], shared}) {
		t.Errorf("by cards: %v", cards)
	}
	for _, c := range []struct {
		q    PersonQuery
		code Code
	}{
		{PersonQuery{Person: set("nobody")}, ValidationFailed},
		{PersonQuery{Person: set("nobody@example.com")}, NotFound},
		{PersonQuery{Person: set("+390612345679")}, NotFound},
		{PersonQuery{CardIDs: set([]string{mine[0], foreign})}, NotFound},
		{PersonQuery{CardIDs: set([]string{erased})}, NotFound},
	} {
		refused(t, f.View(0, func(v *View) error { return errorOf(v.ExportPerson(f.a.Shop, c.q)) }), c.code)
		refused(t, f.do(func(tx *Tx) error { return tx.AuditExport(f.a.Shop, c.q) }), c.code)
	}
	for _, q := range []PersonQuery{{}, {Person: set("ada@example.com"), CardIDs: set(mine)}} {
		if q.Check(0) == nil {
			t.Errorf("%+v is valid", q)
		}
	}
	f.must(func(tx *Tx) error { return tx.AuditExport(f.a.Shop, PersonQuery{Person: set("ada@example.com")}) })
	f.selects(2, "SELECT count(*) FROM audit WHERE action='card.export'")
}

// sameJSON reports whether two texts are the same JSON.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// TestReverseByPerson checks that a person reverses rows of every location by the rules
// of devices.
func TestReverseByPerson(t *testing.T) {
	k, cards, rows := startLedger(t)
	f := k.fixture
	reverse := func(shop int64, id string) (Stamped, error) {
		return attempt(f, func(tx *Tx) (Stamped, error) { return tx.ReverseByPerson(shop, id, Metadata{}) })
	}
	elsewhere := f.till()
	other := elsewhere.stamped(cards[0], 1).Transaction
	for _, id := range []string{other.ID, rows[0]} {
		s := check(reverse(f.a.Shop, id))
		if s.Transaction.Type != TransactionReversal || s.Transaction.StampsDelta.V != -1 {
			t.Errorf("%+v", s.Transaction)
		}
		refused(t, errorOf(reverse(f.a.Shop, id)), Conflict)
	}
	refused(t, errorOf(reverse(f.shop(ShopFields{}).Shop, rows[1])), NotFound)
	refused(t, errorOf(reverse(f.a.Shop, "txn_")), NotFound)
	f.view(func(v *View) error {
		p, err := v.CardTransactions(f.a.Shop, cards[0], PageQuery{})
		if err != nil {
			return err
		}
		for i, at := range []string{k.location, elsewhere.location} {
			e := p.Data[i]
			if e.DeviceID.Valid || e.DeviceName.Valid || e.Actor == nil || e.Actor.Name != Some("ada") || e.LocationID != at {
				t.Errorf("entry %d: %+v %+v", i, e, e.Actor)
			}
		}
		if e := p.Data[2]; e.Actor != nil || !e.DeviceID.Valid {
			t.Errorf("a device's entry: %+v", e)
		}
		return nil
	})
	f.setActive(k.location, false)
	refused(t, errorOf(reverse(f.a.Shop, rows[1])), LocationDisabled)
	f.setActive(k.location, true)
	f.updateShop(ShopFields{SubscriptionState: set("suspended")})
	refused(t, errorOf(reverse(f.a.Shop, rows[1])), SubscriptionSuspended)
	f.checkFile()
}

// TestLedgerEntry checks that a row is found by its id, unless it is another shop's or its
// card was erased.
func TestLedgerEntry(t *testing.T) {
	k, cards, rows := startLedger(t)
	other := k.shop(ShopFields{})
	var e LedgerEntry
	read := func(shop int64, id string) error {
		return k.View(0, func(v *View) (err error) { e, err = v.LedgerEntry(shop, id); return err })
	}
	if err := read(k.a.Shop, rows[0]); err != nil || e.ID != rows[0] || e.HolderName.V != "Ada" {
		t.Errorf("%+v, %v", e, err)
	}
	refused(t, read(other.Shop, rows[0]), NotFound)
	refused(t, read(k.a.Shop, cards[0]), NotFound)
	k.erase(cards[0])
	refused(t, read(k.a.Shop, rows[0]), NotFound)
}
