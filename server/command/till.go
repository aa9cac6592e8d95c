package command

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"punchcard/server/web"
	"punchcard/store"
	"punchcard/store/money"
)

// Till groups the commands that do at a running server what a till does.
type Till struct {
	Lookup TillLookup `cmd:"" help:"Show a card: its stamps or balance, and the prizes that are due."`
	Stamp  TillStamp  `cmd:"" help:"Give stamps."`
	Redeem TillRedeem `cmd:"" help:"Redeem a prize."`
	TopUp  TillTopUp  `cmd:"" name:"top-up" help:"Add money to a prepaid card."`
	Spend  TillSpend  `cmd:"" help:"Take money from a prepaid card."`
	Use    TillUse    `cmd:"" help:"Use an access or discount card."`
	Undo   TillUndo   `cmd:"" help:"Take a transaction back, by default the latest one of this till."`
}

// tillCard holds the flags of a command on one card.
type tillCard struct {
	tillFlags
	Code string `arg:"" help:"What the card's QR code holds, or its short code. An id works in lookup, and on devices made with --accept-card-ids."`
}

// AfterApply refuses a card without a name.
func (c *tillCard) AfterApply() error {
	if strings.TrimSpace(c.Code) == "" {
		return errors.New("CODE: must not be empty")
	}
	return nil
}

// path returns the path of the card, followed by rest.
func (c *tillCard) path(rest string) string { return "/cards/" + url.PathEscape(c.Code) + rest }

// cardOf returns the words for a card: with its holder's name, if it has one.
func cardOf(c store.CardDetail) string {
	if c.HolderName.V != "" {
		return "The card of " + c.HolderName.V
	}
	return "The card"
}

// sayCard returns sentences about what is on a card.
func sayCard(l store.Lookup, currency string) (say []string) {
	head := fmt.Sprintf("%s (%s) is %s", cardOf(l.Card), l.Program.Name, l.Card.Status)
	switch {
	case l.Card.CurrentValue.Valid:
		head += " and has " + amountText(l.Card.CurrentValue.V, currency)
	case l.Program.TotalStamps.Valid:
		head += fmt.Sprintf(" and has %d of %d stamps", l.Card.StampsCount, l.Program.TotalStamps.V)
	case l.Program.DiscountPercent.Valid:
		head += fmt.Sprintf(" and gives %g %% off", l.Program.DiscountPercent.V)
	}
	say = append(say, head+".")
	for _, z := range l.Prizes {
		switch {
		case z.Available:
			say = append(say, "Due: "+z.Name+".")
		case !z.Claimed && z.Threshold > l.Card.StampsCount:
			say = append(say, fmt.Sprintf("%d more for: %s.", z.Threshold-l.Card.StampsCount, z.Name))
		}
	}
	return say
}

// amountText returns an amount with its currency.
func amountText(cents int64, currency string) string {
	return web.PrinterFor("en").Amount(cents, currency) + " " + currency
}

// TillLookup is the command that shows a card.
type TillLookup struct{ tillCard }

// Run shows the card.
func (c *TillLookup) Run() error {
	currency, err := c.currency()
	if err != nil {
		return err
	}
	var l store.Lookup
	if err := c.get(c.path(""), &l); err != nil {
		return err
	}
	return c.show(sayCard(l, currency)...)
}

// write makes a write at the server. It prints the sentence that done returns, and what is
// on the card afterwards.
func (c *tillFlags) write(path string, fields map[string]any, done func(store.Stamped, string) string) error {
	var out store.Stamped
	if err := c.post(path, fields, &out); err != nil {
		return err
	}
	if c.JSON {
		return c.show()
	}
	shown := out.Card
	if out.OverflowCard != nil {
		shown = *out.OverflowCard
	}
	var l store.Lookup
	currency, err := c.currency()
	if err == nil {
		err = c.get("/cards/"+url.PathEscape(shown.ID), &l)
	}
	if err != nil {
		return fmt.Errorf("it was done, as %s; but then: %w", out.Transaction.ID, err)
	}
	say := append([]string{done(out, currency)}, sayCard(l, currency)...)
	if out.Transaction.Type != store.TransactionReversal {
		say = append(say, "Take it back with: punchcard till undo "+out.Transaction.ID)
	}
	return c.show(say...)
}

// TillStamp is the command that gives stamps.
type TillStamp struct {
	tillCard
	Count int64  `env:"-" default:"1" help:"Number of stamps."`
	Spend string `env:"-" placeholder:"AMOUNT" help:"What was bought, such as 12.50, where the program demands it."`
}

// Run gives the stamps.
func (c *TillStamp) Run() error {
	fields := map[string]any{"count": c.Count}
	if c.Spend != "" {
		cents, err := c.cents("--spend", c.Spend)
		if err != nil {
			return err
		}
		fields["spend_cents"] = cents
	}
	return c.write(c.path("/stamps"), fields, func(s store.Stamped, _ string) string {
		given := s.Transaction.StampsDelta.V
		if s.OverflowTransaction != nil {
			given += s.OverflowTransaction.StampsDelta.V
		}
		if given == 1 {
			return "1 stamp given."
		}
		return fmt.Sprintf("%d stamps given.", given)
	})
}

