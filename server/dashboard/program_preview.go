package dashboard

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"
	"regexp"
	"strconv"

	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/templates"
	"punchcard/server/web"
	"punchcard/store"
	"punchcard/store/money"
)

// previewProgram answers the form of a program that is being edited with the card as it
// would look, and previewNewProgram that of a new one. Nothing is saved. Scripts get the
// card alone; a browser without them gets the form again.
func previewProgram(v *visit) error {
	if err := v.require(operation.UpdateProgram); err != nil {
		return err
	}
	p, err := findUsedProgram(v)
	if err != nil {
		return err
	}
	v.shown = v.newForm(v.form)
	if v.form.Has("_page") {
		return showEditProgram(v, p)
	}
	return v.answerPreview(v.drawnCard(v.shown, p.Type, &p.ProgramForm))
}

func previewNewProgram(v *visit) error {
	if err := v.require(operation.CreateProgramWithPrizes); err != nil {
		return err
	}
	v.shown = v.newForm(v.form)
	if v.form.Has("_page") {
		return showNewProgram(v)
	}
	return v.answerPreview(v.drawnCard(v.shown, v.form.Get("type"), nil))
}

// answerPreview answers with a card alone.
func (v *visit) answerPreview(face web.HolderCard) error {
	var b bytes.Buffer
	if err := v.templates.Fragment(&b, "program_form", "preview", face, v.Printer); err != nil {
		return err
	}
	v.answer(http.StatusOK, b.Bytes())
	return nil
}

// sampleCard returns a card of a program with some stamps.
func (v *visit) sampleCard(p *store.ProgramForm) web.HolderCard {
	return v.drawnCard(&web.Form{Values: v.programValues(p)}, p.Type, p)
}

// isColour matches a colour as it is stored.
var isColour = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// maxPreviewed is the maximum number of stamps of a card that a preview draws. The form
// may contain any other.
const maxPreviewed = 1000

// drawnCard returns a card as the contents of a form would make it. Where they are not
// valid it has what a new program has. p has the prizes; nil: they are in the form.
func (v *visit) drawnCard(f *web.Form, programType string, p *store.ProgramForm) web.HolderCard {
	colour := func(name, otherwise string) string {
		if c := f.Value(name); isColour.MatchString(c) {
			return c
		}
		return otherwise
	}
	c := web.HolderCard{
		ID:     "sample",
		Shop:   v.shop().Name,
		Name:   cmp.Or(f.Value("name"), v.T("Name of the program")),
		Sample: true,
		Program: web.CardColours{
			Brand:      colour("brand_color_hex", templates.Colours.Brand),
			Background: colour("bg_color_hex", templates.Colours.Background),
			Text:       colour("text_color_hex", templates.Colours.Text),
		},
	}
	if p != nil {
		c.Logo = logoPath(p.LogoHash)
	}
	switch {
	case store.CollectsStamps(programType):
		total, err := strconv.ParseInt(f.Value("total_stamps"), 10, 64)
		if err != nil || total < 1 || total > maxPreviewed {
			total = 10
		}
		c.Total, c.Stamps = total, max(1, total*4/10)
		c.Next, c.Missing = nextPrize(f, p, c.Stamps)
	case programType == store.ProgramDiscount:
		c.Percent = cmp.Or(f.Value("discount_percent"), "10")
	case programType == store.ProgramPrepaid:
		cents, _ := money.Parse(f.Value("initial_balance_cents"), v.shop().Currency)
		c.Balance = v.money(cents)
	}
	if days, err := strconv.Atoi(f.Value("default_expire_after_days")); err == nil && days > 0 && days <= 3650 {
		c.Until = v.Date(v.now().Std().AddDate(0, 0, days))
	}
	return c
}

// nextPrize returns the prize that a card with some stamps gets next.
func nextPrize(f *web.Form, p *store.ProgramForm, stamps int64) (name string, missing int64) {
	see := func(threshold int64, prize string) {
		if more := threshold - stamps; prize != "" && more > 0 && (name == "" || more < missing) {
			name, missing = prize, more
		}
	}
	if p != nil {
		for _, z := range p.Prizes {
			see(z.Threshold, z.Name)
		}
		return name, missing
	}
	for i := range maxPrizes {
		threshold, err := strconv.ParseInt(f.Value(prizeField(i, "threshold")), 10, 64)
		if err == nil {
			see(threshold, f.Value(prizeField(i, "name")))
		}
	}
	return name, missing
}

// customerPage shows a program as the page of a card does, without a card.
type customerPage struct {
	web.Frame
	Program store.ProgramForm
	Face    web.HolderCard
	QR      template.HTML // of a text that names no card
	Where   string
}

// showCustomerPage shows what customers see of a program. It issues and installs nothing, so it
// freezes nothing.
func showCustomerPage(v *visit, program store.ProgramForm) error {
	locations, err := v.locations()
	if err != nil {
		return err
	}
	svg, err := qr.SVG("SAMPLE")
	if err != nil {
		return err
	}
	p := customerPage{
		Frame:   v.narrow("The customer's page", programsPath),
		Program: program,
		Face:    v.sampleCard(&program),
		QR:      template.HTML(svg),
		Where:   v.whereValid(&program, locations),
	}
	p.Style = p.Face.Style()
	return v.render("program_customer", p)
}
