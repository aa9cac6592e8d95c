package store

import (
	"cmp"
	"time"
)

// The kinds of one-time links.
const (
	LinkSetup      = "setup"      // makes the first operator
	LinkInvitation = "invitation" // makes a member of a shop, or an operator
	LinkReset      = "reset"      // sets a new password
)

// linkLifetimes are how long one-time links are valid.
var linkLifetimes = map[string]time.Duration{LinkSetup: time.Hour, LinkInvitation: 7 * 24 * time.Hour, LinkReset: time.Hour}

// linkPaths begin the paths of one-time links, which the token ends.
var linkPaths = map[string]string{LinkSetup: "/setup/", LinkInvitation: "/invite/", LinkReset: "/reset/"}

// CreatedLink is a new one-time link. Its token is shown only once.
type CreatedLink struct {
	ID        string `json:"id"`
	Kind      string `json:"kind" enum:"setup,invitation,reset"`
	Email     string `json:"email"`
	ExpiresAt Time   `json:"expires_at"`
	URL       string `json:"url" doc:"Only the path where the public URL is not known. Empty if the link is mailed."`
	Token     string `json:"token" doc:"Empty if the link is mailed."`
	Mailed    bool   `json:"mailed" doc:"Whether it is mailed to the person, and shown to nobody else."`
}

// WithoutSecret returns the link as it may be stored.
func (l CreatedLink) WithoutSecret() any {
	l.URL, l.Token = "", ""
	return &l
}

// link is a one-time link of the file.
type link struct {
	key, user, shop int64 // 0: none
	kind            string
	email           string
	role            string // empty: operator
	expiresAt       Time
	mailed          bool // only the mailbox was given it
}

// newLink makes a one-time link. What l has of a key and a time is ignored.
func (tx *Tx) newLink(l link) (c CreatedLink) {
	c.Token = tx.newSecret("")
	c.Kind, c.Email, c.ExpiresAt = l.kind, l.email, tx.Now.Add(linkLifetimes[l.kind])
	var by int64
	if tx.Actor.Type == "user" {
		by = tx.Actor.Key
	}
	key := tx.insert(
		`INSERT INTO links (kind, hash, user_id, email, email_key, shop_id, role, created_by, created_at, expires_at, mailed)
			VALUES (?,?,?,?,?,?,?,?,?,?,?)`, l.kind, Hash(c.Token), nonZero(l.user), nonZero(l.email), nonZero(foldCase(l.email)),
		nonZero(l.shop), nonZero(l.role), nonZero(by), tx.Now, c.ExpiresAt, l.mailed)
	c.ID = tx.ID(KindLink, key)
	c.URL = tx.s.opts.PublicURL + linkPaths[l.kind] + c.Token
	if l.mailed {
		tx.mailLink(&c, key)
	}
	return c
}

// errLink refuses a link that was used, replaced or cancelled, that has expired, or that is
// unknown.
var errLink = refuse(LinkExpired, "The link was used already, or it has expired.")

// openLink returns the one-time link of a kind with a token; an empty kind is any. One that
// can no longer be used is link_expired, and one of a shop that has moved is gone.
func (q *queries) openLink(kind, token string) (l link, err error) {
	found := q.one(into(&l.key, &l.kind, &l.user, &l.shop, &l.email, &l.role, &l.expiresAt, &l.mailed),
		`SELECT id, kind, ifnull(user_id, 0), ifnull(shop_id, 0), ifnull(email, ''), ifnull(role, ''), expires_at, mailed
		FROM links WHERE hash=?`, Hash(token))
	if !found || l.expiresAt <= q.Now || kind != "" && l.kind != kind || l.kind == LinkSetup && q.operators() > 0 {
		return l, errLink
	}
	return l, cmp.Or(q.closing(l.shop).Refuse(false), q.failed)
}

