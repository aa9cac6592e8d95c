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

const (
	accountPath  = "/dashboard/account"
	passwordPath = accountPath + "/password"
)

// accountPages are the pages of a person's own account.
var accountPages = anywhere(append(
	secondFactorPages,
	openForm(accountPath, showAccount, action{
		op:   operation.UpdateProfile,
		to:   accountPath,
		done: "Your account was saved.",
	}),
	form(passwordPath, showPassword, action{
		op:   operation.ChangePassword,
		then: then(passwordChanged),
		at:   map[store.Code]string{store.InvalidCredentials: "current_password"},
	}),
	post(accountPath+"/session/:id/end", action{
		op:   operation.EndSession,
		to:   accountPath,
		done: "That device is signed out.",
	}),
	confirm(accountPath+"/sign-out-everywhere", nothing, askSignOutEverywhere, action{
		op:   operation.SignOutEverywhere,
		then: then(signedOutEverywhere),
	}),
)...)

var (
	passwordSaved = says("password-changed", "Your password was changed. You are signed out on all other devices.")
	allEnded      = says("signed-out-everywhere", "You are signed out on all devices.")
)

// accountPage is the page of a person's own account.
type accountPage struct {
	web.Frame
	Profile  operation.Profile
	Sessions []session
	Shops    []store.ShopRole
}

// session is a session as its page shows it.
type session struct {
	store.Session
	Device  string
	Current bool
}

func showAccount(v *visit) error {
	profile, err := read[operation.Profile](v, operation.GetProfile)
	if err != nil {
		return err
	}
	list, err := read[operation.List[store.Session]](v, operation.ListSessions)
	if err != nil {
		return err
	}
	v.fill(url.Values{"name": {profile.Name}, "language": {profile.Language}})
	p := accountPage{Frame: v.frame("Your account", accountPath), Profile: profile, Shops: v.person.Shops}
	for _, s := range list.Data {
		p.Sessions = append(p.Sessions, session{s, v.device(s.Agent), s.ID == v.person.SessionID})
	}
	return v.render("account", p)
}

func showPassword(v *visit) error {
	if problem := v.shown.Errors["current_password"]; problem != "" && v.formStatus == http.StatusUnauthorized {
		v.shown.Errors["current_password"] = v.T("The password is wrong.")
	}
	return v.render("password", accountPage{Frame: v.narrow("Change your password", accountPath)})
}

// passwordChanged sets the cookie of the session that takes the place of the others.
func passwordChanged(v *visit, s operation.CreatedSession) error {
	if s.Token == "" { // the form was sent twice, and the other answer has the cookie
		return v.redirect("/sign-in", passwordSet)
	}
	v.setSession(s.Token)
	return v.redirect(accountPath, passwordSaved)
}

func askSignOutEverywhere(v *visit, _ kernel.None) web.ConfirmPage {
	c := v.ask(accountPath, "Sign out everywhere?",
		"All devices are signed out at once, this one too. Then sign in again here.",
		"Sign out everywhere")
	c.Cancel = accountPath
	return c
}

func signedOutEverywhere(v *visit, _ operation.EndedSessions) error {
	v.setSession("")
	return v.redirect("/sign-in", allEnded)
}

// device returns the browser and the system that a User-Agent names, as far as they are
// known.
func (v *visit) device(agent string) string {
	named := func(names ...string) string {
		for i := 0; i+1 < len(names); i += 2 {
			if strings.Contains(agent, names[i]) {
				return names[i+1]
			}
		}
		return ""
	}
	// Most browsers name others, too, so the order matters.
	browser := named(
		"Edg", "Edge", "OPR/", "Opera", "SamsungBrowser/", "Samsung Internet", "Firefox/", "Firefox", "FxiOS/",
		"Firefox", "CriOS/", "Chrome", "Chrome/", "Chrome", "Safari/", "Safari",
	)
	system := named(
		"iPhone", "iPhone", "iPad", "iPad", "Android", "Android", "Windows", "Windows", "Mac OS X", "Mac", "CrOS",
		"ChromeOS", "Linux", "Linux",
	)
	switch {
	case browser != "" && system != "":
		return v.T("{0} on {1}", browser, system)
	case browser != "" || system != "":
		return cmp.Or(browser, system)
	}
	return v.T("Unknown device")
}
