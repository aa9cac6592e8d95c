package store

import "net/netip"

// runPeople runs all operations on people, sessions and one-time links.
func runPeople(f *fixture) {
	at := Browser{Address: netip.MustParseAddr("198.51.100.7")}
	var user int64
	var token, mailed string
	invited := must(f, func(tx *Tx) (CreatedLink, error) { return tx.Invite(f.a.Shop, "ada@example.com", RoleOwner) })
	must(f, func(tx *Tx) (CreatedLink, error) { return tx.Invite(0, "op@example.com", "") })
	f.must(func(tx *Tx) error {
		key, _ := tx.s.Key(KindLink, invited.ID)
		tx.one(func(r *rows) { mailed = r.str() }, "SELECT token FROM link_mails WHERE link_id=?", key)
		return tx.failed
	})
	cancelled := must(f, func(tx *Tx) (CreatedLink, error) { return tx.Invite(f.a.Shop, "bob@example.com", RoleViewer) })
	f.must(func(tx *Tx) error { return tx.CancelInvitation(f.a.Shop, cancelled.ID) })
	setUp := must(f, func(tx *Tx) (CreatedLink, error) { l, _, err := tx.NewSetupLink(); return l, err })
	f.view(func(v *View) error {
		check(v.ShowLink(setUp.Token))
		check(v.ShowLink(mailed))
		check(v.LinkEmail(LinkInvitation, mailed))
		check(v.Invitations(f.a.Shop))
		check(v.Invitations(0))
		return nil
	})
	f.must(func(tx *Tx) (err error) {
		user, err = tx.SetUp(setUp.Token, NewUser{Email: "op@example.com", Name: "Op", Password: "x", Language: "en"}, set(f.ID(KindShop, f.a.Shop)), ShopFields{})
		return err
	})
	for range 2 { // the second one is refused within
		f.must(func(tx *Tx) error {
			return tx.CreateInvited(mailed, NewUser{Name: "Ada", Password: "x", Language: "en"})
		})
	}
	other := f.sessionOf("ada@example.com")
	f.must(func(tx *Tx) error { return tx.AcceptInvitation(mailed, other) })
	f.must(func(tx *Tx) (err error) {
		_, token, err = tx.BeginSession(NewSession{User: user, Address: at.Address})
		return err
	})
	var id *SessionIdentity
	f.view(func(v *View) error {
		id = check(v.IdentifySession(Hash(token)))
		check(v.Sessions(user))
		check(v.Users())
		check(v.User(user))
		check(v.UserByEmail("ada@example.com"))
		check(v.HasOperator())
		check(v.Members(f.a.Shop))
		check(v.CountRecoveryCodes(user))
		check(v.SignInCredentials("op@example.com", at))
		check(v.UserCredentials(user, at))
		check(v.OldAttempts(&AuditWalk{}, 5))
		return nil
	})
	runPersonWrites(f, id, other.User, at)
}

// sessionOf begins a session of the person with an email.
func (f *fixture) sessionOf(email string) (id *SessionIdentity) {
	var token string
	f.must(func(tx *Tx) error {
		_, t, err := tx.BeginSession(NewSession{User: tx.number("SELECT id FROM users WHERE email_key=?", foldCase(email))})
		token = t
		return err
	})
	f.view(func(v *View) (err error) {
		id, err = v.IdentifySession(Hash(token))
		return err
	})
	return id
}

// runPersonWrites runs the operations that change a person, by the person of a session.
func runPersonWrites(f *fixture, id *SessionIdentity, other int64, at Browser) {
	user, ada := id.User, f.ID(KindUser, other)
	f.must(func(tx *Tx) error { return tx.UseSession(id.Session) })
	f.must(func(tx *Tx) error { return tx.ProveSession(id.Session) })
	f.must(func(tx *Tx) error { return tx.SelectShop(id, f.ID(KindShop, f.a.Shop)) })
	must(f, func(tx *Tx) (OfferedTOTP, error) { return tx.OfferTOTP(user) })
	var secret []byte
	f.must(func(tx *Tx) error {
		tx.one(func(r *rows) { secret = r.bytes() }, "SELECT totp_offered FROM users WHERE id=?", user)
		_, err := tx.ConfirmTOTP(user, id.Session, totpCode(secret, tx.Now.Std().Unix()/30))
		return err
	})
	codes := must(f, func(tx *Tx) (RecoveryCodes, error) { return tx.NewRecoveryCodes(user) })
	f.must(func(tx *Tx) error { return tx.CheckCode(user, at, codes.Codes[0]) })
	f.must(func(tx *Tx) error { return tx.CheckCode(user, at, totpCode(secret, tx.Now.Std().Unix()/30+1)) })
	for range 12 {
		f.do(func(tx *Tx) error {
			return errorOf(tx.CheckPassword(Credentials{User: user, Email: "op@example.com", Password: "x", Browser: at}, false))
		})
	}
	known := Browser{Address: at.Address, Cookie: must(f, func(tx *Tx) (string, error) { return tx.KnowBrowser(user, "") })}
	f.must(func(tx *Tx) error { return tx.SignedIn(user, known) })
	f.must(func(tx *Tx) error { return tx.RemoveTOTP(user, id.Session) })
	f.must(func(tx *Tx) error { return tx.RequestReset("ada@example.com", at) })
	l := must(f, func(tx *Tx) (CreatedLink, error) { return tx.NewResetLink(other) })
	must(f, func(tx *Tx) (int64, error) { return tx.ResetPassword(l.Token, "y") })
	must(f, func(tx *Tx) (User, error) { return tx.UpdateUser(user, set("New"), Opt[string]{}) })
	must(f, func(tx *Tx) (Member, error) { return tx.SetRole(f.a.Shop, ada, RoleViewer, 0) })
	f.must(func(tx *Tx) error { return tx.RemoveMember(f.a.Shop, ada) })
	must(f, func(tx *Tx) (User, error) { return tx.SetUserDisabled(ada, true) })
	f.must(func(tx *Tx) error { return tx.EndSession(user, id.SessionID) })
	f.must(func(tx *Tx) error { return tx.DropSession(id.Session) })
	must(f, func(tx *Tx) (int64, error) { return tx.SignOutEverywhere(user) })
	must(f, func(tx *Tx) (bool, error) { return tx.PruneSessions(5) })
}
