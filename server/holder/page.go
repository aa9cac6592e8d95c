package holder

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"punchcard/server/qr"
	"punchcard/server/wallet"
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
	Push          string // path of the subscriptions of browsers; empty: there are none
	Wallets       []walletLink
	WalletFirst   bool // the first of them is for the phone that shows the page, and stands above the code
}

// walletLink adds the card to a wallet.
type walletLink struct{ Path, Text string }

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
	c := v.card(h)
	x := cardView{
		Face:          c.Face(),
		Notice:        c.Notice(),
		QR:            template.HTML(strings.Replace(svg, "aria-label='QR code'", label, 1)),
		ShortCode:     web.GroupCode(h.ShortCode),
		Prizes:        v.prizes(h, h.Prizes),
		Rows:          v.rows(h),
		MoreLocations: len(h.Card.Locations) - len(h.Addresses),
		Description:   c.Localized(h.Texts.Descriptions, h.Program.Description),
		Now:           v.Kernel.Store().Now(),
		Installed:     h.Card.InstalledAt.Valid,
		Form:          v.withLanguage(at + "/install"),
	}
	x.Title, x.Style = x.Face.Name+" – "+x.Face.Shop, x.Face.Style()
	for _, e := range h.EarlierCards {
		x.Earlier = append(x.Earlier, earlierCard{e.StampsCount, v.prizes(h, e.Prizes)})
	}
	for _, a := range h.Addresses {
		x.Locations = append(x.Locations, location{a.Name, wallet.Joined(", ", a.Street, wallet.Joined(" ", a.PostalCode, a.City))})
	}
	page := pagePath(h.PageToken)
	if h.LinkExpiresAt.Valid {
		x.Page, x.Until = v.withLanguage(page), h.LinkExpiresAt.V
	} else {
		x.Ask, x.Asked = v.withLanguage(page+"/ask"), h.Asked
		x.Push = page + "/push"
		x.Wallets, x.WalletFirst = v.wallets(h, page)
		x.Events, x.Manifest, x.Icon = page+"/events", v.withLanguage(page+"/manifest.webmanifest"), page+"/icon/180.png"
	}
	return v.html(http.StatusOK, "card", x, string(x.Style))
}

// wallets returns the links that add a card to wallets. first says that the first one is for the phone that shows the page.
func (v *visit) wallets(h *store.HolderCard, page string) (links []walletLink, first bool) {
	android := strings.Contains(v.r.UserAgent(), "Android")
	if h.HasPass {
		links = append(links, walletLink{page + "/card.pkpass", v.T("Add to Apple Wallet")})
		first = strings.Contains(v.r.UserAgent(), "iPhone")
	}
	if h.HasGoogle {
		links = append(links, walletLink{page + "/google", v.T("Add to Google Wallet")})
		if android {
			slices.Reverse(links)
			first = true
		}
	}
	return links, first
}

// card returns a card in the language of the page.
func (v *visit) card(h *store.HolderCard) wallet.Card {
	return wallet.Card{Printer: v.Printer, HolderCard: h}
}

// prizes returns a ladder in words.
func (v *visit) prizes(h *store.HolderCard, ladder []store.LadderPrize) (list []prize) {
	for _, z := range ladder {
		p := prize{
			Name:        v.card(h).PrizeName(z.Prize),
			Description: v.card(h).Localized(h.PrizeTexts[z.ID].Descriptions, z.Description),
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
	web.Write(v.w, status, body)
}
