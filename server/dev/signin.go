package dev

import (
	"mime"
	"net/http"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// signInBody is the body of POST /dev/sign-in.
type signInBody struct {
	As store.Opt[string] `json:"as" req:"true" enum:"owner,manager,viewer"`
}

// signInAnswer is the cookie of a new session.
type signInAnswer struct {
	Cookie string `json:"cookie"`
	Token  string `json:"token"`
}

// signIn returns the handler of POST /dev/sign-in, which begins a session of one of the demo shop's
// people and sets its cookie. The form of the start page leads on to the dashboard.
func (c *Control) signIn(httprouter.Handle) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		if !isForm(r) {
			kernel.HandlerOf(http.StatusOK, 0, c.signInJSON(w)).Handle(c.Kernel)(w, r, p)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, kernel.MaxBody)
		cookie, err := c.signInAs(r, r.PostFormValue("as"))
		if err != nil {
			c.Kernel.AnswerError(w, err)
			return
		}
		http.SetCookie(w, cookie)
		c.Kernel.Redirect(w, http.StatusSeeOther, "/dashboard")
	}
}

// isForm reports whether the body of a request is that of a form.
func isForm(r *http.Request) bool {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return mediaType == "application/x-www-form-urlencoded"
}

// signInJSON returns the function that answers POST /dev/sign-in with JSON and sets the
// cookie in w.
func (c *Control) signInJSON(w http.ResponseWriter) func(*http.Request, httprouter.Params, signInBody) (signInAnswer, error) {
	return func(r *http.Request, _ httprouter.Params, b signInBody) (a signInAnswer, err error) {
		cookie, err := c.signInAs(r, b.As.V)
		if err != nil {
			return a, err
		}
		http.SetCookie(w, cookie)
		return signInAnswer{cookie.Name, cookie.Value}, nil
	}
}

// signInAs begins a session of the person with a role.
func (c *Control) signInAs(r *http.Request, role string) (*http.Cookie, error) {
	id, err := store.Read(c.Store, func(v *store.View) (string, error) { return v.UserByEmail(seed.Emails[role]) })
	if err != nil {
		return nil, err
	}
	caller := kernel.Caller{
		Kind:    kernel.System,
		Actor:   store.Actor{Type: "system"},
		Address: c.Kernel.ClientAddress(r),
		Agent:   r.UserAgent(),
	}
	args := kernel.Args{Params: map[string]string{"id": id}}
	s, err := kernel.Do[operation.CreatedSession](r.Context(), c.Kernel, caller, operation.SignInAs, args)
	if err != nil {
		return nil, err
	}
	return kernel.SessionCookie(c.Hosts.URLOf(r), s.Token), nil
}
