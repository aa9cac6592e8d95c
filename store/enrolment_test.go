package store

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"
)

// enrolling is a store with a published program that has a form for new cards.
type enrolling struct {
	*fixture
	program string
}

func startEnrolling(t *testing.T, fields EnrolmentFields) *enrolling {
	f := start(t, Options{PublicURL: "https://cards.example.com"})
	e := &enrolling{f, f.program(stamps("Tea & cake"))}
	if !fields.Slug.Set {
		fields.Enabled, fields.Slug, fields.MaxCards = set(true), set("tea"), setInt(1000)
	}
	e.set(fields)
	return e
}

func (e *enrolling) set(f EnrolmentFields) Enrolment {
	return must(e.fixture, func(tx *Tx) (Enrolment, error) { return tx.UpdateEnrolment(e.a.Shop, e.program, f) })
}

// join sends the form from an IP address and returns the token of the new card's page.
func (e *enrolling) join(f JoinFields, at string) (token string, err error) {
	from, _ := netip.ParseAddr(at)
	err = e.do(func(tx *Tx) error {
		c, err := tx.Join("tea", f, from)
		token = c.PageToken
		return err
	})
	return token, err
}

// TestEnrolment checks which fields an enabled form requires, that a slug is unique in the
// file, and that a change of the consent is a new version.
func TestEnrolment(t *testing.T) {
	f := start(t, Options{PublicURL: "https://cards.example.com"})
	program, other := f.program(stamps("Tea")), f.in(f.shop(ShopFields{})).program(stamps("Cake"))
	change := func(shop int64, program string, fields EnrolmentFields) (e Enrolment, err error) {
		err = f.do(func(tx *Tx) error {
			e, err = tx.UpdateEnrolment(shop, program, fields)
			return err
		})
		return e, err
	}
	f.reads(func(v *View) {
		if e := check(v.Enrolment(f.a.Shop, program)); e != (Enrolment{Name: FieldOptional, Email: FieldOptional, Phone: FieldOff}) {
			t.Errorf("the form of a new program is %+v", e)
		}
	})
	_, err := change(f.a.Shop, program, EnrolmentFields{Enabled: set(true)})
	if e, ok := AsError(err); !ok || len(e.Details) != 2 || e.Details[0].Field != "enroll_slug" ||
		e.Details[1].Field != "enroll_max_cards" {
		t.Errorf("without slug and maximum: %v", err)
	}
	e, err := change(
		f.a.Shop,
		program,
		EnrolmentFields{Enabled: set(true), Slug: set("tea"), MaxCards: setInt(5), Consent: set("I agree.")},
	)
	if err != nil || e.URL.V != "https://cards.example.com/join/tea" || e.ConsentVersion != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	refused(t, errorOf(change(f.a.Shop, other, EnrolmentFields{Slug: set("cake")})), NotFound)
	elsewhere := f.number("SELECT shop_id FROM programs WHERE id=?", f.key(KindProgram, other))
	refused(t, errorOf(change(elsewhere, other, EnrolmentFields{Slug: set("tea"), MaxCards: setInt(5)})), Conflict)
	for _, c := range []struct {
		f       EnrolmentFields
		version int64
	}{
		{EnrolmentFields{Consent: set("I agree.")}, 1}, {EnrolmentFields{Consent: set("I agree to all.")}, 2},
		{EnrolmentFields{PrivacyURL: set("https://example.com/privacy")}, 3},
		{EnrolmentFields{Consent: null[string]()}, 4}, {EnrolmentFields{PrivacyURL: null[string]()}, 4},
		{EnrolmentFields{Consent: set("I agree.")}, 5},
	} {
		if e, err := change(f.a.Shop, program, c.f); err != nil || e.ConsentVersion != c.version {
			t.Errorf("%+v: version %d, %v, want %d", c.f, e.ConsentVersion, err, c.version)
		}
	}
	// Another program may use the slug of a deleted program.
	f.deleteProgram(program)
	if _, err := change(elsewhere, other, EnrolmentFields{Slug: set("tea"), MaxCards: setInt(5)}); err != nil {
		t.Error(err)
	}
	f.checkFile()
}

