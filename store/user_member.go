package store

import "fmt"

// Member is a person with a role in a shop.
type Member struct {
	ID           string     `json:"id" doc:"Of the person."`
	Email        string     `json:"email"`
	Name         string     `json:"name"`
	Role         string     `json:"role" enum:"owner,manager,viewer"`
	TOTP         bool       `json:"totp" doc:"Whether there is a second factor."`
	Disabled     bool       `json:"disabled"`
	LastSignInAt Null[Time] `json:"last_sign_in_at"`
	CreatedAt    Time       `json:"created_at" doc:"When the person joined the shop."`
}

var memberCols = `u.id, u.email, u.name, m.role, u.totp_secret IS NOT NULL, u.disabled_at IS NOT NULL, u.last_sign_in_at,
	m.created_at`

func (g IDs) scanMember(r *rows) (m Member) {
	r.scan(g.into(KindUser, &m.ID), &m.Email, &m.Name, &m.Role, &m.TOTP, &m.Disabled, &m.LastSignInAt, &m.CreatedAt)
	return m
}

// member returns a member of a shop by the person's id.
func (q *queries) member(shop int64, id string) (user int64, m Member, err error) {
	user = q.keyOrNone(KindUser, id)
	m, err = findOne(q, "person", q.scanMember,
		"SELECT "+memberCols+" FROM memberships m JOIN users u ON u.id=m.user_id WHERE m.shop_id=? AND m.user_id=?", shop, user)
	return user, m, err
}

// Members returns the members of a shop, in the order of their accounts.
func (v *View) Members(shop int64) ([]Member, error) {
	return collect(v, v.scanMember,
		"SELECT "+memberCols+" FROM memberships m JOIN users u ON u.id=m.user_id WHERE m.shop_id=? ORDER BY m.user_id", shop), v.failed
}

// AddMember gives a person a role in a shop.
func (tx *Tx) AddMember(user, shop int64, role string) error {
	if tx.number("SELECT count(*) FROM memberships WHERE user_id=? AND shop_id=?", user, shop) > 0 {
		return refuse(Conflict, "The person belongs to the shop already.")
	}
	tx.requireOpen(shop)
	tx.exec("INSERT INTO memberships (user_id, shop_id, role, created_at) VALUES (?,?,?,?)", user, shop, role, tx.Now)
	tx.bumpAuth()
	tx.audit(shop, "user.join", KindUser, user, fmt.Sprintf(`{"role":%q}`, role))
	return tx.failed
}

// SetRole changes the role of a member and ends the person's sessions but that of the caller,
// which is 0 without one. A member who has the role already stays as they are. The last owner
// cannot get another role.
func (tx *Tx) SetRole(shop int64, id, role string, session int64) (m Member, err error) {
	user, m, err := tx.member(shop, id)
	if err != nil || m.Role == role {
		return m, err
	}
	if err := tx.keepOwner(shop, user, m); err != nil {
		return m, err
	}
	tx.exec("UPDATE memberships SET role=? WHERE user_id=? AND shop_id=?", role, user, shop)
	tx.audit(shop, "user.set_role", KindUser, user, fmt.Sprintf(`{"from":%q,"to":%q}`, m.Role, role))
	tx.lessenPerson(shop, user, session)
	_, m, err = tx.member(shop, id)
	return m, err
}

// RemoveMember takes a person out of a shop and ends the person's sessions. The account
// stays. The last owner cannot be removed.
func (tx *Tx) RemoveMember(shop int64, id string) error {
	user, m, err := tx.member(shop, id)
	if err != nil {
		return err
	}
	if err := tx.keepOwner(shop, user, m); err != nil {
		return err
	}
	tx.exec("DELETE FROM memberships WHERE user_id=? AND shop_id=?", user, shop)
	tx.audit(shop, "user.remove", KindUser, user)
	tx.lessenPerson(shop, user, 0)
	return tx.failed
}

// keepOwner refuses to take the role from the last owner of a shop who may sign in.
func (tx *Tx) keepOwner(shop, user int64, m Member) error {
	if m.Role == RoleOwner &&
		tx.number(
			`SELECT count(*) FROM memberships m JOIN users u ON u.id=m.user_id WHERE m.shop_id=? AND m.role='owner' AND m.user_id<>?
				AND u.disabled_at IS NULL`, shop, user) == 0 {
		return refuse(Conflict, "The shop has no other owner. Make somebody else an owner first.")
	}
	return nil
}

// lessenPerson ends the sessions but one of a person whose role in a shop has changed, and the
// invitations to it that the person has made.
func (tx *Tx) lessenPerson(shop, user, session int64) {
	tx.exec("DELETE FROM links WHERE kind='invitation' AND shop_id=? AND created_by=?", shop, user)
	tx.endOtherSessions(user, session)
}

// SetUserDisabled disables or enables an account. Disabling ends its sessions and links.
// It does nothing if the account is in that state already. The last operator cannot be
// disabled.
func (tx *Tx) SetUserDisabled(id string, disabled bool) (u User, err error) {
	key := tx.keyOrNone(KindUser, id)
	if u, err = tx.user(key); err != nil || u.DisabledAt.Valid == disabled {
		return u, err
	}
	if disabled && u.Operator && tx.operators() == 1 {
		return u, refuse(Conflict, "There is no other operator. Invite one first.")
	}
	action := "user.enable"
	if disabled {
		action = "user.disable"
	}
	tx.exec("UPDATE users SET disabled_at=?, updated_at=? WHERE id=?", Null[Time]{tx.Now, disabled}, tx.Now, key)
	tx.exec("DELETE FROM links WHERE user_id=?1 OR created_by=?1", key)
	tx.endOtherSessions(key, 0)
	tx.auditUser(action, key)
	return tx.user(key)
}

// UpdateUser changes the name and the language of a person. Absent ones stay.
func (tx *Tx) UpdateUser(key int64, name, language Opt[string]) (u User, err error) {
	if u, err = tx.user(key); err != nil {
		return u, err
	}
	changed := u
	changed.Name, changed.Language = name.Or(u.Name), language.Or(u.Language)
	if changed == u {
		return u, nil
	}
	tx.exec("UPDATE users SET name=?, language=?, updated_at=? WHERE id=?", changed.Name, changed.Language, tx.Now, key)
	tx.bumpAuth()
	tx.auditUser("user.update", key)
	return tx.user(key)
}
