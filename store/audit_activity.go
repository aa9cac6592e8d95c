package store

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Activity is a row of the audit log with the names of who made the write and of what it
// is about.
type Activity struct {
	AuditRow
	By     Named `json:"by"`
	Target Named `json:"target"`
}

// Named is a row of some kind with its name. The row may have been deleted.
type Named struct {
	Kind Kind         `json:"-"` // 0: none, or not one of a table
	Type string       `json:"type" doc:"Of an actor: api_key, device, user, holder or system."`
	ID   Null[string] `json:"id"`
	Name Null[string] `json:"name"`
	// Parent is the id of the card of a transaction, of the program of a prize, and of
	// the location of a device.
	Parent Null[string] `json:"parent"`
}

// nameQueries select the name and the parent of a row of a kind, in a shop.
var nameQueries = map[Kind]struct {
	sql    string
	parent Kind
}{
	KindUser:     {"SELECT name, NULL FROM users WHERE id=?1 AND ?2", 0}, // an operator belongs to no shop
	KindKey:      {"SELECT name, NULL FROM keys WHERE id=?1 AND shop_id=?2", 0},
	KindDevice:   {"SELECT name, location_id FROM devices WHERE id=?1 AND shop_id=?2", KindLocation},
	KindLocation: {"SELECT name, NULL FROM locations WHERE id=?1 AND shop_id=?2", 0},
	KindProgram:  {"SELECT name, NULL FROM programs WHERE id=?1 AND shop_id=?2", 0},
	KindPrize: {
		"SELECT z.name, z.program_id FROM prizes z JOIN programs p ON p.id=z.program_id WHERE z.id=?1 AND p.shop_id=?2",
		KindProgram,
	},
	KindCard: {"SELECT holder_name, NULL FROM cards WHERE id=?1 AND shop_id=?2", 0},
	KindTransaction: {`SELECT c.holder_name, t.card_id FROM transactions t JOIN cards c ON c.id=t.card_id WHERE t.id=?1
		AND t.shop_id=?2`, KindCard},
	KindWebhook: {"SELECT url, NULL FROM webhooks WHERE id=?1 AND shop_id=?2", 0},
	KindStaff:   {"SELECT name, NULL FROM staff WHERE id=?1 AND shop_id=?2", 0},
	KindLink:    {"SELECT email, NULL FROM links WHERE id=?1 AND shop_id=?2", 0},
}

// namer looks up names and remembers them.
type namer struct {
	v     *View
	shop  int64
	known map[rowKey]Named
}

// rowKey is a row of any kind.
type rowKey struct {
	kind Kind
	key  int64
}

func (v *View) namer(shop int64) *namer {
	return &namer{v: v, shop: shop, known: map[rowKey]Named{}}
}

// named returns a row with its name and parent.
func (n *namer) named(kind Kind, key int64) Named {
	at := rowKey{kind, key}
	if have, ok := n.known[at]; ok {
		return have
	}
	out := Named{Kind: kind}
	if q, ok := nameQueries[kind]; ok && key != 0 {
		out.ID = Some(n.v.ID(kind, key))
		n.v.one(func(r *rows) {
			out.Name = r.nullStr()
			out.Parent = n.v.nullID(q.parent, r.nullInt())
		}, q.sql, key, n.shop)
	}
	n.known[at] = out
	return out
}

// byName returns what the rows of a kind have, in the order of their names, then oldest first. Key 0, which is no row, is
// the last.
func byName[T any](n *namer, kind Kind, of map[int64]T) iter.Seq2[Named, T] {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b int64) int {
		return cmp.Or(
			cmp.Compare(oneIf(a == 0), oneIf(b == 0)),
			cmp.Compare(n.named(kind, a).Name.V, n.named(kind, b).Name.V),
			cmp.Compare(a, b),
		)
	})
	return func(yield func(Named, T) bool) {
		for _, key := range keys {
			if !yield(n.named(kind, key), of[key]) {
				return
			}
		}
	}
}

// byID returns the row that an id of any kind names.
func (n *namer) byID(id string) Named {
	if id == "" {
		return Named{}
	}
	return n.named(n.v.kindOf(id))
}

// actor returns who made a write.
func (n *namer) actor(actorType string, key Null[int64]) Named {
	out := Named{}
	if key.Valid {
		out = n.named(Actor{Type: actorType}.kind(), key.V)
	}
	out.Type = actorType
	return out
}

// NamedActivity returns a page of those audit rows of a shop that pass a filter, newest
// first, with names.
func (v *View) NamedActivity(shop int64, f AuditFilter) (p Page[Activity], err error) {
	v.snapshot()
	rows, err := v.Activity(shop, f)
	if err != nil {
		return p, err
	}
	p = Page[Activity]{Data: make([]Activity, 0, len(rows.Data)), NextCursor: rows.NextCursor, Limit: rows.Limit}
	names := v.namer(shop)
	for _, row := range rows.Data {
		a := Activity{AuditRow: row, By: names.byID(row.Actor.ID.V), Target: names.byID(row.TargetID)}
		a.By.Type = row.Actor.Type
		p.Data = append(p.Data, a)
	}
	return p, v.failed
}

// Names returns the names of what ids of any kind stand for in a shop, by id. It leaves out those
// without a name.
func (v *View) Names(shop int64, ids []string) (byID map[string]string, err error) {
	byID = map[string]string{}
	v.snapshot()
	names := v.namer(shop)
	for _, id := range ids {
		if n := names.byID(id); n.Name.Valid {
			byID[id] = n.Name.V
		}
	}
	return byID, v.failed
}

// ActivityActors returns those who may have made rows of a shop's audit log: its members,
// keys and devices, also those that were revoked or have expired.
func (v *View) ActivityActors(shop int64) (actors []Named, err error) {
	actors = []Named{}
	for _, source := range []struct {
		actorType, sql string
	}{
		{"user", "SELECT u.id, u.name FROM memberships m JOIN users u ON u.id=m.user_id WHERE m.shop_id=? ORDER BY m.user_id"},
		{"api_key", "SELECT id, name FROM keys WHERE shop_id=? ORDER BY id"},
		{"device", "SELECT id, name FROM devices WHERE shop_id=? ORDER BY id"},
	} {
		kind := Actor{Type: source.actorType}.kind()
		for r := range v.each(source.sql, shop) {
			actors = append(actors, Named{Kind: kind, Type: source.actorType, ID: Some(v.ID(kind, r.int())), Name: Some(r.str())})
		}
	}
	return actors, v.failed
}
