package store

import "slices"

// AdjustFields is the body of an adjustment.
type AdjustFields struct {
	Stamps      Opt[int64]  `json:"stamps" min:"-1000" max:"1000" doc:"Stamps that the card gets, or loses if negative."`
	AmountCents Opt[int64]  `json:"amount_cents" min:"-100000000" max:"100000000" doc:"What a prepaid card gets, or loses if negative, in cents."`
	LocationID  Opt[string] `json:"location_id" req:"true" doc:"The location that the ledger names."`
	Reason      Opt[string] `json:"reason" req:"true" min:"1" max:"200" format:"line" doc:"Why, for the ledger and the audit log; erasing the card removes it."`
}

// Check validates that stamps or an amount is given.
func (f AdjustFields) Check(Time) []Detail {
	switch {
	case f.Stamps.Set && f.AmountCents.Set:
		return []Detail{{"amount_cents", "mutually_exclusive", "must not be given beside stamps"}}
	case !f.Stamps.Set && !f.AmountCents.Set:
		return []Detail{{"stamps", "required", "is required, or amount_cents"}}
	case f.Stamps.Set && f.Stamps.V == 0:
		return []Detail{{"stamps", "invalid_value", "must not be 0"}}
	case f.AmountCents.Set && f.AmountCents.V == 0:
		return []Detail{{"amount_cents", "invalid_value", "must not be 0"}}
	}
	return nil
}

// Adjusted is the answer of a change of a card that no till made.
type Adjusted struct {
	Card         CardDetail        `json:"card" doc:"The card of the chain that takes the next stamp."`
	Transactions []TillTransaction `json:"transactions" doc:"One for each card touched."`
}

// AdjustCard gives a chain stamps or money, or takes them. Nobody presents the card, so
// that it is not activated and no statistics of visits count it. The rules are in
// store/README.md, "The till's rules".
func (tx *Tx) AdjustCard(shop int64, id string, f AdjustFields) (out Adjusted, err error) {
	at, err := tx.ownLocation(shop, f.LocationID.V)
	if err != nil {
		return out, err
	}
	chain, err := tx.chainToAdjust(Till{Shop: shop, Location: at}, id)
	if err != nil {
		return out, err
	}
	p := chain.program
	switch {
	case f.Stamps.Set != CollectsStamps(p.Type) || f.AmountCents.Set != (p.Type == ProgramPrepaid):
		return out, errOtherType(p)
	case !p.worksAt(tx.s, chain.Location):
		return out, errNotHere
	}
	written, err := tx.adjust(chain, f.Stamps.V+f.AmountCents.V, "reason", f.Reason.V)
	if err != nil {
		return out, err
	}
	return tx.adjusted(chain, written)
}

// ownLocation returns the key of a location of the shop, which a field location_id names.
func (tx *Tx) ownLocation(shop int64, id string) (int64, error) {
	keys, details := tx.ownKeys(KindLocation, shop, "location_id", []string{id})
	if details != nil {
		details[0].Field = "location_id"
		return 0, Invalid(details...)
	}
	return keys[0], nil
}

// chainToAdjust returns the chain of a card, which may be locked or expired but not archived.
func (tx *Tx) chainToAdjust(till Till, id string) (*cardChain, error) {
	c, err := tx.card(Access{Shop: till.Shop}, id)
	if err != nil {
		return nil, err
	}
	if err := tx.checkSubscription(till.Shop); err != nil {
		return nil, err
	}
	chain := tx.chainByRoot(till, c.root)
	chain.setProgram(tx.cachedProgram(till.Shop, c.program))
	if len(chain.instances) == 0 {
		return nil, errArchived
	}
	return chain, nil
}

