package holder

import (
	"net/url"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// lostView is the data of the form for the links of lost cards.
type lostView struct {
	Title string
	store.LostPage
	Sent bool // the form was sent
	Form *web.Form
	Path string // of the form
}

// lostPath returns the path of the form for the cards of a shop, or of all shops, and that of the
// page after it was sent.
func (v *visit) lostPath(shop string, sent bool) string {
	q := url.Values{}
	if shop != "" {
		q.Set("shop", shop)
	}
	if sent {
		q.Set("sent", "1")
	}
	if lang := web.ChosenLanguage(v.r); lang != "" {
		q.Set("lang", lang)
	}
	if len(q) == 0 {
		return "/lost"
	}
	return "/lost?" + q.Encode()
}

// findLost returns what the form for lost cards shows; see [store.View.LostPage] for the
// shop that it is about. Each of the two arguments may be empty.
func (v *visit) findLost(shop, token string) (store.LostPage, error) {
	in := kernel.Args{Params: map[string]string{"shop": shop, "token": token}}
	return run[store.LostPage](v, operation.ShowLostPage, in)
}

// showLost answers with the form, or says that it was sent. What it says is the same
// whether there are cards with the email or not.
func showLost(v *visit) error { return v.renderLost(nil, nil) }

// findCards answers the form that was sent: it requests the message with the links.
func findCards(v *visit) error {
	form, err := v.readForm()
	if err != nil {
		return err
	}
	l, err := v.findLost(v.r.URL.Query().Get("shop"), "")
	if err != nil {
		return err
	}
	v.speak(store.Shop{Language: l.Language})
	form.Set("language", v.Lang())
	if l.ShopID != "" {
		form.Set("shop", l.ShopID)
	}
	_, err = run[kernel.None](v, operation.RequestCardLinks, kernel.Form{Fields: form})
	switch {
	case err == nil:
		return v.redirect(v.lostPath(v.r.URL.Query().Get("shop"), true))
	case faulty(err):
		return v.renderLost(form, err)
	}
	return err
}

func (v *visit) renderLost(form url.Values, refusal error) error {
	l, err := v.findLost(v.r.URL.Query().Get("shop"), "")
	if err != nil {
		return err
	}
	v.speak(store.Shop{Language: l.Language})
	x := v.lostForm(l)
	x.Title = v.T("Find your card")
	x.Form = v.form(form, refusal)
	x.Sent = form == nil && v.r.URL.Query().Get("sent") != ""
	return v.formHTML(refusal, "lost", x)
}

// lostForm returns an empty form.
func (v *visit) lostForm(l store.LostPage) lostView {
	return lostView{LostPage: l, Form: v.form(nil, nil), Path: v.lostPath(l.ShopID, false)}
}
