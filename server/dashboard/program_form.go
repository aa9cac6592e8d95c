package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
	"punchcard/store/money"
)

// programForm is the page of the form of a program.
type programForm struct {
	web.Frame
	Steps     []web.Step // of the set-up, for the first program
	Path      string     // of the form
	Preview   string     // path of the preview
	Cancel    string
	Program   *store.ProgramForm // nil: a new one
	Type      string
	TypeName  string
	Stamps    bool // the type collects stamps
	Frozen    bool
	Locations []web.Option
	Prizes    []int // indexes of the rows of prizes
	Face      web.HolderCard
	Cards     int64 // on phones
}

// OpenLanguages reports whether the part with other languages is open.
func (p programForm) OpenLanguages() bool { return anyOf(p.Form, "_localizations.") }

// OpenMore reports whether the part for apps is open.
func (p programForm) OpenMore() bool {
	return p.Form.Error("icon_key")+p.Form.Error("category")+p.Form.Error("access_image_url") != ""
}

// anyOf reports whether a form has contents or errors of inputs whose names have a part.
func anyOf(f *web.Form, part string) bool {
	for name, values := range f.Values {
		if strings.Contains(name, part) && values[0] != "" {
			return true
		}
	}
	for name := range f.Errors {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// The numbers of rows for prizes in the form of a new program.
const (
	blankPrizes = 2
	maxPrizes   = 12
)

// newProgram shows the templates, or the form of a new program that one of them fills.
func newProgram(v *visit) error {
	if err := v.require(operation.CreateProgramWithPrizes); err != nil {
		return err
	}
	q := v.r.URL.Query()
	values := url.Values{}
	switch from := q.Get("from"); {
	case from != "":
		p, err := v.programForm(from)
		if err != nil {
			return err
		}
		values = v.programValues(&p)
	case q.Get("template") != "" || q.Get("type") != "":
		shop, err := read[store.Shop](v, operation.GetShop)
		if err != nil {
			return err
		}
		values = templateValues(v, web.PrinterFor(shop.Language), q.Get("template"), q.Get("type"))
	}
	if programTypes[values.Get("type")] == "" {
		return showTemplates(v)
	}
	v.fill(values)
	return showNewProgram(v)
}

// programValues returns what the form of a program contains.
func (v *visit) programValues(p *store.ProgramForm) url.Values {
	amount := func(n store.Null[int64]) string {
		if !n.Valid {
			return ""
		}
		return v.Amount(n.V, v.shop().Currency)
	}
	values := formValues(p)
	values.Set("initial_balance_cents", amount(p.InitialBalanceCents))
	values.Set("min_spend_cents", amount(p.MinSpendCents))
	if p.DiscountPercent.Valid {
		values.Set("discount_percent", v.Decimal(p.DiscountPercent.V, -1))
	}
	return values
}

// prizeField returns the name of a field of a prize in the form of a program.
func prizeField(i int, field string) string { return fmt.Sprintf("prizes.%d.%s", i, field) }

func showNewProgram(v *visit) error {
	p := programForm{
		Frame:   v.frame("New program", programsPath),
		Path:    "/dashboard/new/program",
		Preview: "/dashboard/new/program/preview",
		Cancel:  "/dashboard/new/program",
		Type:    v.shown.Value("type"),
	}
	filled, f := 0, v.shown
	for filled < maxPrizes && f.Value(prizeField(filled, "name"))+f.Value(prizeField(filled, "threshold")) != "" {
		filled++
	}
	for i := range min(filled+blankPrizes, maxPrizes) {
		p.Prizes = append(p.Prizes, i)
	}
	return v.renderProgramForm(p)
}

func showEditProgram(v *visit, program usedProgram) error {
	v.fill(v.programValues(&program.ProgramForm))
	p := programForm{
		Frame:   v.frame("Edit program", programsPath),
		Path:    programPath(program.ID) + "/edit",
		Preview: programPath(program.ID) + "/preview",
		Cancel:  programPath(program.ID),
		Program: &program.ProgramForm,
		Type:    program.Type,
		Frozen:  program.HasInstalledCards,
		Cards:   program.Impact.InstalledCards,
	}
	if p.Frozen {
		p.Title = v.T("Design")
	}
	return v.renderProgramForm(p)
}

// renderProgramForm adds what both forms show and answers.
func (v *visit) renderProgramForm(p programForm) error {
	locations, err := v.locations()
	if err != nil {
		return err
	}
	p.TypeName = v.T(programTypes[p.Type])
	p.Stamps = store.CollectsStamps(p.Type)
	slices.SortStableFunc(locations, func(a, b store.Location) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	p.Locations = each(locations, v.locationOption)
	dropListErrors(p.Form)
	p.Face = v.drawnCard(p.Form, p.Type, p.Program)
	p.Style = p.Face.Style()
	return v.render("program_form", p)
}

// dropListErrors leaves out the error of a field if the form shows errors beside its parts,
// such as prizes.0.name.
func dropListErrors(f *web.Form) {
	for name := range maps.Clone(f.Errors) {
		if base, _, ok := strings.Cut(name, "."); ok {
			delete(f.Errors, base)
		}
	}
}

// programFields turns the form of a program into the fields of its operation. The type of
// a program never changes.
func programFields(v *visit, form url.Values) url.Values {
	form.Del("type")
	return fieldsOfProgram(v, form)
}

// newProgramFields does the same for a new program. It leaves out the rows of prizes that are
// empty, also in the form that may be shown again, so that an error is shown beside its row.
func newProgramFields(v *visit, form url.Values) url.Values {
	rows := [][2]string{}
	for i := range maxPrizes {
		threshold, name := prizeField(i, "threshold"), prizeField(i, "name")
		if row := [2]string{strings.TrimSpace(form.Get(threshold)), strings.TrimSpace(form.Get(name))}; row != [2]string{} {
			rows = append(rows, row)
		}
		for _, values := range []url.Values{form, v.form} {
			values.Del(threshold)
			values.Del(name)
		}
	}
	for i, row := range rows {
		for _, values := range []url.Values{form, v.form} {
			values.Set(prizeField(i, "threshold"), row[0])
			values.Set(prizeField(i, "name"), row[1])
		}
	}
	return fieldsOfProgram(v, form)
}

// fieldsOfProgram turns what both forms have into fields.
func fieldsOfProgram(v *visit, form url.Values) url.Values {
	if form.Get("location_scope") != "selected_locations" && form.Has("scoped_location_ids") {
		form["scoped_location_ids"] = []string{""} // boxes that do not count
	}
	return amountFields(v, form)
}

// amountFields turns the amounts that a person typed into the smallest units of the shop's currency. The
// sign may be a plus, a hyphen or a minus. A text that is no amount becomes one that no operation takes: as it
// is, 1.000 would be one unit.
func amountFields(v *visit, form url.Values) url.Values {
	for name := range form {
		text := strings.Replace(strings.TrimSpace(form.Get(name)), "−", "-", 1)
		if !strings.HasSuffix(name, "_cents") || text == "" {
			continue
		}
		amount, negative := strings.CutPrefix(text, "-")
		if !negative {
			amount = strings.TrimPrefix(text, "+")
		}
		cents, ok := money.Parse(amount, v.shop().Currency)
		switch {
		case !ok:
			text = "no amount"
		case negative:
			text = strconv.FormatInt(-cents, 10)
		default:
			text = strconv.FormatInt(cents, 10)
		}
		form.Set(name, text)
	}
	return form
}

// showRules shows the form of what tills demand, which can be changed also while cards
// are on phones.
func showRules(v *visit, program store.ProgramForm) error {
	v.fill(v.programValues(&program))
	return v.render("program_rules", programForm{
		Frame:   v.narrow("Rules at the till", programsPath),
		Program: &program,
	})
}
