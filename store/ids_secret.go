package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"punchcard/store/sqlite"
)

// secretCheck returns the value by which the file recognises its id secret. The
// secret has 128 random bits and cannot be found from it.
func secretCheck(secret []byte) []byte {
	sum := sha256.Sum256(append([]byte("punchcard id secret "), secret...))
	return sum[:8]
}

// readIDs reads the id secret of the file and verifies it: with another one all ids, links
// and card codes that were given out would name nothing, or something else.
func readIDs(c *sqlite.Conn) (IDs, error) {
	var secret, check []byte
	found, err := one(c, into(&secret, &check),
		"SELECT id_secret, id_check FROM meta")
	switch {
	case err != nil:
		return IDs{}, err
	case !found:
		return IDs{}, errors.New("its table meta has no row")
	case len(secret) != 16:
		return IDs{}, fmt.Errorf("its id_secret has %d bytes instead of 16", len(secret))
	case !bytes.Equal(check, secretCheck(secret)):
		return IDs{}, errSecret
	}
	return newIDs(secret)
}

var errSecret = errors.New("its id_secret is not the one that its ids were made with")
