package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// signInPages are the pages by which people sign in and out, those of one-time links, and
// the one that asks for a proof.
var signInPages = anywhere(
	publicForm("/sign-in", showSignIn, action{op: operation.SignIn, check: requireCookie, then: then(signedIn)}),
	publicForm("/reset", showForgotten, action{op: operation.RequestReset, then: then(showResetSent)}),
	publicForm("/reset/:token", showReset, action{
		op: operation.ResetPassword,
		then: then(func(v *visit, _ operation.KnownBrowser) error {
			return v.redirect("/sign-in", passwordSet)
		}),
	}),
	publicForm("/invite/:token", showInvitation, action{op: operation.CreateInvited, fields: inPageLanguage, then: then(toAcceptance)}),
	openForm("/sign-in/code", showCode, action{op: operation.ConfirmSignIn, then: then(signedIn)}),
	post("/sign-out", action{op: operation.SignOut, then: then(signedOut)}),
	post("/dashboard/shop/:id", action{op: operation.SelectShop, to: "/dashboard"}),
	post(provePath, action{
		op:     operation.Prove,
		fields: proofFields,
		again:  askProof,
		then:   then(proved),
		at:     map[store.Code]string{store.InvalidCredentials: "_password", store.TOTPInvalid: "_totp"},
	}),
	confirm("/invite/:token/accept", findInvitationLink, askAcceptance, action{
		op:        operation.AcceptInvitation,
		asksAgain: true,
		to:        "/dashboard",
		done:      "You accepted the invitation.",
	}),
)

var (
	passwordSet = says("password-set", "Your new password is set. Sign in with it.")
	signInNow   = says(
		"sign-in-now",
		"Now sign in to accept the invitation. If you are new here, use the password that you have just chosen. If you had an account "+
			"with this email before, it stays as it was: use its own password, or set a new one by “Forgot your password?”.",
	)
)

// inPageLanguage sets the language of a new account to that of the page.
func inPageLanguage(v *visit, form url.Values) url.Values {
	form.Set("language", v.Lang())
	return form
}

// outsidePage is a page of somebody who is not signed in, or not yet entirely.
type outsidePage struct {
	web.Frame
	Next   string           // where a sign-in leads to
	Link   *store.ShownLink // of the page of a one-time link
	Role   web.Option       // of an invitation
	Accept string           // path
	// NoCookie says that no session can be kept safely, since the page came over plain
	// http.
	NoCookie bool
	Mails    bool // a link for a new password can be mailed
}

// outside returns a page without navigation.
func (v *visit) outside(title web.Text) outsidePage {
	_, _, ok := v.cookie()
	next := v.r.URL.Query().Get("next")
	if v.form != nil {
		next = v.form.Get("_next")
	}
	return outsidePage{
		Frame:    web.Frame{Title: v.T(title), Flash: v.flash(), Form: v.shown},
		Next:     next,
		NoCookie: !ok,
		Mails:    v.Mails,
	}
}

func showSignIn(v *visit) error {
	if v.r.Method == http.MethodGet && v.signedIn() {
		return v.redirect(nextPath(v.r.URL.Query().Get("next")), "")
	}
	return v.render("sign_in", v.outside("Sign in"))
}

// signedIn reports whether the browser that asks for a public page has a session. It says
// nothing of what the person may do.
func (v *visit) signedIn() bool {
	name, _, ok := v.cookie()
	c, err := v.r.Cookie(name)
	if !ok || err != nil {
		return false
	}
	caller, err := v.sessions.Identify(c.Value, v.Kernel.ClientAddress(v.r), v.r.UserAgent())
	return err == nil && caller.Session != nil && !caller.Session.Pending
}

func showCode(v *visit) error {
	if v.person != nil && !v.person.Pending { // the code was given already, in another tab
		return v.redirect(nextPath(v.r.URL.Query().Get("next")), "")
	}
	return v.render("sign_in_code", v.outside("Second factor"))
}

func showForgotten(v *visit) error {
	return v.render("forgotten", v.outside("Forgotten password"))
}

func showResetSent(v *visit, _ kernel.None) error {
	return v.render("reset_sent", v.outside("Look into your mailbox"))
}

func showReset(v *visit) error {
	return v.showOneTimeLink("reset", "New password", store.LinkReset)
}

func showInvitation(v *visit) error {
	return v.showOneTimeLink("invitation", "Invitation", store.LinkInvitation)
}

