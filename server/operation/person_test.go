package operation_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

var newcomer = operation.NewPersonFields{Name: store.Given("Ada"), Password: store.Given("kettle drum 41")}

// invite invites a person and returns the token of the link, which only the mailbox gets.
func (h *harness) invite(by kernel.Caller, email, role string) (token string, code store.Code) {
	h.Helper()
	l, code := do[store.CreatedLink](
		h, by, operation.InvitePerson, "",
		operation.InviteFields{Email: store.Given(email), Role: store.Given(role)},
	)
	if code != "" {
		return "", code
	}
	m := h.mail[len(h.mail)-1]
	if !l.Mailed || l.URL != "" || l.Token != "" || m.To != email || l.ExpiresAt != store.TimeOf(h.clock.Now().Add(7*24*time.Hour)) {
		h.Fatalf("%+v, %+v", l, m)
	}
	return strings.TrimPrefix(m.Link, "https://cards.example.com/invite/"), ""
}

// join makes the account of an invited person, signs in, and accepts the invitation.
func (h *harness) join(token, email string) kernel.Caller {
	h.Helper()
	h.ok(at(home), operation.CreateInvited, token, newcomer)
	s, code := h.signIn(email, newcomer.Password.V, home)
	if code != "" {
		h.Fatal(code)
	}
	h.ok(h.caller(s.Token), operation.AcceptInvitation, token, nil)
	return h.caller(s.Token)
}

// TestInvitation checks that an invitation makes an account and gives a role once, and gives a
// role to an account that there is.
func TestInvitation(t *testing.T) {
	h := openHarness(t)
	owner := func() kernel.Caller { return h.person(store.RoleOwner) }
	first, _ := h.invite(owner(), "Ada@example.com", store.RoleViewer)
	token, _ := h.invite(owner(), "ada@example.com", store.RoleManager)
	h.want(store.LinkExpired, "an invitation that was replaced", at(home), operation.ShowLink, first, nil)
	for range 2 { // showing it does not use it up
		if s := must[store.ShownLink](h, at(home), operation.ShowLink, token, nil); s.Shop != "Caffè Centrale" ||
			s.Role != store.RoleManager ||
			s.Email != "ada@example.com" {
			t.Errorf("%+v", s)
		}
	}
	by := owner()
	before := h.hasher.Hashes()
	for _, token := range []string{"", "x", first, token + "x"} {
		h.want(store.LinkExpired, token, at(home), operation.CreateInvited, token, newcomer)
		h.want(store.LinkExpired, token, by, operation.AcceptInvitation, token, nil)
	}
	h.want(
		store.LinkExpired, "an invitation as a reset",
		at(home),
		operation.ResetPassword, token,
		operation.ResetFields{Password: newcomer.Password},
	)
	if n := h.hasher.Hashes() - before; n != 0 {
		t.Errorf("%d passwords of links that are of no use were hashed", n)
	}
	for name, f := range map[string]operation.NewPersonFields{
		"name": {Password: newcomer.Password}, "password": {Name: newcomer.Name},
		"a common password": {Name: newcomer.Name, Password: store.Given("password1234")},
	} {
		h.want(store.ValidationFailed, name, at(home), operation.CreateInvited, token, f)
	}
	h.want(store.Conflict, "another person accepts", owner(), operation.AcceptInvitation, token, nil)
	if c := h.join(token, "ada@example.com"); c.Role != kernel.Manager || c.Session.Email != "ada@example.com" || !c.Session.EmailProved {
		t.Errorf("%+v", c.Session)
	}
	h.want(store.LinkExpired, "a second time", at(home), operation.CreateInvited, token, newcomer)
	h.is(store.Conflict, "a member is invited", codeOf(h.invite(owner(), "ADA@example.com", store.RoleViewer)))
	expired, _ := h.invite(owner(), "bob@example.com", store.RoleViewer)
	h.advance(7 * 24 * time.Hour)
	h.want(store.LinkExpired, "after seven days", at(home), operation.CreateInvited, expired, newcomer)
	h.otherShop(t)
}

