package dashboard

import (
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const usersPath = "/dashboard/users"

// userPages are the pages of all accounts of the server, for operators.
var userPages = anywhere(
	page(usersPath, showUsers),
	page("/dashboard/user/:id", showUser),
	page("/dashboard/user/:id/disable", func(v *visit) error { return confirmDisableUser(v, nil) }),
	post(
		"/dashboard/user/:id/disable",
		action[store.User]{op: operation.DisableUser, fields: only(), again: confirmDisableUser, next: toUser(userDisabled)},
	),
	post("/dashboard/user/:id/enable", action[store.User]{op: operation.EnableUser, fields: only(), next: toUser(userEnabled)}),
	page("/dashboard/user/:id/reset", func(v *visit) error { return showResetForm(v, v.newForm(nil)) }),
	post(
		"/dashboard/user/:id/reset",
		action[store.CreatedLink]{op: operation.CreateResetLink, again: showResetForm, show: showCreatedLink},
	),
	page("/dashboard/user/:id/sign-out", confirmSignOutUser),
	post("/dashboard/user/:id/sign-out", action[operation.EndedSessions]{op: operation.SignOutUser, fields: only(),
		next: func(v *visit, _ operation.EndedSessions) (string, string) { return userPath(v.id()), userSignedOut }}),
)

var (
	userDisabled  = says("user-disabled", web.Text("The account is disabled, and signed out everywhere."))
	userEnabled   = says("user-enabled", web.Text("The account is enabled. The person can sign in again."))
	userSignedOut = says("user-signed-out", web.Text("The person is signed out on all devices."))
)

func userPath(id string) string { return usersPath[:len(usersPath)-1] + "/" + id }

// toUser returns a function that returns the path of the account's page, and the word for what
// was done.
func toUser(done string) func(*visit, store.User) (string, string) {
	return func(_ *visit, u store.User) (string, string) { return userPath(u.ID), done }
}

// usersPage is the list of accounts, and the page of one with its forms.
type usersPage struct {
	web.Frame
	Actions []web.Action
	Users   []user
	User    user
	Facts   []web.Fact
	Form    *web.Form
}

// user is an account as its pages show it.
type user struct {
	store.User
	State web.Badge
	Self  bool
}

func (v *visit) newUser(u store.User) user {
	state := web.Badge{Label: v.print.T("Active"), Tone: "good"}
	if u.DisabledAt.Valid {
		state = web.Badge{Label: v.print.T("Disabled")}
	}
	return user{u, state, u.ID == v.person.UserID}
}

func showUsers(v *visit) error {
	list, err := read[operation.Users](v, operation.ListUsers, kernel.Args{})
	if err != nil {
		return err
	}
	p := usersPage{Frame: v.frame(web.Text("Accounts"), usersPath)}
	for _, u := range list.Data {
		p.Users = append(p.Users, v.newUser(u))
	}
	return v.render(http.StatusOK, "users", p)
}

// findUser returns the account of the path.
func findUser(v *visit) (u user, err error) {
	list, err := read[operation.Users](v, operation.ListUsers, kernel.Args{})
	if err != nil {
		return u, err
	}
	account, err := find(v, list.Data, func(u store.User) string { return u.ID }, "No such person.")
	if err != nil {
		return u, err
	}
	return v.newUser(account), nil
}

func showUser(v *visit) error {
	u, err := findUser(v)
	if err != nil {
		return err
	}
	f := v.newForm(nil)
	p := usersPage{Frame: v.frame("", usersPath), User: u, Form: f}
	p.Title = u.Name
	yes := map[bool]string{true: v.print.T("Yes"), false: v.print.T("No")}
	signedIn := v.print.T("Never")
	if u.LastSignInAt.Valid {
		signedIn = v.print.DateTime(u.LastSignInAt.V.Std())
	}
	p.Facts = []web.Fact{
		{Label: v.print.T("Email"), Value: u.Email},
		{Label: v.print.T("Language"), Value: languageName(u.Language)},
		{Label: v.print.T("Operator"), Value: yes[u.Operator]},
		{Label: v.print.T("Second factor"), Value: yes[u.TOTP]},
		{Label: v.print.T("Last sign-in"), Value: signedIn},
		{Label: v.print.T("Created"), Value: v.print.Date(u.CreatedAt.Std())},
		{Label: v.print.T("Id"), Value: u.ID},
	}
	if u.DisabledAt.Valid {
		p.Facts = append(p.Facts, web.Fact{Label: v.print.T("Disabled"), Value: v.print.DateTime(u.DisabledAt.V.Std())})
		p.Actions = []web.Action{{Label: v.print.T("Enable"), Path: userPath(u.ID) + "/enable", Post: true, Key: f.Key, Kind: "primary"}}
	} else {
		p.Actions = []web.Action{
			{Label: v.print.T("Link for a new password"), Path: userPath(u.ID) + "/reset", Icon: "key"},
			{Label: v.print.T("Sign out"), Path: userPath(u.ID) + "/sign-out", Icon: "signout"},
		}
		if !u.Self {
			p.Actions = append(p.Actions, web.Action{Label: v.print.T("Disable"), Path: userPath(u.ID) + "/disable", Kind: "danger"})
		}
	}
	return v.render(http.StatusOK, "user", p)
}

func confirmDisableUser(v *visit, f *web.Form) error {
	u, err := findUser(v)
	if err != nil {
		return err
	}
	return v.confirm(usersPath, web.ConfirmPage{
		Frame: web.Frame{Title: v.print.T("Disable the account of {0}?", u.Name)},
		Form:  f,
		Path:  userPath(u.ID) + "/disable",
		Text: v.print.T(
			"{0} is signed out everywhere at once and can no longer sign in to any shop. You can enable the account again at any time.",
			u.Email,
		),
		Button: v.print.T("Disable the account"),
		Cancel: userPath(u.ID),
		Danger: true,
	})
}

func confirmSignOutUser(v *visit) error {
	u, err := findUser(v)
	if err != nil {
		return err
	}
	return v.confirm(usersPath, web.ConfirmPage{
		Frame:  web.Frame{Title: v.print.T("Sign {0} out?", u.Name)},
		Path:   userPath(u.ID) + "/sign-out",
		Text:   v.print.T("All devices of {0} are signed out at once. They can sign in again with their password.", u.Email),
		Button: v.print.T("Sign out everywhere"),
		Cancel: userPath(u.ID),
	})
}

func showResetForm(v *visit, f *web.Form) error {
	u, err := findUser(v)
	if err != nil {
		return err
	}
	frame := v.frame(web.Text("Link for a new password"), usersPath)
	frame.Width = "narrow"
	return v.render(v.status(), "user_reset", usersPage{Frame: frame, User: u, Form: f})
}
