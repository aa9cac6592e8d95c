package tillpage

import (
	"net/http"
	"strings"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// pairPage asks before a device is paired: a mail scanner that opens the link pairs nothing.
type pairPage struct {
	web.Frame
	Token string
}

// askPair answers GET of a pairing link with the button that pairs this device, or leads to the server of a
// shop that has moved. Its answer does not say whether the link is valid.
func (p *Pages) askPair(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	if _, err := pairing[kernel.None](p, r, operation.CheckPairing, byLink(ps)); err != nil {
		p.refusePairing(w, r, err)
		return
	}
	print := web.PrinterOf(r)
	p.render(w, http.StatusOK, "pair", pairPage{Frame: web.Frame{Title: print.T("Pair this device")}, Token: ps.ByName("token")}, print)
}

// pairByLink answers the form of askPair: it makes this browser a till and leads to the page.
func (p *Pages) pairByLink(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	token, err := p.acceptPairing(r, byLink(ps))
	if err != nil {
		p.refusePairing(w, r, err)
		return
	}
	http.SetCookie(w, kernel.DeviceCookie(p.Hosts.URLOf(r), token))
	p.Kernel.Redirect(w, http.StatusSeeOther, Path)
}

// codeFields is the body of POST /till/pair.
type codeFields struct {
	Code store.Opt[string] `json:"code" req:"true" min:"1" max:"32" doc:"The code, however it is typed."`
}

// pairByCode answers POST /till/pair, which the page sends: an installed app has cookies of
// its own.
func (p *Pages) pairByCode(r *http.Request, f codeFields) (token string, err error) {
	return p.acceptPairing(r, operation.PairingCodeFields{Code: f.Code})
}

// byLink returns the fields of a pairing by its link.
func byLink(ps httprouter.Params) operation.PairingCodeFields {
	return operation.PairingCodeFields{Token: store.Given(ps.ByName("token"))}
}

// acceptPairing makes a device of a pairing, and returns its token.
func (p *Pages) acceptPairing(r *http.Request, f operation.PairingCodeFields) (token string, err error) {
	d, err := pairing[operation.CreatedDevice](p, r, operation.AcceptPairing, f)
	return d.Token, err
}

// pairing calls an operation on a pairing.
func pairing[T any](p *Pages, r *http.Request, op *kernel.Operation, f operation.PairingCodeFields) (T, error) {
	return kernel.Do[T](r.Context(), p.Kernel, kernel.VisitorCaller(p.Kernel.ClientAddress(r)), op, kernel.Args{Fields: f})
}

// refusePairing answers the form with the page of an error, or with JSON, or leads to the server of a shop that has moved.
func (p *Pages) refusePairing(w http.ResponseWriter, r *http.Request, err error) {
	if err = kernel.RedirectMoved(w, r, err); err == nil {
		return
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		p.Kernel.AnswerError(w, err)
		return
	}
	e, print := p.Kernel.Report(w, err), web.PrinterOf(r)
	id := w.Header().Get("X-Request-Id")
	page := web.ErrorPage{
		Frame:     web.Frame{Title: print.T("This device was not paired")},
		Status:    e.Status,
		Message:   print.Refused(e.Message, id),
		RequestID: id,
		Back:      web.Action{Label: print.T("Open the till"), Path: Path},
	}
	if e.Code == store.LinkExpired {
		page.Hint = print.T("Make a new one in the dashboard, under Tills.")
	}
	p.render(w, e.Status, "error", page, print)
}

// unpair answers POST /till/unpair: it ends the cookie of this browser. The token stays valid until a manager revokes it.
func (p *Pages) unpair(*http.Request, struct{}) (token string, err error) { return "", nil }

// setToken returns the handler of a request of the page that sets the cookie of this browser to the token that do returns. The
// request must say that its body is JSON, which no form of another origin can.
func setToken[F any](p *Pages, do func(*http.Request, F) (token string, err error)) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
		if !kernel.IsJSON(r) {
			p.Kernel.AnswerError(w, &kernel.Error{
				Status:  http.StatusUnsupportedMediaType,
				Code:    store.BadRequest,
				Message: "The Content-Type must be application/json.",
			})
			return
		}
		answer := func(r *http.Request, _ httprouter.Params, f F) (kernel.None, error) {
			token, err := do(r, f)
			if err == nil {
				http.SetCookie(w, kernel.DeviceCookie(p.Hosts.URLOf(r), token))
			}
			return kernel.None{}, err
		}
		kernel.HandlerOf(http.StatusNoContent, kernel.SmallBody, answer).Handle(p.Kernel)(w, r, ps)
	}
}