// takeLink returns the one-time link of a kind with a token, and uses it up.
func (tx *Tx) takeLink(kind, token string) (l link, err error) {
	if l, err = tx.openLink(kind, token); err != nil {
		return l, err
	}
	tx.exec("DELETE FROM links WHERE id=?", l.key)
	return l, tx.failed
}

// NewSetupLink replaces the set-up link. It returns false if there is an operator, who
// needs none.
func (tx *Tx) NewSetupLink() (c CreatedLink, ok bool, err error) {
	tx.exec("DELETE FROM links WHERE kind='setup'")
	if tx.operators() > 0 {
		return c, false, tx.failed
	}
	c = tx.newLink(link{kind: LinkSetup})
	return c, true, tx.failed
}

// Invitation is an invitation that was not accepted yet.
type Invitation struct {
	ID        string `json:"id"`
	Email     string `json:"email"`
	Shop      string `json:"shop" doc:"Name; empty: the person becomes an operator."`
	Role      string `json:"role" enum:"owner,manager,viewer,operator"`
	CreatedAt Time   `json:"created_at"`
	ExpiresAt Time   `json:"expires_at"`
}

// Invitations returns the open invitations to a shop, oldest first; 0: all of the file.
func (v *View) Invitations(shop int64) ([]Invitation, error) {
	where, args := "l.kind='invitation' AND l.expires_at>? ORDER BY l.id", []any{v.Now}
	if shop != 0 {
		where, args = "l.shop_id=? AND "+where, []any{shop, v.Now}
	}
	return collect(v, func(r *rows) (i Invitation) {
		r.scan(v.into(KindLink, &i.ID), &i.Email, &i.Shop, &i.Role, &i.CreatedAt, &i.ExpiresAt)
		return i
	}, `SELECT l.id, l.email, ifnull(s.name, ''), ifnull(l.role, 'operator'), l.created_at, l.expires_at
		FROM links l LEFT JOIN shops s ON s.id=l.shop_id WHERE `+where, args...), v.failed
}

// Invite makes an invitation to a shop, or, with an empty role, to be an operator. It
// replaces an earlier one for the same email. An email of a member is a conflict. Where
// there is a mail server, the link is mailed and not returned, so that only the mailbox has
// it. Too many messages to the email are rate_limited.
func (tx *Tx) Invite(shop int64, email, role string) (c CreatedLink, err error) {
	key := foldCase(email)
	if role == "" {
		shop = 0
		if tx.number("SELECT count(*) FROM users WHERE email_key=? AND operator=1", key) > 0 {
			return c, refuse(Conflict, "The person is an operator already.")
		}
	} else {
		tx.shop(shop)
		if tx.number(`SELECT count(*) FROM memberships m JOIN users u ON u.id=m.user_id WHERE m.shop_id=?
			AND u.email_key=?`, shop, key) > 0 {
			return c, refuse(Conflict, "The person belongs to the shop already.")
		}
	}
	mailed := tx.s.mails()
	if mailed {
		if err := tx.countInvitation(email); err != nil {
			return c, err
		}
	}
	tx.exec("DELETE FROM links WHERE kind='invitation' AND ifnull(shop_id, 0)=? AND email_key=?", shop, key)
	c = tx.newLink(link{kind: LinkInvitation, shop: shop, email: email, role: role, mailed: mailed})
	if c.Mailed {
		c.URL, c.Token = "", ""
	}
	linkKey, _ := tx.Key(KindLink, c.ID)
	tx.audit(shop, "user.invite", KindLink, linkKey)
	return c, tx.failed
}

// CancelInvitation ends an invitation to a shop.
func (tx *Tx) CancelInvitation(shop int64, id string) error {
	key := tx.keyOrNone(KindLink, id)
	if tx.exec("DELETE FROM links WHERE id=? AND shop_id=? AND kind='invitation'", key, shop) == 0 && tx.failed == nil {
		return notFound("invitation")
	}
	tx.audit(shop, "user.cancel_invitation", KindLink, key)
	return tx.failed
}

