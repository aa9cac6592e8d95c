package store

// AuditRow is an entry of the audit log: one write and who made it.
type AuditRow struct {
	ID        int64        `json:"id"`
	At        Time         `json:"at"`
	ActorType string       `json:"actor_type" enum:"api_key,device,user,holder,system"`
	ActorID   Null[string] `json:"actor_id"`
	ActorName Null[string] `json:"actor_name"`
	Action    string       `json:"action"`
	TargetID  string       `json:"target_id"`
	Detail    Null[string] `json:"detail"`
}

// audit inserts an audit row for the write that tx makes. detail is a JSON object
// or empty. It must not contain personal data or secrets.
func (tx *Tx) audit(shop int64, action string, kind Kind, target int64, detail string) {
	tx.exec(`INSERT INTO audit (shop_id, actor_type, actor_id, actor_name, action, target_kind, target_id, detail, created_at)
		VALUES (?,?,?,?,?,?,?,?,?)`, shop, tx.Actor.Type, Null[int64]{tx.Actor.Key, tx.Actor.Key != 0},
		Null[string]{tx.Actor.Name, tx.Actor.Name != ""}, action, kind, target, Null[string]{detail, detail != ""}, tx.Now)
}

// AuditPINLock records that wrong staff PINs locked a device or, with KindLocation,
// the PIN entry of a location. The lock itself is not stored.
func (tx *Tx) AuditPINLock(shop int64, kind Kind, key int64) error {
	action := "device.pin_locked"
	if kind == KindLocation {
		action = "location.pin_locked"
	}
	tx.audit(shop, action, kind, key, "")
	return tx.failed
}

// AuditLog returns a page of a shop's audit rows, newest first.
func (v *View) AuditLog(shop int64, q PageQuery) (Page[AuditRow], error) {
	w := listQuery{list: listAudit, shop: shop, table: "audit a", alias: "a"}
	w.useIndex("a.shop_id=?", shop)
	return page(v, w, q, columns(epochColumn, "a.id", "a.created_at", "a.actor_type", "a.actor_id", "a.actor_name", "a.action", "a.target_kind", "a.target_id", "a.detail"),
		func(r *rows, key int64) AuditRow {
			row := AuditRow{ID: key, At: r.time(), ActorType: r.str()}
			row.ActorID = v.s.nullID(Actor{Type: row.ActorType}.kind(), r.nullInt())
			row.ActorName, row.Action = r.nullStr(), r.str()
			kind := Kind(r.int())
			row.TargetID = v.s.ID(kind, r.int())
			row.Detail = r.nullStr()
			return row
		})
}
