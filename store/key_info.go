package store

import (
	"cmp"
	"strings"
)

// KeyInfo is a key with what its page shows besides.
type KeyInfo struct {
	Key
	// Restricted keys see only LocationIDs, also if there are none.
	Restricted bool        `json:"restricted"`
	CreatedBy  Null[Named] `json:"created_by" doc:"Null if the audit log does not say it any more."`
	LastUsedAt Null[Time]  `json:"last_used_at" doc:"Up to a minute late; null: it made no request yet."`
	CallsToday int64       `json:"calls_today" doc:"Of an MCP key: counted calls of this day in UTC, up to a second late."`
	Calls30d   int64       `json:"calls_30d" doc:"The same for the last 30 days, today included."`
	// Successor is the id of the key that replaces it.
	Successor Null[string] `json:"successor"`
}

// KeyInfos returns a shop's keys, newest first, with who made them.
func (v *View) KeyInfos(shop int64) (infos []KeyInfo, err error) {
	err = v.snapshot(func() error {
		names := v.namer(shop)
		infos, err = list(v.conn, func(r *rows) KeyInfo {
			return KeyInfo{Restricted: r.bool(), LastUsedAt: r.nullTime(), CallsToday: r.int(), Calls30d: r.int(), Key: v.s.scanKey(r)}
		}, `SELECT restricted, last_used_at, ifnull((SELECT calls FROM key_calls WHERE key_id=keys.id
			AND day=?1), 0), ifnull((SELECT sum(calls) FROM key_calls WHERE key_id=keys.id AND day>?1-30 AND day<=?1), 0), `+keyCols+" FROM keys WHERE shop_id=?2 ORDER BY id DESC", utcDay(v.Now), shop)
		if err != nil {
			return err
		}
		byID := map[string]*KeyInfo{}
		for i := range infos {
			byID[infos[i].ID] = &infos[i]
		}
		for i := range infos {
			if err := v.creator(names, shop, &infos[i], byID); err != nil {
				return err
			}
		}
		return names.err
	})
	return infos, err
}

// creator finds who made a key, and which key it replaces, among the audit rows of the
// moment in which it was made.
func (v *View) creator(names *namer, shop int64, k *KeyInfo, byID map[string]*KeyInfo) error {
	first, err := v.firstKeyFrom("audit", k.CreatedAt)
	if err != nil {
		return err
	}
	own := v.s.keyOrNone(KindKey, k.ID)
	r := v.query(`SELECT actor_type, actor_id, target_id, action, ifnull(detail, '') FROM audit WHERE id>=? AND shop_id=?
		AND created_at=? AND target_kind=? AND (action='key.create' OR action='key.rotate') ORDER BY id LIMIT 100`, first, shop, k.CreatedAt, KindKey)
	type maker struct {
		actorType string
		key       Null[int64]
	}
	var made *maker
	for r.next() {
		m := maker{r.str(), r.nullInt()}
		target, action, detail := r.int(), r.str(), r.str()
		switch {
		case action == "key.create" && target == own:
			made = &m
		case action == "key.rotate" && strings.Contains(detail, k.ID):
			made = &m
			if old := byID[v.s.ID(KindKey, target)]; old != nil {
				old.Successor = Some(k.ID)
			}
		}
	}
	err = r.close()
	if made != nil {
		k.CreatedBy = Some(names.actor(made.actorType, made.key))
	}
	return cmp.Or(err, names.err)
}
