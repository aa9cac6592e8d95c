package store

import "fmt"

// Device is a till's device as operators see it, without its token.
type Device struct {
	ID             string     `json:"id"`
	LocationID     string     `json:"location_id"`
	Name           string     `json:"name"`
	Prefix         string     `json:"prefix"`
	CreatedAt      Time       `json:"created_at"`
	RevokedAt      Null[Time] `json:"revoked_at"`
	AcceptsCardIDs bool       `json:"accepts_card_ids"`
	LastUsedAt     Null[Time] `json:"last_used_at" doc:"Up to a minute late; null: it made no request yet."`
}

// NewDevice is a device to create.
type NewDevice struct {
	LocationID     string // the location that it stands at
	Name           string
	AcceptsCardIDs bool   // its writes may name a card by its id
	Secret         string // if not empty, the whole token
}

// CreateDevice creates a device and returns its token, which is not stored.
func (tx *Tx) CreateDevice(shop int64, n NewDevice) (d Device, token string, err error) {
	sh := tx.shop(shop)
	loc, _, err := tx.location(Access{Shop: shop}, n.LocationID)
	if err != nil {
		return d, "", err
	}
	if token = n.Secret; token == "" {
		token = tx.newSecret("tdk_" + sh.Mode + "_")
	}
	key := tx.insert(
		"INSERT INTO devices (id, shop_id, location_id, name, prefix, hash, created_at, accepts_card_ids) VALUES (?,?,?,?,?,?,?,?)",
		tx.nextKey("devices"), shop, loc, n.Name, token[:12], Hash(token), tx.Now, n.AcceptsCardIDs)
	tx.audit(shop, "device.create", KindDevice, key)
	d, err = tx.device(shop, key)
	return d, token, err
}

var deviceCols = "id, location_id, name, prefix, created_at, revoked_at, accepts_card_ids, last_used_at"

func (g IDs) scanDevice(r *rows) (d Device) {
	r.scan(g.into(KindDevice, &d.ID), g.into(KindLocation, &d.LocationID), &d.Name, &d.Prefix, &d.CreatedAt, &d.RevokedAt,
		&d.AcceptsCardIDs, &d.LastUsedAt)
	return d
}

func (q *queries) device(shop, key int64) (Device, error) {
	return findOne(q, "device", q.scanDevice, "SELECT "+deviceCols+" FROM devices WHERE id=? AND shop_id=?", key, shop)
}

// Devices returns a shop's devices, newest first, the revoked ones too.
func (v *View) Devices(shop int64) ([]Device, error) {
	return collect(v, v.scanDevice, "SELECT "+deviceCols+" FROM devices WHERE shop_id=? ORDER BY id DESC", shop), v.failed
}

// RevokeDevice revokes a device's token from the next request on. Revoking a
// revoked device changes nothing.
func (tx *Tx) RevokeDevice(shop int64, id string) (d Device, err error) {
	key := tx.keyOrNone(KindDevice, id)
	if d, err = tx.device(shop, key); err != nil || d.RevokedAt.Valid {
		return d, err
	}
	tx.exec("UPDATE devices SET revoked_at=? WHERE id=?", tx.Now, key)
	tx.bumpAuth()
	tx.audit(shop, "device.revoke", KindDevice, key)
	return tx.device(shop, key)
}

// NoteUses stores when keys and devices made their last requests. It changes nothing
// else of them, and no audit row says it.
func (tx *Tx) NoteUses(last map[Actor]Time) error {
	for actor, at := range last {
		switch actor.Type {
		case "api_key":
			tx.exec("UPDATE keys SET last_used_at=? WHERE id=?", at, actor.Key)
		case "device":
			tx.exec("UPDATE devices SET last_used_at=? WHERE id=?", at, actor.Key)
		}
	}
	return tx.failed
}