// TestJoin checks the card that a form makes, and that the same form sent twice makes one card. For the
// fields that it requires and refuses see the tests of server/holder.
func TestJoin(t *testing.T) {
	e := startEnrolling(t, EnrolmentFields{})
	e.set(
		EnrolmentFields{
			Name:       set(FieldRequired),
			Email:      set(FieldOff),
			Consent:    set("I agree."),
			PrivacyURL: set("https://example.com/privacy"),
		},
	)
	agreed := JoinFields{Name: set("Ada"), Consent: set(true), ConsentVersion: setInt(1), Form: set("0123456789abcdef")}
	token := check(e.join(agreed, "192.0.2.1"))
	if again, err := e.join(agreed, "192.0.2.1"); err != nil || again != token {
		t.Errorf("the same form again leads to %q, %v, want %q", again, err, token)
	}
	var id string
	e.reads(func(v *View) {
		h := check(v.CardPage(token))
		id = h.Card.ID
		if h.Card.HolderName.V != "Ada" || h.Card.HolderEmail.Valid || h.Card.Status != StatusInvited {
			t.Errorf("%+v", h.Card)
		}
		x := check(v.ExportPerson(e.a.Shop, PersonQuery{CardIDs: set([]string{id})})).Chains[0]
		if want := (Consent{
			1, e.clock.at(), Some("I agree."), Some("https://example.com/privacy"),
		}); x.Cards[0].Source != SourceWebEnrollment ||
			x.Consent == nil ||
			*x.Consent != want {
			t.Errorf("%s, consent %+v, want %+v", x.Cards[0].Source, x.Consent, want)
		}
	})
	// The same form key makes a card at the form of another program.
	second := e.fixture.program(stamps("Cake"))
	e.writes(func(tx *Tx) {
		check(tx.UpdateEnrolment(e.a.Shop, second, EnrolmentFields{Enabled: set(true), Slug: set("cake"), MaxCards: setInt(5)}))
	})
	e.must(func(tx *Tx) error {
		c, err := tx.Join("cake", JoinFields{Form: set("0123456789abcdef")}, netip.Addr{})
		if c.PageToken == token {
			t.Error("the form of another program leads to the card of the first")
		}
		return err
	})
	e.erase(id)
	e.selects(0, "SELECT count(*) FROM cards WHERE consent_version IS NOT NULL OR consent_at IS NOT NULL")
	e.checkFile()
}

// TestJoinLimits checks how many cards an IP address and a program may make in an hour, and
// how many cards the form may make in all.
func TestJoinLimits(t *testing.T) {
	e := startEnrolling(t, EnrolmentFields{})
	made := func(n int, at func(i int) string) (count int) {
		t.Helper()
		for i := range n {
			_, err := e.join(JoinFields{}, at(i))
			if err == nil {
				count++
			} else if r, ok := AsError(err); !ok || r.Code != RateLimited && r.Code != Conflict ||
				r.Code == RateLimited && (r.RetryAfter <= 0 || r.RetryAfter > time.Hour) {
				t.Fatal(err)
			}
		}
		return count
	}
	e.clock.move(
		time.Duration(-int64(e.clock.at())%joinHour.Milliseconds()+joinHour.Milliseconds()) * time.Millisecond,
	) // the beginning of an hour
	one := func(int) string { return "192.0.2.1" }
	network := func(i int) string { return fmt.Sprintf("2001:db8::%x", i+1) }
	each := func(i int) string { return fmt.Sprintf("198.51.%d.%d", i/200, i%200) }
	if got := made(40, one); got != joinAddressRule.max {
		t.Errorf("an address made %d cards, want %d", got, joinAddressRule.max)
	}
	if got := made(40, network); got != joinAddressRule.max {
		t.Errorf("a network made %d cards, want %d", got, joinAddressRule.max)
	}
	if got := made(joinsPerHour, each); got != joinsPerHour-2*joinAddressRule.max {
		t.Errorf("then many addresses made %d cards, want %d", got, joinsPerHour-2*joinAddressRule.max)
	}
	e.clock.move(time.Hour - time.Millisecond)
	if got := made(1, one); got != 0 {
		t.Error("a card was made before the hour ended")
	}
	e.clock.move(time.Millisecond)
	if got := made(1, one); got != 1 {
		t.Error("no card was made in the next hour")
	}
	e.set(EnrolmentFields{MaxCards: set(int64(joinsPerHour + 3))})
	if got := made(5, each); got != 2 {
		t.Errorf("with two cards left below the maximum the form made %d", got)
	}
	e.reads(func(v *View) {
		if !check(v.JoinPage("tea")).Closed {
			t.Error("the form with as many cards as it may make is open")
		}
	})
	e.checkFile()
}

// TestJoinConcurrently checks that forms that are sent at the same time make exactly as many
// cards as the maximum allows.
func TestJoinConcurrently(t *testing.T) {
	e := startEnrolling(t, EnrolmentFields{})
	e.set(EnrolmentFields{MaxCards: setInt(7)})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { e.join(JoinFields{}, fmt.Sprintf("198.51.100.%d", i)) })
	}
	wg.Wait()
	e.selects(7, "SELECT count(*) FROM cards")
	e.checkFile()
}

