package store

// The kinds of what holders ask a shop for.
const (
	AskCorrection = "correction"
	AskErasure    = "erasure"
)

// asks are the kinds: the column of contacts with the time of a request, and the actions of the audit log.
var asks = map[string]struct{ at, asked, closed string }{
	AskCorrection: {"correction_at", "card.ask_correction", "card.close_correction"},
	AskErasure:    {"erasure_at", "card.ask_erasure", "card.close_erasure"},
}

// DataRequest is what a holder asks the shop for.
type DataRequest struct {
	Kind       Opt[string] `json:"kind" req:"true" enum:"correction,erasure"`
	Correction Opt[string] `json:"correction" min:"1" max:"500" doc:"What is wrong, and what is right."`
}

// Check demands a text for a correction.
func (f DataRequest) Check(Time) []Detail {
	if f.Kind.V == AskCorrection && !f.Correction.Set {
		return []Detail{{"correction", "required", "is required"}}
	}
	return nil
}

// ClosedRequest names what is closed.
type ClosedRequest struct {
	Kind Opt[string] `json:"kind" req:"true" enum:"correction,erasure"`
}

// DataRequests are the open requests of the holder of a chain, at most one of each kind.
type DataRequests struct {
	Correction   Null[string] `json:"correction" doc:"What the holder asks the shop to correct."`
	CorrectionAt Null[Time]   `json:"correction_at"`
	ErasureAt    Null[Time]   `json:"erasure_at" doc:"When the holder asked to be erased."`
}

// dataRequests returns the open requests of the holder of a chain.
func (q *queries) dataRequests(root int64) (d DataRequests) {
	q.one(
		into(&d.Correction, &d.CorrectionAt, &d.ErasureAt),
		"SELECT correction, correction_at, erasure_at FROM contacts WHERE card_id=?",
		root,
	)
	return d
}

// AskAboutData notes a request of the holder of a page. The next one of its kind is refused until people of the shop
// have closed it.
func (tx *Tx) AskAboutData(token string, f DataRequest) error {
	if details := f.Check(tx.Now); details != nil {
		return Invalid(details...)
	}
	shop, root, err := tx.chainByPageToken(token)
	if err != nil {
		return err
	}
	ask := asks[f.Kind.V]
	tx.exec("INSERT OR IGNORE INTO contacts (card_id, shop_id) VALUES (?,?)", root, shop)
	if tx.exec("UPDATE contacts SET "+ask.at+"=? WHERE "+ask.at+" IS NULL AND card_id=?", tx.Now, root) == 0 {
		return refuse(Conflict, "You have asked the shop for this already.")
	}
	if f.Kind.V == AskCorrection {
		tx.exec("UPDATE contacts SET correction=? WHERE card_id=?", f.Correction.V, root)
	}
	tx.audit(shop, ask.asked, KindCard, root)
	tx.cardChanged(root)
	return tx.failed
}

// CloseDataRequest closes a request of the holder of a card.
func (tx *Tx) CloseDataRequest(shop int64, id string, f ClosedRequest) error {
	c, err := tx.card(Access{Shop: shop}, id)
	if err != nil {
		return err
	}
	ask := asks[f.Kind.V]
	if tx.exec("UPDATE contacts SET "+ask.at+"=NULL WHERE "+ask.at+" IS NOT NULL AND card_id=?", c.root) == 0 {
		return tx.failed
	}
	if f.Kind.V == AskCorrection {
		tx.exec("UPDATE contacts SET correction=NULL WHERE card_id=?", c.root)
	}
	tx.audit(shop, ask.closed, KindCard, c.key)
	tx.cardChanged(c.root)
	return tx.failed
}

// askedOfShop returns what holders ask a shop for.
func (v *View) askedOfShop(shop int64) (all []Attention) {
	for r := range v.each(`SELECT card_id, correction_at, erasure_at FROM contacts WHERE shop_id=?
		AND (correction_at IS NOT NULL OR erasure_at IS NOT NULL) LIMIT ?`, shop, maxAttention) {
		card, correction, erasure := Some(v.ID(KindCard, r.int())), r.nullTime(), r.nullTime()
		if correction.Valid {
			all = append(all, Attention{Kind: AttentionCorrection, CardID: card})
		}
		if erasure.Valid {
			all = append(all, Attention{Kind: AttentionErasure, CardID: card})
		}
	}
	return all
}
