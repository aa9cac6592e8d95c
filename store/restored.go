package store

import (
	"errors"
	"time"

	"punchcard/store/sqlite"
)

// Restored lists what a restore may have revived: what was revoked, disabled or removed
// after the backup is valid again.
type Restored struct {
	Sessions int64            `json:"sessions_ended"`
	Links    int64            `json:"links_ended"`
	Keys     []RestoredSecret `json:"keys"`
	Devices  []RestoredSecret `json:"devices"`
	People   []RestoredPerson `json:"people"`
}

// RestoredSecret is a key or device whose secret works in a restored file.
type RestoredSecret struct {
	ID     string `json:"id"`
	Prefix string `json:"prefix"`
	Name   string `json:"name"`
	Shop   string `json:"shop"`
}

// RestoredPerson is a person who may sign in to a restored file. Role and shop are empty
// for an operator without a shop.
type RestoredPerson struct {
	ID       string `json:"id"`
	Email    string `json:"email"`
	Operator bool   `json:"operator"`
	Role     string `json:"role"`
	Shop     string `json:"shop"`
}

// EndRestored ends all sessions and one-time links of a file that was copied from a
// backup, which may be of an older version, has its keys begin where those of now cannot have been
// given out before, and returns what is to be reviewed.
func EndRestored(path string, now time.Time) (out Restored, err error) {
	c, err := sqlite.Open(path, sqlite.ReadWrite, "journal_mode=OFF", "synchronous=OFF")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ids, err := readIDs(c)
	if err != nil {
		return out, err
	}
	q := &queries{conn: c, IDs: ids}
	q.skipKeys(now)
	secretsOf := func(table string, kind Kind) []RestoredSecret {
		return collect(q, func(r *rows) RestoredSecret {
			return RestoredSecret{ID: q.ID(kind, r.int()), Prefix: r.str(), Name: r.str(), Shop: r.str()}
		}, "SELECT x.id, x.prefix, x.name, s.name FROM "+table+" x JOIN shops s ON s.id=x.shop_id WHERE x.revoked_at IS NULL ORDER BY x.id")
	}
	out.Keys, out.Devices = secretsOf("keys", KindKey), secretsOf("devices", KindDevice)
	out.People = collect(q, func(r *rows) RestoredPerson {
		return RestoredPerson{ID: q.ID(KindUser, r.int()), Email: r.str(), Operator: r.bool(), Role: r.str(), Shop: r.str()}
	}, `SELECT u.id, u.email, u.operator, m.role, s.name FROM users u LEFT JOIN memberships m ON m.user_id=u.id
		LEFT JOIN shops s ON s.id=m.shop_id WHERE u.disabled_at IS NULL ORDER BY u.id, s.id`)
	out.Sessions = q.exec("DELETE FROM sessions")
	q.exec("DELETE FROM link_mails")
	out.Links = q.exec("DELETE FROM links")
	q.exec("DELETE FROM pairings")
	q.exec("UPDATE meta SET auth_epoch=auth_epoch+1")
	return out, q.failed
}
