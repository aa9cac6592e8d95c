package operation

import (
	"strconv"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// CreatedKey is a new key with its secret, which is shown only once.
type CreatedKey struct {
	store.Key
	Secret string `json:"key"`
}

// WithoutSecret returns the key as it may be stored.
func (k CreatedKey) WithoutSecret() any { return &CreatedKey{Key: k.Key} }

// CreateKey creates an API or MCP key.
var CreateKey = declare(kernel.Operation{
	ID:      "createKey",
	Group:   keys,
	Title:   "Create a key",
	Callers: owner,
	Codes:   unprocessable,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.KeyFields) (k CreatedKey, err error) {
		k.Key, k.Secret, err = tx.CreateKey(c.Access.Shop, f)
		return k, err
	}),
})

// ChosenKeyFields are the fields of CreateChosenKey.
type ChosenKeyFields struct {
	Class       store.Opt[string]   `json:"class" req:"true" enum:"api,mcp"`
	Name        store.Opt[string]   `json:"name" req:"true" min:"1" max:"200" format:"line"`
	Scopes      store.Opt[[]string] `json:"scopes"`
	Locations   store.Opt[string]   `json:"locations" enum:"all,some" doc:"Whether the key is for all locations or for those of location_ids."`
	LocationIDs store.Opt[[]string] `json:"location_ids" max:"1000"`
	Expires     store.Opt[string]   `json:"expires" enum:"30,90,365,never" doc:"After so many days, or never."`
}

// Check refuses a choice that was not made.
func (f ChosenKeyFields) Check(now store.Time) (details []store.Detail) {
	missing := func(field, message string) {
		details = append(details, store.Detail{Field: field, Code: wire.CodeRequired, Message: message})
	}
	if len(f.Scopes.V) == 0 {
		missing("scopes", "Choose at least one thing that the key may do.")
	}
	switch {
	case !f.Locations.Set:
		missing("locations", "Choose where the key works.")
	case f.Locations.V == "some" && len(f.LocationIDs.V) == 0:
		missing("location_ids", "Choose at least one location, or all locations.")
	}
	if !f.Expires.Set {
		missing("expires", "Choose when the key expires.")
	}
	return append(details, store.KeyFields{Class: f.Class, Scopes: f.Scopes}.Check(now)...)
}

// fields returns the fields of the key at a time.
func (f ChosenKeyFields) fields(now store.Time) store.KeyFields {
	key := store.KeyFields{Class: f.Class, Name: f.Name, Scopes: f.Scopes}
	if f.Locations.V == "some" {
		key.LocationIDs = f.LocationIDs
	}
	if days, err := strconv.Atoi(f.Expires.V); err == nil {
		key.ExpiresAt = store.Given(now.Add(time.Duration(days) * 24 * time.Hour))
	}
	return key
}

// CreateChosenKey creates a key for a person who has said what it may do, where, and for
// how long. CreateKey has defaults for all of that, for scripts.
var CreateChosenKey = declare(kernel.Operation{
	ID:      "createChosenKey",
	Group:   keys,
	Title:   "Create a key without defaults",
	Callers: owner,
	Codes:   unprocessable,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f ChosenKeyFields) (k CreatedKey, err error) {
		k.Key, k.Secret, err = tx.CreateKey(c.Access.Shop, f.fields(tx.Now))
		return k, err
	}),
})

// ListKeyInfos lists all keys of the shop newest first, including the ended ones, with who made them.
var ListKeyInfos = declare(kernel.Operation{
	ID:      "listKeyInfos",
	Group:   keys,
	Title:   "List the keys and who made them",
	Callers: owner,
	Read:    listOf((*store.View).KeyInfos),
})

// RotateFields are the fields of RotateKey.
type RotateFields struct {
	GraceHours store.Opt[float64] `json:"grace_hours" min:"0" max:"8760" doc:"Hours that the old key goes on working; default: the deployment's setting."`
}

// RotateKey replaces a key by a new one; the old one stays valid for some hours.
var RotateKey = declare(kernel.Operation{
	ID:      "rotateKey",
	Group:   keys,
	Title:   "Rotate a key",
	Callers: owner,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f RotateFields) (k CreatedKey, err error) {
		grace := store.Null[time.Duration]{V: time.Duration(f.GraceHours.V * float64(time.Hour)), Valid: f.GraceHours.Set}
		k.Key, k.Secret, err = tx.RotateKey(c.Access.Shop, c.Param("id"), grace)
		return k, err
	}),
})

// RevokeKey ends a key.
var RevokeKey = declare(kernel.Operation{
	ID:      "revokeKey",
	Group:   keys,
	Title:   "Revoke a key",
	Callers: owner,
	Codes:   notFound,
	Proof:   true,
	Write:   change((*store.Tx).RevokeKey),
})

// RevokedKeys is the answer of RevokeAllKeys.
type RevokedKeys struct {
	Revoked int64 `json:"revoked"`
}

// RevokeAllKeys ends every key of the shop.
var RevokeAllKeys = declare(kernel.Operation{
	ID:      "revokeAllKeys",
	Group:   keys,
	Title:   "Revoke all keys",
	Callers: owner,
	Proof:   true,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (RevokedKeys, error) {
		n, err := tx.RevokeAllKeys(c.Access.Shop)
		return RevokedKeys{n}, err
	}),
})
