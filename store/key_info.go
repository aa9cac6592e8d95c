package store

import "strings"

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
	v.snapshot()
	names := v.namer(shop)
	infos = collect(v, func(r *rows) KeyInfo {
		return KeyInfo{Restricted: r.bool(), LastUsedAt: r.nullTime(), CallsToday: r.int(), Calls30d: r.int(), Key: v.scanKey(r)}
	}, `SELECT restricted, last_used_at, ifnull((SELECT calls FROM key_calls WHERE key_id=keys.id
			AND day=?1), 0), ifnull((SELECT sum(calls) FROM key_calls WHERE key_id=keys.id AND day>?1-30 AND day<=?1), 0), `+keyCols+`
				FROM keys WHERE shop_id=?2 ORDER BY id DESC`, UTCDay(v.Now), shop)
	byID := map[string]*KeyInfo{}
	for i := range infos {
		byID[infos[i].ID] = &infos[i]
	}
	for i := range infos {
		v.creator(names, shop, &infos[i], byID)
	}
	return infos, v.failed
}

// creator finds who made a key, and which key it replaces, among the audit rows of the
// moment in which it was made.
func (v *View) creator(names *namer, shop int64, k *KeyInfo, byID map[string]*KeyInfo) {
	first := v.firstKeyFrom("audit", k.CreatedAt)
	own := v.keyOrNone(KindKey, k.ID)
	for r := range v.each(`SELECT actor_type, actor_id, target_id, action, ifnull(detail, '') FROM audit WHERE id>=? AND shop_id=?
		AND created_at=? AND target_kind=? AND (action='key.create' OR action='key.rotate') ORDER BY id LIMIT 100`,
		first, shop, k.CreatedAt, KindKey) {
		actorType, key := r.str(), r.nullInt()
		target, action, detail := r.int(), r.str(), r.str()
		switch {
		case action == "key.create" && target == own:
			k.CreatedBy = Some(names.actor(actorType, key))
		case action == "key.rotate" && strings.Contains(detail, k.ID):
			k.CreatedBy = Some(names.actor(actorType, key))
			if old := byID[v.ID(KindKey, target)]; old != nil {
				old.Successor = Some(k.ID)
			}
		}
	}
}
