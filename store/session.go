package store

import (
	"net/netip"
	"time"
)

// How long sessions last.
const (
	SessionIdle     = 7 * 24 * time.Hour  // since it was last used
	SessionLifetime = 30 * 24 * time.Hour // since it was begun
	PendingLifetime = 10 * time.Minute    // of a session whose second factor is missing
	// usedPrecision is how exact the time of the last use is.
	usedPrecision = time.Hour
)

// SessionIdentity is all that a guard needs to know of a session and its person. It is
// read once and cached until the auth epoch changes.
type SessionIdentity struct {
	Epoch     int64
	Session   int64
	SessionID string
	User      int64
	UserID    string // usr_
	Name      string
	Email     string
	Language  string
	Operator  bool
	Shop      int64      // the shop that is looked at; 0: there is none
	Shops     []ShopRole // oldest first; for an operator all shops of the file
	Role      string     // in Shop: owner, manager or viewer; empty without a shop
	Closing   Closing    // of Shop
	TOTP      bool       // there is a second factor
	// EmailProved says that the person has opened a link that only the mailbox was given.
	EmailProved bool
	// MustEnrol says that the shop demands a second factor of the role and there is
	// none: the person may do nothing but set it up.
	MustEnrol bool
	// Pending says that the password was right and the second factor is still missing:
	// the person may do nothing but give it.
	Pending   bool
	CreatedAt Time
	UsedAt    Time // exact to an hour
	ProvedAt  Time // when the password or a code was last given
}

// ShopRole is a shop and a person's role in it.
type ShopRole struct {
	Shop int64
	ID   string
	Name string
	Role string
	Mode string // live or test
	// Timezone and Currency are those in which pages show times and amounts.
	Timezone  string
	Currency  string
	PublicURL string // empty: it has none of its own
}

// EndReason says why a session is no longer valid at a time, "" if it is valid.
func (id *SessionIdentity) EndReason(now Time) string {
	switch {
	case id.Pending && id.CreatedAt.Add(PendingLifetime) <= now:
		return "has waited too long for the second factor"
	case id.CreatedAt.Add(SessionLifetime) <= now:
		return "has reached its greatest age"
	case id.UsedAt.Add(SessionIdle) <= now:
		return "was not used for a week"
	}
	return ""
}

// Unused reports whether a use of the session at a time is to be recorded with
// UseSession.
func (id *SessionIdentity) Unused(now Time) bool { return id.UsedAt.Add(usedPrecision) <= now }

// IdentifySession returns the session whose token has a hash, nil if there is none. A
// session that has reached its end is returned too; see EndReason.
func (v *View) IdentifySession(hash []byte) (id *SessionIdentity, err error) {
	v.snapshot()
	var shop int64
	id = &SessionIdentity{}
	if !v.one(into(&id.Epoch, &id.Session, &id.User, &id.Name, &id.Email, &id.Language, &id.Operator, &id.TOTP, &id.EmailProved,
		&id.Pending, &id.CreatedAt, &id.UsedAt, &id.ProvedAt, &shop),
		"SELECT "+epochColumn+`, s.id, u.id, u.name, u.email, u.language, u.operator, u.totp_secret IS NOT NULL, u.email_proved,
			s.pending, s.created_at, s.used_at, s.proved_at, ifnull(s.shop_id, 0) FROM sessions s
			JOIN users u ON u.id=s.user_id WHERE s.hash=? AND u.disabled_at IS NULL`, hash) {
		return nil, v.failed
	}
	id.SessionID, id.UserID = v.ID(KindSession, id.Session), v.ID(KindUser, id.User)
	v.addShops(id, shop)
	return id, v.failed
}

