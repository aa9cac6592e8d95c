package holder

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

//go:embed pages/*.html
var files embed.FS

// templates returns the templates of all pages.
var templates = web.Pages(files)

// cardView is the data of the page of a card.
type cardView struct {
	Title         string
	Style         template.CSS   // of this card
	Face          web.HolderCard // how the card is drawn
	Notice        string         // why the card cannot be used; empty: it can
	QR            template.HTML
	ShortCode     string // in capitals and groups, for reading out
	Prizes        []prize
	Earlier       []earlierCard
	Rows          []row
	Locations     []location
	MoreLocations int // further locations, which Locations leaves out
	Description   string
	Now           store.Time
	Installed     bool
	Form          string     // path of the form
	Page          string     // path of the card's page; empty: this is it
	Until         store.Time // end of the install link, with Page
	Events        string     // path of the stream; empty: there is none
	Manifest      string     // likewise
	Icon          string     // likewise
	Ask           string     // path of the forms about the holder's data; empty: there are none
	Asked         store.DataRequests
}

// prize is a prize with its state on the card.
type prize struct {
	Name, Description string
	State             string // in words
	Ready             bool
}

// earlierCard is a full card before the one that takes stamps.
type earlierCard struct {
	Stamps int64
	Prizes []prize
}

// location is one at which the card works.
type location struct {
	Name, Address string
}

// render answers with the page of a card, at a path without the language.
func (v *visit) render(h *store.HolderCard, at string) error {
	v.speak(h.Shop)
	svg, err := qr.SVG(h.Code)
	if err != nil {
		return err
	}
	label := "aria-label='" + template.HTMLEscapeString(v.T("QR code")) + "'"
	x := cardView{
		Face:          v.face(h),
		Notice:        v.notice(h),
		QR:            template.HTML(strings.Replace(svg, "aria-label='QR code'", label, 1)),
		ShortCode:     web.GroupCode(h.ShortCode),
		Prizes:        v.prizes(h, h.Prizes),
		Rows:          v.rows(h),
		MoreLocations: len(h.Card.Locations) - len(h.Addresses),
		Description:   v.localized(h.Texts.Descriptions, h.Program.Description),
		Now:           v.Kernel.Store().Now(),
		Installed:     h.Card.InstalledAt.Valid,
		Form:          v.withLanguage(at + "/install"),
	}
	x.Title, x.Style = x.Face.Name+" – "+x.Face.Shop, x.Face.Style()
	for _, e := range h.EarlierCards {
		x.Earlier = append(x.Earlier, earlierCard{e.StampsCount, v.prizes(h, e.Prizes)})
	}
	for _, a := range h.Addresses {
		x.Locations = append(x.Locations, location{a.Name, joined(", ", a.Street, joined(" ", a.PostalCode, a.City))})
	}
	page := pagePath(h.PageToken)
	if h.LinkExpiresAt.Valid {
		x.Page, x.Until = v.withLanguage(page), h.LinkExpiresAt.V
	} else {
		x.Ask, x.Asked = v.withLanguage(page+"/ask"), h.Asked
		x.Events, x.Manifest, x.Icon = page+"/events", v.withLanguage(page+"/manifest.webmanifest"), page+"/icon/180.png"
	}
	return v.html(http.StatusOK, "card", x, string(x.Style))
}

// joined joins the texts that are not empty.
func joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

// localized returns a text of the shop in the language of the page, or else the one
// without a language.
func (v *visit) localized(byLanguage map[string]string, otherwise string) string {
	return cmp.Or(byLanguage[v.Lang()], otherwise)
}

func (v *visit) prizeName(h *store.HolderCard, z store.Prize) string {
	return v.localized(h.PrizeTexts[z.ID].Names, z.Name)
}

