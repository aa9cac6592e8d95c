package holder

import (
	"net/http"
	"net/url"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// lostView is the data of the form for the links of lost cards.
type lostView struct {
	Title string
	Shop  string // whose cards; empty: those of all shops
	Sent  bool   // the form was sent
	Mails bool   // there is a mail server
	Form  *web.Form
	Path  string // of the form
}

// lostPath returns the path of the form for the cards of a shop, or of all shops.
func (v *visit) lostPath(shop string) string { return v.lostURL(shop, false) }

func (v *visit) lostURL(shop string, sent bool) string {
	q := url.Values{}
	if shop != "" {
		q.Set("shop", shop)
	}
	if sent {
		q.Set("sent", "1")
	}
	if lang := v.asked(); lang != "" {
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
	return kernel.Do[store.LostPage](v.r.Context(), v.Kernel, v.caller(), operation.ShowLostPage, in)
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
	v.print = web.PrinterFor(v.language(l.Language))
	form.Set("language", v.print.Lang())
	if l.ShopID != "" {
		form.Set("shop", l.ShopID)
	}
	if _, err = kernel.Do[kernel.None](v.r.Context(), v.Kernel, v.caller(), operation.RequestCardLinks, kernel.Form{Fields: form}); err != nil {
		if !faulty(err) {
			return err
		}
		return v.renderLost(form, err)
	}
	v.w.Header().Set("Location", v.lostURL(v.r.URL.Query().Get("shop"), true))
	v.answer(http.StatusSeeOther, nil)
	return nil
}

func (v *visit) renderLost(form url.Values, refusal error) error {
	l, err := v.findLost(v.r.URL.Query().Get("shop"), "")
	if err != nil {
		return err
	}
	v.print = web.PrinterFor(v.language(l.Language))
	x := v.lostForm(l)
	x.Title = v.print.T("Find your card")
	x.Form = v.form(form, refusal, "email")
	x.Sent = form == nil && v.r.URL.Query().Get("sent") != ""
	return v.formHTML(refusal, "lost", x)
}

// lostForm returns an empty form.
func (v *visit) lostForm(l store.LostPage) lostView {
	return lostView{Shop: l.Name, Mails: l.Mails, Form: v.form(nil, nil), Path: v.lostPath(l.ShopID)}
}
