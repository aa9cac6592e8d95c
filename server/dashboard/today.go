package dashboard

import (
	"bytes"
	"net/http"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const todayPath = "/dashboard"

// todayPages are the page of today and the stream that keeps it up to date.
var todayPages = []binding{
	page(todayPath, showToday),
	page("/dashboard/events", streamToday),
}

// todayPage is the page of today.
type todayPage struct {
	web.Frame
	Sub       string // the day
	Actions   []web.Action
	Tiles     []tile
	Begun     bool       // the shop has all that it needs
	Setup     web.Action // goes on with a set-up that was left
	Steps     []startStep
	Attention []attention
	Events    []ledgerEvent
}

// tile is a figure of today beside that of a week ago.
type tile struct {
	Label, Value string
	Change       web.Change
	Note         string
}

// startStep is a thing that a new shop needs.
type startStep struct {
	Label string
	Hint  string
	Path  string // empty: the person may not do it
	Done  bool
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

func showToday(v *visit) error {
	p, err := v.today()
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "today", p)
}

func streamToday(v *visit) error {
	return v.stream(func() ([]byte, error) {
		p, err := v.today()
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = v.templates.Fragment(&b, "today", "parts", p, v.print)
		return b.Bytes(), err
	})
}

// today reads the page of today.
func (v *visit) today() (p todayPage, err error) {
	t, err := read[store.Today](v, operation.GetToday, kernel.Args{})
	if err != nil {
		return p, err
	}
	p = todayPage{
		Frame: v.frame(web.Text("Today"), todayPath),
		Sub:   v.print.T("{0}, compared with the same weekday a week ago up to this time", v.print.LongDate(t.Until.Std())),
		Tiles: v.todayTiles(t),
		Begun: t.Begun.Done(),
	}
	p.Actions = []web.Action{{Label: v.print.T("Day report"), Path: reportPath, Icon: "report"}}
	if v.allows(kernel.Manager) && t.Begun.Published {
		p.Actions = append(
			p.Actions,
			web.Action{Label: v.print.T("Issue a card"), Path: "/dashboard/new/card", Icon: "plus", Kind: "primary"},
		)
	}
	if v.allows(kernel.Owner) && !(t.Begun.Location && t.Begun.Program) {
		p.Setup = web.Action{Label: v.print.T("Continue the set-up"), Path: setupPath, Kind: "primary"}
	}
	if !p.Begun {
		p.Steps = v.startSteps(t.Begun)
	}
	for _, a := range t.Attention {
		p.Attention = append(p.Attention, v.attention(a))
	}
	p.Attention = append(v.serverAttention(), p.Attention...)
	if a := v.unreachable(); a != nil {
		p.Attention = append([]attention{*a}, p.Attention...)
	}
	for _, e := range t.Events {
		p.Events = append(p.Events, v.ledgerEvent(e, t.Date))
	}
	return p, nil
}

// todayTiles returns the figures of today: those of money only for shops with balances.
func (v *visit) todayTiles(t store.Today) (tiles []tile) {
	add := func(label string, now, before int64, format func(int64) string) {
		tiles = append(tiles, tile{v.print.T(label), format(now), v.change(now, before), v.print.T("vs. {0} a week ago", format(before))})
	}
	add(web.Text("Stamps"), t.Today.Stamps, t.Before.Stamps, v.print.Number)
	add(web.Text("Redemptions"), t.Today.Redemptions, t.Before.Redemptions, v.print.Number)
	add(web.Text("New cards"), t.Today.NewCards, t.Before.NewCards, v.print.Number)
	if t.Begun.Prepaid {
		add(web.Text("Topped up"), t.Today.ToppedUpCents, t.Before.ToppedUpCents, v.money)
		add(web.Text("Spent from cards"), t.Today.SpentCents, t.Before.SpentCents, v.money)
	}
	return tiles
}

// money returns an amount in the shop's currency.
func (v *visit) money(cents int64) string { return v.print.Money(cents, v.shop().Currency) }

// startSteps returns what a new shop needs, with what it has already.
func (v *visit) startSteps(b store.Begun) []startStep {
	program := "/dashboard/new/program"
	if b.Program {
		program = "/dashboard/programs"
	}
	steps := []struct {
		role        kernel.Role
		label, hint string
		path        string
		done        bool
	}{
		{
			kernel.Owner,
			web.Text("Add a location"),
			web.Text("Where your customers show their cards."),
			"/dashboard/new/location",
			b.Location,
		},
		{
			kernel.Manager,
			web.Text("Create a program and publish it"),
			web.Text("What a card collects, and what it gives."),
			program,
			b.Published,
		},
		{kernel.Manager, web.Text("Pair a till"), web.Text("It stamps and redeems cards at a location."), "/dashboard/new/till", b.Till},
		{
			kernel.Manager,
			web.Text("Issue the first card"),
			web.Text("To yourself, for example. Once a card is kept on a phone, the design and the prizes stay as they are."),
			"/dashboard/new/card",
			b.Card,
		},
	}
	var list []startStep
	for _, s := range steps {
		step := startStep{Label: v.print.T(s.label), Hint: v.print.T(s.hint), Done: s.done}
		if v.allows(s.role) && !s.done {
			step.Path = s.path
		}
		list = append(list, step)
	}
	return list
}

// attention returns what a person reads about something to see to.
func (v *visit) attention(a store.Attention) attention {
	program := web.Action{Label: v.print.T("Open the program"), Path: "/dashboard/program/" + a.ProgramID}
	log := web.Action{Label: v.print.T("Open the webhook"), Path: "/dashboard/webhook/" + a.WebhookID.V}
	switch a.Kind {
	case store.AttentionWebhookFailing:
		return attention{
			"warn",
			v.print.T("The webhook to {0} fails", a.Name),
			v.print.T("{0} delivery in a row has failed.|{0} deliveries in a row have failed.", a.Failures),
			log,
		}
	case store.AttentionWebhookInactive:
		return attention{
			"warn",
			v.print.T("The webhook to {0} is switched off", a.Name),
			v.print.T("It gets no events until it is activated."),
			log,
		}
	case store.AttentionFreeMoney:
		return attention{
			"warn",
			v.print.T("{0}: the form for new cards is closed", a.Name),
			v.print.T(
				"Its cards begin with money, so customers cannot make them themselves. Turn the form off, or set the balance of a new card to 0.",
			),
			web.Action{Label: v.print.T("Open the form"), Path: enrolmentPath(a.ProgramID)},
		}
	case store.AttentionNoPrizes:
		return attention{
			"warn",
			v.print.T("{0} has no prizes", a.Name),
			v.print.T("Customers collect stamps, but can redeem nothing."),
			program,
		}
	}
	return attention{"info", v.print.T("{0} is a draft", a.Name), v.print.T("Publish the program to issue cards."), program}
}

// ledgerTypes are the icons and the names of the rows of the ledger. {0} is the number of
// stamps.
var ledgerTypes = map[string]struct{ icon, tone, one string }{
	store.TransactionStamp:      {"stamp", "", web.Text("{0} stamp|{0} stamps")},
	store.TransactionRedemption: {"prize", "good", web.Text("Prize redeemed")},
	store.TransactionReversal:   {"undo", "warn", web.Text("Taken back")},
	store.TransactionExpiry:     {"calendar", "", web.Text("Card expired")},
	store.TransactionTopUp:      {"balance", "", web.Text("Topped up")},
	store.TransactionSpend:      {"balance", "", web.Text("Spent from the card")},
	store.TransactionDiscount:   {"check", "", web.Text("Discount used")},
	store.TransactionAccess:     {"check", "", web.Text("Visit")},
}

// ledgerEvent returns a row of the ledger as people read it. today is the day of the page.
func (v *visit) ledgerEvent(e store.LedgerEntry, today string) ledgerEvent {
	kind := ledgerTypes[e.Type]
	event := ledgerEvent{
		Icon: kind.icon, Tone: kind.tone, Who: e.HolderName.V, Path: "/dashboard/card/" + e.CardID,
		What: v.print.T(kind.one, e.StampsDelta.V), Where: e.LocationName, At: e.CreatedAt, Reversed: e.ReversedAt.Valid,
		Time: v.print.Time(e.CreatedAt.Std()),
	}
	if e.CreatedAt.Std().In(v.zone()).Format(time.DateOnly) != today {
		event.Time = v.print.T("{0}, {1}", v.print.DayMonth(e.CreatedAt.Std()), event.Time)
	}
	if event.Who == "" {
		event.Who = v.print.T("Card without a name")
	}
	event.What += " · " + e.ProgramName
	if e.DeviceName.Valid && e.DeviceName.V != e.LocationName {
		event.Where += " · " + e.DeviceName.V
	}
	switch {
	case e.ValueDelta.Valid && e.ValueDelta.V != 0:
		event.Amount = v.money(e.ValueDelta.V)
		if e.ValueDelta.V > 0 {
			event.Amount = "+" + event.Amount
		}
	case e.StampsDelta.V > 0:
		event.Amount = "+" + v.print.Number(e.StampsDelta.V)
	case e.StampsDelta.V < 0:
		event.Amount = v.print.Number(e.StampsDelta.V)
	}
	return event
}
