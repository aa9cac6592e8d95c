package store

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AuditRow is an entry of the audit log: one write and who made it.
type AuditRow struct {
	ID       int64           `json:"id"`
	At       Time            `json:"at"`
	Actor    AuditActor      `json:"actor"`
	Action   string          `json:"action"`
	TargetID string          `json:"target_id"`
	Detail   json.RawMessage `json:"detail" doc:"What the action does not say; empty for most."`
}

// AuditActor is who made a write.
type AuditActor struct {
	Type string       `json:"type" enum:"api_key,device,user,holder,system"`
	ID   Null[string] `json:"id"`
	Name Null[string] `json:"name" doc:"Of a person; at the command line, of the system account."`
}

// audit inserts an audit row for the write that tx makes, and refuses the write of a closed shop.
// shop is 0 if it concerns no shop, and target is 0 if it concerns nobody who is known. detail is a JSON object, if
// there is any. It must not contain personal data or secrets, but for the reason of an adjustment,
// which erasing the card removes.
func (tx *Tx) audit(shop int64, action string, kind Kind, target int64, detail ...string) {
	if tx.Actor.Type != "system" { // which records what has happened, such as that a receiver failed
		tx.requireOpen(shop)
	}
	tx.insertAudit(shop, action, kind, target, detail...)
}

// insertAudit does what audit does for a closed shop too: for exports, and for what concerns people
// who may belong to other shops.
func (tx *Tx) insertAudit(shop int64, action string, kind Kind, target int64, details ...string) {
	detail := strings.Join(details, "")
	if tx.Actor.Staff != 0 {
		detail = prependMembers(detail, `"staff_id":"`+tx.ID(KindStaff, tx.Actor.Staff)+`"`)
	}
	if tx.Actor.Context != "" {
		detail = prependMembers(detail, tx.Actor.Context)
	}
	tx.exec(`INSERT INTO audit (shop_id, actor_type, actor_id, actor_name, action, target_kind, target_id, detail, created_at)
		VALUES (?,?,?,?,?,?,?,?,?)`, shop, tx.Actor.Type, nonZero(tx.Actor.Key),
		nonZero(tx.Actor.Name), action, kind, target, nonZero(detail), tx.Now)
}

// prependMembers adds members to a JSON object, which may be empty text.
func prependMembers(object, members string) string {
	rest := strings.TrimPrefix(object, "{")
	if rest != "" && rest != "}" {
		members += ","
	}
	return "{" + members + cmp.Or(rest, "}")
}

// AuditPINLock records that wrong staff PINs locked a device or, with KindLocation,
// the PIN entry of a location. The lock itself is not stored.
func (tx *Tx) AuditPINLock(shop int64, kind Kind, key int64) error {
	action := "device.pin_locked"
	if kind == KindLocation {
		action = "location.pin_locked"
	}
	tx.audit(shop, action, kind, key)
	return tx.failed
}

// AuditServer records that an operator did something with the server, such as making a
// backup, or downloading the one with a name.
func (tx *Tx) AuditServer(action, name string) error {
	detail := ""
	if name != "" {
		detail = `{"name":` + strconv.Quote(name) + `}`
	}
	tx.auditUser(action, tx.Actor.Key, detail)
	return tx.failed
}

// attemptsKept is how long audit rows about failed sign-ins, locks and requests for mail are
// kept: whoever attacks an account would fill the file with them.
const attemptsKept = 90 * 24 * time.Hour

// attemptActions are the actions of these rows.
var attemptActions = []string{"user.sign_in_failed", "user.lock", "user.request_reset", "card.request_links", "device.pairing_lock"}

// AuditWalk is the position of a walk over the audit rows. The zero value begins at the
// oldest one.
type AuditWalk struct{ row int64 }

// auditVisits is how many audit rows OldAttempts visits.
const auditVisits = 5000