// addShops adds the person's shops to an identity, and the one that is looked at. It leaves out those
// that have moved away, unless the person is no operator and has no other: the pages of such a person
// lead to the new address.
func (v *View) addShops(id *SessionIdentity, lookedAt int64) {
	sql := " FROM memberships m JOIN shops s ON s.id=m.shop_id WHERE m.user_id=? AND " + notDeleted +
		" ORDER BY s.closed='moved', m.shop_id"
	if id.Operator {
		// An operator acts as owner of the shops of which the operator is no member.
		sql = " FROM shops s LEFT JOIN memberships m ON m.shop_id=s.id AND m.user_id=? WHERE ifnull(closed, 'moving')='moving'" +
			" ORDER BY s.id"
	}
	cols := "s.id, s.name, ifnull(m.role, 'owner'), s.mode, s.timezone, s.currency, ifnull(s.public_url, ''), s.closed, s.moved_to," +
		" s.require_totp"
	for r := range v.each("SELECT "+cols+sql, id.User) {
		var sr ShopRole
		var closing Closing
		r.scan(&sr.Shop, &sr.Name, &sr.Role, &sr.Mode, &sr.Timezone, &sr.Currency, &sr.PublicURL, &closing.State, &closing.MovedTo)
		sr.ID = v.ID(KindShop, sr.Shop)
		if closing.State == ShopMoved && len(id.Shops) > 0 {
			break
		}
		demanded := r.bool() && sr.Role != RoleViewer
		id.Shops = append(id.Shops, sr)
		if len(id.Shops) == 1 || sr.Shop == lookedAt {
			id.Shop, id.Role, id.Closing, id.MustEnrol = sr.Shop, sr.Role, closing, demanded && !id.TOTP
		}
	}
}

// UseSession records that a session is in use. It raises no epoch, since the time of the
// last use is not exact.
func (tx *Tx) UseSession(session int64) error {
	tx.exec("UPDATE sessions SET used_at=? WHERE id=?", tx.Now, session)
	return tx.failed
}

// Session is a session as its person sees it.
type Session struct {
	ID        string `json:"id"`
	Address   string `json:"address" doc:"From which it was begun; empty: not known."`
	Agent     string `json:"agent" doc:"User-Agent of the browser."`
	Pending   bool   `json:"pending" doc:"Whether the second factor is still missing."`
	CreatedAt Time   `json:"created_at"`
	UsedAt    Time   `json:"used_at" doc:"Exact to an hour."`
}

var sessionCols = "id, address, agent, pending, created_at, used_at"

func (g IDs) scanSession(r *rows) (s Session) {
	r.scan(g.into(KindSession, &s.ID), &s.Address, &s.Agent, &s.Pending, &s.CreatedAt, &s.UsedAt)
	return s
}

// NewSession is a session to begin.
type NewSession struct {
	User    int64
	Shop    int64 // that is looked at; 0: the person's first one
	Pending bool
	// Renews says that it takes the place of another session of the person. It is then
	// no sign-in.
	Renews  bool
	Address netip.Addr // invalid: not known
	Agent   string
}

// maxAgent is how many bytes of a User-Agent are kept.
const maxAgent = 300

// BeginSession begins a session and returns its token, which is not stored. Unless it is
// pending or renews another one, it is a sign-in, and audited.
func (tx *Tx) BeginSession(n NewSession) (out Session, token string, err error) {
	token = tx.newSecret("")
	address := ""
	if n.Address.IsValid() {
		address = n.Address.String()
	}
	key := tx.insert(`INSERT INTO sessions (user_id, hash, shop_id, pending, address, agent, created_at, used_at, proved_at)
			VALUES (?1,?2,?3,?4,?5,?6,?7,?7,?7)`, n.User, Hash(token), nonZero(n.Shop), n.Pending, address, truncate(n.Agent, maxAgent),
		tx.Now)
	if !n.Pending && !n.Renews {
		tx.Actor = Actor{Type: "user", Key: n.User}
		tx.exec("UPDATE users SET last_sign_in_at=? WHERE id=?", tx.Now, n.User)
		tx.auditUser("user.sign_in", n.User)
	}
	out, err = findOne(tx, "session", tx.scanSession, "SELECT "+sessionCols+" FROM sessions WHERE id=?", key)
	return out, token, err
}