// otherShop invites a person who has an account to another shop, and checks what the person
// can do in each shop.
func (h *harness) otherShop(t *testing.T) {
	var other int64
	h.write(func(tx *store.Tx) (err error) {
		other, _, err = tx.CreateShop(store.ShopFields{Name: store.Given("Other")})
		return err
	})
	token, _ := h.invite(kernel.OperatorCaller("root", other), "ada@example.com", store.RoleOwner)
	s, _ := h.signIn("ada@example.com", newcomer.Password.V, home)
	elsewhere, _ := h.signIn("ada@example.com", newcomer.Password.V, home)
	h.advance(15 * time.Minute)
	h.want(store.ProofRequired, "without a recent proof", h.caller(s.Token), operation.AcceptInvitation, token, nil)
	h.ok(h.caller(s.Token), operation.Prove, "", operation.ProofFields{Password: newcomer.Password})
	h.ok(h.caller(s.Token), operation.AcceptInvitation, token, nil)
	if _, ok := h.as(elsewhere.Token); ok {
		t.Error("a new role does not end the other sessions")
	}
	c := h.caller(s.Token)
	if len(c.Session.Shops) != 2 || c.Role != kernel.Owner || c.Access.Shop != other {
		t.Errorf("%+v", c.Session)
	}
	h.ok(c, operation.SelectShop, h.ShopID, nil)
	if c = h.caller(s.Token); c.Role != kernel.Manager || c.Access.Shop != h.Shop() {
		t.Errorf("%+v", c.Session)
	}
	h.ok(c, operation.SelectShop, h.st.ID(store.KindShop, other), nil)
	c = h.caller(s.Token)
	h.want(store.NotFound, "a shop of others", h.person(store.RoleViewer), operation.SelectShop, h.st.ID(store.KindShop, other), nil)
	// An owner of the other shop cannot change the members of this one.
	h.want(
		store.NotFound, "a person of another shop", c, operation.SetRole,
		h.id(store.RoleViewer),
		operation.RoleFields{Role: store.Given(store.RoleOwner)},
	)
	h.ok(h.server(), operation.RemovePerson, c.Session.UserID, nil)
	if _, ok := h.as(s.Token); ok {
		t.Error("removing a person does not end the session")
	}
	s, code := h.signIn("ada@example.com", newcomer.Password.V, home)
	if c := h.caller(s.Token); code != "" || len(c.Session.Shops) != 1 || c.Access.Shop != other {
		t.Errorf("%+v, %s", c.Session, code)
	}
}

// TestInviteOperator checks that only operators invite operators.
func TestInviteOperator(t *testing.T) {
	h := openHarness(t)
	owner := h.person(store.RoleOwner)
	owner.Role = kernel.Owner
	h.is(store.Unauthorized, "an owner", codeOf(h.invite(owner, "ada@example.com", "operator")))
	token, _ := h.invite(kernel.OperatorCaller("root", 0), "ada@example.com", "operator")
	if c := h.join(token, "ada@example.com"); c.Role != kernel.Operator || len(c.Session.Shops) != 1 {
		t.Errorf("%+v", c.Session)
	}
}

// TestReset checks that a reset link sets a password once, within an hour, and not that of a
// disabled account, and that a request for a link is answered alike for every email.
func TestReset(t *testing.T) {
	h := openHarness(t)
	link := func() store.CreatedLink {
		return must[store.CreatedLink](h, h.server(), operation.CreateResetLink, h.id(store.RoleViewer), nil)
	}
	reset := func(token, pass string) store.Code {
		return h.code(at(home), operation.ResetPassword, token, operation.ResetFields{Password: store.Given(pass)})
	}
	first, second := link(), link()
	h.is(store.LinkExpired, "a link that was replaced", reset(first.Token, "kettle drum 41"))
	h.is(store.ValidationFailed, "the email as password", reset(second.Token, seed.ViewerEmail))
	if code := reset(second.Token, "kettle drum 41"); code != "" {
		t.Errorf("%q", code)
	}
	h.is(store.LinkExpired, "a second time", reset(second.Token, "kettle drum 42"))
	h.is("", "the new password", codeOf(h.signIn(seed.ViewerEmail, "kettle drum 41", home)))
	expired := link()
	h.advance(time.Hour)
	h.is(store.LinkExpired, "after an hour", reset(expired.Token, "kettle drum 42"))
	disabled := link()
	h.ok(h.server(), operation.DisableUser, h.id(store.RoleViewer), nil)
	h.is(store.LinkExpired, "of a disabled account", reset(disabled.Token, "kettle drum 42"))
	h.want(store.Conflict, "a link for a disabled account", h.server(), operation.CreateResetLink, h.id(store.RoleViewer), nil)
	for _, email := range []string{seed.ManagerEmail, "nobody@demo.test", seed.ViewerEmail} {
		h.want("", email, at(home), operation.RequestReset, "", operation.RequestFields{Email: store.Given(email)})
	}
}