// CreateInvited adds the account of a person who is invited, who then signs in and accepts
// the invitation. If there is an account with the email already, it stays as it is, and the
// caller cannot tell. A link that somebody else was shown proves nothing about the email.
func (tx *Tx) CreateInvited(token string, n NewUser) error {
	l, err := tx.openLink(LinkInvitation, token)
	if err != nil {
		return err
	}
	if user := tx.number("SELECT ifnull(max(id), 0) FROM users WHERE email_key=?", foldCase(l.email)); user != 0 || tx.failed != nil {
		tx.audit(0, "user.create_refused", KindUser, user) // a write, so that it takes as long
		return tx.failed
	}
	n.Email, n.EmailProved = l.email, l.mailed
	_, err = tx.AddUser(n)
	return err
}

// AcceptInvitation gives the person of a session the role of an invitation to the person's
// email, ends the person's other sessions, and makes the session look at the shop. An
// invitation that only the mailbox was given is refused to an account whose email is not
// proved: somebody else may have made it.
func (tx *Tx) AcceptInvitation(token string, id *SessionIdentity) error {
	l, err := tx.takeLink(LinkInvitation, token)
	switch {
	case err != nil:
		return err
	case foldCase(l.email) != foldCase(id.Email):
		return refuse(Conflict, "The invitation is for another email than that of your account.")
	case l.mailed && !id.EmailProved:
		return refuse(Conflict, "Confirm your mailbox first: ask for a link for a new password, which is mailed to you.")
	}
	tx.endOtherSessions(id.User, id.Session)
	if l.role == "" {
		tx.exec("UPDATE users SET operator=1, updated_at=? WHERE id=?", tx.Now, id.User)
		tx.audit(0, "user.join", KindUser, id.User, `{"role":"operator"}`)
		return tx.failed
	}
	tx.exec("UPDATE sessions SET shop_id=? WHERE id=?", l.shop, id.Session)
	return tx.AddMember(id.User, l.shop, l.role)
}

// NewResetLink makes a link that sets a new password, and replaces earlier ones. A
// disabled account is a conflict.
func (tx *Tx) NewResetLink(user int64) (c CreatedLink, err error) {
	u, err := tx.user(user)
	if err != nil {
		return c, err
	}
	if u.DisabledAt.Valid {
		return c, refuse(Conflict, "The account is disabled.")
	}
	tx.exec("DELETE FROM links WHERE kind='reset' AND user_id=?", user)
	c = tx.newLink(link{kind: LinkReset, user: user, email: u.Email})
	tx.auditUser("user.create_reset_link", user)
	return c, tx.failed
}

// The rules for requests of reset links, for the email and for the address. The lock of an
// email lasts as long as the links that were mailed: there is always one that works, or
// another can be asked for.
var (
	resetEmailRule   = attemptRule{name: "reset_email", max: 10, window: time.Hour, lock: time.Hour, longest: time.Hour}
	resetAddressRule = attemptRule{name: "reset_address", max: 10, window: time.Hour, lock: time.Hour, longest: time.Hour}
)

// RequestReset makes a reset link for the person with an email and mails it, if there is
// such an account and it is not disabled. Earlier links stay valid: else whoever asks could
// end the link that the person is about to open.
func (tx *Tx) RequestReset(email string, b Browser) error {
	_, known := tx.knownBrowser(email, b)
	subjects := []subject{{resetEmailRule, tx.s.subjectHash("reset email", foldCase(email))}}
	if !known {
		subjects = append(subjects, tx.s.addressSubject(resetAddressRule, "reset address", b.Address))
	}
	if until := tx.countAll(subjects...); until > 0 {
		return tooMany("Too many requests. Look into your mailbox, or try again later.", tx.Now, until)
	}
	l := link{kind: LinkReset, mailed: true}
	tx.one(into(&l.user, &l.email), "SELECT id, email FROM users WHERE email_key=? AND disabled_at IS NULL", foldCase(email))
	tx.auditSubject(subjects[0], 0, "user.request_reset", KindUser, l.user, "")
	if l.user == 0 || !tx.s.mails() || tx.failed != nil {
		return tx.failed
	}
	tx.newLink(l)
	return tx.failed
}

