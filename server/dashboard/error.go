package dashboard

import (
	"bytes"
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/web"
	"punchcard/store"
)

// refuse answers with the page of an error. Where a person has to sign in, to give a
// second factor or to prove who they are, it leads to the page for that.
func (v *visit) refuse(err error) {
	if err = kernel.RedirectMoved(v.w, v.r, err); err == nil {
		return
	}
	e := v.Kernel.Report(v.w, err)
	switch e.Code {
	case store.Unauthenticated:
		v.redirect("/sign-in"+v.returnTo(), "")
		return
	case store.TOTPRequired:
		path := "/sign-in/code"
		if v.person != nil && v.person.MustEnrol {
			path = secondFactorPath
		}
		v.redirect(path, "")
		return
	case store.ProofRequired:
		if err = askProof(v); err == nil {
			return
		}
		e = v.Kernel.Report(v.w, err)
	}
	e.SetRetryAfter(v.w.Header())
	page := newErrorPage(v.Printer, e, v.requestID())
	page.Frame = v.frame(titleOf(e.Status), "")
	v.addNextStep(&page, e)
	if err := v.renderAs(e.Status, "error", page); err != nil {
		v.Kernel.AnswerError(v.w, err)
	}
}

// addNextStep adds to the page of an error what the person can do next.
func (v *visit) addNextStep(page *web.ErrorPage, e *kernel.Error) {
	if v.person == nil {
		page.Back = v.link("Go to the sign-in page", "/sign-in")
	}
	switch {
	case e.Code == store.Unauthorized && v.person != nil && !v.allows(kernel.Owner):
		page.Hint = v.T("Ask an owner of the shop.")
	case e.Code != store.LinkExpired:
	case strings.HasPrefix(v.r.URL.Path, "/reset/"):
		page.Message = v.T("This link was used already, was replaced by a newer one, or is more than an hour old.")
		page.Hint = v.T("If your new password works, sign in with it. If not, ask for another link.")
		page.Back = v.link("Ask for another link", "/reset")
	case strings.HasPrefix(v.r.URL.Path, "/invite/"):
		page.Message = v.T("This invitation was accepted already, was cancelled or replaced, or is more than seven days old.")
		page.Hint = v.T("If you have accepted it, sign in. If not, ask the person who invited you for a new one.")
	case strings.HasPrefix(v.r.URL.Path, "/setup/"):
		page.Message = v.T("This set-up link was used already, was replaced by a newer one, or is more than an hour old.")
		page.Hint = v.T("If you have set the server up, sign in. If not, start the server again: it prints a new link.")
	}
}

// AnswerError answers a request that reaches no handler of a page with the page of an error.
// It returns false if the page cannot be shown.
func AnswerError(w http.ResponseWriter, r *http.Request, e *kernel.Error) bool {
	print := web.PrinterOf(r)
	page := newErrorPage(print, e, w.Header().Get("X-Request-Id"))
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if slices.Contains([]string{"c", "i", "join", "lost", "wallet"}, first) {
		page.Back = web.Action{Label: print.T("Find your card"), Path: "/lost"} // for holders
	}
	switch e.Status {
	case http.StatusForbidden: // every page is refused to this host
		page.Back = web.Action{}
	case http.StatusNotFound:
		page.Hint = ""
	}
	var b bytes.Buffer
	if err := pageTemplates().Render(&b, "error", page, print); err != nil {
		return false
	}
	e.SetRetryAfter(w.Header())
	web.SetHeaders(w.Header())
	web.Write(w, e.Status, b.Bytes())
	return true
}

// newErrorPage returns the page of an error.
func newErrorPage(print *web.Printer, e *kernel.Error, id string) web.ErrorPage {
	page := web.ErrorPage{
		Frame:     web.Frame{Title: print.T(titleOf(e.Status))},
		Status:    e.Status,
		Message:   print.Refused(e.Message, id),
		RequestID: id,
		Back:      web.Action{Label: print.T("Back to the dashboard"), Path: "/dashboard"},
	}
	switch {
	case e.RetryAfter > 0:
		page.Hint = tryAgain(print, e.RetryAfter)
	case e.Code == store.InternalError:
		page.Hint = print.T("Try again. If it happens again, tell the person who runs the server the number below.")
	case e.Status == http.StatusNotFound:
		page.Hint = print.T("It may have been deleted, or it belongs to another shop.")
	}
	return page
}

// tryAgain says when something may be tried again.
func tryAgain(print *web.Printer, after time.Duration) string {
	if after <= time.Minute {
		return print.T("Try again in {0} second.|Try again in {0} seconds.", int(math.Ceil(after.Seconds())))
	}
	return print.T("Try again in {0} minute.|Try again in {0} minutes.", int(math.Ceil(after.Minutes())))
}

// titleOf returns the title of the page of an error.
func titleOf(status int) web.Text {
	titles := map[int]web.Text{
		http.StatusNotFound:        "Not found",
		http.StatusForbidden:       "Not allowed",
		http.StatusGone:            "This link has ended",
		http.StatusTooManyRequests: "Too many attempts",
	}
	if status >= http.StatusInternalServerError {
		return web.Text("Something went wrong")
	}
	return cmp.Or(titles[status], web.Text("This cannot be done"))
}

// returnTo returns the query that leads back to the page after signing in. A form is not
// repeated: its page is shown again.
func (v *visit) returnTo() string {
	if v.r.Method != http.MethodGet || !isPagePath(v.r.URL.Path) || v.r.URL.Path == "/dashboard" {
		return ""
	}
	return "?next=" + url.QueryEscape(v.r.URL.RequestURI())
}

// isPagePath reports whether a path is one of the dashboard, or of an invitation, to which a
// form may lead.
// Browsers take a path that begins with two slashes, or a slash and a backslash, as one
// of another host.
func isPagePath(path string) bool {
	if strings.ContainsAny(path, "\\\r\n") {
		return false
	}
	begins := func(prefix string) bool { return strings.HasPrefix(path, prefix) }
	return path == "/dashboard" || begins("/dashboard/") || begins("/dashboard?") || begins("/invite/")
}

// nextPath returns where the browser goes after signing in.
func nextPath(next string) string {
	if isPagePath(next) {
		return next
	}
	return "/dashboard"
}
