package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// invite makes an invitation to a shop, which is mailed.
func (s *demo) invite(shopID, email, role string) {
	s.T.Helper()
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
		l, err := tx.Invite(s.Row(store.KindShop, shopID), email, role)
		if l.URL != "" || l.Token != "" {
			s.T.Errorf("an inviter gets the link of a mailed invitation: %+v", l)
		}
		return err
	})
}

// mailed returns the token of the newest link of a kind that was mailed to an address.
func (s *demo) mailed(email, path string) (token string) {
	s.T.Helper()
	var box struct {
		Data []struct{ To, Text string }
	}
	s.Control("GET", "/emails", nil).Decode(&box)
	for _, m := range box.Data {
		if _, rest, ok := strings.Cut(m.Text, path); ok && m.To == email {
			token = strings.Fields(rest)[0]
		}
	}
	if len(token) != 43 {
		s.T.Fatalf("no link %s was mailed to %s: %+v", path, email, box.Data)
	}
	return token
}

// shown makes an invitation as a server without mail does, whose inviter is shown the link.
func (s *demo) shown(shopID, email, role string) (token string) {
	s.T.Helper()
	servertest.Write(s.T, s.Beside(), func(tx *store.Tx) error {
		l, err := tx.Invite(s.Row(store.KindShop, shopID), email, role)
		token = l.Token
		return err
	})
	return token
}

// create fills in the form of a new account on the page of an invitation.
func (s *demo) create(token, password string) *page {
	s.T.Helper()
	return s.as("").fill("/invite/"+token, "name", "Name", "password", password)
}

// accept accepts an invitation.
func (b *browser) accept(token string) *page {
	b.T.Helper()
	at := "/invite/" + token + "/accept"
	return b.fill(at)
}

// shops returns in how many shops a person has a role.
func (s *demo) shops(email string) string {
	s.T.Helper()
	return s.Value("SELECT count(*) FROM memberships m JOIN users u ON u.id=m.user_id WHERE u.email=?", email)
}

const (
	victim   = "victim@example.com"
	ofVictim = "kettle drum 41"
	ofThief  = "copper spoon 72"
)

// TestInvitationHandsOverNoAccount plays somebody who invites a victim to a shop, takes the link and
// makes the account, to get what the victim is invited to later. The victim gets the address back
// by the mailbox.
func TestInvitationHandsOverNoAccount(t *testing.T) {
	s := start(t, servertest.Frozen)
	// The thief is shown the link, as on a server without mail, and takes the account first.
	token := s.shown(s.ShopID, victim, "owner")
	s.create(token, ofThief).want(303)
	thief := s.enter(victim, ofThief)
	thief.accept(token).next()
	secret, _ := s.enrol(thief)
	s.Advance("90s")
	invite := thief.open("/dashboard/people/invite", "email", "accomplice@example.com", "role", "owner")
	invite.send().want(200)
	if got := s.Value("SELECT email_proved FROM users WHERE email=?", victim); got != "0" {
		t.Error("a link that the inviter has seen proves the email")
	}

	// Another shop invites the victim. The link alone adds no account to it, whatever is tried.
	other := s.NewShop(nil).ShopID
	s.invite(other, victim, "owner")
	second := s.mailed(victim, "/invite/")
	s.create(second, ofVictim).want(303)
	s.as("").post("/invite/"+second+"/accept", nil).want(303)
	if s.shops(victim) != "1" {
		t.Fatal("the account that the thief made belongs to the other shop")
	}
	s.as("").try(victim, ofVictim).want(401)
	// Even with the link the account may not join before the mailbox is confirmed.
	at := "/invite/" + second + "/accept"
	ask := thief.get(at).shows("First confirm your mailbox").form("/reset")
	s.Unchanged(func() { thief.post(at, nil).want(409).has("First confirm your mailbox") })

	// The mailbox takes the account back whole.
	ask.browser = s.as("")
	ask.send().shows("Look into your mailbox")
	s.as("").fill("/reset/"+s.mailed(victim, "/reset/"), "password", ofVictim).want(303)
	thief.wantSignedOut()
	s.as("").try(victim, ofThief).want(401)
	left := s.Value(
		`SELECT (SELECT count(*) FROM sessions WHERE user_id=u.id)||' '||(SELECT count(*) FROM recovery_codes WHERE user_id=u.id)||' '||
		(SELECT count(*) FROM links WHERE created_by=u.id OR user_id=u.id)||' '||email_proved FROM users u WHERE email=?`,
		victim,
	)
	if left != "0 0 0 1" {
		t.Errorf("sessions, recovery codes and links of the thief, and the proof: %s", left)
	}
	owner := s.enter(victim, ofVictim) // without the code of the thief's second factor
	owner.get("/dashboard/account").want(200)
	owner.accept(second).next()
	if s.shops(victim) != "2" ||
		!strings.Contains(
			owner.get("/dashboard/settings").text(),
			s.Value("SELECT name FROM shops WHERE id=?", s.Row(store.KindShop, other)),
		) {
		t.Error("the victim does not get the shop")
	}

	// From now on the second factor stays, whoever reads the mailbox.
	s.Advance("16m")
	owner = s.enter(victim, ofVictim)
	if mine, _ := s.enrol(owner); mine == secret {
		t.Error("the thief's secret is used again")
	}
	s.as("").post("/reset", url.Values{"email": {victim}}).want(200)
	s.as("").fill("/reset/"+s.mailed(victim, "/reset/"), "password", ofThief).want(303)
	s.as("").try(victim, ofThief).to("/sign-in/code") // a proved account keeps its second factor
}

