package dashboard

import (
	"html/template"
	"net/url"

	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

const printPath = "/dashboard/print/cards"

// cardPrintPages print cards for people without a phone.
var cardPrintPages = []binding{form(printPath, showPrintForm, action{
	op:    operation.IssueBlankCards,
	check: chooseProgram,
	then:  then(showSheets),
})}

// printPage is the data of the page with the form, and of that with the sheets.
type printPage struct {
	web.Frame
	Programs []web.Option
	Shop     string
	Program  string
	Sheets   [][]printedCard
	Count    int
}

// printedCard is a card on a sheet.
type printedCard struct {
	QR        template.HTML
	ShortCode string
}

// cardsOnSheet is the number of cards on a sheet of A4, two beside each other.
const cardsOnSheet = 10

// sheetStyle lays the cards out as sheets of A4: two columns of cards of 85 by 54 mm, the
// size of a bank card, with lines to cut along.
const sheetStyle = `
@page{size:A4;margin:12mm 19mm}
.sheet{display:grid;grid-template-columns:repeat(auto-fill,85mm);justify-content:center;background:#fff;color:#000;padding:3mm;` +
	`border-radius:.75rem;margin-top:1.5rem}
.print-card{display:flex;gap:5mm;align-items:center;width:85mm;height:54mm;padding:5mm;outline:.2mm dashed #999;overflow:hidden;` +
	`break-inside:avoid}
.print-card>.qr-code{flex:none;width:40mm;padding:0;border:0;border-radius:0}
.print-card>:last-child{flex:1;display:grid;gap:1.5mm;align-content:center}
.print-card p{font-size:10pt;line-height:1.25;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
.print-card code{font-size:11pt;white-space:nowrap;letter-spacing:.02em}
@media (max-width:24rem){.sheet{zoom:.9;padding:0}}
@media print{main.wide>*{margin:0}.no-print{display:none!important}.sheet{padding:0;margin:0;border-radius:0;` +
	`grid-template-columns:85mm 85mm}.sheet+.sheet{break-before:page}}
`

func showPrintForm(v *visit) (err error) {
	v.fill(url.Values{"_program": {v.r.URL.Query().Get("program_id")}, "count": {"20"}})
	p := printPage{Frame: v.narrow("Print cards", cardsPath)}
	if p.Programs, err = v.programOptions(); err != nil {
		return err
	}
	return v.render("print_form", p)
}

// programOptions returns the programs of which cards can be issued.
func (v *visit) programOptions() (list []web.Option, err error) {
	programs, err := v.programs()
	if err != nil {
		return nil, err
	}
	for _, program := range programs {
		if program.Active {
			list = append(list, programOption(program))
		}
	}
	if len(list) > 1 {
		list = append([]web.Option{v.option("", "Choose a program")}, list...)
	}
	return list, nil
}

// chooseProgram sets the program that was chosen in the form as that of the path. It
// returns an error if none was.
func chooseProgram(v *visit) error {
	program := v.form.Get("_program")
	if program == "" {
		return store.InvalidField("_program", wire.CodeRequired, "Choose a program.")
	}
	v.params["id"] = program
	return nil
}

func showSheets(v *visit, b store.BlankCards) error {
	p := printPage{Frame: v.frame("Print cards", cardsPath), Shop: v.shop().Name, Program: b.ProgramName, Count: len(b.Cards)}
	p.Width, p.Style = "wide", sheetStyle
	for i, c := range b.Cards {
		svg, err := qr.SVG(c.Code)
		if err != nil {
			return err
		}
		if i%cardsOnSheet == 0 {
			p.Sheets = append(p.Sheets, nil)
		}
		last := &p.Sheets[len(p.Sheets)-1]
		*last = append(*last, printedCard{template.HTML(svg), web.GroupCode(c.ShortCode)})
	}
	return v.render("print_sheets", p)
}
