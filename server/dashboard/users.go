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

// usersPage is the list of accounts, and the page of one with its forms.
type usersPage struct {
	web.Frame
	Users []store.User
	User  store.User
}

func showUsers(v *visit, list operation.Users) error {
	return v.render("users", usersPage{Frame: v.frame("Accounts", usersPath), Users: list.Data})
}

// findUser returns the account of the path.
func findUser(v *visit) (store.User, error) {
	list, err := read[operation.Users](v, operation.ListUsers)
	return find(v, list.Data, err, func(u store.User) string { return u.ID }, "No such person.")
}

func showUser(v *visit, u store.User) error {
	p := usersPage{Frame: v.named(u.Name, usersPath), User: u}
	return v.render("user", p)
}

func askDisableUser(v *visit, u store.User) web.ConfirmPage {
	return v.danger(usersPath, "Disable the account of {0}?",
		"{1} is signed out everywhere at once and can no longer sign in to any shop. You can enable the account again at any time.",
		"Disable the account", u.Name, u.Email)
}

func askSignOutUser(v *visit, u store.User) web.ConfirmPage {
	return v.ask(usersPath, "Sign {0} out?",
		"All devices of {1} are signed out at once. They can sign in again with their password.",
		"Sign out everywhere", u.Name, u.Email)
}

func showResetForm(v *visit, u store.User) error {
	return v.render("user_reset", usersPage{Frame: v.narrow("Link for a new password", usersPath), User: u})
}
