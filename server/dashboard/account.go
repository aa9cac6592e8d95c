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
	page(accountPath, func(v *visit) error { return showAccount(v, nil) }),
	post(accountPath, action[store.User]{op: operation.UpdateProfile, fields: only("name", "language"), again: showAccount,
		next: func(*visit, store.User) (string, string) { return accountPath, profileSaved }}),
	page(passwordPath, func(v *visit) error { return showPassword(v, v.newForm(nil)) }),
	post(
		passwordPath,
		action[operation.CreatedSession]{
			op:     operation.ChangePassword,
			fields: only("current_password", "password"),
			again:  showPassword,
			show:   passwordChanged,
			at:     map[store.Code]string{store.InvalidCredentials: "current_password"},
		},
	),
	post(accountPath+"/session/:id/end", action[kernel.None]{op: operation.EndSession, fields: only(),
		next: func(*visit, kernel.None) (string, string) { return accountPath, sessionEnded }}),
	page(accountPath+"/sign-out-everywhere", confirmSignOutEverywhere),
	post(
		accountPath+"/sign-out-everywhere",
		action[operation.EndedSessions]{op: operation.SignOutEverywhere, fields: only(), show: signedOutEverywhere},
	),
)...)

var (
	profileSaved  = says("profile-saved", web.Text("Your account was saved."))
	passwordSaved = says("password-changed", web.Text("Your password was changed. You are signed out on all other devices."))
	sessionEnded  = says("session-ended", web.Text("That device is signed out."))
	allEnded      = says("signed-out-everywhere", web.Text("You are signed out on all devices."))
)

// accountPage is the page of a person's own account.
type accountPage struct {
	web.Frame
	Form      *web.Form
	Languages []web.Option
	Profile   operation.Profile
	Factor    web.Badge
	Sessions  []session
	Shops     []web.Fact
}

// session is a session as its page shows it.
type session struct {
	store.Session
	Device  string
	Current bool
	Key     string // of the form that ends it
}

func showAccount(v *visit, f *web.Form) error {
	profile, err := read[operation.Profile](v, operation.GetProfile, kernel.Args{})
	if err != nil {
		return err
	}
	list, err := read[operation.List[store.Session]](v, operation.ListSessions, kernel.Args{})
	if err != nil {
		return err
	}
	if f == nil {
		f = v.newForm(url.Values{"name": {profile.Name}, "language": {profile.Language}})
	}
	p := accountPage{Frame: v.frame(web.Text("Your account"), accountPath), Form: f, Languages: languageOptions(), Profile: profile}
	p.Factor = web.Badge{Label: v.print.T("Off")}
	if profile.TOTP {
		p.Factor = web.Badge{Label: v.print.T("On"), Tone: "good"}
	}
	for _, s := range list.Data {
		p.Sessions = append(p.Sessions, session{s, v.device(s.Agent), s.ID == v.person.SessionID, f.Key})
	}
	for _, sr := range v.person.Shops {
		role := sr.Role
		if v.person.Operator {
			role = "operator"
		}
		p.Shops = append(p.Shops, web.Fact{Label: sr.Name, Value: v.roleOption(role).Label})
	}
	return v.render(v.status(), "account", p)
}

func showPassword(v *visit, f *web.Form) error {
	if problem := f.Errors["current_password"]; problem != "" && v.formStatus == http.StatusUnauthorized {
		f.Errors["current_password"] = v.print.T("The password is wrong.")
	}
	f.Order = []string{"current_password", "password"}
	frame := v.frame(web.Text("Change your password"), accountPath)
	frame.Width = "narrow"
	return v.render(v.status(), "password", accountPage{Frame: frame, Form: f})
}

// passwordChanged sets the cookie of the session that takes the place of the others.
func passwordChanged(v *visit, s operation.CreatedSession) error {
	if s.Token == "" { // the form was sent twice, and the other answer has the cookie
		v.redirect("/sign-in", passwordSet)
		return nil
	}
	v.setSession(s.Token)
	v.redirect(accountPath, passwordSaved)
	return nil
}

func confirmSignOutEverywhere(v *visit) error {
	return v.confirm(accountPath, web.ConfirmPage{
		Frame:  web.Frame{Title: v.print.T("Sign out everywhere?")},
		Path:   accountPath + "/sign-out-everywhere",
		Text:   v.print.T("All devices are signed out at once, this one too. Then sign in again here."),
		Button: v.print.T("Sign out everywhere"),
		Cancel: accountPath,
	})
}

func signedOutEverywhere(v *visit, _ operation.EndedSessions) error {
	v.setSession("")
	v.redirect("/sign-in", allEnded)
	return nil
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
		return v.print.T("{0} on {1}", browser, system)
	case browser != "" || system != "":
		return cmp.Or(browser, system)
	}
	return v.print.T("Unknown device")
}
