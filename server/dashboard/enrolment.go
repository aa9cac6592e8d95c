package dashboard

import (
	"html/template"
	"net/url"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

// enrolmentPages say how the customers of a shop make cards of a program themselves.
var enrolmentPages = []binding{
	page("/dashboard/program/:id/enrolment", func(v *visit) error { return showEnrolment(v, nil) }),
	post("/dashboard/program/:id/enrolment", action[store.Enrolment]{op: operation.UpdateEnrolment, again: showEnrolment,
		next: func(v *visit, _ store.Enrolment) (string, string) { return enrolmentPath(v.id()), enrolmentSaved }}),
	page("/dashboard/program/:id/poster", showPoster),
}

var enrolmentSaved = says("enrolment-saved", web.Text("The form for new cards was saved."))

func enrolmentPath(id string) string { return programPath(id) + "/enrolment" }

// enrolmentPage is the page of the form for new cards.
type enrolmentPage struct {
	web.Frame
	Form      *web.Form
	Program   store.ProgramForm
	State     store.Enrolment
	QR        template.HTML // of the form's address; empty: it has none yet
	URL       string        // of the form
	Before    string        // what comes before the end of the address
	Asks      []web.Option
	Full      bool // the form has made as many cards as it may
	Published bool
	Posters   []web.Action
	// GivesMoney says that new cards begin with money, so that the form makes none.
	GivesMoney bool
}

// suggestedCards is how many cards a form may make, unless a person says otherwise.
const suggestedCards = "1000"

func showEnrolment(v *visit, f *web.Form) error {
	if err := v.require(operation.UpdateEnrolment); err != nil {
		return err
	}
	program, err := findProgram(v)
	if err != nil {
		return err
	}
	e, err := read[store.Enrolment](v, operation.GetEnrolment, v.args(nil))
	if err != nil {
		return err
	}
	if f == nil {
		f = v.newForm(enrolmentValues(&e, program.Name))
	}
	f.Order = []string{"enroll", "enroll_slug", "enroll_max_cards", "enroll_name", "enroll_email", "enroll_consent", "enroll_privacy_url"}
	p := enrolmentPage{
		Frame: v.frame(
			web.Text("Cards that customers make"),
			programsPath,
		), Form: f, Program: program, State: e, Before: strings.TrimPrefix(strings.TrimPrefix(v.origin(), "https://"), "http://") + "/join/",
		Asks: []web.Option{
			{Value: store.FieldRequired, Label: v.print.T("Required")},
			{Value: store.FieldOptional, Label: v.print.T("Optional")},
			{Value: store.FieldOff, Label: v.print.T("Not asked for")},
		},
		Full: e.MaxCards.Valid && e.Cards >= e.MaxCards.V, Published: program.Active, GivesMoney: program.InitialBalanceCents.V > 0,
	}
	if e.Enabled {
		p.URL = v.absolute(e.URL.V)
		svg, err := qr.SVG(p.URL)
		if err != nil {
			return err
		}
		p.QR = template.HTML(svg)
		for _, s := range posterSizes {
			p.Posters = append(
				p.Posters,
				web.Action{Label: v.print.T(s.label), Path: programPath(program.ID) + "/poster?size=" + s.name, Icon: "print"},
			)
		}
	}
	return v.render(v.status(), "program_enrolment", p)
}

// absolute returns a URL of this server, which is a path alone if the server does not know
// its public URL.
func (v *visit) absolute(url string) string {
	if strings.HasPrefix(url, "/") {
		return v.origin() + url
	}
	return url
}

// enrolmentValues returns what the form of an enrolment contains.
func enrolmentValues(e *store.Enrolment, program string) url.Values {
	values := url.Values{
		"enroll": {strconv.FormatBool(e.Enabled)}, "enroll_slug": {e.Slug.V}, "enroll_name": {e.Name}, "enroll_email": {e.Email},
		"enroll_consent": {e.Consent.V}, "enroll_privacy_url": {e.PrivacyURL.V}, "enroll_max_cards": {suggestedCards},
	}
	if !e.Slug.Valid {
		values.Set("enroll_slug", store.SuggestedSlug(program))
	}
	if e.MaxCards.Valid {
		values.Set("enroll_max_cards", strconv.FormatInt(e.MaxCards.V, 10))
	}
	return values
}

// enrolmentLink returns the link of a program's page to the form for new cards.
func (v *visit) enrolmentLink(id string) []web.Action {
	if !v.allows(kernel.Manager) {
		return nil
	}
	return []web.Action{{Label: v.print.T("Cards that customers make"), Path: enrolmentPath(id), Icon: "qr"}}
}