// LinkEmail returns the email of the person of a one-time link of a kind, without using
// the link up.
func (v *View) LinkEmail(kind, token string) (string, error) {
	l, err := v.openLink(kind, token)
	return l.email, err
}

// ResetPassword sets the password, which is hashed, of the person of a reset link, and
// ends the person's sessions. A link that only the mailbox was given proves the email. If it
// was not proved before, somebody else may have made the account: the second factor and the
// invitations of the person end too.
func (tx *Tx) ResetPassword(token, hash string) (user int64, err error) {
	l, err := tx.takeLink(LinkReset, token)
	if err != nil {
		return 0, err
	}
	tx.Actor = Actor{Type: "user", Key: l.user}
	if l.mailed && tx.exec("UPDATE users SET email_proved=1 WHERE id=? AND email_proved=0", l.user) > 0 {
		tx.exec("DELETE FROM links WHERE created_by=?", l.user)
		if err := tx.RemoveTOTP(l.user, 0); err != nil {
			return 0, err
		}
	}
	return l.user, tx.SetPassword(l.user, hash, "user.reset_password")
}

// ShownLink is what the page of a one-time link shows.
type ShownLink struct {
	Kind      string      `json:"kind" enum:"setup,invitation,reset"`
	Email     string      `json:"email" doc:"Of the person; empty for the set-up."`
	Shop      string      `json:"shop" doc:"Name of the shop of an invitation; empty: the person becomes an operator."`
	Role      string      `json:"role" doc:"Role of an invitation; empty: operator."`
	Mailed    bool        `json:"mailed" doc:"Whether only the mailbox was given the link."`
	Shops     []NamedShop `json:"shops" doc:"The shops that the file has, for the set-up."`
	ExpiresAt Time        `json:"expires_at"`
}

// ShowLink returns what a one-time link is for, without using it up.
func (v *View) ShowLink(token string) (s ShownLink, err error) {
	l, err := v.openLink("", token)
	if err != nil {
		return s, err
	}
	s = ShownLink{Kind: l.kind, Email: l.email, Role: l.role, Mailed: l.mailed, Shops: []NamedShop{}, ExpiresAt: l.expiresAt}
	if l.shop != 0 {
		sh := v.shop(l.shop)
		s.Shop = sh.Name
	}
	if l.kind == LinkSetup {
		shops, err := v.Shops()
		for _, sh := range shops {
			s.Shops = append(s.Shops, NamedShop{sh.ID, sh.Name, sh.Timezone})
		}
		return s, err
	}
	return s, nil
}

// SetUp uses up the set-up link, adds the first operator, and makes the operator the
// owner of a shop of the file, or of a new one. Without either the operator has none.
func (tx *Tx) SetUp(token string, n NewUser, shopID Opt[string], f ShopFields) (user int64, err error) {
	if _, err := tx.takeLink(LinkSetup, token); err != nil {
		return 0, err
	}
	n.Operator, n.EmailProved = true, true // whoever runs the server vouches for it
	if user, err = tx.AddUser(n); err != nil {
		return 0, err
	}
	tx.Actor = Actor{Type: "user", Key: user}
	var shop int64
	switch {
	case shopID.Set:
		if shop, _ = tx.Key(KindShop, shopID.V); tx.number("SELECT count(*) FROM shops WHERE id=?", shop) == 0 && tx.failed == nil {
			return 0, InvalidField("shop_id", "invalid_value", "must be the id of a shop of the file")
		}
	case f.Name.Set:
		if shop, _, err = tx.CreateShop(f); err != nil {
			return 0, err
		}
	default:
		return user, tx.failed
	}
	return user, tx.AddMember(user, shop, RoleOwner)
}
