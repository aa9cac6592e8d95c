package store

// TillRow is a row of the ledger as the list of a till shows it.
type TillRow struct {
	TillTransaction
	ProgramName string       `json:"program_name"`
	HolderName  Null[string] `json:"holder_name"`
	PrizeName   Null[string] `json:"prize_name"`
	ReversesID  Null[string] `json:"reverses_id" doc:"The row that this one takes back."`
}

var tillRowsSQL = "SELECT " + tillTransactionCols + `, p.name, c.holder_name, (SELECT name FROM prizes WHERE id=t.prize_id), t.reverses_id
	FROM json_each(?) k CROSS JOIN transactions t ON t.id=k.value JOIN locations l ON l.id=t.location_id
	JOIN programs p ON p.id=t.program_id JOIN cards c ON c.id=t.card_id`

// TillTransactions returns the latest rows that a device made, newest first. It looks at the
// latest rows of its location, of which it visits a bounded number.
func (v *View) TillTransactions(till Till, limit int) (all []TillRow, err error) {
	v.snapshot()
	var keys []int64
	r := v.query("SELECT id, ifnull(device_id, 0) FROM transactions WHERE location_id=? ORDER BY id DESC LIMIT ?", till.Location,
		v.s.opts.PageVisits)
	for len(keys) < limit && r.next() {
		if key, device := r.int(), r.int(); device == till.Device {
			keys = append(keys, key)
		}
	}
	if err := r.close(); err != nil {
		return all, err
	}
	all = collect(v, func(r *rows) TillRow {
		t, _ := v.scanTillTransaction(r)
		return TillRow{t, r.str(), r.nullStr(), r.nullStr(), v.nullID(KindTransaction, r.nullInt())}
	}, tillRowsSQL, jsonKeys(keys))
	return all, v.failed
}

// TillFound is a card that a search at a till has found.
type TillFound struct {
	Name    Null[string] `json:"name"`
	Email   Null[string] `json:"email" doc:"Masked."`
	Phone   Null[string] `json:"phone" doc:"Masked."`
	Program string       `json:"program" doc:"Its name."`
	Handle  string       `json:"handle" doc:"Stands for the card as code, for this device and staff session, for five minutes."`
	Code    string       `json:"-"` // what the QR code holds
}

// tillFoundMost is the most cards that a search at a till finds.
const tillFoundMost = 5

// TillSearch returns the first cards of the shop that a search finds, of each chain one,
// without those that are archived: by their names, then by the beginnings of their addresses.
func (v *View) TillSearch(shop int64, q string) (found []TillFound, err error) {
	v.snapshot()
	seen := map[int64]bool{}
	found = make([]TillFound, 0, tillFoundMost)
	for _, byEmail := range []bool{false, true} {
		p, err := v.SearchCards(shop, CardSearch{
			PageQuery: PageQuery{Limit: Given[int64](4 * tillFoundMost)},
			Q:         Given(q),
			ByEmail:   byEmail,
			Live:      true,
		})
		if err != nil {
			return found, err
		}
		for _, c := range p.Data {
			var root, generation int64
			var phone Null[string]
			if err := v.find("card", into(&root, &generation, &phone), `SELECT r.id, r.code_generation, ifnull(k.phone, '') FROM cards c
				JOIN cards r ON r.id=ifnull(c.root_id, c.id) LEFT JOIN contacts k ON k.card_id=r.id WHERE c.id=?`,
				v.keyOrNone(KindCard, c.ID)); err != nil {
				return found, err
			}
			if !seen[root] && len(found) < tillFoundMost {
				seen[root] = true
				found = append(found,
					TillFound{Name: c.HolderName, Email: c.HolderEmail, Phone: phone, Program: c.ProgramName,
						Code: v.s.cardCode(root, generation)})
			}
		}
	}
	return found, nil
}

// AuditTillSearch records that somebody searches for cards at a till. It does not say for
// what, which is personal data.
func (tx *Tx) AuditTillSearch(till Till) error {
	tx.audit(till.Shop, "card.search", KindDevice, till.Device)
	return tx.failed
}
