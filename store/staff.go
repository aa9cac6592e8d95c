package store

import "slices"

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

// StaffMember is a person who works at the tills of a shop, as managers see it.
type StaffMember struct {
	ID          string     `json:"id"`
	LocationIDs []string   `json:"location_ids" doc:"Where the person works. Empty means all locations."`
	Name        string     `json:"name"`
	DisabledAt  Null[Time] `json:"disabled_at"`
	CreatedAt   Time       `json:"created_at"`
}

// StaffPatch are the fields of UpdateStaff.
type StaffPatch struct {
	Name        Opt[string]   `json:"name" min:"1" max:"200" format:"line"`
	LocationIDs Opt[[]string] `json:"location_ids" max:"1000" patch:"default" doc:"The locations at whose tills the person works. Empty or null: all."`
}

// maxStaff is how many members of staff may work at a location who are not disabled: every
// till of the location lists them.
const maxStaff = 100

// The columns of a member of staff, and the condition on those who work at all locations.
const (
	staffLocations  = "(SELECT group_concat(location_id) FROM staff_locations WHERE staff_id=s.id)"
	staffCols       = "s.id, " + staffLocations + ", s.name, s.disabled_at, s.created_at"
	staffEverywhere = "NOT EXISTS (SELECT 1 FROM staff_locations WHERE staff_id=s.id)"
)

func (g IDs) scanStaff(r *rows) (s StaffMember) {
	r.scan(g.into(KindStaff, &s.ID))
	s.LocationIDs = g.idsOf(KindLocation, r.keys(), []string{})
	r.scan(&s.Name, &s.DisabledAt, &s.CreatedAt)
	return s
}

// staffMember returns a member of staff of the shop.
func (tx *Tx) staffMember(shop int64, id string) (m StaffMember, key int64, err error) {
	key = tx.keyOrNone(KindStaff, id)
	m, err = findOne(tx, "member of staff", tx.scanStaff, "SELECT "+staffCols+" FROM staff s WHERE s.id=? AND s.shop_id=?", key, shop)
	return m, key, err
}

// Staff returns the staff of a shop, also those who are disabled, by name.
func (v *View) Staff(shop int64) ([]StaffMember, error) {
	return collect(v, v.scanStaff, "SELECT "+staffCols+" FROM staff s WHERE s.shop_id=? ORDER BY s.name, s.id", shop), v.failed
}

// CreateStaff adds a member of staff with a PIN, which need not be unique, to the locations of f, or
// to all if it has none. f has a name.
func (tx *Tx) CreateStaff(shop int64, f StaffPatch, pin StaffPIN) (m StaffMember, err error) {
	key := tx.insert("INSERT INTO staff (id, shop_id, name, pin, created_at) VALUES (?,?,?,?,?)", tx.nextKey("staff"), shop, f.Name.V,
		pin.hash.V, tx.Now)
	if err := tx.setStaffLocations(shop, key, f.LocationIDs.Or(nil)); err != nil {
		return m, err
	}
	return tx.recordStaffChange(shop, key, "staff.create")
}

// UpdateStaff changes the fields that f names. The person's sessions at tills of locations where the
// person no longer works end. A member who has the values already stays as it is.
func (tx *Tx) UpdateStaff(shop int64, id string, f StaffPatch) (m StaffMember, err error) {
	m, key, err := tx.staffMember(shop, id)
	if err != nil {
		return m, err
	}
	tx.exec("UPDATE staff SET name=? WHERE id=?", f.Name.Or(m.Name), key)
	if f.LocationIDs.Set {
		if err := tx.setStaffLocations(shop, key, f.LocationIDs.Or(nil)); err != nil {
			return m, err
		}
	}
	if now, _, err := tx.staffMember(shop, id); err != nil || now.Name == m.Name && slices.Equal(now.LocationIDs, m.LocationIDs) {
		return now, err
	}
	return tx.recordStaffChange(shop, key, "staff.update")
}

// setStaffLocations has a member of staff work at locations, or at all if there are none.
func (tx *Tx) setStaffLocations(shop, member int64, ids []string) error {
	keys, details := tx.ownKeys(KindLocation, shop, "location_ids", ids)
	if details != nil {
		return Invalid(details...)
	}
	tx.exec("DELETE FROM staff_locations WHERE staff_id=?", member)
	for _, l := range keys {
		tx.exec("INSERT INTO staff_locations (staff_id, location_id) VALUES (?,?)", member, l)
	}
	return tx.checkStaffRoom(shop, member)
}

// checkStaffRoom returns an error if more than maxStaff can sign in at a location where a member of
// staff works.
func (tx *Tx) checkStaffRoom(shop, member int64) error {
	everywhere := tx.number("SELECT count(*) FROM staff s WHERE s.shop_id=? AND s.disabled_at IS NULL AND "+staffEverywhere, shop)
	most := tx.number(`SELECT ifnull(max(n), 0) FROM (SELECT count(*) AS n FROM staff s JOIN staff_locations l ON l.staff_id=s.id
		WHERE s.shop_id=?1 AND s.disabled_at IS NULL AND (NOT EXISTS (SELECT 1 FROM staff_locations WHERE staff_id=?2)
		OR EXISTS (SELECT 1 FROM staff_locations m WHERE m.staff_id=?2 AND m.location_id=l.location_id)) GROUP BY l.location_id)`,
		shop, member)
	if tx.failed == nil && everywhere+most > maxStaff {
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
	tx.exec("UPDATE staff SET disabled_at=? WHERE id=?", Null[Time]{tx.Now, disabled}, key)
	action := "staff.disable"
	if !disabled {
		action = "staff.enable"
		if err := tx.checkStaffRoom(shop, key); err != nil {
			return m, err
		}
	}
	return tx.recordStaffChange(shop, key, action)
}

// recordStaffChange audits a change of a member of staff, ends the caching of it, and
// returns the member.
func (tx *Tx) recordStaffChange(shop, key int64, action string) (m StaffMember, err error) {
	tx.bumpAuth()
	tx.audit(shop, action, KindStaff, key)
	m, _, err = tx.staffMember(shop, tx.ID(KindStaff, key))
	return m, err
}

// NewStaffToken returns the token of a new session of a member of staff at a till, and
// audits that it begins. The session itself is kept in memory.
func (tx *Tx) NewStaffToken(till Till, member int64) (token string, err error) {
	tx.audit(till.Shop, "staff.sign_in", KindStaff, member)
	return tx.newSecret(""), tx.failed
}

// EndStaffSession audits that a member of staff ends a session at a till.
func (tx *Tx) EndStaffSession(till Till, member int64) error {
	tx.audit(till.Shop, "staff.sign_out", KindStaff, member)
	return tx.failed
}

// TillStaff is a member of staff who may sign in at a till.
type TillStaff struct {
	Staff
	PIN string // argon2id
}

// tillStaff returns those who may sign in at a till, by name.
func (v *View) tillStaff(at Till) []TillStaff {
	return collect(v, func(r *rows) TillStaff { return TillStaff{Staff{r.int(), r.str()}, r.str()} },
		"SELECT s.id, s.name, s.pin FROM staff s WHERE s.shop_id=? AND s.disabled_at IS NULL AND ("+staffEverywhere+
			" OR EXISTS (SELECT 1 FROM staff_locations WHERE staff_id=s.id AND location_id=?)) ORDER BY s.name, s.id",
		at.Shop, at.Location)
}