// OldAttempts continues a walk by a bounded number of rows and returns the next n audit rows
// about attempts that are older than 90 days, fewer if it met no more. No index is needed for
// that, which would slow each write down.
func (v *View) OldAttempts(w *AuditWalk, n int) (keys []int64, err error) {
	before := v.Now.Add(-attemptsKept)
	r := v.query("SELECT id, action, created_at FROM audit WHERE id>? ORDER BY id LIMIT ?", w.row, auditVisits)
	for len(keys) < n && r.next() {
		key, action, at := r.int(), r.str(), r.time()
		if at >= before {
			break
		}
		if w.row = key; slices.Contains(attemptActions, action) {
			keys = append(keys, key)
		}
	}
	return keys, r.close()
}

// DeleteAudit deletes audit rows.
func (tx *Tx) DeleteAudit(keys []int64) error {
	tx.exec("DELETE FROM audit WHERE id IN (SELECT value FROM json_each(?))", jsonKeys(keys))
	return tx.failed
}

// AuditFilter selects a page of rows of the audit log by the fields that are set.
type AuditFilter struct {
	PageQuery
	ActorType Opt[string] `json:"actor_type" enum:"api_key,device,user,holder,system"`
	ActorID   Opt[string] `json:"actor_id" max:"255" doc:"Of a key, a device or a person."`
	Action    Opt[string] `json:"action" max:"64" pattern:"^[a-z_.]*$" words:"must be an action or the first part of some with its dot, such as card." doc:"An action such as card.issue, or the first part of some with its dot, such as card."`
	TargetID  Opt[string] `json:"target_id" max:"255" doc:"Of what was changed."`
	From      Opt[Time]   `json:"from" doc:"Inclusive."`
	To        Opt[Time]   `json:"to" doc:"Exclusive."`
}

// Check validates from and to against each other.
func (f AuditFilter) Check(now Time) []Detail {
	return TransactionFilter{From: f.From, To: f.To}.Check(now)
}

// AuditLog returns a page of a shop's audit rows, newest first. Shop 0 stands for those
// that concern no shop, such as a lock of an address.
func (v *View) AuditLog(shop int64, q PageQuery) (Page[AuditRow], error) {
	return v.Activity(shop, AuditFilter{PageQuery: q})
}

// Activity returns a page of those audit rows of a shop that pass a filter, newest
// first. A page visits a bounded number of rows; from and to are found by a search.
func (v *View) Activity(shop int64, f AuditFilter) (p Page[AuditRow], err error) {
	if details := f.Check(v.Now); details != nil {
		return p, Invalid(details...)
	}
	v.snapshot()
	w := listQuery{list: listAudit, shop: shop, table: "audit a", alias: "a"}
	target, isCard := v.Key(KindCard, f.TargetID.V)
	if isCard {
		w.useIndex("a.id IN ("+auditOfCard+" UNION ALL SELECT ?) AND +a.shop_id=?", target, v.issueRow(target), shop)
	} else {
		w.useIndex("a.shop_id=?", shop)
	}
	if f.TargetID.Set && !isCard {
		kind, key := v.kindOf(f.TargetID.V)
		w.filter("a.target_kind=? AND a.target_id=?", kind, key)
	}
	if f.ActorType.Set {
		w.filter("a.actor_type=?", f.ActorType.V)
	}
	if f.ActorID.Set {
		kind, key := v.kindOf(f.ActorID.V)
		w.filter("a.actor_id=? AND a.actor_type=?", key, actorTypes[kind])
	}
	if f.Action.Set {
		if strings.HasSuffix(f.Action.V, ".") {
			w.filter("substr(a.action, 1, ?)=?", len(f.Action.V), f.Action.V)
		} else {
			w.filter("a.action=?", f.Action.V)
		}
	}
	if f.From.Set {
		w.above = v.firstKeyFrom("audit", f.From.V) - 1
	}
	if f.To.Set {
		w.below = v.firstKeyFrom("audit", f.To.V)
	}
	return page(v, w, f.PageQuery, auditCols, v.scanAudit)
}

// actorTypes are the types of actors by the kinds of their ids.
var actorTypes = map[Kind]string{KindKey: "api_key", KindDevice: "device", KindUser: "user"}

// kindOf returns the kind and the key of an id of any kind, or 0 and -1.
func (g IDs) kindOf(id string) (Kind, int64) {
	for kind, prefix := range prefixes {
		if prefix != "" && strings.HasPrefix(id, prefix) {
			if key, ok := g.Key(Kind(kind), id); ok {
				return Kind(kind), key
			}
		}
	}
	return 0, -1
}

