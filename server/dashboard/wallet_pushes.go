package dashboard

import (
	"strconv"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// walletTabs are the pages of wallets.
func (v *visit) walletTabs(current string) (tabs []web.NavItem) {
	if v.allows(kernel.Owner) {
		tabs = append(tabs, v.tab("Set-up", walletPath, current == walletPath))
	}
	return append(tabs, v.tab("Passes and pushes", pushesPath, current == pushesPath))
}

// pushesPage shows where cards are, and what came of the last pushes.
type pushesPage struct {
	web.Frame
	Tabs             []web.NavItem
	Passes, Browsers int64 // of all programs
	Google           int64 // likewise
	Programs         []store.ProgramCopies
	Pushes           []pushRow
}

// pushRow is a push in the list.
type pushRow struct {
	store.SentPush
	Name  string
	To    string
	Badge web.Badge
	Says  string
}

func showPushes(v *visit) error {
	copies, err := read[operation.List[store.ProgramCopies]](v, operation.CountCopies)
	if err != nil {
		return err
	}
	sent, err := read[operation.List[store.SentPush]](v, operation.ListSentPushes)
	if err != nil {
		return err
	}
	p := pushesPage{
		Frame:    v.frame("Wallet", walletPath),
		Tabs:     v.walletTabs(pushesPath),
		Programs: copies.Data,
		Pushes:   each(sent.Data, v.pushRow),
	}
	for _, c := range copies.Data {
		p.Passes, p.Google, p.Browsers = p.Passes+c.ApplePasses, p.Google+c.GoogleCards, p.Browsers+c.Browsers
	}
	return v.render("wallet_pushes", p)
}

// pushRow returns a push with what came of it in a sentence.
func (v *visit) pushRow(s store.SentPush) pushRow {
	row := pushRow{SentPush: s, Name: v.cardName(s.HolderName.V, "", ""), To: v.T("Browser")}
	switch s.Target {
	case store.TargetPhone:
		row.To = v.T("Apple Wallet")
	case store.TargetGoogle:
		row.To = v.T("Google Wallet")
	}
	status := strconv.FormatInt(s.Status.V, 10)
	switch s.State {
	case store.PushSent:
		row.Badge, row.Says = v.badge("Sent", "good"), v.T("The push service has accepted it.")
	case store.PushRefused:
		row.Badge, row.Says = v.badge("Refused", "bad"), v.T("The push service does not accept it.")
		if s.Status.Valid {
			row.Says = v.T("The push service does not accept it: it answered {0}.", status)
		}
	case store.PushHeld:
		row.Badge = v.badge("Held", "warn")
		row.Says = v.T("The certificate for Apple Wallet has ended. It is sent once there is a new one.")
	default:
		row.Badge, row.Says = v.badge("Failed", "bad"), v.T("The push service could not be reached.")
		if s.Status.Valid {
			row.Says = v.T("The push service answered {0}.", status)
		}
		if s.NextAttemptAt.Valid {
			row.Badge = v.badge("Trying again", "warn")
			row.Says += " " + v.T("The next attempt is on {0}.", v.DateTime(s.NextAttemptAt.V.Std()))
		}
	}
	return row
}
