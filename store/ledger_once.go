package store

import (
	"errors"
	"slices"
	"strings"
)

// Once is a part of the body of every write of a till. It makes the write safe to repeat
// for ever, also after the response was lost and with another device.
type Once struct {
	ClientReference Opt[string] `json:"client_reference" pattern:"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$" words:"must be a UUID such as 0b6f7c0e-5d0a-4d51-9d4b-3f0f5a2f7c11" doc:"A UUID of the write, unique in the shop. The same one again answers the transactions of the first write, with the state in which they and the card are, and writes nothing, however late; with another action or card it is a conflict. Other fields are not compared."`
}

// Reference returns the part itself, of a body that has it.
func (o Once) Reference() Once { return o }

// reference returns the reference as it is stored.
func (o Once) reference() Null[string] {
	return Null[string]{strings.ToLower(o.ClientReference.V), o.ClientReference.Set}
}

// ErrRepeated is the error of a write whose reference was used before. Repeated or
// RepeatedIssue has the answer.
var ErrRepeated = errors.New("the client_reference was used before")

// checkUnused returns ErrRepeated if a write of the shop had the reference.
func (tx *Tx) checkUnused(shop int64, o Once) error {
	ref := o.reference()
	if ref.Valid &&
		tx.number(`SELECT (SELECT count(*) FROM transactions WHERE shop_id=?1 AND client_reference=?2)+(SELECT count(*) FROM cards
				WHERE shop_id=?1 AND client_reference=?2)`, shop, ref.V) > 0 {
		return ErrRepeated
	}
	return tx.failed
}

// Repeat is a write of a till whose reference may have been used before.
type Repeat struct {
	Once
	Types []string // of the first row that the action writes; empty for an issue
	// Code names the card, Reverses the row that is reversed, by its id or reference, and Program the program of an
	// issue. The two others are empty.
	Code, Reverses, Program string
}

// tillRowKey returns the key of the row of the ledger that a till names: by its id, or by
// the reference of the write that made it, which stays the same where a write is made again
// after a restore. It is -1 if there is none.
func (q *queries) tillRowKey(shop int64, text string) int64 {
	if key, ok := q.Key(KindTransaction, text); ok {
		return key
	}
	return q.number("SELECT ifnull((SELECT id FROM transactions WHERE shop_id=? AND client_reference=?), -1)", shop, strings.ToLower(text))
}

// errOtherWrite refuses a reference that another write used.
var errOtherWrite = refuse(Conflict, "The client_reference was used for another action or another card.")

// usedReference is the write that used a reference.
type usedReference struct {
	key, root int64 // of the row, 0 for an issue; and of the chain
	kind      string
	reverses  int64
	erased    bool
}

// findReference returns the write of the shop that used a reference.
func (v *View) findReference(shop int64, o Once) (u usedReference, found bool) {
	ref := o.reference()
	if !ref.Valid {
		return u, false
	}
	found = v.one(into(&u.key, &u.kind, &u.reverses, &u.root, &u.erased),
		`SELECT t.id, t.type, ifnull(t.reverses_id, 0), ifnull(c.root_id, c.id), c.deleted_at IS NOT NULL FROM transactions t
		JOIN cards c ON c.id=t.card_id WHERE t.shop_id=? AND t.client_reference=?`, shop, ref.V)
	if !found {
		found = v.one(into(&u.root, &u.erased), "SELECT id, deleted_at IS NOT NULL FROM cards WHERE shop_id=? AND client_reference=?",
			shop, ref.V)
	}
	return u, found
}

// Repeated returns the answer to an action at a till whose reference was used before;
// found is false if it was not. known is false if the code names no card, as after a
// reissue: the reference alone then says which write is meant.
func (v *View) Repeated(till Till, w Repeat) (out Stamped, found, known bool, err error) {
	v.snapshot()
	u, used := v.findReference(till.Shop, w.Once)
	if !used {
		return out, found, known, v.failed
	}
	found, known = true, true
	other := false
	switch {
	case u.erased:
		return out, true, true, notFound("card")
	case !slices.Contains(w.Types, u.kind):
		other = true
	case u.kind == TransactionReversal:
		other = v.tillRowKey(till.Shop, w.Reverses) != u.reverses
	default:
		root := v.rootOf(till.Shop, w.Code)
		known = root != 0
		other = known && root != u.root
	}
	if other {
		return out, found, known, errOtherWrite
	}
	out, err = v.answerAgain(till, u)
	return out, found, known, err
}

