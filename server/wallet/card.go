// Package wallet brings copies of cards up to date where their holders see them outside of the card's page.
package wallet

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/web"
	"punchcard/store"
)

// Card is a card as its holder reads it, in the language and time zone of a printer.
type Card struct {
	*web.Printer
	*store.HolderCard
}

// cardIn returns a card as its holder reads it in a language, in the time zone of the shop.
func cardIn(language string, h *store.HolderCard) Card {
	return Card{web.PrinterFor(language).In(store.Zone(h.Shop.Timezone)), h}
}

// Localized returns a text of the shop in the language of the page, or else the one
// without a language.
func (c Card) Localized(byLanguage map[string]string, otherwise string) string {
	return cmp.Or(byLanguage[c.Lang()], otherwise)
}

// PrizeName returns the name of a prize.
func (c Card) PrizeName(z store.Prize) string {
	return c.Localized(c.PrizeTexts[z.ID].Names, z.Name)
}

// Face returns how a card is drawn.
func (c Card) Face() web.HolderCard {
	f := web.HolderCard{
		ID:      "card",
		Shop:    c.Shop.Name,
		Name:    c.ProgramName(),
		Holder:  c.Card.HolderName.V,
		Program: web.CardColours{Brand: c.Program.BrandColorHex, Background: c.Program.BgColorHex, Text: c.Program.TextColorHex},
		Stamps:  c.Card.StampsCount,
		Total:   c.Program.TotalStamps.V,
	}
	if c.LogoHash.Valid {
		f.Logo = "/logo/" + c.LogoHash.V + ".png"
	}
	for _, p := range c.Prizes {
		if missing := p.Threshold - c.Card.StampsCount; f.Total > 0 && missing > 0 && (f.Next == "" || missing < f.Missing) {
			f.Next, f.Missing = c.PrizeName(p.Prize), missing
		}
	}
	if c.blocked() == "" {
		names, counts := c.readyPrizes()
		f.Ready = c.readyLines(names, counts, nil)
	}
	if c.Card.CurrentValue.Valid {
		f.Balance = c.Money(c.Card.CurrentValue.V, c.Shop.Currency)
	}
	if percent := c.Program.DiscountPercent; percent.Valid {
		f.Percent = c.Decimal(percent.V, -1)
	}
	if c.Card.ExpiresAt.Valid {
		f.Until = c.Date(c.Card.ExpiresAt.V.Std())
	}
	return f
}

// readyPrizes returns by threshold the prizes that the till gives now, for all cards of the chain, and
// how many times.
func (c Card) readyPrizes() (names map[int64]string, counts map[int64]int) {
	names, counts = map[int64]string{}, map[int64]int{}
	ladders := [][]store.LadderPrize{c.Prizes}
	for _, e := range c.EarlierCards {
		ladders = append(ladders, e.Prizes)
	}
	for _, ladder := range ladders {
		ready := map[int64]string{}
		for _, z := range ladder {
			if z.Available {
				ready[z.Threshold] = Joined(" / ", ready[z.Threshold], c.PrizeName(z.Prize))
			}
		}
		for threshold, name := range ready {
			names[threshold] = name
			counts[threshold]++
		}
	}
	return names, counts
}

// readyLines returns a line for each threshold whose prizes can be redeemed more often than before, with the prizes among which the
// holder chooses and how many times.
func (c Card) readyLines(names map[int64]string, counts, before map[int64]int) (lines []string) {
	for _, threshold := range slices.Sorted(maps.Keys(names)) {
		n := counts[threshold]
		if n <= before[threshold] {
			continue
		}
		name := names[threshold]
		if n > 1 {
			name += " × " + strconv.Itoa(n)
		}
		lines = append(lines, c.T("{0} ready", name))
	}
	return lines
}

// ProgramName returns the name of the program.
func (c Card) ProgramName() string {
	return c.Localized(c.Texts.Names, c.Program.Name)
}

// blockedByShop says that the program is paused; see blocked.
const blockedByShop = "suspended"

// blocked returns why a card cannot be used now: a status, or blockedByShop. It is empty if it can.
func (c Card) blocked() string {
	switch {
	case c.Card.Status == store.StatusExpired, c.Card.Status == store.StatusLocked:
		return c.Card.Status
	case c.Program.SuspendedAt.Valid:
		return blockedByShop
	}
	return ""
}

// Notice returns why a card cannot be used now and what to do, or an empty text.
func (c Card) Notice() string {
	switch c.blocked() {
	case store.StatusExpired:
		return c.T("This card expired on {0}. Ask the shop for a new one.", c.Date(c.Card.ExpiresAt.V.Std()))
	case store.StatusLocked:
		return c.T("This card is locked. Ask the shop to unlock it.")
	case blockedByShop:
		return c.T("The shop has paused this card. What is on it stays; ask the shop when it can be used again.")
	}
	return ""
}

// Joined joins the texts that are not empty.
func Joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}
