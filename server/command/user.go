package command

import (
	"fmt"
	"io"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// User groups the commands on people's accounts.
type User struct {
	Invite  UserInvite  `cmd:"" help:"Invite a person to a shop, or an operator, and print the one-time link."`
	List    UserList    `cmd:"" help:"List the accounts, oldest first."`
	Reset   UserReset   `cmd:"" help:"Print a one-time link by which a person sets a new password."`
	Disable UserDisable `cmd:"" help:"Disable an account, and end its sessions from the very next request on."`
	Enable  UserEnable  `cmd:"" help:"Enable a disabled account."`
	SignOut UserSignOut `cmd:"" help:"End a person's sessions from the very next request on."`
}

// linkBase is the flag of commands that print a one-time link.
type linkBase struct {
	PublicURL string `name:"public-url" placeholder:"URL" help:"What the link begins with; that of the server. Default: the path of the link alone is printed."`
}

// options are the store's options for a command that makes a link.
func (l linkBase) options() store.Options {
	return store.Options{MustExist: true, PublicURL: strings.TrimRight(l.PublicURL, "/")}
}

// printLink prints a one-time link.
func printLink(w io.Writer, l store.CreatedLink) {
	printf(w, "The link for %s, shown this once and valid until %s:\n\n%s\n", l.Email, l.ExpiresAt, l.URL)
}

// printUsers prints a table of accounts.
func printUsers(w io.Writer, users ...store.User) {
	fmt.Fprintln(w, "ID\tEMAIL\tNAME\tOPERATOR\tSTATE\tSECOND FACTOR\tLAST SIGN-IN")
	for _, u := range users {
		state, last := "enabled", "never"
		if u.DisabledAt.Valid {
			state = "disabled"
		}
		if u.LastSignInAt.Valid {
			last = u.LastSignInAt.V.String()
		}
		printf(w, "%s\t%s\t%s\t%t\t%s\t%t\t%s\n", u.ID, u.Email, u.Name, u.Operator, state, u.TOTP, last)
	}
}

// UserInvite is the command that invites a person.
type UserInvite struct {
	OfShop
	linkBase
	Email string `arg:"" help:"The person's email."`
	Role  string `env:"-" enum:"owner,manager,viewer,operator" default:"manager" help:"owner, manager or viewer of the shop, or operator of the server with all its shops."`
}

// Run makes the invitation and prints its link.
func (c *UserInvite) Run() error {
	shop := c.resolve
	if c.Role == "operator" {
		shop = noShop
	}
	f := operation.InviteFields{Email: store.Given(c.Email), Role: store.Given(c.Role)}
	l, err := doIn[store.CreatedLink](c.File, c.options(), shop, operation.InvitePerson, kernel.Args{Fields: f})
	if err != nil {
		return err
	}
	return c.show(&l, func(w io.Writer) { printLink(w, l) })
}

// UserList is the command that lists accounts.
type UserList struct{ File }

// Run lists the accounts.
func (c *UserList) Run() error {
	users, err := doIn[operation.List[store.User]](c.File, existing, noShop, operation.ListUsers, kernel.Args{})
	if err != nil {
		return err
	}
	return c.show(&users, func(w io.Writer) { printUsers(w, users.Data...) })
}

// ofUser has the flags of a command on one account.
type ofUser struct {
	File
	Who string `arg:"" name:"person" help:"The person's id or email."`
}

// id returns the id of the account.
func (c ofUser) id() (string, error) {
	if !strings.Contains(c.Who, "@") {
		return c.Who, nil
	}
	users, err := doIn[operation.List[store.User]](c.File, existing, noShop, operation.ListUsers, kernel.Args{})
	for _, u := range users.Data {
		if strings.EqualFold(u.Email, c.Who) {
			return u.ID, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s: no account has this email", c.Who)
	}
	return "", err
}

// runUser runs an operation on the account and prints its answer.
func runUser[O any](c ofUser, opts store.Options, op *kernel.Operation, fields any, human func(io.Writer, O)) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	out, err := doIn[O](c.File, opts, noShop, op, kernel.Args{Params: on(id), Fields: fields})
	if err != nil {
		return err
	}
	return c.show(&out, func(w io.Writer) { human(w, out) })
}

// UserReset is the command that makes a reset link.
type UserReset struct {
	ofUser
	linkBase
	RemoveTOTP bool `name:"remove-totp" env:"-" help:"Also remove the second factor, of somebody who has lost it with the recovery codes."`
}

// Run makes the link and prints it.
func (c *UserReset) Run() error {
	return runUser(c.ofUser, c.options(), operation.CreateResetLink, operation.ResetLinkFields{RemoveTOTP: store.Given(c.RemoveTOTP)}, printLink)
}

// UserDisable is the command that disables an account.
type UserDisable struct{ ofUser }

// Run disables the account.
func (c *UserDisable) Run() error {
	return runUser(c.ofUser, existing, operation.DisableUser, nil, printUser)
}

// printUser prints a table of one account.
func printUser(w io.Writer, u store.User) { printUsers(w, u) }

// UserEnable is the command that enables an account.
type UserEnable struct{ ofUser }

// Run enables the account.
func (c *UserEnable) Run() error {
	return runUser(c.ofUser, existing, operation.EnableUser, nil, printUser)
}

// UserSignOut is the command that ends a person's sessions.
type UserSignOut struct{ ofUser }

// Run ends the sessions.
func (c *UserSignOut) Run() error {
	return runUser(c.ofUser, existing, operation.SignOutUser, nil, func(w io.Writer, e operation.EndedSessions) {
		printf(w, "%s ended\n", counted(e.Ended, "session"))
	})
}