// face returns how a card is drawn.
func (v *visit) face(h *store.HolderCard) web.HolderCard {
	c := web.HolderCard{
		ID:      "card",
		Shop:    h.Shop.Name,
		Name:    v.programName(h),
		Holder:  h.Card.HolderName.V,
		Program: web.CardColours{Brand: h.Program.BrandColorHex, Background: h.Program.BgColorHex, Text: h.Program.TextColorHex},
		Stamps:  h.Card.StampsCount,
		Total:   h.Program.TotalStamps.V,
	}
	if h.LogoHash.Valid {
		c.Logo = "/logo/" + h.LogoHash.V + ".png"
	}
	for _, p := range h.Prizes {
		if missing := p.Threshold - h.Card.StampsCount; c.Total > 0 && missing > 0 && (c.Next == "" || missing < c.Missing) {
			c.Next, c.Missing = v.prizeName(h, p.Prize), missing
		}
	}
	if v.notice(h) == "" {
		c.Ready = v.ready(h)
	}
	if h.Card.CurrentValue.Valid {
		c.Balance = v.Money(h.Card.CurrentValue.V, h.Shop.Currency)
	}
	if percent := h.Program.DiscountPercent; percent.Valid {
		c.Percent = v.Decimal(percent.V, -1)
	}
	if h.Card.ExpiresAt.Valid {
		c.Until = v.Date(h.Card.ExpiresAt.V.Std())
	}
	return c
}

// ready says which prizes the till gives now, for all cards of the chain: a line for each
// threshold, with the prizes among which the holder chooses and how many times.
func (v *visit) ready(h *store.HolderCard) (lines []string) {
	names, counts := map[int64]string{}, map[int64]int{}
	ladders := [][]store.LadderPrize{h.Prizes}
	for _, e := range h.EarlierCards {
		ladders = append(ladders, e.Prizes)
	}
	for _, ladder := range ladders {
		ready := map[int64]string{}
		for _, z := range ladder {
			if z.Available {
				ready[z.Threshold] = joined(" / ", ready[z.Threshold], v.prizeName(h, z.Prize))
			}
		}
		for threshold, name := range ready {
			names[threshold] = name
			counts[threshold]++
		}
	}
	for _, threshold := range slices.Sorted(maps.Keys(names)) {
		name := names[threshold]
		if n := counts[threshold]; n > 1 {
			name += " × " + strconv.Itoa(n)
		}
		lines = append(lines, v.T("{0} ready", name))
	}
	return lines
}

func (v *visit) programName(h *store.HolderCard) string {
	return v.localized(h.Texts.Names, h.Program.Name)
}

// notice returns why a card cannot be used now and what to do, or an empty text.
func (v *visit) notice(h *store.HolderCard) string {
	switch {
	case h.Card.Status == store.StatusExpired:
		return v.T("This card expired on {0}. Ask the shop for a new one.", v.Date(h.Card.ExpiresAt.V.Std()))
	case h.Card.Status == store.StatusLocked:
		return v.T("This card is locked. Ask the shop to unlock it.")
	case h.Program.SuspendedAt.Valid:
		return v.T("The shop has paused this card. What is on it stays; ask the shop when it can be used again.")
	}
	return ""
}

// prizes returns a ladder in words.
func (v *visit) prizes(h *store.HolderCard, ladder []store.LadderPrize) (list []prize) {
	for _, z := range ladder {
		p := prize{
			Name:        v.prizeName(h, z.Prize),
			Description: v.localized(h.PrizeTexts[z.ID].Descriptions, z.Description),
			Ready:       z.Available,
		}
		switch {
		case z.Claimed:
			p.State = v.T("Redeemed")
		case z.Available:
			p.State = v.T("Ready")
		default:
			p.State = v.T("{0} stamp|{0} stamps", z.Threshold)
		}
		list = append(list, p)
	}
	return list
}

// html answers with a page. styles are the texts of its style elements.
func (v *visit) html(status int, page string, data any, styles ...string) error {
	var b bytes.Buffer
	if err := templates().Fragment(&b, page, "document", data, v.Printer); err != nil {
		return err
	}
	v.answer(status, b.Bytes(), styles...)
	return nil
}

// answer writes a page with the headers of a page that can be installed.
func (v *visit) answer(status int, body []byte, styles ...string) {
	h := v.w.Header()
	web.SetHeaders(h, styles...)
	web.AllowInstallation(h)
	h.Set("Vary", "Accept-Language")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(status)
	v.w.Write(body)
}