// truncate returns at most n bytes of a text, and only whole characters.
func truncate(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n]
}

// Sessions returns a person's sessions, newest first.
func (v *View) Sessions(user int64) ([]Session, error) {
	return collect(v, v.scanSession,
		"SELECT "+sessionCols+" FROM sessions WHERE user_id=? AND used_at>? AND created_at>? ORDER BY id DESC", user,
		v.Now.Add(-SessionIdle), v.Now.Add(-SessionLifetime)), v.failed
}

// EndSession ends a session of a person.
func (tx *Tx) EndSession(user int64, id string) error {
	key := tx.keyOrNone(KindSession, id)
	if tx.exec("DELETE FROM sessions WHERE id=? AND user_id=?", key, user) == 0 && tx.failed == nil {
		return notFound("session")
	}
	tx.bumpAuth()
	tx.auditUser("user.sign_out", user)
	return tx.failed
}

// DropSession ends a session that another one replaces. It audits nothing.
func (tx *Tx) DropSession(session int64) error {
	tx.exec("DELETE FROM sessions WHERE id=?", session)
	tx.bumpAuth()
	return tx.failed
}

// endOtherSessions ends all sessions of a person but one, which is 0 for none, and returns
// their number. It audits nothing.
func (tx *Tx) endOtherSessions(user, session int64) (n int64) {
	n = tx.exec("DELETE FROM sessions WHERE user_id=? AND id<>?", user, session)
	tx.bumpAuth()
	return n
}

// SignOutEverywhere ends all sessions of a person and returns their number.
func (tx *Tx) SignOutEverywhere(user int64) (n int64, err error) {
	n = tx.endOtherSessions(user, 0)
	tx.auditUser("user.sign_out_everywhere", user)
	return n, tx.failed
}

// ProveSession records that the person of a session has just given the password or a
// code of the second factor.
func (tx *Tx) ProveSession(session int64) error {
	tx.exec("UPDATE sessions SET proved_at=? WHERE id=?", tx.Now, session)
	tx.bumpAuth()
	return tx.failed
}

// SelectShop sets the shop that a session looks at, which must be one of its person's.
func (tx *Tx) SelectShop(id *SessionIdentity, shopID string) error {
	for _, sr := range id.Shops {
		if sr.ID == shopID {
			tx.exec("UPDATE sessions SET shop_id=? WHERE id=?", sr.Shop, id.Session)
			tx.bumpAuth()
			return tx.failed
		}
	}
	return notFound("shop")
}

// PruneSessions deletes up to n sessions, links and pairings that have reached their end, and
// reports whether it deleted any.
func (tx *Tx) PruneSessions(n int) (bool, error) {
	deleted := tx.exec(
		`DELETE FROM sessions WHERE id IN
			(SELECT id FROM (SELECT id, created_at, used_at, pending FROM sessions ORDER BY created_at LIMIT ?1)
			WHERE created_at<=?2 OR used_at<=?3 OR pending=1 AND created_at<=?4)`,
		n, tx.Now.Add(-SessionLifetime), tx.Now.Add(-SessionIdle), tx.Now.Add(-PendingLifetime))
	deleted += tx.exec("DELETE FROM links WHERE id IN (SELECT id FROM links WHERE expires_at<=? LIMIT ?)", tx.Now, n)
	deleted += tx.exec("DELETE FROM pairings WHERE id IN (SELECT id FROM pairings WHERE expires_at<=? LIMIT ?)", tx.Now, n)
	deleted += tx.exec("DELETE FROM sign_in_failures WHERE subject IN (SELECT subject FROM sign_in_failures WHERE ends_at<=? LIMIT ?)",
		tx.Now, n)
	return deleted > 0, tx.failed
}
