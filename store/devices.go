package store

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
		if token, err = tx.s.secret("tdk_" + sh.Mode + "_"); err != nil {
			return d, "", err
		}
	}
	key, err := tx.insert("INSERT INTO devices (shop_id, location_id, name, prefix, hash, created_at) VALUES (?,?,?,?,?,?)",
		shop, loc, name, token[:12], Hash(token), tx.Now)
	if err != nil {
		return d, "", err
	}
	d = Device{ID: tx.s.ID(KindDevice, key), LocationID: locationID, Name: name, Prefix: token[:12], CreatedAt: tx.Now}
	return d, token, tx.audit(shop, "device.create", KindDevice, key, "")
}
