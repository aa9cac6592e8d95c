package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// signInPages are the pages by which people sign in and out, those of one-time links, and
// the one that asks for a proof.
var signInPages = anywhere(
	publicly(page("/sign-in", func(v *visit) error { return showSignIn(v, v.newForm(nil)) })),
	publicly(
		post(
			"/sign-in",
			action[operation.CreatedSession]{op: operation.SignIn, fields: only("email", "password"), again: showSignIn, show: signedIn},
		),
	),
	page("/sign-in/code", func(v *visit) error { return showCode(v, v.newForm(nil)) }),
	post(
		"/sign-in/code",
		action[operation.CreatedSession]{op: operation.ConfirmSignIn, fields: only("totp"), again: showCode, show: signedIn},
	),
	post("/sign-out", action[kernel.None]{op: operation.SignOut, fields: only(), show: signedOut}),
	post("/dashboard/shop/:id", action[kernel.None]{op: operation.SelectShop, fields: only(), next: toToday}),
	post("/dashboard/prove", action[kernel.None]{op: operation.Prove, fields: proofFields, again: askProof, show: proved, at: proofErrors}),
	publicly(page("/reset", func(v *visit) error { return showForgotten(v, v.newForm(nil)) })),
	publicly(
		post("/reset", action[kernel.None]{op: operation.RequestReset, fields: only("email"), again: showForgotten, show: showResetSent}),
	),
	publicly(page("/reset/:token", func(v *visit) error { return showReset(v, v.newForm(nil)) })),
	publicly(
		post(
			"/reset/:token",
			action[operation.KnownBrowser]{op: operation.ResetPassword, fields: only("password"), again: showReset, next: toSignIn},
		),
	),
	publicly(page("/invite/:token", func(v *visit) error { return showInvitation(v, v.newForm(nil)) })),
	publicly(
		post(
			"/invite/:token",
			action[kernel.None]{op: operation.CreateInvited, fields: newAccount, again: showInvitation, next: toAcceptance},
		),
	),
	page("/invite/:token/accept", func(v *visit) error { return showAcceptance(v, nil) }),
	post("/invite/:token/accept", action[kernel.None]{op: operation.AcceptInvitation, fields: only(), again: showAcceptance,
		next: func(*visit, kernel.None) (string, string) { return "/dashboard", nowAMember }}),
)

var (
	passwordSet = says("password-set", web.Text("Your new password is set. Sign in with it."))
	nowAMember  = says("joined", web.Text("You accepted the invitation."))
	signInNow   = says(
		"sign-in-now",
		web.Text(
			"Now sign in to accept the invitation. If you are new here, use the password that you have just chosen. If you had an account with this email before, it stays as it was: use its own password, or set a new one by “Forgot your password?”.",
		),
	)
)

func toToday(*visit, kernel.None) (path, done string) { return "/dashboard", "" }

// toSignIn leads to the sign-in page after a reset.
func toSignIn(*visit, operation.KnownBrowser) (path, done string) { return "/sign-in", passwordSet }

// only returns a function that keeps some fields of a form and drops the others, which are for
// the page.
func only(names ...string) func(*visit, url.Values) url.Values {
	return func(_ *visit, form url.Values) url.Values {
		out := url.Values{}
		for _, name := range names {
			if values, ok := form[name]; ok {
				out[name] = values
			}
		}
		return out
	}
}

// newAccount keeps the fields of a new account, and sets its language to that of the page.
func newAccount(v *visit, form url.Values) url.Values {
	out := only("name", "password")(v, form)
	out.Set("language", v.print.Lang())
	return out
}

// outsidePage is a page of somebody who is not signed in, or not yet entirely.
type outsidePage struct {
	web.Frame
	Form      *web.Form
	Next      string           // where a sign-in leads to
	Link      *store.ShownLink // of the page of a one-time link
	Role      web.Option       // of an invitation
	Accept    string           // path
	SignIn    string           // paths, which keep the language
	Forgotten string
	Languages []web.NavItem
	// NoCookie says that no session can be kept safely, since the page came over plain
	// http.
	NoCookie bool
	Mails    bool // a link for a new password can be mailed
}