// TestRequestReset checks that a reset link is mailed only to the email of an account that is
// not disabled, that nobody can have many mailed, and that invitations are mailed.
func TestRequestReset(t *testing.T) {
	h := openHarness(t)
	h.ok(h.server(), operation.DisableUser, h.id(store.RoleViewer), nil)
	ask := func(email, address string) store.Code {
		return h.code(at(address), operation.RequestReset, "", operation.RequestFields{Email: store.Given(email)})
	}
	for _, email := range []string{"MANAGER@demo.test", "nobody@demo.test", seed.ViewerEmail} {
		h.is("", email, ask(email, home))
	}
	if len(h.mail) != 1 || h.mail[0].To != seed.ManagerEmail || h.mail[0].Kind != store.LinkReset {
		t.Fatalf("%+v", h.mail)
	}
	token := h.mail[0].Link[len("https://cards.example.com/reset/"):]
	h.reset(token, "kettle drum 41")
	for i := range 20 {
		want := store.Code("")
		if i >= 9 { // the email has had ten within the hour
			want = store.RateLimited
		}
		if code := ask(seed.ManagerEmail, fmt.Sprint("203.0.113.", i)); code != want {
			t.Errorf("request %d: %q", i, code)
		}
	}
	if n := len(h.mail); n != 10 {
		t.Errorf("%d messages within an hour", n)
	}
	for i := range 10 {
		ask(fmt.Sprintf("nobody%d@demo.test", i), "198.51.100.9")
	}
	h.is(store.RateLimited, "the eleventh request of an address", ask("somebody@demo.test", "198.51.100.9"))
	h.invite(h.person(store.RoleOwner), "ada@example.com", store.RoleViewer)
	if m := h.mail[len(h.mail)-1]; m.Shop != "Caffè Centrale" || m.Language != "en" {
		t.Errorf("%+v", m)
	}
}

// TestSetUp checks the set-up link: it makes an operator once, within an hour, and a new
// one replaces it.
func TestSetUp(t *testing.T) {
	h := newHarness(t)
	var shop int64
	h.write(func(tx *store.Tx) (err error) {
		shop, _, err = tx.CreateShop(store.ShopFields{Name: store.Given("Shop")})
		return err
	})
	h.Ready = &seed.Ready{ShopID: h.st.ID(store.KindShop, shop)}
	link := func() (l store.CreatedLink, ok bool) {
		h.write(func(tx *store.Tx) (err error) {
			l, ok, err = tx.NewSetupLink()
			return err
		})
		return l, ok
	}
	fields := operation.SetUpFields{Email: store.Given("ada@example.com"), NewPersonFields: newcomer, ShopID: store.Given(h.ShopID)}
	setUp := func(token string, f operation.SetUpFields) (operation.CreatedSession, store.Code) {
		return do[operation.CreatedSession](h, at(home), operation.SetUpOperator, token, f)
	}
	first, _ := link()
	second, _ := link()
	h.is(store.LinkExpired, "a link that was replaced", codeOf(setUp(first.Token, fields)))
	if s := must[store.ShownLink](h, at(home), operation.ShowLink, second.Token, nil); len(s.Shops) != 1 || s.Shops[0].ID != h.ShopID {
		t.Errorf("%+v", s)
	}
	h.advance(time.Hour)
	h.is(store.LinkExpired, "after an hour", codeOf(setUp(second.Token, fields)))
	third, _ := link()
	for name, change := range map[string]func(*operation.SetUpFields){
		"no name":       func(f *operation.SetUpFields) { f.Name = store.Opt[string]{} },
		"no such shop":  func(f *operation.SetUpFields) { f.ShopID = store.Given("shp_x") },
		"two shops":     func(f *operation.SetUpFields) { f.ShopName = store.Given("New") },
		"no currency":   func(f *operation.SetUpFields) { f.Currency = store.Given("XYZ") },
		"no email":      func(f *operation.SetUpFields) { f.Email = store.Given("ada") },
		"weak password": func(f *operation.SetUpFields) { f.Password = store.Given("ada@example.com") },
	} {
		f := fields
		change(&f)
		if _, code := setUp(third.Token, f); code != store.ValidationFailed {
			t.Errorf("%s: %q", name, code)
		}
	}
	s, code := setUp(third.Token, fields)
	if code != "" {
		t.Fatal(code)
	}
	if c := h.caller(s.Token); c.Role != kernel.Operator || c.Session.Role != store.RoleOwner || c.Access.Shop != shop {
		t.Errorf("%+v", c.Session)
	}
	if _, ok := link(); ok {
		t.Error("a set-up link is made although there is an operator")
	}
	h.is(store.LinkExpired, "a second time", codeOf(setUp(third.Token, fields)))
}

