package store

import "fmt"

// Device is a till's token as operators see it: never the secret.
type Device struct {
	ID         string     `json:"id"`
	LocationID string     `json:"location_id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`
	CreatedAt  Time       `json:"created_at"`
	RevokedAt  Null[Time] `json:"revoked_at"`
}

// CreateDevice makes a device at a location and returns its token, which
// exists nowhere else. secret, if not empty, is the whole token.
func (tx *Tx) CreateDevice(shop int64, locationID, name, secret string) (d Device, token string, err error) {
	sh, err := tx.s.shop(tx.conn, shop)
	if err != nil {
		return d, "", err
	}
	loc, _, err := tx.s.location(tx.conn, Access{Shop: shop}, locationID)
	if err != nil {
		return d, "", err
	}
	if token = secret; token == "" {
		if token, err = tx.s.newSecret("tdk_" + sh.Mode + "_"); err != nil {
			return d, "", err
		}
	}
	id, err := tx.nextKey("devices")
	if err != nil {
		return d, "", err
	}
	key, err := tx.insert("INSERT INTO devices (id, shop_id, location_id, name, prefix, hash, created_at) VALUES (?,?,?,?,?,?,?)",
		id, shop, loc, name, token[:12], Hash(token), tx.Now)
	if err != nil {
		return d, "", err
	}
	if err = tx.audit(shop, "device.create", KindDevice, key, ""); err != nil {
		return d, "", err
	}
	d, err = tx.s.device(tx.conn, shop, key)
	return d, token, err
}

var deviceCols = columns("id", "location_id", "name", "prefix", "created_at", "revoked_at")

func (s *Store) scanDevice(r *rows) Device {
	return Device{ID: s.ID(KindDevice, r.int()), LocationID: s.ID(KindLocation, r.int()), Name: r.str(), Prefix: r.str(), CreatedAt: r.time(), RevokedAt: r.nullTime()}
}

func (s *Store) device(c *conn, shop, key int64) (d Device, err error) {
	ok, err := c.one(func(r *rows) { d = s.scanDevice(r) }, "SELECT "+deviceCols+" FROM devices WHERE id=? AND shop_id=?", key, shop)
	if err == nil && !ok {
		err = notFound("device")
	}
	return d, err
}

// Devices lists a shop's devices, newest first, the revoked ones too.
func (v *View) Devices(shop int64) (list []Device, err error) {
	r := v.query("SELECT "+deviceCols+" FROM devices WHERE shop_id=? ORDER BY id DESC", shop)
	for r.next() {
		list = append(list, v.s.scanDevice(r))
	}
	return list, r.close()
}

// RevokeDevice ends a device's token from the very next request on. A revoked
// one stays as it is.
func (tx *Tx) RevokeDevice(shop int64, id string) (d Device, err error) {
	key, ok := tx.s.Key(KindDevice, id)
	if !ok {
		return d, notFound("device")
	}
	if d, err = tx.s.device(tx.conn, shop, key); err != nil || d.RevokedAt.Valid {
		return d, err
	}
	if _, err = tx.exec("UPDATE devices SET revoked_at=? WHERE id=?", tx.Now, key); err != nil {
		return d, err
	}
	if err = tx.bumpAuth(); err != nil {
		return d, err
	}
	if err = tx.audit(shop, "device.revoke", KindDevice, key, ""); err != nil {
		return d, err
	}
	return tx.s.device(tx.conn, shop, key)
}

// TillIdentity is all that the till's gate knows of a device: read once, kept
// until the auth epoch moves.
type TillIdentity struct {
	Till
	Epoch            int64
	DeviceID         string
	Revoked          bool
	Subscription     string
	LocationDisabled bool
	PINRequired      bool
	PIN              string // argon2id; empty where none is set
}

// IdentifyTill finds the device with this token's hash; nil when there is
// none.
func (s *Store) IdentifyTill(hash []byte) (id *TillIdentity, err error) {
	err = s.View(0, func(v *View) error {
		_, err := v.one(func(r *rows) {
			id = &TillIdentity{Epoch: r.int()}
			id.Device, id.Shop, id.Location = r.int(), r.int(), r.int()
			id.Revoked, id.Subscription, id.LocationDisabled, id.PINRequired, id.PIN = r.bool(), r.str(), r.bool(), r.bool(), r.str()
			id.DeviceID = s.ID(KindDevice, id.Device)
		}, "SELECT "+columns(epochColumn, "d.id", "d.shop_id", "d.location_id", "d.revoked_at IS NOT NULL", "s.subscription_state", "l.disabled_at IS NOT NULL",
			"l.require_staff_pin", "l.staff_pin")+" FROM devices d JOIN shops s ON s.id=d.shop_id JOIN locations l ON l.id=d.location_id WHERE d.hash=?", hash)
		return err
	})
	return id, err
}

// TillMe is what a till asks first.
type TillMe struct {
	Device   NamedDevice     `json:"device"`
	Location Location        `json:"location"`
	Shop     NamedShop       `json:"shop"`
	Programs []ProgramDetail `json:"programs" doc:"The programs whose cards work at the location, newest first."`
}

// NamedDevice is a device by id and name.
type NamedDevice struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// NamedShop is a shop as tills see it.
type NamedShop struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Timezone string `json:"timezone"`
}

// TillMe describes the device and where it stands.
func (v *View) TillMe(at Till) (me TillMe, err error) {
	err = v.snapshot(func() error {
		d, err := v.s.device(v.conn, at.Shop, at.Device)
		if err != nil {
			return err
		}
		me.Device = NamedDevice{d.ID, d.Name}
		if _, me.Location, err = v.s.location(v.conn, Access{Shop: at.Shop}, d.LocationID); err != nil {
			return err
		}
		sh, err := v.s.shop(v.conn, at.Shop)
		if err != nil {
			return err
		}
		me.Shop = NamedShop{sh.ID, sh.Name, sh.Timezone}
		var keys []int64
		r := v.query("SELECT p.id FROM programs p WHERE p.shop_id=? AND p.deleted_at IS NULL AND "+withinRestriction+" ORDER BY p.id DESC", at.Shop, fmt.Sprintf("[%d]", at.Location))
		for r.next() {
			keys = append(keys, r.int())
		}
		if err := r.close(); err != nil {
			return err
		}
		for _, k := range keys {
			p, err := v.s.programByKey(v.conn, at.Shop, k)
			if err != nil {
				return err
			}
			me.Programs = append(me.Programs, p.ProgramDetail)
		}
		return nil
	})
	return me, err
}
