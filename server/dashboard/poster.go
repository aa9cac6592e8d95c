package dashboard

import (
	"cmp"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

// posterPage is a page to print, with the QR code of the form at which customers make cards
// of a program. Its texts are in the language of the shop.
type posterPage struct {
	web.Frame
	Program string // id
	Size    string
	Sizes   []web.NavItem
	Off     bool // the form makes no cards now
	Poster  poster
	Faces   []string // classes: one for each side that the page shows
}

// poster is what is printed.
type poster struct {
	Lang   string
	Shop   string
	Logo   string // path; empty: none
	Name   string // of the program
	Scan   string // what to do
	Text   string
	Offer  string // of a discount; empty: none
	Ladder []rung
	QR     template.HTML
	URL    string // without the scheme, to type
}

// rung is a step of the ladder of prizes.
type rung struct{ Stamps, Prize string }

// maxRungs is the number of prizes that a poster has room for.
const maxRungs = 4

// posterSizes are the sizes of posters.
var posterSizes = []struct{ name, label, page string }{
	{"a4", web.Text("Poster, A4"), "size:A4;margin:0"},
	{"a6", web.Text("Card for the counter, A6"), "size:A6;margin:0"},
	{"tent", web.Text("Table tent, A4 folded"), "size:A4;margin:0"},
}

func showPoster(v *visit) error {
	j, err := read[store.JoinPage](v, operation.GetPoster, v.args(nil))
	if err != nil {
		return err
	}
	p := posterPage{Frame: v.frame(web.Text("Poster"), programsPath), Program: v.id(), Size: posterSizes[0].name, Off: j.Closed, Faces: []string{""}}
	p.Width = "wide"
	rule := posterSizes[0].page
	for _, s := range posterSizes {
		if v.r.URL.Query().Get("size") == s.name {
			p.Size, rule = s.name, s.page
		}
	}
	for _, s := range posterSizes {
		p.Sizes = append(p.Sizes, web.NavItem{Label: v.print.T(s.label), Path: programPath(p.Program) + "/poster?size=" + s.name, Current: s.name == p.Size})
	}
	if p.Size == "tent" {
		p.Faces = []string{"turned", ""}
	}
	if p.Poster, err = v.poster(&j); err != nil {
		return err
	}
	colours := web.CardColours{Brand: j.Program.BrandColorHex, Background: j.Program.BgColorHex, Text: j.Program.TextColorHex}
	p.Style = template.CSS("@page{" + rule + "}.poster{--brand:" + colours.Brand + ";--on-brand:" + colours.OnBrand() + ";--bg:" + colours.Background + ";--ink:" + colours.Ink() + "}")
	return v.render(http.StatusOK, "program_poster", p)
}

// poster returns what a poster of a program says.
func (v *visit) poster(j *store.JoinPage) (p poster, err error) {
	print := web.PrinterFor(j.Shop.Language)
	address := v.absolute(j.URL)
	svg, err := qr.SVG(address)
	if err != nil {
		return p, err
	}
	p = poster{
		Lang: print.Lang(), Shop: j.Shop.Name, Logo: logoPath(j.LogoHash), Name: cmp.Or(j.Texts.Names[print.Lang()], j.Program.Name),
		Scan: print.T("Scan and get your card"), Text: print.T("It is on your phone at once. No app and no password."),
		QR: template.HTML(svg), URL: strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://"),
	}
	if percent := j.Program.DiscountPercent; percent.Valid {
		text := strconv.FormatFloat(percent.V, 'f', -1, 64)
		_, decimals, _ := strings.Cut(text, ".")
		p.Offer = print.T("{0} % off", print.Decimal(percent.V, len(decimals)))
	}
	for i, z := range j.Prizes {
		if i == maxRungs {
			p.Ladder = append(p.Ladder, rung{"", print.T("and {0} more", len(j.Prizes)-i)})
			break
		}
		p.Ladder = append(p.Ladder, rung{print.T("{0} stamp|{0} stamps", z.Threshold), cmp.Or(j.PrizeTexts[z.ID].Names[print.Lang()], z.Name)})
	}
	return p, nil
}