// auditActorName is the name of the actor of a row of the audit log, if it is a person.
const auditActorName = "ifnull(a.actor_name, (SELECT name FROM users WHERE id=a.actor_id AND a.actor_type='user'))"

var auditCols = epochColumn + ", a.id, a.created_at, a.actor_type, a.actor_id, " + auditActorName +
	", a.action, a.target_kind, a.target_id, ifnull(a.detail, '{}')"

func (g IDs) scanAudit(r *rows, key int64) AuditRow {
	row := AuditRow{ID: key, At: r.time(), Actor: AuditActor{Type: r.str()}}
	row.Actor.ID = g.nullID(Actor{Type: row.Actor.Type}.kind(), r.nullInt())
	row.Actor.Name, row.Action = r.nullStr(), r.str()
	kind := Kind(r.int())
	if target := r.int(); target != 0 {
		row.TargetID = g.ID(kind, target)
	}
	row.Detail = json.RawMessage(r.str())
	return row
}

// cardAudit is the condition on the rows that audit_card has: those about cards. It leaves out the issues by a key, so that these
// do not write to the index; issueRow finds them. auditOfCard gives the rows that the index has of a card.
const (
	cardAudit   = "target_kind=4 AND (actor_type<>'api_key' OR action<>'card.issue')"
	auditOfCard = "SELECT id FROM audit WHERE " + cardAudit + " AND target_id=?"
)

// issueRow returns the row about the issue of a card by a key; 0 if a key did not issue it.
func (q *queries) issueRow(card int64) int64 {
	issued := Time(q.number("SELECT ifnull((SELECT created_at FROM cards WHERE id=?), 0)", card))
	// Audit rows have the time of the write. A search by time replaces an index.
	first, after := q.firstKeyFrom("audit", issued), q.firstKeyFrom("audit", issued+1)
	return q.number(`SELECT ifnull((SELECT id FROM audit WHERE id>=? AND id<? AND +target_kind=? AND target_id=? AND actor_type='api_key'
		AND action='card.issue'), 0)`, first, after, KindCard, card)
}

// CardAudit returns a page of the audit rows about a card and its chain, newest first.
// Those of its ledger are about the rows of the ledger.
func (v *View) CardAudit(shop int64, id string, q PageQuery) (p Page[AuditRow], err error) {
	v.snapshot()
	keys, err := v.chainPage(&p.NextCursor, &p.Limit, shop, id, listCardAudit, q, func(card, below int64, n int) []int64 {
		keys := v.keys(auditOfCard+" AND id<? ORDER BY id DESC LIMIT ?", card, below, n)
		if key := v.issueRow(card); key > 0 && key < below {
			keys = append(keys, key)
		}
		return keys
	})
	if err != nil {
		return p, err
	}
	p.Data = collect(v, func(r *rows) AuditRow {
		v.seeEpoch(r.int())
		return v.scanAudit(r, r.int())
	}, "SELECT "+auditCols+" FROM json_each(?) k CROSS JOIN audit a ON a.id=k.value WHERE a.shop_id=?", jsonKeys(keys), shop)
	return p, v.failed
}

// actorsOf returns who made rows of the ledger, by their keys.
func (v *View) actorsOf(shop int64, made []ledgerTime) map[int64]*AuditActor {
	actors := map[int64]*AuditActor{}
	for _, row := range made {
		// Audit rows have the time of the write. A search by time replaces an index.
		first := v.firstKeyFrom("audit", row.at)
		v.one(func(r *rows) {
			r.int()
			a := v.scanAudit(r, r.int()).Actor
			actors[row.key] = &a
		}, "SELECT "+auditCols+` FROM (SELECT * FROM audit WHERE id>=? ORDER BY id LIMIT ?) a WHERE target_kind=? AND target_id=?
			AND shop_id=? LIMIT 1`,
			first, v.s.opts.PageVisits, KindTransaction, row.key, shop)
	}
	return actors
}

// ledgerTime is a row of the ledger and its time.
type ledgerTime struct {
	key int64
	at  Time
}
