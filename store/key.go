package store

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Scopes are all scopes of the REST API.
var Scopes = strings.Fields(`
	locations:read locations:write programs:read programs:write cards:read cards:write transactions:read analytics:read webhooks:read
	webhooks:write
`)

// ReadScopes are those that change nothing.
var ReadScopes = slices.DeleteFunc(slices.Clone(Scopes), func(sc string) bool { return !strings.HasSuffix(sc, ":read") })

// Key is an API or MCP key as operators see it, without the secret.
type Key struct {
	ID               string     `json:"id"`
	ShopID           string     `json:"shop_id"`
	Class            string     `json:"class" enum:"api,mcp"`
	Name             string     `json:"name"`
	Prefix           string     `json:"prefix"`
	Scopes           []string   `json:"scopes"`
	LocationIDs      []string   `json:"location_ids"`
	CreatedAt        Time       `json:"created_at"`
	ExpiresAt        Null[Time] `json:"expires_at"`
	RetiresAt        Null[Time] `json:"retires_at"`
	RevokedAt        Null[Time] `json:"revoked_at"`
	DisabledByPlanAt Null[Time] `json:"disabled_by_plan_at"`
}

// KeyFields are the fields of a new key.
type KeyFields struct {
	Class       Opt[string]   `json:"class" enum:"api,mcp"`
	Name        Opt[string]   `json:"name" min:"1" max:"200" format:"line"`
	Scopes      Opt[[]string] `json:"scopes"`
	LocationIDs Opt[[]string] `json:"location_ids" max:"1000"`
	ExpiresAt   Opt[Time]     `json:"expires_at"`
	// Secret is the whole key. Empty: a random one. Only the fixture sets it, for
	// keys that are public.
	Secret string `json:"-"`
}