// TestInvitationHidesAccounts checks that nobody learns from an invitation whether its email has an
// account: the pages, the refusals of the form and its answer are the same, and so is what another
// invitation is answered.
func TestInvitationHidesAccounts(t *testing.T) {
	s := start(t, servertest.Frozen)
	known, unknown := "viewer@test.example", "nobody@test.example"
	s.SQL("UPDATE users SET disabled_at=1 WHERE email='manager@test.example'")
	other := s.NewShop(nil).ShopID
	answers := func(email string) (all []string) {
		token := s.shown(other, email, "manager")
		b := s.as("")
		at := "/invite/" + token
		for _, p := range []*page{
			b.get(at),
			b.post(at, url.Values{"name": {"N"}}),
			b.post(at, url.Values{"name": {"N"}, "password": {"password1234"}}),
			b.post(at, url.Values{"name": {"N"}, "password": {email}}),
			b.post(at, url.Values{"name": {"N"}, "password": {ofThief}}),
			b.get(at),
			b.post(at, url.Values{"name": {"N"}, "password": {ofThief}}),
			b.get(at + "/accept"),
		} {
			text := strings.NewReplacer(token, "TOKEN", email, "EMAIL", p.header.Get("X-Request-Id"), "ID").
				Replace(p.body + p.header.Get("Location"))
			all = append(all, http.StatusText(p.status)+" "+text)
		}
		if n := s.Value("SELECT count(*) FROM memberships WHERE shop_id=?", s.Row(store.KindShop, other)); n != "0" {
			t.Errorf("%s: %s members", email, n)
		}
		// Who asks for many resets does not learn it from what an invitation is answered then.
		for range 6 {
			b.post("/reset", url.Values{"email": {email}}).want(200)
			s.Advance("20m")
		}
		s.invite(other, email, "manager")
		return all
	}
	want := answers(unknown)
	for _, email := range []string{known, "manager@test.example"} {
		for i, got := range answers(email) {
			if got != want[i] {
				t.Errorf("%s, answer %d:\n%.3000s\nof an unknown email:\n%.3000s", email, i, got, want[i])
			}
		}
	}
}

// TestInvitationWithoutMail checks the way of a shop whose server sends no mail: the inviter passes
// the link on, a new person makes an account, and one with an account joins another shop with it. A
// person who belongs to no shop, and has seen the page that says so, sees the shops of the server as
// soon as they accept to run it.
func TestInvitationWithoutMail(t *testing.T) {
	s := start(t)
	other := s.NewShop(nil).ShopID
	for i, shop := range []string{s.ShopID, other} {
		token := s.shown(shop, "ada@example.com", "manager")
		if i == 0 {
			s.create(token, ofVictim).want(303)
		}
		s.enter("ada@example.com", ofVictim).accept(token).next().has("You accepted the invitation.")
	}
	if s.shops("ada@example.com") != "2" {
		t.Error("the person has not joined both shops")
	}
	token := s.shown(s.ShopID, "bob@example.com", "")
	s.create(token, ofVictim).want(303)
	bob := s.enter("bob@example.com", ofVictim)
	bob.get("/dashboard").has("You belong to no shop")
	bob.accept(token).next().has("You accepted the invitation.").lacks("You belong to no shop")
	bob.get("/dashboard/users").want(200)
}
