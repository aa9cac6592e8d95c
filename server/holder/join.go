package holder

import (
	"crypto/rand"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

// joinView is the data of the form at which customers make cards of a program.
type joinView struct {
	Title       string
	Style       template.CSS
	Face        web.HolderCard
	Form        *web.Form
	Path        string // of the form
	Join        store.JoinPage
	Prizes      []prize
	Description string
	Lost        string // path of the form for lost cards; empty: there is none
}

// showJoin answers with the form.
func showJoin(v *visit) error { return v.renderJoin(nil, nil) }

// join makes a card and leads to its page, or shows the form again.
func join(v *visit) error {
	form, err := v.readForm()
	if err != nil {
		return err
	}
	out, err := run[store.JoinedCard](v, operation.Join, kernel.Form{Params: v.params, Fields: form})
	switch {
	case err == nil:
		return v.redirect(v.withLanguage(pagePath(out.PageToken)))
	case faulty(err):
		return v.renderJoin(form, err)
	}
	return err
}

// renderJoin answers with the form: an empty one or, after a refusal, what was filled in and
// what is wrong with it.
func (v *visit) renderJoin(form url.Values, refusal error) error {
	j, err := do[store.JoinPage](v, operation.ShowJoinPage, nil)
	if err != nil {
		return err
	}
	v.speak(j.Shop)
	h := v.newCard(&j)
	x := joinView{
		Face:        v.card(&h).Face(),
		Form:        v.form(form, refusal),
		Path:        v.withLanguage("/join/" + v.params["slug"]),
		Join:        j,
		Prizes:      v.prizes(&h, h.Prizes),
		Description: v.card(&h).Localized(h.Texts.Descriptions, h.Program.Description),
	}
	if j.Mails {
		x.Lost = v.lostPath(j.Shop.ID, false)
	}
	x.Face.Sample = true
	x.Title, x.Style = v.T("Get your card")+" – "+x.Face.Shop, x.Face.Style()
	return v.formHTML(refusal, "join", x, string(x.Style))
}

// newCard returns a card as it would be made now.
func (v *visit) newCard(j *store.JoinPage) store.HolderCard {
	h := store.HolderCard{Shop: j.Shop, LogoHash: j.LogoHash, Texts: j.Texts, PrizeTexts: j.PrizeTexts}
	h.Program = j.Program
	h.Card.CurrentValue = j.Program.InitialBalanceCents
	if days := j.Program.DefaultExpireAfterDays; days.Valid {
		h.Card.ExpiresAt = store.Some(v.Kernel.Store().Now().Add(time.Duration(days.V) * 24 * time.Hour))
	}
	for _, z := range j.Prizes {
		h.Prizes = append(h.Prizes, store.LadderPrize{Prize: z})
	}
	return h
}

// readForm reads a form, which pages of other origins may not send.
func (v *visit) readForm() (url.Values, error) {
	if err := v.Hosts.CheckFormOrigin(v.r); err != nil {
		return nil, err
	}
	return kernel.ReadForm(v.w, v.r, kernel.SmallBody)
}

// faulty reports whether a refusal is about what somebody filled in, or about when, so
// that the form is shown again.
func faulty(err error) bool {
	switch kernel.AsError(err, kernel.StatusOf).Code {
	case store.ValidationFailed, store.Conflict, store.RateLimited, store.Unprocessable:
		return true
	}
	return false
}

// formHTML answers with the page of a form. With a refusal the answer has its status and
// headers, and the page is rendered twice, since the summary of errors comes before the fields
// whose labels it shows.
func (v *visit) formHTML(refusal error, page string, data any, styles ...string) error {
	if refusal == nil {
		return v.html(http.StatusOK, page, data, styles...)
	}
	if err := templates().Fragment(io.Discard, page, "document", data, v.Printer); err != nil {
		return err
	}
	e := v.Kernel.Report(v.w, refusal)
	e.SetRetryAfter(v.w.Header())
	return v.html(e.Status, page, data, styles...)
}

// form returns the state of a form. refusal may be nil.
func (v *visit) form(values url.Values, refusal error) *web.Form {
	f := &web.Form{Values: values, Errors: map[string]string{}}
	if f.Key = values.Get("form"); f.Key == "" {
		f.Key = strings.ToLower(rand.Text())
	}
	if refusal == nil {
		return f
	}
	e := kernel.AsError(refusal, kernel.StatusOf)
	if len(e.Details) == 0 {
		f.Problem = v.Refused(e.Message, v.requestID())
		return f
	}
	for _, d := range e.Details {
		if f.Errors[d.Field] == "" {
			f.Errors[d.Field] = v.problem(d)
		}
	}
	return f
}

// problem says what is wrong with a field of a form, and what to do.
func (v *visit) problem(d store.Detail) string {
	switch d.Field {
	case "consent":
		if d.Code == wire.CodeRequired {
			return v.T("A card can only be made if you agree.")
		}
	case "phone":
		if d.Code == wire.CodeInvalidFormat {
			return v.T("Enter the phone number with + and the country’s code, such as +39 06 1234 5678.")
		}
	case "form", "language", "shop": // which nobody fills in
		return v.T("This form has changed. Open the page again.")
	}
	return v.Refused(strings.TrimPrefix(d.Message, d.Field+" "), v.requestID())
}