// TestClosedForm checks each state in which a form makes no card or is not found.
func TestClosedForm(t *testing.T) {
	e := startEnrolling(t, EnrolmentFields{})
	closed := func(what string) {
		t.Helper()
		e.reads(func(v *View) {
			if !check(v.JoinPage("tea")).Closed {
				t.Errorf("%s: the form is open", what)
			}
		})
		refused(t, errorOf(e.join(JoinFields{}, "")), Conflict)
	}
	e.action(e.program, Suspend)
	closed("suspended")
	e.action(e.program, Unsuspend)
	e.action(e.program, Unpublish)
	closed("unpublished")
	e.action(e.program, Publish)
	e.updateShop(ShopFields{SubscriptionState: set("cancelled")})
	closed("subscription")
	e.updateShop(ShopFields{SubscriptionState: set("active")})
	// If the shop has reached max_cards, the refusal is that of a closed form, so that it does
	// not tell how many cards the shop has.
	e.updateShop(ShopFields{MaxCards: setInt(1)})
	check(e.join(JoinFields{}, ""))
	refused(t, errorOf(e.join(JoinFields{}, "")), Conflict)
	e.set(EnrolmentFields{Enabled: set(false)})
	for _, slug := range []string{"tea", "none", "", "TEA"} {
		e.reads(func(v *View) { refused(t, errorOf(v.JoinPage(slug)), NotFound) })
	}
	refused(t, errorOf(e.join(JoinFields{}, "")), NotFound)
	e.checkFile()
}

// TestMoneyIsNotEnrolled checks that a program whose cards begin with money has no form for new
// cards, in both orders, and that a form of an earlier version, which may have both, makes none.
func TestMoneyIsNotEnrolled(t *testing.T) {
	e := startEnrolling(t, EnrolmentFields{})
	e.program = e.fixture.program(prepaid("Gift", 2500))
	form := EnrolmentFields{Enabled: set(true), Slug: set("gift"), MaxCards: setInt(5)}
	turnOn := func(tx *Tx) error { return errorOf(tx.UpdateEnrolment(e.a.Shop, e.program, form)) }
	balance := func(cents int64) func(*Tx) error {
		return func(tx *Tx) error {
			return errorOf(tx.UpdateProgram(e.a, e.program, ProgramFields{InitialBalanceCents: set(cents)}))
		}
	}
	refused(t, e.do(turnOn), Unprocessable)
	e.set(EnrolmentFields{Slug: set("gift"), MaxCards: setInt(5)}) // it may be prepared
	e.must(balance(0))
	e.must(turnOn)
	refused(t, e.do(balance(1)), Unprocessable)
	e.must(balance(0))
	e.sql("UPDATE programs SET initial_balance_cents=2500 WHERE id=?", e.key(KindProgram, e.program))
	e.must(func(tx *Tx) error { tx.bumpAuth(); return nil })
	e.view(func(v *View) error {
		if !check(v.JoinPage("gift")).Closed {
			t.Error("a form for cards with money is open")
		}
		if a := check(v.Today(e.a.Shop)).Attention; !slices.ContainsFunc(
			a,
			func(a Attention) bool { return a.Kind == AttentionFreeMoney && a.ProgramID == e.program },
		) {
			t.Errorf("Today says %+v", a)
		}
		return nil
	})
	refused(t, e.do(func(tx *Tx) error { return errorOf(tx.Join("gift", JoinFields{}, netip.Addr{})) }), Conflict)
	refused(t, e.do(func(tx *Tx) error {
		return errorOf(tx.IssueCard(e.a, e.program, CardFields{}, SourceWebEnrollment))
	}), Unprocessable)
	refused(t, e.do(balance(3000)), Unprocessable)
	e.must(func(tx *Tx) error { // other fields can be changed
		_, err := tx.UpdateProgram(e.a, e.program, ProgramFields{Name: set("Present"), InitialBalanceCents: setInt(2500)})
		return err
	})
	e.set(EnrolmentFields{Enabled: set(false)})
	e.must(balance(3000))
}

func TestSuggestedSlug(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Coffee card": "coffee-card", "Caffè – Crème 5": "caffe-creme-5", "مقهى": "card", "Õ": "o-card", "a/b": "a-b",
		"A very long name of a program that has many words": "a-very-long-name-of-a-program-that-has",
	} {
		if got := SuggestedSlug(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
