package store

// Staff is a person who works at a till, for the rows of the ledger.
type Staff struct {
	Key  int64
	Name string
}

// NamedStaff is a member of staff by id and name.
type NamedStaff struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// namedStaff returns a member of staff as answers show it, nil for nobody.
func (g IDs) namedStaff(s Staff) *NamedStaff {
	if s.Key == 0 {
		return nil
	}
	return &NamedStaff{g.ID(KindStaff, s.Key), s.Name}
}

// StaffMember is a person who works at the tills of a location, as managers see it.
type StaffMember struct {
	ID         string     `json:"id"`
	LocationID string     `json:"location_id"`
	Name       string     `json:"name"`
	DisabledAt Null[Time] `json:"disabled_at"`
	CreatedAt  Time       `json:"created_at"`
}

// maxStaff is how many members of staff a location may have who are not disabled: every
// till of the location lists them.
const maxStaff = 100

var staffCols = "id, location_id, name, disabled_at, created_at"

func (g IDs) scanStaff(r *rows) (s StaffMember) {
	r.scan(g.into(KindStaff, &s.ID), g.into(KindLocation, &s.LocationID), &s.Name, &s.DisabledAt, &s.CreatedAt)
	return s
}

// staffMember returns a member of staff of the shop.
func (tx *Tx) staffMember(shop int64, id string) (m StaffMember, key int64, err error) {
	key = tx.keyOrNone(KindStaff, id)
	err = tx.find(
		"member of staff",
		func(r *rows) { m = tx.scanStaff(r) },
		"SELECT "+staffCols+" FROM staff WHERE id=? AND shop_id=?",
		key,
		shop,
	)
	return m, key, err
}

// Staff returns the staff of a shop, also those who are disabled, by location and name.
func (v *View) Staff(shop int64) ([]StaffMember, error) {
	return list(v.conn, v.scanStaff, "SELECT "+staffCols+" FROM staff WHERE shop_id=? ORDER BY location_id, name, id", shop)
}

// CreateStaff adds a member of staff with a PIN, which need not be unique, to a location.
func (tx *Tx) CreateStaff(shop int64, location, name string, pin StaffPIN) (m StaffMember, err error) {
	at, _, err := tx.location(Access{Shop: shop}, location)
	if err == nil {
		err = tx.checkStaffRoom(at)
	}
	if err != nil {
		return m, err
	}
	key := tx.insert("INSERT INTO staff (id, shop_id, location_id, name, pin, created_at) VALUES (?,?,?,?,?,?)", tx.nextKey("staff"),
		shop, at, name, pin.hash.V, tx.Now)
	return tx.recordStaffChange(shop, key, "staff.create")
}

// checkStaffRoom refuses a further member of staff at a location that has maxStaff.
func (tx *Tx) checkStaffRoom(location int64) error {
	if tx.number("SELECT count(*) FROM staff WHERE location_id=? AND disabled_at IS NULL", location) >= maxStaff {
		return refuse(Unprocessable, "The location has %d members of staff, which is the maximum.", maxStaff)
	}
	return tx.failed
}

// SetStaffMemberPIN sets the PIN of a member of staff, whose sessions end.
func (tx *Tx) SetStaffMemberPIN(shop int64, id string, pin StaffPIN) (m StaffMember, err error) {
	_, key, err := tx.staffMember(shop, id)
	if err != nil {
		return m, err
	}
	tx.exec("UPDATE staff SET pin=? WHERE id=?", pin.hash.V, key)
	return tx.recordStaffChange(shop, key, "staff.set_pin")
}

// SetStaffDisabled disables a member of staff, whose sessions end, or enables one again. It
// does nothing if that is so already.
func (tx *Tx) SetStaffDisabled(shop int64, id string, disabled bool) (m StaffMember, err error) {
	m, key, err := tx.staffMember(shop, id)
	if err != nil || m.DisabledAt.Valid == disabled {
		return m, err
	}
	action := "staff.disable"
	if !disabled {
		action = "staff.enable"
		if err := tx.checkStaffRoom(tx.keyOrNone(KindLocation, m.LocationID)); err != nil {
			return m, err
		}
	}
	tx.exec("UPDATE staff SET disabled_at=? WHERE id=?", Null[Time]{tx.Now, disabled}, key)
	return tx.recordStaffChange(shop, key, action)
}

// recordStaffChange audits a change of a member of staff, ends the caching of it, and
// returns the member.
func (tx *Tx) recordStaffChange(shop, key int64, action string) (m StaffMember, err error) {
	tx.bumpAuth()
	tx.audit(shop, action, KindStaff, key, "")
	m, _, err = tx.staffMember(shop, tx.ID(KindStaff, key))
	return m, err
}

// NewStaffToken returns the token of a new session of a member of staff at a till, and
// audits that it begins. The session itself is kept in memory.
func (tx *Tx) NewStaffToken(till Till, member int64) (token string, err error) {
	tx.audit(till.Shop, "staff.sign_in", KindStaff, member, "")
	return tx.newSecret(""), tx.failed
}

// EndStaffSession audits that a member of staff ends a session at a till.
func (tx *Tx) EndStaffSession(till Till, member int64) error {
	tx.audit(till.Shop, "staff.sign_out", KindStaff, member, "")
	return tx.failed
}

// TillStaff is a member of staff who may sign in at a till.
type TillStaff struct {
	Staff
	PIN string // argon2id
}

// tillStaff returns those who may sign in at the tills of a location, by name.
func (v *View) tillStaff(location int64) []TillStaff {
	return collect(v, func(r *rows) TillStaff { return TillStaff{Staff{r.int(), r.str()}, r.str()} },
		"SELECT id, name, pin FROM staff WHERE location_id=? AND disabled_at IS NULL ORDER BY name, id", location)
}
