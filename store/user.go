package store

// The roles of a person in a shop.
const (
	RoleOwner   = "owner"
	RoleManager = "manager"
	RoleViewer  = "viewer"
)

// User is a person's account as operators see it.
type User struct {
	ID           string     `json:"id"`
	Email        string     `json:"email"`
	Name         string     `json:"name"`
	Language     string     `json:"language"`
	Operator     bool       `json:"operator"`
	TOTP         bool       `json:"totp" doc:"Whether there is a second factor."`
	DisabledAt   Null[Time] `json:"disabled_at"`
	LastSignInAt Null[Time] `json:"last_sign_in_at"`
	CreatedAt    Time       `json:"created_at"`
	UpdatedAt    Time       `json:"updated_at"`
}

var userCols = `u.id, u.email, u.name, u.language, u.operator, u.totp_secret IS NOT NULL, u.disabled_at, u.last_sign_in_at,
	u.created_at, u.updated_at`

func (g IDs) scanUser(r *rows) (u User) {
	r.scan(g.into(KindUser, &u.ID), &u.Email, &u.Name, &u.Language, &u.Operator, &u.TOTP, &u.DisabledAt, &u.LastSignInAt, &u.CreatedAt,
		&u.UpdatedAt)
	return u
}

// user returns a person by the key.
func (q *queries) user(key int64) (User, error) {
	return findOne(q, "person", q.scanUser, "SELECT "+userCols+" FROM users u WHERE u.id=?", key)
}

// User returns a person.
func (v *View) User(key int64) (User, error) { return v.user(key) }

// Users returns all persons of the file, oldest first.
func (v *View) Users() ([]User, error) {
	return collect(v, v.scanUser, "SELECT "+userCols+" FROM users u ORDER BY u.id"), v.failed
}

// UserByEmail returns the id of the person with an email.
func (v *View) UserByEmail(email string) (id string, err error) {
	err = v.find("person", func(r *rows) { id = v.ID(KindUser, r.int()) }, "SELECT id FROM users WHERE email_key=?", foldCase(email))
	return id, err
}

// UserKey returns the key of a person by the id.
func (tx *Tx) UserKey(id string) (int64, error) {
	key := tx.keyOrNone(KindUser, id)
	_, err := tx.user(key)
	return key, err
}

// operators returns the number of persons who are operators and may sign in.
func (q *queries) operators() int64 {
	return q.number("SELECT count(*) FROM users WHERE operator=1 AND disabled_at IS NULL")
}

// HasOperator reports whether the file has a person who is an operator and may sign in.
func (v *View) HasOperator() (bool, error) { return v.operators() > 0, v.failed }

// NewUser is a person to add.
type NewUser struct {
	Email    string
	Name     string
	Password string // argon2id in PHC form
	Language string
	Operator bool
	// EmailProved says that only the mailbox was given the link that makes the account.
	EmailProved bool
}

// AddUser adds a person. An email that another person has is a conflict.
func (tx *Tx) AddUser(n NewUser) (key int64, err error) {
	if tx.number("SELECT count(*) FROM users WHERE email_key=?", foldCase(n.Email)) > 0 {
		return 0, refuse(Conflict, "There is an account with this email already.")
	}
	key = tx.insert(
		`INSERT INTO users (id, email, email_key, name, password, language, operator, password_changed_at, created_at, updated_at,
			email_proved)
		VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?8,?8,?9)`, tx.nextKey("users"), n.Email, foldCase(n.Email), n.Name, n.Password, n.Language,
		n.Operator, tx.Now, n.EmailProved)
	tx.audit(0, "user.create", KindUser, key)
	return key, tx.failed
}

// auditUser inserts an audit row about a person's account into the log of the first of
// the person's shops.
func (tx *Tx) auditUser(action string, user int64, detail ...string) {
	tx.insertAudit(tx.firstShop(user), action, KindUser, user, detail...)
}

// firstShop returns the first of a person's shops, 0 if there is none.
func (tx *Tx) firstShop(user int64) int64 {
	return tx.number("SELECT ifnull(min(shop_id), 0) FROM memberships WHERE user_id=?", user)
}
