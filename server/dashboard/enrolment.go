package dashboard

import (
	"html/template"
	"net/url"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

// enrolmentPages say how the customers of a shop make cards of a program themselves.
var enrolmentPages = []binding{
	edit(programAt+"/enrolment", findProgram, showEnrolment, action{
		op:   operation.UpdateEnrolment,
		to:   programAt + "/enrolment",
		done: "The form for new cards was saved.",
	}),
	page(programAt+"/poster", shows(operation.GetPoster, showPoster)),
}

func enrolmentPath(id string) string { return programPath(id) + "/enrolment" }

// enrolmentPage is the page of the form for new cards.
type enrolmentPage struct {
	web.Frame
	Program store.ProgramForm
	State   store.Enrolment
	QR      template.HTML // of the form's address; empty: it has none yet
	URL     string        // of the form
	Before  string        // what comes before the end of the address
	Posters []web.Action
}

// suggestedCards is how many cards a form may make, unless a person says otherwise.
const suggestedCards = "1000"

func showEnrolment(v *visit, program store.ProgramForm) error {
	e, err := read[store.Enrolment](v, operation.GetEnrolment)
	if err != nil {
		return err
	}
	v.fill(enrolmentValues(&e, program.Name))
	p := enrolmentPage{
		Frame:   v.frame("Cards that customers make", programsPath),
		Program: program,
		State:   e,
		Before:  withoutScheme(v.shopURL()) + "/join/",
	}
	if e.Enabled {
		p.URL = v.absolute(e.URL.V)
		svg, err := qr.SVG(p.URL)
		if err != nil {
			return err
		}
		p.QR = template.HTML(svg)
		for _, s := range posterSizes {
			poster := v.link(s.label, programPath(program.ID)+"/poster?size="+s.name)
			poster.Icon = "print"
			p.Posters = append(p.Posters, poster)
		}
	}
	return v.render("program_enrolment", p)
}

// absolute returns a URL of this server, which is a path alone if the server does not know
// its public URL.
func (v *visit) absolute(url string) string {
	if strings.HasPrefix(url, "/") {
		return v.origin() + url
	}
	return url
}

// withoutScheme returns a URL as people type it.
func withoutScheme(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://")
}

// enrolmentValues returns what the form of an enrolment contains.
func enrolmentValues(e *store.Enrolment, program string) url.Values {
	values := formValues(e)
	if !e.Slug.Valid {
		values.Set("enroll_slug", store.SuggestedSlug(program))
	}
	if !e.MaxCards.Valid {
		values.Set("enroll_max_cards", suggestedCards)
	}
	return values
}