// outside returns a page without navigation.
func (v *visit) outside(title string, f *web.Form) outsidePage {
	_, _, ok := v.cookie()
	next := v.r.URL.Query().Get("next")
	if v.form != nil {
		next = v.form.Get("_next")
	}
	return outsidePage{
		Frame:     web.Frame{Title: v.print.T(title), Flash: v.flash()},
		Form:      f,
		Next:      next,
		SignIn:    v.keepLanguage("/sign-in"),
		Forgotten: v.keepLanguage("/reset"),
		Languages: v.languages(),
		NoCookie:  !ok,
		Mails:     v.Mails,
	}
}

// languages returns links to the page in the other languages.
func (v *visit) languages() (list []web.NavItem) {
	for _, o := range languageOptions() {
		q := v.r.URL.Query()
		q.Set("lang", o.Value)
		list = append(
			list,
			web.NavItem{Label: o.Label, Badge: o.Value, Path: v.r.URL.Path + "?" + q.Encode(), Current: o.Value == v.print.Lang()},
		)
	}
	return list
}

func showSignIn(v *visit, f *web.Form) error {
	if v.r.Method == http.MethodGet && v.signedIn() {
		v.redirect(nextPath(v.r.URL.Query().Get("next")), "")
		return nil
	}
	return v.render(v.status(), "sign_in", v.outside(web.Text("Sign in"), f))
}

// signedIn reports whether the browser that asks for a public page has a session. It says
// nothing of what the person may do.
func (v *visit) signedIn() bool {
	name, _, ok := v.cookie()
	c, err := v.r.Cookie(name)
	if !ok || err != nil {
		return false
	}
	caller, err := v.sessions.Identify(c.Value, v.Client(v.r), v.r.UserAgent())
	return err == nil && caller.Session != nil && !caller.Session.Pending
}

func showCode(v *visit, f *web.Form) error {
	if v.person != nil && !v.person.Pending { // the code was given already, in another tab
		v.redirect(nextPath(v.r.URL.Query().Get("next")), "")
		return nil
	}
	return v.render(v.status(), "sign_in_code", v.outside(web.Text("Second factor"), f))
}

func showForgotten(v *visit, f *web.Form) error {
	return v.render(v.status(), "forgotten", v.outside(web.Text("Forgotten password"), f))
}

func showResetSent(v *visit, _ kernel.None) error {
	return v.render(http.StatusOK, "reset_sent", v.outside(web.Text("Look into your mailbox"), nil))
}

func showReset(v *visit, f *web.Form) error {
	return v.link("reset", web.Text("New password"), f, store.LinkReset)
}

func showInvitation(v *visit, f *web.Form) error {
	return v.link("invitation", web.Text("Invitation"), f, store.LinkInvitation)
}

// link shows the page of a one-time link, which a GET does not use up.
func (v *visit) link(name, title string, f *web.Form, kind string) error {
	link, err := read[store.ShownLink](v, operation.ShowLink, v.linkArgs())
	if err != nil {
		return err
	}
	if link.Kind != kind {
		return kernel.Refuse(store.LinkExpired, "This link is for something else.")
	}
	p := v.outside(title, f)
	p.Link, p.Role, p.Accept = &link, v.roleOption(cmp.Or(link.Role, "operator")), v.acceptPath()
	return v.render(v.status(), name, p)
}

// toAcceptance leads on after the form of a new account, the same whether one was made.
func toAcceptance(v *visit, _ kernel.None) (path, done string) {
	return "/sign-in?" + url.Values{"done": {signInNow}, "next": {v.acceptPath()}}.Encode(), ""
}

// acceptPath returns the path of the page on which the invitation of the path is accepted.
func (v *visit) acceptPath() string {
	return "/invite/" + url.PathEscape(v.params.ByName("token")) + "/accept"
}