// cents returns an amount in the smallest units of the shop's currency.
func (c *tillFlags) cents(name, text string) (int64, error) {
	currency, err := c.currency()
	if err != nil {
		return 0, err
	}
	cents, ok := money.Parse(text, currency)
	if !ok {
		return 0, fmt.Errorf("%s: must be an amount in %s, such as %s", name, currency, web.PrinterFor("en").Amount(1250, currency))
	}
	return cents, nil
}

// currency returns the currency of the shop of the till.
func (c *tillFlags) currency() (string, error) {
	var me store.TillMe
	err := c.get("/me", &me)
	return me.Shop.Currency, err
}

// TillRedeem is the command that redeems a prize.
type TillRedeem struct {
	tillCard
	Prize string `arg:"" optional:"" help:"The prize: its id or name. Default: the only one that is due."`
}

// Run redeems the prize.
func (c *TillRedeem) Run() error {
	var l store.Lookup
	if err := c.get(c.path(""), &l); err != nil {
		return err
	}
	prize, err := choosePrize(l, c.Prize)
	if err != nil {
		return err
	}
	done := func(store.Stamped, string) string { return prize.Name + " redeemed." }
	return c.write(c.path("/redemptions"), map[string]any{"prize_id": prize.ID}, done)
}

// choosePrize returns the prize of a card that a text names or, if the text is empty, the
// only one that is due. A prize that is named need not be due: the server checks that.
func choosePrize(l store.Lookup, text string) (z store.Prize, err error) {
	var found []store.Prize
	var due, all []string
	ladder := l.Prizes
	for _, earlier := range l.EarlierCards {
		ladder = append(ladder, earlier.Prizes...)
	}
	seen := map[string]bool{}
	for _, p := range ladder {
		if text == "" && !p.Available || seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		all = append(all, p.Name)
		if p.Available {
			due = append(due, p.Name)
		}
		if text == "" || p.ID == text || strings.EqualFold(p.Name, strings.TrimSpace(text)) {
			found = append(found, p.Prize)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case strings.HasPrefix(text, "prz_"):
		return store.Prize{ID: text, Name: text}, nil
	case text == "" && len(due) == 0:
		return z, fmt.Errorf("no prize is due on this card")
	case text == "":
		return z, fmt.Errorf("%d prizes are due; name one: %s", len(due), strings.Join(due, ", "))
	case len(found) > 1:
		return z, fmt.Errorf("%d prizes are named %s; give the id of one", len(found), text)
	}
	return z, fmt.Errorf("no prize is named %s; there are: %s", text, cmp.Or(strings.Join(all, ", "), "none"))
}

// tillAmount has the flags of a command on the balance of a card.
type tillAmount struct {
	tillCard
	Amount string `arg:"" help:"The amount, such as 12.50."`
}

// change changes the balance.
func (c *tillAmount) change(path, done string) error {
	cents, err := c.cents("AMOUNT", c.Amount)
	if err != nil {
		return err
	}
	if cents == 0 {
		return errors.New("AMOUNT: must be more than 0")
	}
	return c.write(c.path(path), map[string]any{"amount_cents": cents}, func(_ store.Stamped, currency string) string {
		return amountText(cents, currency) + " " + done + "."
	})
}

type (
	// TillTopUp is the command that adds money to a card.
	TillTopUp struct{ tillAmount }
	// TillSpend is the command that takes money from a card.
	TillSpend struct{ tillAmount }
	// TillUse is the command that uses an access or discount card.
	TillUse struct{ tillCard }
	// TillUndo is the command that takes a transaction back.
	TillUndo struct {
		tillFlags
		Transaction string `arg:"" optional:"" help:"The id of the transaction. Default: the latest of this till that can be taken back."`
	}
)

// Run adds the money.
func (c *TillTopUp) Run() error { return c.change("/topups", "added") }

// Run spends the amount.
func (c *TillSpend) Run() error { return c.change("/spends", "taken") }

// Run uses the card.
func (c *TillUse) Run() error {
	return c.write(c.path("/uses"), map[string]any{}, func(store.Stamped, string) string { return "Used." })
}

// Run reverses the transaction.
func (c *TillUndo) Run() error {
	if c.Transaction == "" {
		var latest struct{ Data []store.TillRow }
		if err := c.get("/transactions?limit=50", &latest); err != nil {
			return err
		}
		for _, row := range latest.Data {
			if c.Transaction == "" && row.Type != store.TransactionReversal && !row.ReversedAt.Valid {
				c.Transaction = row.ID
			}
		}
		if c.Transaction == "" {
			return errors.New("this till has made nothing that could be taken back")
		}
	}
	path := "/transactions/" + url.PathEscape(c.Transaction) + "/reversal"
	return c.write(path, map[string]any{}, func(store.Stamped, string) string { return "Taken back." })
}