// shownLink returns the one-time link of the path, which must be of a kind.
func (v *visit) shownLink(kind string) (store.ShownLink, error) {
	link, err := read[store.ShownLink](v, operation.ShowLink)
	if err == nil && link.Kind != kind {
		err = kernel.Refuse(store.LinkExpired, "This link is for something else.")
	}
	return link, err
}

// showOneTimeLink shows the page of a one-time link, which a GET does not use up.
func (v *visit) showOneTimeLink(name string, title web.Text, kind string) error {
	link, err := v.shownLink(kind)
	if err != nil {
		return err
	}
	p := v.outside(title)
	p.Link, p.Role, p.Accept = &link, v.roleOption(cmp.Or(link.Role, "operator")), v.acceptPath()
	return v.render(name, p)
}

// toAcceptance leads on after the form of a new account, the same whether one was made.
func toAcceptance(v *visit, _ kernel.None) error {
	return v.redirect("/sign-in?"+url.Values{"done": {signInNow}, "next": {v.acceptPath()}}.Encode(), "")
}

// acceptPath returns the path of the page on which the invitation of the path is accepted.
func (v *visit) acceptPath() string {
	return "/invite/" + url.PathEscape(v.params["token"]) + "/accept"
}

func findInvitationLink(v *visit) (store.ShownLink, error) { return v.shownLink(store.LinkInvitation) }

// askAcceptance asks the person who is signed in whether to accept an invitation. If it
// cannot be accepted yet, it offers what has to be done before.
func askAcceptance(v *visit, link store.ShownLink) web.ConfirmPage {
	role := v.roleOption(cmp.Or(link.Role, "operator"))
	c := web.ConfirmPage{
		Frame:        v.named(v.linkTitle(link), ""),
		Text:         v.T("Your role: {0}.", role.Label) + " " + role.Hint,
		Consequences: []string{v.T("The invitation is for {0}.", link.Email), v.T("Your other devices are signed out.")},
		Button:       v.T("Accept the invitation"),
	}
	c.Width = "narrow"
	switch {
	case !strings.EqualFold(link.Email, v.person.Email):
		c.Path, c.Button = "/sign-out", v.T("Sign out")
		c.Consequences[1] = v.T("You are signed in as {0}. Sign out, then open the link of the invitation again.", v.person.Email)
	case link.Mailed && !v.person.EmailProved:
		c.Path, c.Button, c.Fields = "/reset", v.T("Send the link"), map[string]string{"email": v.person.Email}
		c.Consequences[1] = v.T(
			"First confirm your mailbox: you get a message with a link, by which you set a new password. Then sign in and open the link " +
				"of the invitation again.",
		)
	}
	return c
}

// linkTitle returns the title of the page of an invitation.
func (v *visit) linkTitle(link store.ShownLink) string {
	if link.Shop == "" {
		return v.T("Become an operator")
	}
	return v.T("Join {0}", link.Shop)
}

// requireCookie refuses to sign anybody in where no cookie is safe.
func requireCookie(v *visit) error {
	if _, _, ok := v.cookie(); !ok {
		return kernel.Refuse(store.Unauthorized, "Signing in needs https: a session over plain http could be read on the way.")
	}
	return nil
}

// signedIn sets the cookie of a new session.
func signedIn(v *visit, s operation.CreatedSession) error {
	v.setSession(s.Token)
	to := v.form.Get("_next")
	switch {
	case !s.Pending:
		return v.redirect(nextPath(to), "")
	case isPagePath(to):
		return v.redirect("/sign-in/code?next="+url.QueryEscape(to), "")
	}
	return v.redirect("/sign-in/code", "")
}

// signedOut drops the cookie.
func signedOut(v *visit, _ kernel.None) error {
	v.setSession("")
	return v.redirect("/sign-in", "")
}

// setSession sets the cookie to a session's token, or drops it. It reports whether a
// cookie is safe here.
func (v *visit) setSession(token string) bool {
	name, secure, ok := v.cookie()
	if ok {
		http.SetCookie(v.w, kernel.Cookie(name, token, secure, store.SessionLifetime))
	}
	return ok
}

// setBrowser sets the cookie by which the browser is known, where a cookie is safe.
func (v *visit) setBrowser(value string) {
	if name, secure, ok := v.cookie(); ok {
		http.SetCookie(v.w, kernel.Cookie(name+kernel.BrowserSuffix, value, secure, store.BrowserLifetime))
	}
}