// TestLastOwner checks that no sequence of changes of roles leaves a shop without an
// owner who may sign in.
func TestLastOwner(t *testing.T) {
	h := openHarness(t)
	ids := []string{h.id(store.RoleOwner), h.id(store.RoleManager), h.id(store.RoleViewer)}
	random := rand.New(rand.NewPCG(1, 2))
	refused, made := 0, 0
	for range 150 {
		id := ids[random.IntN(len(ids))]
		var code store.Code
		switch n := random.IntN(5); n {
		case 0:
			if code = h.code(h.server(), operation.RemovePerson, id, nil); code == "" {
				h.write(func(tx *store.Tx) error {
					key, _ := tx.UserKey(id)
					return tx.AddMember(key, h.Shop(), store.RoleViewer)
				})
			}
		default:
			role := []string{store.RoleOwner, store.RoleManager, store.RoleViewer, store.RoleViewer}[n-1]
			code = h.code(h.server(), operation.SetRole, id, operation.RoleFields{Role: store.Given(role)})
		}
		switch code {
		case "":
			made++
		case store.Conflict:
			refused++
		default:
			t.Fatal(code)
		}
		owners := 0
		for _, m := range must[operation.People](h, h.server(), operation.ListPeople, "", nil).Members {
			if m.Role == store.RoleOwner {
				owners++
			}
		}
		if owners == 0 {
			t.Fatal("the shop has no owner")
		}
	}
	if refused == 0 || made == 0 {
		t.Errorf("%d refused, %d made", refused, made)
	}
	// A disabled owner does not count.
	for _, id := range ids[:2] {
		h.ok(h.server(), operation.SetRole, id, operation.RoleFields{Role: store.Given(store.RoleOwner)})
	}
	h.ok(h.server(), operation.SetRole, ids[2], operation.RoleFields{Role: store.Given(store.RoleViewer)})
	h.ok(h.server(), operation.DisableUser, ids[1], nil)
	h.want(store.Conflict, "the last owner who may sign in", h.server(), operation.RemovePerson, ids[0], nil)
	h.want(store.Conflict, "the last operator", h.server(), operation.DisableUser, ids[0], nil)
}

// TestSecretsAreNotRemembered checks that the answer which is remembered for an
// idempotency key has no secret, and that the key of another person is another key.
func TestSecretsAreNotRemembered(t *testing.T) {
	h := openHarness(t)
	caller := h.person(store.RoleOwner)
	in := keyed{kernel.Args{Fields: store.KeyFields{Name: store.Given("Key")}}, "one"}
	var answers []string
	for range 2 {
		caller.Epoch = 0 // a new key changes the epoch
		r, err := h.Invoke(t.Context(), caller, operation.CreateKey, in)
		noError(t, err)
		answers = append(answers, fmt.Sprint(r.Replayed, " ", string(r.AppendJSON(nil))))
	}
	if a, b := answers[0], answers[1]; a[:5] != "false" || b[:4] != "true" || !strings.Contains(a, `"key":"tsk_test_`) ||
		!strings.Contains(b, `"key":""`) {
		t.Errorf("%s\n%s", a, b)
	}
	other := h.person(store.RoleManager)
	if _, err := h.Invoke(t.Context(), other, operation.UpdateProfile, keyed{
		kernel.Args{Fields: operation.ProfileFields{Name: store.Given("M")}}, "one",
	}); err != nil {
		t.Errorf("the same key of another person: %v", err)
	}
}

// TestSettingsOfOwners checks which fields of a shop its owners change. All others, such as those of the
// plan, are for operators.
func TestSettingsOfOwners(t *testing.T) {
	var names []string
	for _, in := range wire.Inputs(reflect.TypeFor[operation.ShopSettings]()) {
		names = append(names, in.Name)
	}
	if have := strings.Join(names, " "); have != "name timezone currency language require_totp country_code forget_after_months" {
		t.Errorf("owners change %s", have)
	}
}
