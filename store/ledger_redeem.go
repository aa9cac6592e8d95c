package store

// RedeemFields is the body of a redemption.
type RedeemFields struct {
	PrizeID Opt[string] `json:"prize_id" req:"true" min:"1" max:"255" format:"line"`
	Metadata
	Once
}

// Redeem redeems a prize on the oldest live card of the chain that has reached its
// threshold and has not claimed it in this cycle. The rules are in store/README.md,
// "The till's rules".
func (tx *Tx) Redeem(till Till, code string, f RedeemFields) (out Stamped, err error) {
	chain, err := tx.chainForAction(till, code, f.Once, ProgramStandard, ProgramPrivate)
	if err != nil {
		return out, err
	}
	if err = tx.checkForeignUse(chain); err != nil {
		return out, err
	}
	expired := tx.expireStamps(chain)
	prize, c, err := tx.planRedemption(chain, f.PrizeID.V)
	if err != nil {
		return out, commitRefusal(expired, err)
	}
	tx.activateInvited(chain)
	prizeKey, _ := tx.Key(KindPrize, prize.ID)
	top, _ := chain.program.highestThreshold()
	completes := prize.Threshold == top && chain.isFull(c)
	younger := len(chain.youngerThan(c)) > 0
	e := entry{kind: TransactionRedemption, stamps: Some[int64](0), prize: prizeKey, metadata: f.text(), reference: f.reference()}
	if completes && chain.program.RepeatAfterReset && !younger {
		e.stamps.V = -c.StampsCount
	}
	t, key := tx.book(chain, c, e)
	tx.exec("INSERT INTO claims (card_id, cycle, threshold, prize_id, transaction_id) VALUES (?,?,?,?,?)", c.key, c.cycle,
		prize.Threshold, prizeKey, key)
	tx.exec("UPDATE prizes SET redemptions=redemptions+1 WHERE id=?", prizeKey)
	if completes {
		if tx.completeCycle(c) {
			tx.counts.addTotals(c.program, totals{completed: 1, open: -oneIf(c.StampsCount > 0)})
		}
		switch {
		case !chain.program.RepeatAfterReset:
		case younger:
			tx.archiveInstance(chain, c)
		default:
			tx.startCycle(c)
		}
	}
	return tx.tillAnswer(chain, writtenRow{t, c})
}

// planRedemption finds the prize, and the card that it is redeemed on.
func (tx *Tx) planRedemption(chain *cardChain, prizeID string) (prize Prize, c *card, err error) {
	if prize, err = chain.program.prize(prizeID); err != nil {
		return prize, nil, err
	}
	reached := false
	for _, c := range chain.instances {
		if c.StampsCount < prize.Threshold {
			continue
		}
		reached = true
		if tx.claimedPrizes(c)[prize.Threshold] == 0 {
			return prize, c, nil
		}
	}
	if reached {
		return prize, nil, refuse(ThresholdAlreadyClaimed, "A prize of this threshold was redeemed already.")
	}
	return prize, nil, refuse(Unprocessable, "The prize needs %d stamps; the card has %d.", prize.Threshold,
		chain.nextToStamp().StampsCount)
}

// AmountFields is the body of a top-up or a spend.
type AmountFields struct {
	AmountCents Opt[int64] `json:"amount_cents" req:"true" min:"1" max:"100000000"`
	Metadata
	Once
}

// TopUp adds an amount to a prepaid card's balance.
func (tx *Tx) TopUp(till Till, code string, f AmountFields) (Stamped, error) {
	return tx.changeBalance(till, code, TransactionTopUp, f.AmountCents.V, f)
}

// Spend takes an amount from a prepaid card's balance. An amount above the balance
// is refused as prepaid_insufficient_balance.
func (tx *Tx) Spend(till Till, code string, f AmountFields) (Stamped, error) {
	return tx.changeBalance(till, code, TransactionSpend, -f.AmountCents.V, f)
}

func (tx *Tx) changeBalance(till Till, code, kind string, cents int64, f AmountFields) (out Stamped, err error) {
	chain, err := tx.chainForAction(till, code, f.Once, ProgramPrepaid)
	if err != nil {
		return out, err
	}
	if cents < 0 {
		if err = tx.checkForeignUse(chain); err != nil {
			return out, err
		}
	}
	c := chain.instances[0]
	if c.CurrentValue.V+cents < 0 {
		return out, errInsufficientBalance(c)
	}
	return tx.useCard(chain, entry{kind: kind, value: Some(cents), metadata: f.text(), reference: f.reference()})
}

func errInsufficientBalance(c *card) error {
	return refuse(PrepaidInsufficientBalance, "The card's balance is %d cents.", c.CurrentValue.V)
}

// UseFields is the body of a use and of a reversal.
type UseFields struct {
	Metadata
	Once
}

// Use records the use of an access or discount card.
func (tx *Tx) Use(till Till, code string, f UseFields) (out Stamped, err error) {
	chain, err := tx.chainForAction(till, code, f.Once, ProgramAccess, ProgramDiscount)
	if err != nil {
		return out, err
	}
	return tx.useCard(chain, entry{kind: chain.program.Type, metadata: f.text(), reference: f.reference()})
}

// useCard activates an invited card and writes e for the oldest live card of the
// chain.
func (tx *Tx) useCard(chain *cardChain, e entry) (out Stamped, err error) {
	tx.activateInvited(chain)
	t, _ := tx.book(chain, chain.instances[0], e)
	return tx.tillAnswer(chain, writtenRow{t, chain.instances[0]})
}
