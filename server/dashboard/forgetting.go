package dashboard

import (
	"punchcard/server/web"
	"punchcard/store"
)

const forgettingPath = "/dashboard/forgetting"

// forgettingPage is the list of the cards that are erased soon.
type forgettingPage struct {
	web.Frame
	Settings string
	On       bool
	Total    string
	Cards    []forgottenCard
	More     bool
	Kept     []forgottenCard // with money on them
	MoreKept bool
}

// forgottenCard is a card that was not seen for long, as people read it.
type forgottenCard struct {
	Path, Name, Program, Seen, Erased, Money string // Money is empty for cards that are erased
}

func showForgetting(v *visit, f store.Forgetting) error {
	p := forgettingPage{
		Frame:    v.frame("Cards that are erased soon", todayPath),
		Settings: settingsPath,
		On:       f.ForgetAfterMonths.Valid,
		Cards:    v.forgottenCards(f.Cards),
		Kept:     v.forgottenCards(f.KeptCards),
		More:     f.Due.N > int64(len(f.Cards)),
		MoreKept: f.Kept.N > int64(len(f.KeptCards)),
	}
	if len(f.Cards) > 0 {
		p.Total = v.forgettingTotal(f.Due)
	}
	return v.render("forgetting", p)
}

// forgettingTotal says how many cards are erased.
func (v *visit) forgettingTotal(t store.Total) string {
	if t.More {
		return v.T("More than {0} cards are erased within a month, with the data of their holders.", t.N)
	}
	return v.T("{0} card is erased within a month, with the data of its holder.|"+
		"{0} cards are erased within a month, with the data of their holders.", t.N)
}

func (v *visit) forgottenCards(cards []store.ForgottenCard) (list []forgottenCard) {
	for _, c := range cards {
		shown := forgottenCard{
			Path:    cardPath(c.ID),
			Name:    v.cardName(c.HolderName.V),
			Program: c.ProgramName,
			Seen:    v.T("Never; made on {0}", v.day(c.CreatedOn)),
			Erased:  v.day(c.EraseOn),
		}
		if c.SeenOn.Valid {
			shown.Seen = v.day(c.SeenOn.V)
		}
		if c.CurrentValue.V > 0 {
			shown.Money = v.money(c.CurrentValue.V)
		}
		list = append(list, shown)
	}
	return list
}

// day returns a date of the shop's calendar as people read it.
func (v *visit) day(date string) string {
	return v.calendar().Date(dayAt(date))
}