// rootOf returns the root of the chain that a card's id or code names, or a code that a
// reissue ended; 0 if it names none.
func (v *View) rootOf(shop int64, text string) int64 {
	text = v.heldCode(text)
	if all, _, _ := v.chainByIDOrCode(shop, text, nil, chainOfCardSQL); len(all) > 0 {
		return all[0].root
	}
	_, key, ok := v.openAny(kindCode, normalizeCode(text))
	if !ok {
		return 0
	}
	return v.number("SELECT id FROM cards WHERE id=? AND shop_id=?", key, shop)
}

// answerAgain returns the rows of a write and their cards as they are now.
func (v *View) answerAgain(till Till, u usedReference) (out Stamped, err error) {
	other := "SELECT ifnull((SELECT id FROM transactions WHERE overflow_of=?), 0)"
	args := []any{u.key}
	if u.kind == TransactionReversal {
		other = `SELECT ifnull((SELECT r.id FROM transactions t JOIN transactions o ON o.id=t.overflow_of OR o.overflow_of=t.id
			JOIN transactions r ON r.reverses_id=o.id WHERE t.id=?), 0)`
		args = []any{u.reverses}
	}
	second := v.number(other, args...)
	all, epoch := v.readChain(nil, chainOfRootSQL, u.root)
	if len(all) == 0 {
		return out, notFound("card")
	}
	chain := v.chainOfCards(till, all, epoch)
	locations := v.cachedLocations(till.Shop, epoch)
	v.seeEpoch(epoch)
	read := func(key int64) (t TillTransaction, d CardDetail) {
		for r := range v.each(tillTransactionsSQL, jsonKeys([]int64{key})) {
			var card int64
			t, card = v.scanTillTransaction(r)
			for _, c := range all {
				if c.key == card {
					c.setProgram(chain.program)
					d = chain.cardDetail(c, locations)
				}
			}
		}
		return t, d
	}
	out.Transaction, out.Card = read(u.key)
	if second != 0 {
		t, d := read(second)
		out.OverflowTransaction, out.OverflowCard = &t, &d
	}
	return out, v.failed
}

// tillTransactionCols are what scanTillTransaction reads.
var tillTransactionCols = transactionCols + `, ifnull(t.staff_id, 0), ifnull((SELECT name FROM staff
	WHERE id=t.staff_id), ''), t.occurred_at, t.client_reference, t.card_id`

var tillTransactionsSQL = "SELECT " + tillTransactionCols +
	" FROM json_each(?) k CROSS JOIN transactions t ON t.id=k.value JOIN locations l ON l.id=t.location_id"

// scanTillTransaction reads a row of the ledger and the key of its card.
func (v *View) scanTillTransaction(r *rows) (t TillTransaction, card int64) {
	v.seeEpoch(r.int())
	t.Transaction = v.scanTransaction(r, r.int())
	t.Staff, t.OccurredAt, t.ClientReference = v.namedStaff(Staff{r.int(), r.str()}), r.nullTime(), r.nullStr()
	return t, r.int()
}

// RepeatedIssue returns the answer to an issue at a till whose reference was used before,
// with the install link that it gave; found is false if it was not.
func (v *View) RepeatedIssue(till Till, w Repeat) (out IssuedCard, found bool, err error) {
	v.snapshot()
	u, used := v.findReference(till.Shop, w.Once)
	if !used {
		return out, found, v.failed
	}
	found = true
	switch {
	case u.erased:
		return out, found, notFound("card")
	case u.key != 0:
		return out, found, errOtherWrite
	}
	token := v.s.referencedInstallToken(u.root, w.Once.reference().V)
	var program int64
	var ends Null[Time] // null: another link has replaced the one of the issue
	if err := v.find("card", func(r *rows) {
		c := v.scanCard(r, u.root, v.Now)
		program, ends = c.program, r.nullTime()
		out = c.issued()
		out.InstallURLExpiresAt = c.CreatedAt.Add(v.s.opts.Limits.InstallLinkTTL)
	}, "SELECT "+cardCols+`, iif(c.install_hash=?, c.install_expires_at, NULL) FROM cards c
		WHERE c.id=?`, Hash(token), u.root); err != nil {
		return out, found, err
	}
	if v.keyOrNone(KindProgram, w.Program) != program {
		return out, found, errOtherWrite
	}
	out.InstallURL = installURL(v.PublicURLOf(till.Shop), token)
	if ends.Valid {
		out.InstallURLExpiresAt = ends.V
	}
	return out, found, nil
}
