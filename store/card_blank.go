package store

// BlankFields is the body of issuing blank cards.
type BlankFields struct {
	Count Opt[int64] `json:"count" req:"true" min:"1" max:"200" doc:"How many cards."`
}

// BlankCards are cards to print, for people without a phone.
type BlankCards struct {
	ProgramID   string      `json:"program_id"`
	ProgramName string      `json:"program_name"`
	Cards       []BlankCard `json:"cards"`
}

// BlankCard is a card without a holder.
type BlankCard struct {
	ID        string `json:"id"`
	Code      string `json:"code" doc:"What its QR code holds."`
	ShortCode string `json:"short_code"`
}

// IssueBlankCards issues cards without a holder, all or none of them. They are invited
// until they are presented, as every card is.
func (tx *Tx) IssueBlankCards(shop int64, programID string, f BlankFields) (b BlankCards, err error) {
	a := Access{Shop: shop}
	p, err := tx.program(a, programID)
	if err != nil {
		return b, err
	}
	b.ProgramID, b.ProgramName = programID, p.Name
	for range f.Count.V {
		c, err := tx.IssueCard(a, programID, CardFields{}, SourceAPI)
		if err != nil {
			return b, err
		}
		key, _ := tx.Key(KindCard, c.ID)
		b.Cards = append(b.Cards, BlankCard{c.ID, tx.s.cardCode(key, 0), tx.shortCode(shop, key)})
	}
	// The answer has no person's data, so that it can be remembered.
	tx.touched = nil
	return b, tx.failed
}
