package store

import (
	"testing"
	"time"
)

// TestRotationKeepsTheRestriction: the successor of a restricted key is
// restricted, even when none of the key's locations is left.
func TestRotationKeepsTheRestriction(t *testing.T) {
	f := start(t, Options{})
	location := must(f, func(tx *Tx) (Location, error) { return tx.CreateLocation(f.a.Shop, LocationFields{}) })
	key := must(f, func(tx *Tx) (Key, error) {
		k, _, err := tx.CreateKey(f.a.Shop, KeyFields{Name: set("Office"), LocationIDs: set([]string{location.ID})})
		return k, err
	})
	secret := must(f, func(tx *Tx) (string, error) {
		if _, err := tx.conn.exec("DELETE FROM key_locations"); err != nil {
			return "", err
		}
		_, secret, err := tx.RotateKey(f.a.Shop, key.ID, Null[time.Duration]{})
		return secret, err
	})
	id, _, err := f.Identify(Hash(secret))
	if err != nil || !id.Restricted || len(id.Locations) != 0 {
		t.Errorf("%+v, %v", id, err)
	}
}