// adjust books n stamps, or cents of a prepaid chain, which may be negative. The metadata of the rows has
// why under a name.
func (tx *Tx) adjust(chain *cardChain, n int64, name, why string) (written []writtenRow, err error) {
	e := entry{kind: TransactionAdjustment, metadata: Some(jsonText(map[string]string{name: why}))}
	if chain.program.Type == ProgramPrepaid {
		c := chain.instances[0]
		if c.CurrentValue.V+n < 0 {
			return nil, errInsufficientBalance(c)
		}
		e.value = Some(n)
		row, _ := tx.book(chain, c, e)
		return []writtenRow{{row, c}}, nil
	}
	if n < 0 {
		return tx.takeStamps(chain, -n, e)
	}
	plan, err := chain.planStamps(n)
	if err != nil {
		return nil, err
	}
	if fits := plan.stamps + plan.overflow; fits < n {
		return nil, refuse(Unprocessable, "The card has room for %d stamps, and the program does not repeat.", fits)
	}
	return tx.bookStamps(chain, plan, e), nil
}

// takeStamps takes n stamps from the chain, first from its newest card. It leaves claims alone.
func (tx *Tx) takeStamps(chain *cardChain, n int64, e entry) (written []writtenRow, err error) {
	if have := chain.stamps(); have < n {
		return nil, refuse(Unprocessable, "The card has %d stamps, and cannot lose more.", have)
	}
	for _, c := range slices.Backward(chain.instances) {
		k := min(n, c.StampsCount)
		if k == 0 {
			continue
		}
		n -= k
		tx.markTaken(c, k)
		e.stamps = Some(-k)
		row, _ := tx.book(chain, c, e)
		written = append(written, writtenRow{row, c})
		if c.StampsCount == 0 && tx.isCompleted(c.key, c.cycle) {
			tx.startCycle(c) // the next stamp is not of a cycle that is complete
		}
	}
	return written, nil
}

// stamps returns the stamps on all live cards of the chain.
func (chain *cardChain) stamps() (n int64) {
	for _, c := range chain.instances {
		n += c.StampsCount
	}
	return n
}

// markTaken notes on the newest rows that gave a card's stamps that n of them are gone, so
// that they neither expire nor can be reversed. What it began with goes last.
func (tx *Tx) markTaken(c *card, n int64) {
	for n > 0 {
		var key, left int64
		if !tx.one(into(&key, &left), `SELECT id, stamps_delta-taken FROM transactions WHERE card_id=? AND cycle=?
			AND stamps_delta>taken AND `+heldRow+" ORDER BY id DESC LIMIT 1", c.key, c.cycle) {
			break
		}
		tx.exec("UPDATE transactions SET taken=taken+? WHERE id=?", min(n, left), key)
		n -= min(n, left)
	}
	if n > 0 {
		tx.setOpeningLeft(c, c.openingLeft-n)
	}
}

// adjusted returns the answer for the rows that were written.
func (tx *Tx) adjusted(chain *cardChain, written []writtenRow) (out Adjusted, err error) {
	locations := tx.cachedLocations(chain.Shop)
	tx.touchCard(chain.first.key)
	for _, w := range written {
		w.row.LocationName = locations.all[chain.Location].Name
		out.Transactions = append(out.Transactions, w.row)
	}
	out.Card = chain.cardDetail(chain.nextToStamp(), locations)
	return out, tx.failed
}

// eraseReasons removes the reasons of the adjustments of a chain from the audit log.
func (tx *Tx) eraseReasons(root int64) {
	for _, row := range collect(tx, func(r *rows) ledgerTime { return ledgerTime{r.int(), r.time()} }, `SELECT id, created_at
		FROM transactions WHERE type=? AND card_id IN (SELECT id FROM cards WHERE id=? OR root_id=?)`, TransactionAdjustment, root, root) {
		// Audit rows have the time of the write. A search by time replaces an index.
		first, after := tx.firstKeyFrom("audit", row.at), tx.firstKeyFrom("audit", row.at+1)
		tx.exec(`UPDATE audit SET detail=nullif(json_remove(detail, '$.reason'), '{}') WHERE id>=? AND id<? AND +target_kind=?
			AND target_id=?`, first, after, KindTransaction, row.key)
	}
}
