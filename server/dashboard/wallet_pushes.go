package dashboard

import (
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
	Pushes           []store.SentPush
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
		Pushes:   sent.Data,
	}
	for _, c := range copies.Data {
		p.Passes, p.Google, p.Browsers = p.Passes+c.ApplePasses, p.Google+c.GoogleCards, p.Browsers+c.Browsers
	}
	return v.render("wallet_pushes", p)
}
