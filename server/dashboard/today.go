package dashboard

import (
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const todayPath = "/dashboard"

// todayPages are the page of today and the stream that keeps it up to date.
var todayPages = []binding{
	page(todayPath, shows(operation.GetToday, showToday)),
	page("/dashboard/events", streamToday),
	page(forgettingPath, shows(operation.GetForgetting, showForgetting)),
}

// todayPage is the page of today.
type todayPage struct {
	web.Frame
	Sub       string // the day
	Tiles     []tile
	Begun     store.Begun
	Attention []attention
	Events    []ledgerEvent
}

// tile is a figure of today beside that of a week ago.
type tile struct {
	Label, Value string
	Change       web.Change
	Note         string
}

// attention is something that somebody should see to.
type attention struct {
	Tone   string // as of a note
	Title  string
	Text   string
	Action web.Action // empty: none
}

// ledgerEvent is a row of the ledger as people read it.
type ledgerEvent struct {
	Icon     string
	Tone     string
	Who      string // the holder
	Path     string // of the card
	What     string
	Where    string
	At       store.Time
	Time     string // short, as it is shown
	Amount   string
	Reversed bool
}

func showToday(v *visit, t store.Today) error { return v.render("today", v.todayPage(t)) }

func streamToday(v *visit) error {
	return v.stream("today", func() (any, error) {
		t, err := read[store.Today](v, operation.GetToday)
		if err != nil {
			return nil, err
		}
		return v.todayPage(t), nil
	})
}

// todayPage returns the page of today.
func (v *visit) todayPage(t store.Today) todayPage {
	p := todayPage{
		Frame: v.frame("Today", todayPath),
		Sub:   v.T("{0}, compared with the same weekday a week ago up to this time", v.LongDate(t.Until.Std())),
		Tiles: v.todayTiles(t),
		Begun: t.Begun,
	}
	for _, a := range t.Attention {
		if a.CardID.Valid && !v.allows(kernel.Manager) {
			continue
		}
		p.Attention = append(p.Attention, v.attention(a))
	}
	p.Attention = append(v.serverAttention(), p.Attention...)
	if a := v.unreachable(); a != nil {
		p.Attention = append([]attention{*a}, p.Attention...)
	}
	p.Events = each(t.Events, func(e store.LedgerEntry) ledgerEvent { return v.ledgerEvent(e, t.Date) })
	return p
}

// todayTiles returns the figures of today: those of money only for shops with balances.
func (v *visit) todayTiles(t store.Today) (tiles []tile) {
	add := func(label web.Text, now, before int64, format func(int64) string) {
		tiles = append(tiles, tile{v.T(label), format(now), v.change(now, before), v.T("vs. {0} a week ago", format(before))})
	}
	add("Stamps", t.Today.Stamps, t.Before.Stamps, v.Number)
	add("Redemptions", t.Today.Redemptions, t.Before.Redemptions, v.Number)
	add("New cards", t.Today.NewCards, t.Before.NewCards, v.Number)
	if t.Begun.Prepaid {
		add("Topped up", t.Today.ToppedUpCents, t.Before.ToppedUpCents, v.money)
		add("Spent from cards", t.Today.SpentCents, t.Before.SpentCents, v.money)
	}
	return tiles
}

// money returns an amount in the shop's currency.
func (v *visit) money(cents int64) string { return v.Money(cents, v.shop().Currency) }

// attention returns what a person reads about something to see to.
func (v *visit) attention(a store.Attention) attention {
	program := v.link("Open the program", programPath(a.ProgramID))
	log := v.link("Open the webhook", webhookPath(a.WebhookID.V))
	switch a.Kind {
	case store.AttentionWebhookFailing:
		failed := v.T("{0} delivery in a row has failed.|{0} deliveries in a row have failed.", a.Failures)
		return attention{"warn", v.T("The webhook to {0} fails", a.Name), failed, log}
	case store.AttentionWebhookInactive:
		return attention{"warn", v.T("The webhook to {0} is switched off", a.Name), v.T("It gets no events until it is activated."), log}
	case store.AttentionFreeMoney:
		advice := v.T(
			"Its cards begin with money, so customers cannot make them themselves. Turn the form off, or set the balance of a new card " +
				"to 0.",
		)
		open := v.link("Open the form", enrolmentPath(a.ProgramID))
		return attention{"warn", v.T("{0}: the form for new cards is closed", a.Name), advice, open}
	case store.AttentionCorrection:
		return attention{"warn", v.T("A customer asks for a correction"), v.T("What they wrote is on the page of the card."),
			v.link("Open the card", cardPath(a.CardID.V))}
	case store.AttentionErasure:
		return attention{"warn", v.T("A customer asks to be erased"), v.T("Erase the card, or close the request on its page."),
			v.link("Open the card", cardPath(a.CardID.V))}
	case store.AttentionAppleEnds:
		return v.appleEnding(a.EndsAt.V)
	case store.AttentionForgetting:
		return attention{"info", v.T("Cards that nobody has shown for long are erased"), v.forgettingTotal(a.Cards),
			v.link("Look at the list", forgettingPath)}
	case store.AttentionNoPrizes:
		return attention{"warn", v.T("{0} has no prizes", a.Name), v.T("Customers collect stamps, but can redeem nothing."), program}
	}
	return attention{"info", v.T("{0} is a draft", a.Name), v.T("Publish the program to issue cards."), program}
}

// ledgerTypes are the icons and the names of the rows of the ledger.
var ledgerTypes = map[string]struct {
	icon, tone string
	text       web.Text
}{
	store.TransactionStamp:      {"stamp", "", "Stamps"},
	store.TransactionRedemption: {"prize", "good", "Prize redeemed"},
	store.TransactionReversal:   {"undo", "warn", "Reversal"},
	store.TransactionExpiry:     {"calendar", "", "Expiry"},
	store.TransactionTopUp:      {"balance", "", "Top-up"},
	store.TransactionSpend:      {"balance", "", "Payment"},
	store.TransactionDiscount:   {"check", "", "Discount"},
	store.TransactionAccess:     {"check", "", "Visit"},
	store.TransactionAdjustment: {"edit", "", "Adjustment"},
}

// ledgerEvent returns a row of the ledger as people read it. today is the day of the page.
func (v *visit) ledgerEvent(e store.LedgerEntry, today string) ledgerEvent {
	kind := ledgerTypes[e.Type]
	event := ledgerEvent{
		Icon:     kind.icon,
		Tone:     kind.tone,
		Who:      v.cardName(e.HolderName.V),
		Path:     cardPath(e.CardID),
		What:     v.T(kind.text),
		Where:    e.LocationName,
		At:       e.CreatedAt,
		Reversed: e.ReversedAt.Valid,
		Time:     v.Time(e.CreatedAt.Std()),
	}
	if e.CreatedAt.Std().In(v.zone()).Format(time.DateOnly) != today {
		event.Time = v.T("{0}, {1}", v.DayMonth(e.CreatedAt.Std()), event.Time)
	}
	event.What += " · " + e.ProgramName
	if e.DeviceName.Valid && e.DeviceName.V != e.LocationName {
		event.Where += " · " + e.DeviceName.V
	}
	switch {
	case e.ValueDelta.V != 0:
		event.Amount = signed(e.ValueDelta.V, v.money)
	case e.StampsDelta.V != 0:
		event.Amount = signed(e.StampsDelta.V, v.Number)
	}
	return event
}