// showAcceptance asks the person who is signed in whether to accept an invitation. If it
// cannot be accepted yet, it offers what has to be done before.
func showAcceptance(v *visit, f *web.Form) error {
	if err := v.require(operation.AcceptInvitation); err != nil {
		return err
	}
	link, err := read[store.ShownLink](v, operation.ShowLink, v.linkArgs())
	if err != nil {
		return err
	}
	if link.Kind != store.LinkInvitation {
		return kernel.Refuse(store.LinkExpired, "This link is for something else.")
	}
	role := v.roleOption(cmp.Or(link.Role, "operator"))
	c := web.ConfirmPage{
		Frame:        web.Frame{Title: v.linkTitle(link)},
		Form:         f,
		Path:         v.acceptPath(),
		Text:         v.print.T("Your role: {0}.", role.Label) + " " + role.Hint,
		Consequences: []string{v.print.T("The invitation is for {0}.", link.Email), v.print.T("Your other devices are signed out.")},
		Button:       v.print.T("Accept the invitation"),
		Cancel:       "/dashboard",
	}
	switch {
	case !strings.EqualFold(link.Email, v.person.Email):
		c.Path, c.Button = "/sign-out", v.print.T("Sign out")
		c.Consequences[1] = v.print.T("You are signed in as {0}. Sign out, then open the link of the invitation again.", v.person.Email)
	case link.Mailed && !v.person.EmailProved:
		c.Path, c.Button, c.Fields = "/reset", v.print.T("Send the link"), map[string]string{"email": v.person.Email}
		c.Consequences[1] = v.print.T(
			"First confirm your mailbox: you get a message with a link, by which you set a new password. Then sign in and open the link of the invitation again.",
		)
	}
	return v.confirm("", c)
}

// linkTitle returns the title of the page of an invitation.
func (v *visit) linkTitle(link store.ShownLink) string {
	if link.Shop == "" {
		return v.print.T("Become an operator")
	}
	return v.print.T("Join {0}", link.Shop)
}

// linkArgs returns the input of an operation with the token in the path.
func (v *visit) linkArgs() kernel.Args {
	return kernel.Args{Params: map[string]string{"token": v.params.ByName("token")}}
}

// signedIn sets the cookie of a new session.
func signedIn(v *visit, s operation.CreatedSession) error {
	if !v.setSession(s.Token) {
		return kernel.Refuse(store.Unauthorized, "Signing in needs https: a session over plain http could be read on the way.")
	}
	to := v.form.Get("_next")
	switch {
	case !s.Pending:
		v.redirect(nextPath(to), "")
	case isPagePath(to):
		v.redirect("/sign-in/code?next="+url.QueryEscape(to), "")
	default:
		v.redirect("/sign-in/code", "")
	}
	return nil
}

// signedOut drops the cookie.
func signedOut(v *visit, _ kernel.None) error {
	v.setSession("")
	v.redirect("/sign-in", "")
	return nil
}

// setSession sets the cookie to a session's token, or drops it. It reports whether a
// cookie is safe here.
func (v *visit) setSession(token string) bool {
	name, secure, ok := v.cookie()
	if ok {
		v.setCookie(name, token, secure, store.SessionLifetime)
	}
	return ok
}

// setBrowser sets the cookie by which the browser is known, where a cookie is safe.
func (v *visit) setBrowser(value string) {
	if name, secure, ok := kernel.BrowserCookieFor(v.PublicURL, v.InsecureCookies, kernel.IsLoopback(v.r)); ok {
		v.setCookie(name, value, secure, store.BrowserLifetime)
	}
}

// setCookie sets a cookie that no script and no other site can use. An empty value ends it.
func (v *visit) setCookie(name, value string, secure bool, lifetime time.Duration) {
	c := &http.Cookie{
		Name:     name,
		Value:    value,
		Path:     "/",
		Secure:   secure,
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
		MaxAge:   int(lifetime.Seconds()),
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(v.w, c)
}
