package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"punchcard/store/sqlite"
)

// secretCheckSince is the first version whose files have meta.id_check.
const secretCheckSince = 6

// secretCheck returns the value by which the file recognises its id secret. The
// secret has 128 random bits and cannot be found from it.
func secretCheck(secret []byte) []byte {
	sum := sha256.Sum256(append([]byte("punchcard id secret "), secret...))
	return sum[:8]
}

// readIDs reads the id secret of a file of version v and verifies it: with another
// one all ids, links and card codes that were given out would name nothing, or
// something else.
func (c *conn) readIDs(v int64) (IDs, error) {
	column := "NULL"
	if v >= secretCheckSince {
		column = "id_check"
	}
	var secret, check []byte
	found, err := c.one(func(r *rows) { secret, check = r.bytes(), r.bytes() }, "SELECT "+columns("id_secret", column)+" FROM meta")
	switch {
	case err != nil:
		return IDs{}, err
	case !found:
		return IDs{}, errors.New("its table meta has no row")
	case len(secret) != 16:
		return IDs{}, fmt.Errorf("its id_secret has %d bytes instead of 16", len(secret))
	case v >= secretCheckSince && !bytes.Equal(check, secretCheck(secret)):
		return IDs{}, errSecret
	}
	ids, err := newIDs(secret)
	if err == nil {
		err = c.checkRememberedID(ids)
	}
	return ids, err
}

var errSecret = errors.New("its id_secret is not the one that its ids were made with")

// checkRememberedID compares the shop's id in the newest event's payload with the
// event's shop. It finds the secret of another file also where there is no check
// value, or where that is the other file's too.
func (c *conn) checkRememberedID(ids IDs) error {
	var shop int64
	var payload []byte
	_, err := c.one(func(r *rows) { shop, payload = r.int(), r.bytes() }, "SELECT "+columns("shop_id", "ifnull(payload_v2, payload_v1)")+" FROM events WHERE id=(SELECT max(id) FROM events)")
	if err != nil {
		return err
	}
	quoted := `"` + prefixes[KindShop]
	at, n := bytes.Index(payload, []byte(quoted)), len(prefixes[KindShop])+blockLen
	if at < 0 || len(payload) < at+1+n {
		return nil
	}
	if key, ok := ids.Key(KindShop, string(payload[at+1:at+1+n])); !ok || key != shop {
		return errSecret
	}
	return nil
}

// fillSecretCheck writes the check value of the id secret.
func fillSecretCheck(c *sqlite.Conn) error {
	var secret []byte
	r := c.Query("SELECT id_secret FROM meta")
	if r.Next() {
		secret = r.Bytes()
	}
	if err := r.Close(); err != nil {
		return err
	}
	_, err := c.Exec("UPDATE meta SET id_check=?", secretCheck(secret))
	return err
}
