package store

import (
	"cmp"
	"net/netip"
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
	URL       string `json:"url" doc:"Only the path where the public URL is not known."`
	Token     string `json:"token"`
	Mailed    bool   `json:"mailed" doc:"Whether it is also mailed to the person."`
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
}

// newLink makes a one-time link. What l has of a key and a time is ignored.
func (tx *Tx) newLink(l link) (c CreatedLink, err error) {
	if c.Token, err = tx.s.newSecret(""); err != nil {
		return c, err
	}
	null := func(key int64) Null[int64] { return Null[int64]{key, key != 0} }
	text := func(s string) Null[string] { return Null[string]{s, s != ""} }
	c.Kind, c.Email, c.ExpiresAt = l.kind, l.email, tx.Now.Add(linkLifetimes[l.kind])
	var by int64
	if tx.Actor.Type == "user" {
		by = tx.Actor.Key
	}
	key := tx.insert("INSERT INTO links (kind, hash, user_id, email, email_key, shop_id, role, created_by, created_at, expires_at) VALUES (?,?,?,?,?,?,?,?,?,?)",
		l.kind, Hash(c.Token), null(l.user), text(l.email), text(foldCase(l.email)), null(l.shop), text(l.role), null(by), tx.Now, c.ExpiresAt)
	c.ID = tx.s.ID(KindLink, key)
	c.URL = tx.s.opts.PublicURL + linkPaths[l.kind] + c.Token
	return c, tx.failed
}

// errLink refuses a link that was used, replaced or cancelled, that has expired, or that is
// unknown.
var errLink = refuse(LinkExpired, "The link was used already, or it has expired.")

// openLink returns the one-time link with a token. One that can no longer be used is
// link_expired.
func (s *Store) openLink(c *conn, now Time, token string) (l link, err error) {
	found, err := c.one(func(r *rows) {
		l = link{key: r.int(), kind: r.str(), user: r.int(), shop: r.int(), email: r.str(), role: r.str(), expiresAt: r.time()}
	}, "SELECT "+columns("id", "kind", "ifnull(user_id, 0)", "ifnull(shop_id, 0)", "ifnull(email, '')", "ifnull(role, '')", "expires_at")+" FROM links WHERE hash=?", Hash(token))
	switch {
	case err != nil:
		return l, err
	case !found || l.expiresAt <= now:
		return l, errLink
	case l.kind == LinkSetup:
		operators, err := c.number("SELECT count(*) FROM users WHERE operator=1 AND disabled_at IS NULL")
		if err == nil && operators > 0 {
			err = errLink
		}
		return l, err
	}
	return l, nil
}

// takeLink returns the one-time link of a kind with a token, and uses it up.
func (tx *Tx) takeLink(kind, token string) (l link, err error) {
	if l, err = tx.s.openLink(tx.conn, tx.Now, token); err != nil {
		return l, err
	}
	if l.kind != kind {
		return l, errLink
	}
	tx.exec("DELETE FROM links WHERE id=?", l.key)
	return l, tx.failed
}

// NewSetupLink replaces the set-up link. It returns false if there is an operator, who
// needs none.
func (tx *Tx) NewSetupLink() (c CreatedLink, ok bool, err error) {
	tx.exec("DELETE FROM links WHERE kind='setup'")
	if tx.number("SELECT count(*) FROM users WHERE operator=1 AND disabled_at IS NULL") > 0 {
		return c, false, tx.failed
	}
	c, err = tx.newLink(link{kind: LinkSetup})
	return c, true, err
}

// Invitation is an invitation that was not accepted yet.
type Invitation struct {
	ID        string `json:"id"`
	Email     string `json:"email"`
	Role      string `json:"role" enum:"owner,manager,viewer"`
	CreatedAt Time   `json:"created_at"`
	ExpiresAt Time   `json:"expires_at"`
}

// Invitations returns the open invitations to a shop, oldest first.
func (v *View) Invitations(shop int64) ([]Invitation, error) {
	return list(v.conn, func(r *rows) Invitation {
		return Invitation{ID: v.s.ID(KindLink, r.int()), Email: r.str(), Role: r.str(), CreatedAt: r.time(), ExpiresAt: r.time()}
	}, "SELECT "+columns("id", "email", "role", "created_at", "expires_at")+" FROM links WHERE shop_id=? AND kind='invitation' AND expires_at>? ORDER BY id", shop, v.Now)
}

