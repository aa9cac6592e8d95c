package web

import (
	"fmt"
	"html/template"
)

// maxDrawn is the maximum number of stamps that are drawn one by one.
const maxDrawn = 60

// HolderCard is the argument of the component "holdercard", a card as its holder sees
// it. A page that shows one loads the asset holdercard.css and has, in a style element or
// in Frame.Style, the rules of Style.
type HolderCard struct {
	ID      string // class of this card, for Style
	Shop    string
	Logo    string // path; empty: none
	Name    string // of the program
	Holder  string
	Sample  bool // the card is a picture on the page of something else: its name is no heading
	Program CardColours
	Ready   []string // lines about prizes that can be redeemed now
	Stamps  int64
	Total   int64  // 0: the card collects no stamps
	Next    string // prize
	Missing int64  // stamps, for Next
	Balance string // formatted
	Percent string // discount, formatted
	Until   string // end of the card, formatted
}

// CardColours are the colours of a program, as #RRGGBB.
type CardColours struct {
	Brand, Background, Text string
}

// Ink returns the colour of text, which is readable whatever the shop chose.
func (c CardColours) Ink() string { return ReadableColour(c.Text, c.Background) }

// OnBrand returns the colour of text on the brand colour.
func (c CardColours) OnBrand() string { return BlackOrWhite(c.Brand) }

// Readable reports whether the chosen colour of text is readable.
func (c CardColours) Readable() bool { return c.Ink() == c.Text }

// Drawn returns for each stamp whether the card has it, or nil if the card has so many
// that a bar shows them.
func (c HolderCard) Drawn() (stamps []bool) {
	for i := int64(0); i < c.Total && c.Total <= maxDrawn; i++ {
		stamps = append(stamps, i < c.Stamps)
	}
	return stamps
}

// Filled returns the percentage of stamps that the card has.
func (c HolderCard) Filled() int64 {
	if c.Total <= 0 {
		return 0
	}
	return 100 * min(c.Stamps, c.Total) / c.Total
}

// Vars returns the colours as declarations, for preview.js.
func (c HolderCard) Vars() string {
	p := c.Program
	return fmt.Sprintf("--bg:%s;--ink:%s;--brand:%s;--on-brand:%s", p.Background, p.Ink(), p.Brand, p.OnBrand())
}

// Style returns the rules of this card alone. Its colours must be valid.
func (c HolderCard) Style() template.CSS {
	return template.CSS(fmt.Sprintf(".%s{%s}", c.ID, c.Vars()))
}
