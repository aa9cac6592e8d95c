package command

import (
	"fmt"
	"strings"

	"punchcard/server/operation"
	"punchcard/store"
)

// linkBase is the flag of commands that print a one-time link.
type linkBase struct {
	PublicURL string `name:"public-url" placeholder:"URL" help:"What the link begins with; that of the server. Default: that which init was given for the file; without it the path of the link alone is printed."`
}

func (f *linkBase) configure(o *store.Options) { o.PublicURL = strings.TrimRight(f.PublicURL, "/") }

// inviteFlags are the flags of user invite.
type inviteFlags struct {
	linkBase
	Email string `arg:"" help:"The person's email."`
	Role  string `env:"-" enum:"owner,manager,viewer,operator" default:"manager" help:"owner, manager or viewer of the shop, or operator of the server with all its shops."`
}

// ofServer reports whether the invitation is to all shops.
func (f *inviteFlags) ofServer() bool { return f.Role == "operator" }

// resetFlags are the flags of user reset.
type resetFlags struct {
	linkBase
	RemoveTOTP bool `name:"remove-totp" env:"-" help:"Also remove the second factor, of somebody who has lost it with the recovery codes."`
}

// printLink prints a one-time link.
func printLink(o output, l store.CreatedLink) {
	printf(o, "The link for %s, shown this once and valid until %s:\n\n%s\n", l.Email, l.ExpiresAt, l.URL)
}

// printUsers prints a table of accounts.
func printUsers(o output, users ...store.User) {
	fmt.Fprintln(o, "ID\tEMAIL\tNAME\tOPERATOR\tSTATE\tSECOND FACTOR\tLAST SIGN-IN")
	for _, u := range users {
		state, last := either(u.DisabledAt.Valid, "disabled", "enabled"), "never"
		if u.LastSignInAt.Valid {
			last = u.LastSignInAt.V.String()
		}
		printf(o, "%s\t%s\t%s\t%t\t%s\t%t\t%s\n", u.ID, u.Email, u.Name, u.Operator, state, u.TOTP, last)
	}
}

// printAccounts prints tables of the accounts and the open invitations.
func printAccounts(o output, users operation.Users) {
	printUsers(o, users.Data...)
	if len(users.Invitations) > 0 {
		fmt.Fprintln(o, "\nINVITED\tROLE\tSHOP\tVALID UNTIL")
	}
	for _, i := range users.Invitations {
		printf(o, "%s\t%s\t%s\t%s\n", i.Email, i.Role, i.Shop, i.ExpiresAt)
	}
}

// printEndedSessions prints how many sessions were ended.
func printEndedSessions(o output, e operation.EndedSessions) {
	printf(o, "%s ended\n", counted(e.Ended, "session"))
}