// Invite makes an invitation to a shop, or, with an empty role, to be an operator. It
// replaces an earlier one for the same email. An email of a member is a conflict.
func (tx *Tx) Invite(shop int64, email, role string) (c CreatedLink, err error) {
	key := foldCase(email)
	if role == "" {
		shop = 0
		if tx.number("SELECT count(*) FROM users WHERE email_key=? AND operator=1", key) > 0 {
			return c, refuse(Conflict, "The person is an operator already.")
		}
	} else {
		if _, err := tx.s.shop(tx.conn, shop); err != nil {
			return c, err
		}
		if tx.number("SELECT count(*) FROM memberships m JOIN users u ON u.id=m.user_id WHERE m.shop_id=? AND u.email_key=?", shop, key) > 0 {
			return c, refuse(Conflict, "The person belongs to the shop already.")
		}
	}
	tx.exec("DELETE FROM links WHERE kind='invitation' AND ifnull(shop_id, 0)=? AND email_key=?", shop, key)
	if c, err = tx.newLink(link{kind: LinkInvitation, shop: shop, email: email, role: role}); err != nil {
		return c, err
	}
	linkKey, _ := tx.s.Key(KindLink, c.ID)
	tx.audit(shop, "user.invite", KindLink, linkKey, "")
	c.Mailed = tx.mailLink(c)
	return c, tx.failed
}

// CancelInvitation ends an invitation to a shop.
func (tx *Tx) CancelInvitation(shop int64, id string) error {
	key := tx.s.keyOrNone(KindLink, id)
	if tx.exec("DELETE FROM links WHERE id=? AND shop_id=? AND kind='invitation'", key, shop) == 0 && tx.failed == nil {
		return notFound("invitation")
	}
	tx.audit(shop, "user.cancel_invitation", KindLink, key, "")
	return tx.failed
}

// Accepted is an invitation that was accepted.
type Accepted struct {
	User    int64
	Shop    int64 // 0: of an operator
	Created bool  // the account was made; else it was there already
}

// AcceptInvitation accepts an invitation: it makes the person's account, or gives the
// account that has the email already the role. Name and password are used for a new
// account only, and the email is that of the invitation.
func (tx *Tx) AcceptInvitation(token string, n NewUser) (a Accepted, err error) {
	l, err := tx.takeLink(LinkInvitation, token)
	if err != nil {
		return a, err
	}
	a.Shop = l.shop
	disabled := false
	if !tx.one(func(r *rows) { a.User, disabled = r.int(), r.bool() }, "SELECT id, disabled_at IS NOT NULL FROM users WHERE email_key=?", foldCase(l.email)) && tx.failed == nil {
		n.Email, n.Operator = l.email, l.role == ""
		if a.User, err = tx.AddUser(n); err != nil {
			return a, err
		}
		a.Created = true
	}
	if disabled {
		return a, errLink
	}
	tx.Actor = Actor{Type: "user", Key: a.User}
	if l.role == "" {
		tx.exec("UPDATE users SET operator=1, updated_at=? WHERE id=?", tx.Now, a.User)
		tx.bumpAuth()
		tx.audit(0, "user.join", KindUser, a.User, `{"role":"operator"}`)
		return a, tx.failed
	}
	return a, tx.AddMember(a.User, l.shop, l.role)
}

// NewResetLink makes a link that sets a new password, and replaces earlier ones. A
// disabled account is a conflict.
func (tx *Tx) NewResetLink(user int64) (c CreatedLink, err error) {
	u, err := tx.s.user(tx.conn, user)
	if err != nil {
		return c, err
	}
	if u.DisabledAt.Valid {
		return c, refuse(Conflict, "The account is disabled.")
	}
	tx.exec("DELETE FROM links WHERE kind='reset' AND user_id=?", user)
	if c, err = tx.newLink(link{kind: LinkReset, user: user, email: u.Email}); err != nil {
		return c, err
	}
	tx.auditUser("user.create_reset_link", user, "")
	return c, tx.failed
}

// The rules for requests of reset links: for the account, over which nothing is mailed,
// and for the address, over which the request is refused.
var (
	resetAccountRule = guessRule{name: "reset_account", most: 3, window: 15 * time.Minute, lock: 15 * time.Minute, longest: time.Hour}
	resetAddressRule = guessRule{name: "reset_address", most: 10, window: 15 * time.Minute, lock: 15 * time.Minute, longest: time.Hour}
)

