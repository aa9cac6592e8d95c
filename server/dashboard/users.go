package dashboard

import (
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const usersPath = "/dashboard/users"

// userPages are the pages of all accounts of the server, for operators.
var userPages = anywhere(
	page(usersPath, shows(operation.ListUsers, showUsers)),
	page(userAt, about(findUser, showUser)),
	confirm(userAt+"/disable", findUser, askDisableUser, action{
		op:        operation.DisableUser,
		asksAgain: true,
		to:        userAt,
		done:      "The account is disabled, and signed out everywhere.",
	}),
	post(userAt+"/enable", action{
		op:   operation.EnableUser,
		to:   userAt,
		done: "The account is enabled. The person can sign in again.",
	}),
	edit(userAt+"/reset", findUser, showResetForm, action{op: operation.CreateResetLink, then: then(showCreatedLink)}),
	confirm(userAt+"/sign-out", findUser, askSignOutUser, action{
		op:   operation.SignOutUser,
		to:   userAt,
		done: "The person is signed out on all devices.",
	}),
)

// userAt is the pattern of the page of an account.
const userAt = "/dashboard/user/:id"

func userPath(id string) string { return "/dashboard/user/" + id }

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
	state := v.badge("Active", "good")
	if u.DisabledAt.Valid {
		state = v.badge("Disabled", "")
	}
	return user{u, state, u.ID == v.person.UserID}
}

func showUsers(v *visit, list operation.Users) error {
	return v.render("users", usersPage{Frame: v.frame("Accounts", usersPath), Users: each(list.Data, v.newUser)})
}

// findUser returns the account of the path.
func findUser(v *visit) (user, error) {
	list, err := read[operation.Users](v, operation.ListUsers)
	account, err := find(v, list.Data, err, func(u store.User) string { return u.ID }, "No such person.")
	return v.newUser(account), err
}

func showUser(v *visit, u user) error {
	yes := map[bool]string{true: v.T("Yes"), false: v.T("No")}
	p := usersPage{Frame: v.named(u.Name, usersPath), User: u, Facts: []web.Fact{
		v.fact("Email", u.Email),
		v.fact("Language", languageName(u.Language)),
		v.fact("Operator", yes[u.Operator]),
		v.fact("Second factor", yes[u.TOTP]),
		v.fact("Last sign-in", v.dateTime(u.LastSignInAt)),
		v.fact("Created", v.Date(u.CreatedAt.Std())),
		v.fact("Id", u.ID),
	}}
	if u.DisabledAt.Valid {
		p.Facts = append(p.Facts, v.fact("Disabled", v.DateTime(u.DisabledAt.V.Std())))
		p.Actions = []web.Action{v.button("Enable", userPath(u.ID)+"/enable", "", "primary")}
		return v.render("user", p)
	}
	p.Actions = []web.Action{
		v.link("Link for a new password", userPath(u.ID)+"/reset", "key", ""),
		v.link("Sign out", userPath(u.ID)+"/sign-out", "signout", ""),
	}
	if !u.Self {
		p.Actions = append(p.Actions, v.link("Disable", userPath(u.ID)+"/disable", "", "danger"))
	}
	return v.render("user", p)
}

func askDisableUser(v *visit, u user) web.ConfirmPage {
	return web.ConfirmPage{
		Frame: v.narrow("Disable the account of {0}?", usersPath, u.Name),
		Text: v.T(
			"{0} is signed out everywhere at once and can no longer sign in to any shop. You can enable the account again at any time.",
			u.Email,
		),
		Button: v.T("Disable the account"),
		Danger: true,
	}
}

func askSignOutUser(v *visit, u user) web.ConfirmPage {
	return web.ConfirmPage{
		Frame:  v.narrow("Sign {0} out?", usersPath, u.Name),
		Text:   v.T("All devices of {0} are signed out at once. They can sign in again with their password.", u.Email),
		Button: v.T("Sign out everywhere"),
	}
}

func showResetForm(v *visit, u user, f *web.Form) error {
	return v.render("user_reset", usersPage{Frame: v.narrow("Link for a new password", usersPath), User: u, Form: f})
}
