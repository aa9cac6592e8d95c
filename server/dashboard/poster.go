package dashboard

import (
	"cmp"
	"html/template"
	"unicode/utf8"

	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

// posterPage is a page to print, with the QR code of the form at which customers make cards
// of a program. Its texts are in the language of the shop.
type posterPage struct {
	web.Frame
	Program     string // id
	Size        string
	Sizes       []web.NavItem
	Off         bool // the form makes no cards now
	Poster      poster
	Faces       []string   // classes: one for each side that the page shows
	Unreachable *attention // nil: phones can open the links
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
	Long   bool   // the name
	Ladder []rung
	QR     template.HTML
	URL    string // without the scheme, to type
}

// rung is a step of the ladder of prizes.
type rung struct{ Stamps, Prize string }

// posterSizes are the sizes of posters. CSS has no name for A6.
var posterSizes = []struct {
	name  string
	label web.Text
	page  string
	rows  int // of the ladder, that the poster has room for
}{
	{"a4", "Poster, A4", "size:210mm 297mm;margin:0", 9},
	{"a6", "Card for the counter, A6", "size:105mm 148mm;margin:0", 5},
	{"tent", "Table tent, A4 folded", "size:210mm 297mm;margin:0", 6},
}

// longName is the number of characters from which on a name is printed in a smaller size.
const longName = 28

func showPoster(v *visit, j store.JoinPage) (err error) {
	size := posterSizes[0]
	for _, s := range posterSizes {
		if v.r.URL.Query().Get("size") == s.name {
			size = s
		}
	}
	p := posterPage{
		Frame:       v.frame("Poster", programsPath),
		Program:     v.id(),
		Size:        size.name,
		Off:         j.Closed,
		Faces:       []string{""},
		Unreachable: v.unreachable(),
	}
	p.Width = "wide"
	for _, s := range posterSizes {
		p.Sizes = append(p.Sizes, v.tab(s.label, programPath(p.Program)+"/poster?size="+s.name, s.name == p.Size))
	}
	if p.Size == "tent" {
		p.Faces = []string{"turned", ""}
	}
	if p.Poster, err = v.poster(&j, size.rows); err != nil {
		return err
	}
	colours := web.CardColours{Brand: j.Program.BrandColorHex, Background: j.Program.BgColorHex, Text: j.Program.TextColorHex}
	p.Style = template.CSS(
		"@page{" + size.page + "}.poster{--brand:" + colours.Brand + ";--on-brand:" + colours.OnBrand() +
			";--bg:" + colours.Background + ";--ink:" + colours.Ink() + "}",
	)
	return v.render("program_poster", p)
}

// poster returns what a poster of a program says. If there are more prizes than rows, the last row
// says how many more.
func (v *visit) poster(j *store.JoinPage, rows int) (p poster, err error) {
	print := web.PrinterFor(j.Shop.Language)
	address := v.absolute(j.URL)
	svg, err := qr.SVG(address)
	if err != nil {
		return p, err
	}
	p = poster{
		Lang: print.Lang(),
		Shop: j.Shop.Name,
		Logo: logoPath(j.LogoHash),
		Name: cmp.Or(j.Texts.Names[print.Lang()], j.Program.Name),
		Scan: print.T("Scan and get your card"),
		Text: print.T("It is on your phone at once. No app and no password."),
		QR:   template.HTML(svg),
		URL:  withoutScheme(address),
	}
	p.Long = utf8.RuneCountInString(p.Name) > longName
	if percent := j.Program.DiscountPercent; percent.Valid {
		p.Offer = print.T("{0} % off", print.Decimal(percent.V, -1))
	}
	for i, z := range j.Prizes {
		if i == rows-1 && len(j.Prizes) > rows {
			p.Ladder = append(p.Ladder, rung{"", print.T("and {0} more", len(j.Prizes)-i)})
			break
		}
		name := cmp.Or(j.PrizeTexts[z.ID].Names[print.Lang()], z.Name)
		p.Ladder = append(p.Ladder, rung{print.T("{0} stamp|{0} stamps", z.Threshold), name})
	}
	return p, nil
}
