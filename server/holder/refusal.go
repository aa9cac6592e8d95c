package holder

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/store"
)

// refusalView is the data of the page of an error.
type refusalView struct {
	Title, Message string
	RequestID      string    // empty: the holder can do nothing with it
	Lost           *lostView // the form for the links of lost cards; nil: there is none
}

// refuse answers with an error: with a page if the client accepts HTML, else with
// JSON.
func (v *visit) refuse(err error) {
	if !strings.Contains(v.r.Header.Get("Accept"), "text/html") {
		v.Kernel.AnswerError(v.w, err)
		return
	}
	e := v.Kernel.Report(v.w, err)
	x := refusalView{Title: v.print.T("This card cannot be shown"), RequestID: v.requestID()}
	switch e.Code {
	case store.NotFound:
		x.Message = v.print.T("No such card. Check that the link is complete, or ask the shop for a new one.")
		if v.token() == "" {
			x.Title, x.Message = v.print.T("There is no such page"), v.print.T("Check that the link is complete, or ask the shop.")
		}
	case store.Gone, store.CardExpired, store.Conflict:
		x.Message = v.print.Refused(e.Message, x.RequestID)
	case store.BadRequest:
		x.Title, x.Message = v.print.T("That did not work"), v.print.T("The form is too long, or it cannot be read. Open the page again.")
	case store.ValidationFailed:
		x.Title, x.Message = v.print.T(
			"That did not work",
		), v.print.T(
			"The form is not complete. Open your link again and press one of its buttons.",
		)
	case store.Unauthorized:
		x.Title, x.Message = v.print.T("That did not work"), v.print.T("Open your link again and press the button there.")
	default:
		x.Title, x.Message = v.print.T("That did not work"), v.print.T("Something went wrong on our side. Try again in a minute.")
	}
	if e.Status < http.StatusInternalServerError {
		x.RequestID = ""
	}
	v.setRetryAfter(e)
	v.addLost(&x, e.Code)
	if err := v.html(e.Status, "refusal", x); err != nil {
		v.Kernel.AnswerError(v.w, err)
	}
}

// requestID returns the id of the request.
func (v *visit) requestID() string { return v.w.Header().Get("X-Request-Id") }

// addLost adds the form for the links of lost cards to the page of a link that has ended or is
// unknown, if there is a mail server.
func (v *visit) addLost(x *refusalView, code store.Code) {
	if v.token() == "" || code != store.Gone && code != store.NotFound {
		return
	}
	if l, err := v.findLost("", v.token()); err == nil && l.Mails {
		form := v.lostForm(l)
		x.Lost = &form
	}
}

// setRetryAfter sets the header that says when to try again.
func (v *visit) setRetryAfter(e *kernel.Error) {
	if e.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}
