package operation

import (
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

// CreateKey creates an API or MCP key.
var CreateKey = kernel.Write(keys.only(owner, "createKey", "Create a key", "", store.Unprocessable),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.KeyFields) (k CreatedKey, err error) {
		k.Key, k.Secret, err = tx.CreateKey(c.Access.Shop, f)
		return k, err
	})

// ListKeys lists all keys of the shop, newest first, including the ended ones.
var ListKeys = kernel.Read(keys.only(owner, "listKeys", "List the keys", ""),
	func(v *store.View, c *kernel.Call, _ struct{}) (List[store.Key], error) {
		keys, err := v.Keys(c.Access.Shop)
		return List[store.Key]{keys}, err
	})

// RotateFields are the fields of RotateKey.
type RotateFields struct {
	GraceHours store.Opt[float64] `json:"grace_hours" min:"0" max:"8760" doc:"Hours that the old key goes on working; default: the deployment's setting."`
}

// RotateKey replaces a key by a new one; the old one stays valid for some hours.
var RotateKey = kernel.Write(keys.only(owner, "rotateKey", "Rotate a key", "", store.NotFound, store.Conflict),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f RotateFields) (k CreatedKey, err error) {
		grace := store.Null[time.Duration]{V: time.Duration(f.GraceHours.V * float64(time.Hour)), Valid: f.GraceHours.Set}
		k.Key, k.Secret, err = tx.RotateKey(c.Access.Shop, c.Param("id"), grace)
		return k, err
	})

// RevokeKey ends a key.
var RevokeKey = kernel.Write(keys.only(owner, "revokeKey", "Revoke a key", "", store.NotFound),
	wire.Create, inShop((*store.Tx).RevokeKey))

// RevokedKeys is the answer of RevokeAllKeys.
type RevokedKeys struct {
	Revoked int64 `json:"revoked"`
}

// RevokeAllKeys ends every key of the shop.
var RevokeAllKeys = kernel.Write(keys.only(owner, "revokeAllKeys", "Revoke all keys", ""),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (RevokedKeys, error) {
		n, err := tx.RevokeAllKeys(c.Access.Shop)
		return RevokedKeys{n}, err
	})
