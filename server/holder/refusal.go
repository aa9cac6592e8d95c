package holder

import (
	"strings"

	"punchcard/server/kernel"
	"punchcard/store"
)

// refusalView is the data of the page of an error.
type refusalView struct {
	Title, Message string
	RequestID      string
	// Lost is the form for the links of lost cards; nil: the page is about something else than a link that has ended or is
	// unknown, or there is no mail server.
	Lost           *lostView
	Back, BackText string // link to the page of the card, or else to the form, where Lost is nil
}

// refuse leads to the new address of a card whose shop has moved, and answers other errors: with a page
// if the client accepts HTML, else with JSON. The page is in the language of the shop of the link, also of one that
// has ended, if the browser asks for none that there is.
func (v *visit) refuse(err error) {
	if err = kernel.RedirectMoved(v.w, v.r, err); err == nil {
		return
	}
	if !strings.Contains(v.r.Header.Get("Accept"), "text/html") {
		v.Kernel.AnswerError(v.w, err)
		return
	}
	l, shopErr := v.findLost("", v.token())
	if shopErr == nil {
		v.speak(store.Shop{Language: l.Language})
	}
	e := v.Kernel.Report(v.w, err)
	x := refusalView{Title: v.T("That did not work"), RequestID: v.requestID()}
	switch e.Code {
	case store.NotFound:
		x.Title = v.T("This card cannot be shown")
		x.Message = v.T("No such card. Check that the link is complete, or ask the shop for a new one.")
		if v.token() == "" {
			x.Title = v.T("There is no such page")
			x.Message = v.T("Check that the link is complete, or ask the shop.")
		}
	case store.Gone, store.CardExpired, store.Conflict:
		x.Title = v.T("This card cannot be shown")
		x.Message = v.Refused(e.Message, x.RequestID)
	case store.BadRequest:
		x.Message = v.T("The form is too long, or it cannot be read. Open the page again.")
	case store.ValidationFailed:
		x.Message = v.T("The form is not complete. Open your link again and press one of its buttons.")
	case store.Unauthorized:
		x.Message = v.T("Open your link again and press the button there.")
	case store.Unavailable:
		x.Message = v.Refused(e.Message, x.RequestID)
	default:
		x.Message = v.T("Something went wrong on our side. Try again in a minute.")
	}
	e.SetRetryAfter(v.w.Header())
	ended := v.token() != "" && (e.Code == store.Gone || e.Code == store.NotFound)
	if shopErr == nil && l.Mails && ended {
		form := v.lostForm(l)
		x.Lost = &form
	}
	x.Back, x.BackText = v.lostPath(l.ShopID, false), v.T("Find your card")
	before, after, _ := strings.Cut(v.r.URL.Path, "/"+v.token()+"/")
	if after != "" && !ended {
		x.Back, x.BackText = v.withLanguage(before+"/"+v.token()), v.T("Open the page of the card")
	}
	if err := v.html(e.Status, "refusal", x); err != nil {
		v.Kernel.AnswerError(v.w, err)
	}
}

// requestID returns the id of the request.
func (v *visit) requestID() string { return v.w.Header().Get("X-Request-Id") }