// TillIdentity is all that the till's guard needs to know of a device. It is read
// once and cached until the auth epoch changes.
type TillIdentity struct {
	Till
	Epoch            int64
	DeviceID         string
	Revoked          bool
	Subscription     string
	LocationDisabled bool
	PINRequired      bool
	StaffRequired    bool        // a session of a member of staff, which no PIN replaces
	PIN              string      // argon2id; empty where none is set
	Staff            []TillStaff // who may sign in, by name
	Closing          Closing     // of the shop
}

// IdentifyTill returns the device with this hash of a token, nil if there is
// none.
func (s *Store) IdentifyTill(hash []byte) (id *TillIdentity, err error) {
	err = s.View(0, func(v *View) error {
		found := TillIdentity{}
		if v.one(into(&found.Epoch, &found.Device, &found.Shop, &found.Location, &found.AcceptsCardIDs, &found.Revoked,
			&found.Subscription, &found.LocationDisabled, &found.PINRequired, &found.PIN, &found.StaffRequired,
			&found.Closing.State, &found.Closing.MovedTo),
			"SELECT "+epochColumn+`, d.id, d.shop_id, d.location_id, d.accepts_card_ids, d.revoked_at IS NOT NULL, s.subscription_state,
			l.disabled_at IS NOT NULL, l.require_staff_pin, l.staff_pin, l.require_staff, s.closed, s.moved_to FROM devices d
			JOIN shops s ON s.id=d.shop_id JOIN locations l ON l.id=d.location_id WHERE d.hash=?`, hash) {
			id = &found
			id.DeviceID, id.Staff = v.ID(KindDevice, id.Device), v.tillStaff(id.Till)
		}
		return v.failed
	})
	return id, err
}

// TillMe describes a device, its location and its shop.
type TillMe struct {
	Device         NamedDevice      `json:"device"`
	Location       LocationSettings `json:"location"`
	Shop           TillShop         `json:"shop"`
	Programs       []ProgramDetail  `json:"programs" doc:"The programs whose cards work at the location, newest first."`
	AcceptsCardIDs bool             `json:"accepts_card_ids" doc:"Whether the device's writes may name a card by its id; lookups always may."`
	Staff          []NamedStaff     `json:"staff" doc:"Who may sign in at the location, by name."`
	RestoreID      string           `json:"restore_id" doc:"Another one after the file was restored from a backup: what was acknowledged since the backup is to be sent again, with the same client_reference."`
}

// NamedDevice is a device by id and name.
type NamedDevice struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// NamedShop is a shop by id and name, with its time zone.
type NamedShop struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Timezone string `json:"timezone"`
}

// TillShop is a shop as its tills see it.
type TillShop struct {
	NamedShop
	Currency string `json:"currency" doc:"ISO 4217. Amounts in cents are in its smallest unit."`
}

// TillMe returns the description of a device.
func (v *View) TillMe(at Till) (me TillMe, err error) {
	v.snapshot()
	d, err := v.device(at.Shop, at.Device)
	if err != nil {
		return me, err
	}
	me.Device, me.AcceptsCardIDs = NamedDevice{d.ID, d.Name}, d.AcceptsCardIDs
	if _, me.Location, err = v.location(Access{Shop: at.Shop}, d.LocationID); err != nil {
		return me, err
	}
	sh := v.shop(at.Shop)
	me.Shop = TillShop{NamedShop{sh.ID, sh.Name, sh.Timezone}, sh.Currency}
	me.RestoreID = v.s.restoreID()
	staff := v.tillStaff(at)
	me.Staff = make([]NamedStaff, 0, len(staff))
	for _, m := range staff {
		me.Staff = append(me.Staff, *v.namedStaff(m.Staff))
	}
	keys := v.keys(
		"SELECT p.id FROM programs p WHERE p.shop_id=? AND p.deleted_at IS NULL AND "+withinRestriction+" ORDER BY p.id DESC", at.Shop,
		fmt.Sprintf("[%d]", at.Location))
	for _, k := range keys {
		p := v.programByKey(at.Shop, k)
		me.Programs = append(me.Programs, p.ProgramDetail)
	}
	return me, nil
}