// RequestReset makes a reset link for the person with an email and mails it, if there is
// such an account, it is not disabled, and not too many were asked for.
func (tx *Tx) RequestReset(email string, at netip.Addr) error {
	var user int64
	tx.one(func(r *rows) { user = r.int() }, "SELECT id FROM users WHERE email_key=? AND disabled_at IS NULL", foldCase(email))
	tx.audit(0, "user.request_reset", KindUser, user, "")
	if at.IsValid() {
		network := subject{resetAddressRule, tx.s.subjectHash("reset address", networkOf(at))}
		if until := tx.lockOf(network); until > tx.Now {
			e := refuse(RateLimited, "Too many requests from this address. Try again later.")
			e.RetryAfter = until.Std().Sub(tx.Now.Std())
			return e
		}
		tx.count(network)
	}
	account := subject{resetAccountRule, tx.s.subjectHash("reset account", foldCase(email))}
	over := tx.lockOf(account) > tx.Now
	if !over {
		tx.count(account)
	}
	if over || user == 0 || !tx.s.mails() || tx.failed != nil { // a link that is not mailed would replace one that a person was given
		return tx.failed
	}
	l, err := tx.NewResetLink(user)
	if err == nil {
		tx.mailLink(l)
	}
	return cmp.Or(tx.failed, err)
}

// LinkEmail returns the email of the person of a one-time link of a kind, without using
// the link up.
func (v *View) LinkEmail(kind, token string) (string, error) {
	l, err := v.s.openLink(v.conn, v.Now, token)
	if err == nil && l.kind != kind {
		err = errLink
	}
	return l.email, err
}

// ResetPassword sets the password, which is hashed, of the person of a reset link, and
// ends the person's sessions.
func (tx *Tx) ResetPassword(token, hash string) error {
	l, err := tx.takeLink(LinkReset, token)
	if err != nil {
		return err
	}
	tx.Actor = Actor{Type: "user", Key: l.user}
	return tx.SetPassword(l.user, hash, "user.reset_password")
}

// ShownLink is what the page of a one-time link shows.
type ShownLink struct {
	Kind      string      `json:"kind" enum:"setup,invitation,reset"`
	Email     string      `json:"email" doc:"Of the person; empty for the set-up."`
	Shop      string      `json:"shop" doc:"Name of the shop of an invitation; empty: the person becomes an operator."`
	Role      string      `json:"role" doc:"Role of an invitation; empty: operator."`
	Account   bool        `json:"account" doc:"Whether there is an account with the email already."`
	Shops     []NamedShop `json:"shops" doc:"The shops that the file has, for the set-up."`
	ExpiresAt Time        `json:"expires_at"`
}

// ShowLink returns what a one-time link is for, without using it up.
func (v *View) ShowLink(token string) (s ShownLink, err error) {
	l, err := v.s.openLink(v.conn, v.Now, token)
	if err != nil {
		return s, err
	}
	s = ShownLink{Kind: l.kind, Email: l.email, Role: l.role, Shops: []NamedShop{}, ExpiresAt: l.expiresAt}
	if l.shop != 0 {
		sh, err := v.s.shop(v.conn, l.shop)
		if err != nil {
			return s, err
		}
		s.Shop = sh.Name
	}
	if l.kind == LinkSetup {
		shops, err := v.Shops()
		for _, sh := range shops {
			s.Shops = append(s.Shops, NamedShop{sh.ID, sh.Name, sh.Timezone})
		}
		return s, err
	}
	n, err := v.number("SELECT count(*) FROM users WHERE email_key=?", foldCase(l.email))
	s.Account = n > 0
	return s, err
}

// SetUp uses up the set-up link, adds the first operator, and makes the operator the
// owner of a shop of the file, or of a new one. Without either the operator has none.
func (tx *Tx) SetUp(token string, n NewUser, shopID Opt[string], f ShopFields) (user int64, err error) {
	if _, err := tx.takeLink(LinkSetup, token); err != nil {
		return 0, err
	}
	n.Operator = true
	if user, err = tx.AddUser(n); err != nil {
		return 0, err
	}
	tx.Actor = Actor{Type: "user", Key: user}
	var shop int64
	switch {
	case shopID.Set:
		if shop, _ = tx.s.Key(KindShop, shopID.V); tx.number("SELECT count(*) FROM shops WHERE id=?", shop) == 0 && tx.failed == nil {
			return 0, Invalid(Detail{Field: "shop_id", Code: "invalid_value", Message: "must be the id of a shop of the file"})
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