// Hash returns the hash under which a key or token is stored.
func Hash(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// newSecret returns a bearer secret of 256 random bits: the prefix and 43
// base64url characters.
func (tx *Tx) newSecret(prefix string) string {
	return prefix + base64.RawURLEncoding.EncodeToString(tx.random(32))
}

// random returns n random bytes.
func (tx *Tx) random(n int) []byte {
	b := make([]byte, n)
	_, err := io.ReadFull(tx.s.opts.Rand, b)
	tx.fail(err)
	return b
}

// CreateKey creates a key and returns its secret, which is not stored. More
// usable keys than the limit are unprocessable; rotated, revoked and expired keys
// do not count.
func (tx *Tx) CreateKey(shop int64, f KeyFields) (k Key, secret string, err error) {
	sh := tx.shop(shop)
	class := f.Class.Or("api")
	scopes, _ := checkScopes(class, f.Scopes)
	locations, foreign := tx.ownKeys(KindLocation, shop, "location_ids", f.LocationIDs.Or(nil))
	if details := append(f.Check(tx.Now), foreign...); details != nil {
		return k, "", Invalid(details...)
	}
	max := tx.Limits.KeysPerShop
	if class == "mcp" {
		max = tx.Limits.MCPKeysPerShop
	}
	have := tx.number(
		`SELECT count(*) FROM keys WHERE shop_id=? AND class=? AND revoked_at IS NULL AND retires_at IS NULL AND (expires_at IS NULL
			OR expires_at>?)`, shop, class, tx.Now)
	if have >= int64(max) {
		return k, "", refuse(Unprocessable, "The shop has %d usable %s keys, which is the maximum.", have, class)
	}
	key, secret := tx.addKey(shop, sh, class, f.Name.Or("Key"), scopes, locations, f.ExpiresAt.Value(), Null[int64]{}, f.Secret)
	tx.audit(shop, "key.create", KindKey, key)
	k, err = tx.key(shop, key)
	return k, secret, err
}

// Check validates the scopes, and the expiry against the time.
func (f KeyFields) Check(now Time) []Detail {
	_, details := checkScopes(f.Class.Or("api"), f.Scopes)
	return append(details, checkFuture(f.ExpiresAt, now)...)
}

// checkScopes returns the scopes of a new key, in the order of Scopes and each
// once, and a detail for each unknown one. A key for which none are asked has all of
// them, an MCP key those that read.
func checkScopes(class string, asked Opt[[]string]) (scopes []string, details []Detail) {
	switch {
	case asked.Set:
	case class == "mcp":
		return ReadScopes, nil
	default:
		return Scopes, nil
	}
	for i, sc := range asked.V {
		if !slices.Contains(Scopes, sc) {
			details = append(details, Detail{fmt.Sprintf("scopes.%d", i), "invalid_value", "must be one of " + strings.Join(Scopes, ", ")})
		}
	}
	for _, sc := range Scopes {
		if slices.Contains(asked.V, sc) {
			scopes = append(scopes, sc)
		}
	}
	return scopes, details
}

// addKey inserts a key and returns its secret. The key is restricted unless
// locations is nil.
func (tx *Tx) addKey(shop int64, sh Shop, class, name string, scopes []string, locations []int64, expires Null[Time],
	family Null[int64], secret string) (key int64, _ string) {
	if secret == "" {
		secret = tx.newSecret(map[string]string{"api": "tsk_", "mcp": "tmk_"}[class] + sh.Mode + "_")
	}
	suspended := Null[Time]{tx.Now, class == "api" && !sh.APIAddon}
	key = tx.insert(`INSERT INTO keys (id, shop_id, class, name, prefix, hash, scopes, restricted, family_id, created_at, expires_at,
			disabled_by_plan_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`, tx.nextKey("keys"), shop, class, name, secret[:12], Hash(secret),
		strings.Join(scopes, ","), locations != nil, family, tx.Now, expires, suspended)
	for _, l := range locations {
		tx.exec("INSERT INTO key_locations (key_id, location_id) VALUES (?,?)", key, l)
	}
	tx.bumpAuth()
	return key, secret
}

// RotateKey creates a successor with the same scopes, locations and expiry, and
// lets the old key work for the overlap; 0 retires it at once, null means
// Limits.RotationHours. Rotating a rotated, revoked or expired key is a conflict.
func (tx *Tx) RotateKey(shop int64, id string, overlap Null[time.Duration]) (k Key, secret string, err error) {
	oldKey, old, err := tx.findKey(shop, id)
	if err != nil {
		return k, "", err
	}
	if why := old.unusableReason(tx.Now); why != "" {
		return k, "", refuse(Conflict, "The key cannot be rotated: it %s.", why)
	}
	if !overlap.Valid {
		overlap.V = time.Duration(tx.Limits.RotationHours) * time.Hour
	}
	sh := tx.shop(shop)
	var family int64
	var restricted bool
	tx.one(into(&family, &restricted), "SELECT ifnull(family_id, id), restricted FROM keys WHERE id=?", oldKey)
	var locations []int64
	if restricted { // also when none of its locations is left
		locations = []int64{}
	}
	for _, l := range old.LocationIDs {
		n, _ := tx.Key(KindLocation, l)
		locations = append(locations, n)
	}
	tx.exec("UPDATE keys SET retires_at=? WHERE id=?", tx.Now.Add(overlap.V), oldKey)
	key, secret := tx.addKey(shop, sh, old.Class, old.Name, old.Scopes, locations, old.ExpiresAt, Some(family), "")
	tx.audit(shop, "key.rotate", KindKey, oldKey, fmt.Sprintf(`{"successor":%q}`, tx.ID(KindKey, key)))
	k, err = tx.key(shop, key)
	return k, secret, err
}

// unusableReason says why a key cannot be rotated, "" if it can.
func (k Key) unusableReason(now Time) string {
	switch {
	case k.RevokedAt.Valid:
		return "is revoked"
	case k.ExpiresAt.Valid && k.ExpiresAt.V <= now:
		return "has expired"
	case k.RetiresAt.Valid:
		return "has been rotated before"
	}
	return ""
}

// RevokeKey revokes a key from the next request on. Its row stays. Revoking a
// revoked key changes nothing.
func (tx *Tx) RevokeKey(shop int64, id string) (k Key, err error) {
	key, k, err := tx.findKey(shop, id)
	if err != nil || k.RevokedAt.Valid {
		return k, err
	}
	tx.exec("UPDATE keys SET revoked_at=? WHERE id=?", tx.Now, key)
	tx.bumpAuth()
	tx.audit(shop, "key.revoke", KindKey, key)
	return tx.key(shop, key)
}

// RevokeAllKeys revokes every key of the shop and returns their number.
func (tx *Tx) RevokeAllKeys(shop int64) (n int64, err error) {
	n = tx.exec("UPDATE keys SET revoked_at=? WHERE shop_id=? AND revoked_at IS NULL", tx.Now, shop)
	tx.bumpAuth()
	tx.audit(shop, "key.revoke_all", KindShop, shop, fmt.Sprintf(`{"keys":%d}`, n))
	return n, tx.failed
}

func (tx *Tx) findKey(shop int64, id string) (key int64, k Key, err error) {
	key = tx.keyOrNone(KindKey, id)
	k, err = tx.key(shop, key)
	return key, k, err
}

var keyCols = `id, shop_id, class, name, prefix, scopes, (SELECT group_concat(location_id) FROM key_locations
	WHERE key_id=keys.id), created_at, expires_at, retires_at, revoked_at, disabled_by_plan_at`

func (g IDs) scanKey(r *rows) (k Key) {
	var scopes string
	r.scan(g.into(KindKey, &k.ID), g.into(KindShop, &k.ShopID), &k.Class, &k.Name, &k.Prefix, &scopes)
	k.Scopes = splitList(scopes)
	k.LocationIDs = g.idsOf(KindLocation, r.keys(), nil)
	r.scan(&k.CreatedAt, &k.ExpiresAt, &k.RetiresAt, &k.RevokedAt, &k.DisabledByPlanAt)
	return k
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func (q *queries) key(shop, key int64) (Key, error) {
	return findOne(q, "key", q.scanKey, "SELECT "+keyCols+" FROM keys WHERE id=? AND shop_id=?", key, shop)
}

// Identity is all that a guard needs to know of a key. It is read once and cached
// until the auth epoch changes.
type Identity struct {
	Access
	Epoch                int64
	Key                  int64
	KeyID, ShopID        string
	Family               int64
	Class                string
	Scopes               []string
	ExpiresAt            Null[Time]
	RetiresAt            Null[Time]
	RevokedAt            Null[Time]
	LocationIDs          []string
	AllLocationsDisabled bool // restricted, and every location is disabled
	Subscription         string
	APIAddon             bool
	MCPAccess            bool
	GrantExpiresAt       Null[Time]
	ShopMode             string
	Closing              Closing
}

// EndReason says why a key is no longer valid at a time, "" if it is valid.
func (id *Identity) EndReason(now Time) string {
	switch {
	case id.RevokedAt.Valid:
		return "revoked"
	case id.ExpiresAt.Valid && id.ExpiresAt.V <= now:
		return "expired"
	case id.RetiresAt.Valid && id.RetiresAt.V <= now:
		return "retired by a rotation"
	}
	return ""
}

// APIAccess returns what allows the shop to use the REST API at a time: "addon",
// "grant", or null if nothing does.
func (id *Identity) APIAccess(now Time) (source Null[string]) {
	switch {
	case id.APIAddon:
		return Some("addon")
	case id.GrantExpiresAt.Valid && id.GrantExpiresAt.V > now:
		return Some("grant")
	}
	return Null[string]{}
}

// Identify returns the key with this hash, nil if there is none.
func (s *Store) Identify(hash []byte) (id *Identity, err error) {
	err = s.View(0, func(v *View) error {
		v.snapshot()
		var k Identity
		var scopes string
		if !v.one(into(&k.Epoch, &k.Key, &k.Shop, &k.Family, &k.Class, &scopes, &k.Restricted, &k.ExpiresAt, &k.RetiresAt, &k.RevokedAt,
			&k.Subscription, &k.APIAddon, &k.MCPAccess, &k.GrantExpiresAt, &k.ShopMode, &k.Closing.State, &k.Closing.MovedTo),
			"SELECT "+epochColumn+`, k.id, k.shop_id, ifnull(k.family_id, k.id), k.class, k.scopes, k.restricted, k.expires_at,
			k.retires_at, k.revoked_at, s.subscription_state, s.api_addon, s.mcp_access, s.grant_expires_at, s.mode,
			s.closed, s.moved_to FROM keys k JOIN shops s ON s.id=k.shop_id WHERE k.hash=?`, hash) {
			return v.failed
		}
		if k.Scopes = splitList(scopes); k.Class == "mcp" && len(k.Scopes) == 0 { // it was made without scopes
			k.Scopes = ReadScopes
		}
		k.KeyID, k.ShopID, k.AllLocationsDisabled = s.ID(KindKey, k.Key), s.ID(KindShop, k.Shop), k.Restricted
		for r := range v.each(`SELECT l.id, l.disabled_at IS NULL FROM key_locations kl JOIN locations l ON l.id=kl.location_id
			WHERE kl.key_id=? ORDER BY l.id`, k.Key) {
			l := r.int()
			k.Locations = append(k.Locations, l)
			k.AllLocationsDisabled = k.AllLocationsDisabled && !r.bool()
		}
		k.LocationIDs = v.idsOf(KindLocation, k.Locations, nil)
		id = &k
		return v.failed
	})
	return id, err
}
