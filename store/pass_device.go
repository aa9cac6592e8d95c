package store

import "strconv"

// maxPhones is how many phones are woken about one pass. The oldest ends for a further one.
const maxPhones = 50

// DeviceFields is the body with which a phone registers for a pass.
type DeviceFields struct {
	PushToken Opt[string] `json:"pushToken" req:"true" min:"1" max:"200" pattern:"^[0-9A-Za-z]+$" words:"must be letters and digits"`
}

// ofPass is the condition of the rows of the pass of the chain ?1 and its generation ?2.
const ofPass = " WHERE card_id=?1 AND generation=?2"

// RegisterDevice registers a phone for a pass: it is woken when the pass changes. RegisterDevice reports whether the phone was not
// registered before. If the pass has changed since it was downloaded, the phone is woken at once. A pass that has ended is
// forgotten when it was to be, with the phone.
func (tx *Tx) RegisterDevice(device, passType, serial, token string, f DeviceFields) (created bool, err error) {
	shop, root, generation, err := tx.openPass(passType, serial, token)
	if err != nil {
		return false, err
	}
	tx.requireOpen(shop)
	if tx.exec("UPDATE apple_devices SET push_token=?4, created_at=?5, attempts=0, due_at=0"+ofPass+" AND device=?3",
		root, generation, device, f.PushToken.V, tx.Now) > 0 {
		return false, tx.failed
	}
	if tx.number("SELECT count(*) FROM apple_passes"+ofPass, root, generation) == 0 {
		tx.writePass(Pass{Root: root, Generation: generation, Modified: tx.Now - tx.Now%1000, Hash: []byte{}})
	}
	tx.exec(`INSERT INTO apple_devices (card_id, shop_id, generation, device, push_token, created_at, told)
		SELECT card_id, shop_id, generation, ?3, ?4, ?5, CAST(downloaded AS TEXT) FROM apple_passes`+ofPass,
		root, generation, device, f.PushToken.V, tx.Now)
	tx.exec("DELETE FROM apple_devices WHERE id=(SELECT min(id) FROM apple_devices"+ofPass+" HAVING count(*)>?3)", root, generation,
		maxPhones)
	tx.exec("UPDATE apple_passes AS x SET delete_at=NULL"+ofPass+
		" AND NOT EXISTS (SELECT 1 FROM cards c WHERE c.id=x.card_id AND "+passEnded+")", root, generation)
	if tx.number("SELECT id<>downloaded FROM apple_passes"+ofPass, root, generation) > 0 {
		tx.queuePushes(root, CopyApple)
	}
	return true, tx.failed
}

// UnregisterDevice ends the registration of a phone for a pass, if there is one.
func (tx *Tx) UnregisterDevice(device, passType, serial, token string) error {
	shop, root, generation, err := tx.openPass(passType, serial, token)
	if err != nil {
		return err
	}
	tx.requireOpen(shop)
	tx.exec("DELETE FROM apple_devices"+ofPass+" AND device=?3", root, generation, device)
	tx.exec("UPDATE apple_passes SET delete_at=?3"+ofPass+" AND delete_at IS NULL AND NOT EXISTS (SELECT 1 FROM apple_devices"+ofPass+")",
		root, generation, tx.Now.Add(passKept))
	return tx.failed
}

// ChangedPasses are the passes of a phone that have changed.
type ChangedPasses struct {
	LastUpdated   string   `json:"lastUpdated"`
	SerialNumbers []string `json:"serialNumbers"`
}

// PassesOfDevice returns the passes of a type that a phone has and that have changed since it got an
// answer with a LastUpdated. An empty one, and one that no answer had, is that of a phone that knows nothing. While the certificate
// of their shop has ended, passes cannot be read, so that none has changed.
func (v *View) PassesOfDevice(device, passType, since string) (c ChangedPasses, err error) {
	v.snapshot()
	after, err := strconv.ParseInt(since, 10, 64)
	if err != nil {
		after = 0
	}
	last := after
	for r := range v.each(`SELECT p.id, x.card_id, x.generation FROM apple_devices x
		JOIN apple_passes p ON p.card_id=x.card_id AND p.generation=x.generation JOIN apple_wallets w ON w.shop_id=x.shop_id
		WHERE x.device=? AND w.pass_type=? AND w.not_after>=? AND p.id>?`, device, passType, v.Now, after) {
		var changes, root, generation int64
		r.scan(&changes, &root, &generation)
		last = max(last, changes)
		c.SerialNumbers = append(c.SerialNumbers, v.passSerial(root, generation))
	}
	c.LastUpdated = strconv.FormatInt(last, 10)
	return c, v.failed
}

// endedOfDevice selects the registrations of a phone for passes that have ended, until it has asked for them.
const endedOfDevice = "SELECT x.id FROM apple_devices x JOIN cards c ON c.id=x.card_id WHERE x.device=?1 AND x.listed=0 AND " + passEnded

// EndedPassesOfDevice returns the function that notes that a phone has asked which of its passes have changed: those that have ended,
// it reads once more. It is nil if none has ended since the phone asked last.
func (v *View) EndedPassesOfDevice(device string) (func(*Tx) error, error) {
	if v.number("SELECT EXISTS ("+endedOfDevice+")", device) == 0 {
		return nil, v.failed
	}
	return func(tx *Tx) error {
		tx.exec("UPDATE apple_devices SET listed=(SELECT p.id FROM apple_passes p WHERE p.card_id=apple_devices.card_id"+
			" AND p.generation=apple_devices.generation) WHERE id IN ("+endedOfDevice+")", device)
		return tx.failed
	}, nil
}
