package dashboard

import (
	"punchcard/server/web"
	"punchcard/store"
)

const forgettingPath = "/dashboard/forgetting"

// forgettingPage is the list of the cards that are erased soon.
type forgettingPage struct {
	web.Frame
	store.Forgetting
	Total string
}

func showForgetting(v *visit, f store.Forgetting) error {
	return v.render("forgetting", forgettingPage{v.frame("Cards that are erased soon", todayPath), f, v.forgettingTotal(f.Due)})
}

// forgettingTotal says how many cards are erased.
func (v *visit) forgettingTotal(t store.Total) string {
	if t.More {
		return v.T("More than {0} cards are erased within a month, with the data of their holders.", t.N)
	}
	return v.T("{0} card is erased within a month, with the data of its holder.|"+
		"{0} cards are erased within a month, with the data of their holders.", t.N)
}
