package store

import "net/netip"

// runPeople runs all operations on people, sessions and one-time links.
func runPeople(f *fixture) {
	at := Browser{Address: netip.MustParseAddr("198.51.100.7")}
	shop := f.a.Shop
	var user int64
	var token, mailed string
	var setUp CreatedLink
	f.writes(func(tx *Tx) {
		invited := check(tx.Invite(shop, "ada@example.com", RoleOwner))
		check(tx.Invite(0, "op@example.com", ""))
		tx.one(func(r *rows) { mailed = r.str() }, "SELECT token FROM link_mails WHERE link_id=?", f.key(KindLink, invited.ID))
		cancelled := check(tx.Invite(shop, "bob@example.com", RoleViewer))
		succeed(tx.CancelInvitation(shop, cancelled.ID))
		setUp = first(tx.NewSetupLink())
	})
	f.reads(func(v *View) {
		check(v.ShowLink(setUp.Token))
		check(v.ShowLink(mailed))
		check(v.LinkEmail(LinkInvitation, mailed))
		check(v.Invitations(shop))
		check(v.Invitations(0))
	})
	f.writes(func(tx *Tx) {
		op := NewUser{Email: "op@example.com", Name: "Op", Password: "x", Language: "en"}
		user = check(tx.SetUp(setUp.Token, op, set(f.ID(KindShop, shop)), ShopFields{}))
		for range 2 { // the second one is refused within
			succeed(tx.CreateInvited(mailed, NewUser{Name: "Ada", Password: "x", Language: "en"}))
		}
	})
	other := f.sessionOf("ada@example.com")
	f.must(func(tx *Tx) error { return tx.AcceptInvitation(mailed, other) })
	f.must(func(tx *Tx) (err error) {
		_, token, err = tx.BeginSession(NewSession{User: user, Address: at.Address})
		return err
	})
	var id *SessionIdentity
	f.reads(func(v *View) {
		id = check(v.IdentifySession(Hash(token)))
		check(v.Sessions(user))
		check(v.Users())
		check(v.User(user))
		check(v.UserByEmail("ada@example.com"))
		check(v.HasOperator())
		check(v.Members(shop))
		check(v.CountRecoveryCodes(user))
		check(v.SignInCredentials("op@example.com", at))
		check(v.UserCredentials(user, at))
		check(v.OldAttempts(&AuditWalk{}, 5))
	})
	runPersonWrites(f, id, other.User, at)
}

// sessionOf begins a session of the person with an email.
func (f *fixture) sessionOf(email string) (id *SessionIdentity) {
	var token string
	f.must(func(tx *Tx) (err error) {
		_, token, err = tx.BeginSession(NewSession{User: tx.number("SELECT id FROM users WHERE email_key=?", foldCase(email))})
		return err
	})
	f.reads(func(v *View) { id = check(v.IdentifySession(Hash(token))) })
	return id
}

// runPersonWrites runs the operations that change a person, by the person of a session.
func runPersonWrites(f *fixture, id *SessionIdentity, other int64, at Browser) {
	user, ada, shop := id.User, f.ID(KindUser, other), f.a.Shop
	f.writes(func(tx *Tx) {
		succeed(tx.UseSession(id.Session), tx.ProveSession(id.Session), tx.SelectShop(id, f.ID(KindShop, shop)))
		check(tx.OfferTOTP(user))
		var secret []byte
		tx.one(func(r *rows) { secret = r.bytes() }, "SELECT totp_offered FROM users WHERE id=?", user)
		step := tx.Now.Std().Unix() / 30
		check(tx.ConfirmTOTP(user, id.Session, totpCode(secret, step)))
		codes := check(tx.NewRecoveryCodes(user))
		succeed(tx.CheckCode(user, at, codes.Codes[0]), tx.CheckCode(user, at, totpCode(secret, step+1)))
	})
	for range 12 {
		f.do(func(tx *Tx) error {
			return errorOf(tx.CheckPassword(Credentials{User: user, Email: "op@example.com", Password: "x", Browser: at}, false))
		})
	}
	f.writes(func(tx *Tx) {
		known := Browser{Address: at.Address, Cookie: check(tx.KnowBrowser(user, ""))}
		succeed(tx.SignedIn(user, known), tx.RemoveTOTP(user, id.Session), tx.RequestReset("ada@example.com", at))
		check(tx.ResetPassword(check(tx.NewResetLink(other)).Token, "y"))
		check(tx.UpdateUser(user, set("New"), Opt[string]{}))
		check(tx.SetRole(shop, ada, RoleViewer, 0))
		succeed(tx.RemoveMember(shop, ada))
		check(tx.SetUserDisabled(ada, true))
		succeed(tx.EndSession(user, id.SessionID), tx.DropSession(id.Session))
		check(tx.SignOutEverywhere(user))
		check(tx.PruneSessions(5))
	})
}
