package dashboard

import (
	"net/url"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const peoplePath = "/dashboard/people"

// peoplePages are the pages of the people of a shop.
var peoplePages = append(
	anywhere(form(peoplePath+"/invite", showInvite, action{op: operation.InvitePerson, then: then(showCreatedLink)})),
	page(peoplePath, about(listPeople, showPeople)),
	confirm("/dashboard/invitation/:id/cancel", findInvitation, askCancelInvitation, action{
		op:   operation.CancelInvitation,
		to:   peoplePath,
		done: "The invitation was cancelled. Its link no longer works.",
	}),
	edit("/dashboard/person/:id/role", findMember, showRole, action{op: operation.SetRole, then: then(roleChanged)}),
	confirm("/dashboard/person/:id/remove", findMember, askRemovePerson, action{
		op:        operation.RemovePerson,
		asksAgain: true,
		to:        peoplePath,
		done:      "The person no longer belongs to this shop.",
	}),
)

var (
	roleSaved    = says("role-saved", "The role was changed. The person has to sign in again.")
	ownRoleSaved = says("own-role-saved", "Your role was changed. You are signed out on all other devices.")
)

// roleChanged leads on after a change of a role: somebody who has changed their own may no
// longer see the list.
func roleChanged(v *visit, m store.Member) error {
	if m.ID == v.person.UserID {
		return v.redirect("/dashboard", ownRoleSaved)
	}
	return v.redirect(peoplePath, roleSaved)
}

// roleOptions explains the roles in a shop.
func (v *visit) roleOptions() []web.Option {
	return []web.Option{
		v.option(store.RoleOwner, "Owner", "Does everything, including people, keys and secrets of other software, settings and exports."),
		v.option(store.RoleManager, "Manager", "Runs the shop: programs, prizes, cards, locations, tills, statistics and integrations."),
		v.option(
			store.RoleViewer,
			"Viewer",
			"Sees programs, cards and statistics, and changes nothing. Customers’ email addresses are partly hidden.",
		),
	}
}

// roleOption explains a role, also that of operators.
func (v *visit) roleOption(role string) web.Option {
	for _, o := range v.roleOptions() {
		if o.Value == role {
			return o
		}
	}
	return v.option("operator", "Operator", "Runs the server: all its shops, everybody’s account, backups and health.")
}

// peoplePage is the list of people, also with its forms.
type peoplePage struct {
	web.Frame
	operation.People
	Roles  []web.Option
	Member store.Member // of the form of a role
	Link   store.CreatedLink
}

func showPeople(v *visit, people operation.People) error {
	return v.render("people", peoplePage{Frame: v.frame("People", peoplePath), People: people, Roles: v.roleOptions()})
}

func showInvite(v *visit) error {
	v.fill(url.Values{"role": {store.RoleManager}})
	p := peoplePage{Frame: v.narrow("Invite a person", peoplePath), Roles: v.roleOptions()}
	if v.allows(kernel.Operator) {
		p.Roles = append(p.Roles, v.roleOption("operator"))
	}
	if v.withoutShop() { // nobody can be invited to it
		p.Roles = p.Roles[len(p.Roles)-1:]
	}
	return v.render("invite", p)
}

// showCreatedLink shows a one-time link, once.
func showCreatedLink(v *visit, l store.CreatedLink) error {
	p := peoplePage{Frame: v.narrow("Invitation link", peoplePath), Link: l}
	if l.Kind == store.LinkReset {
		p.Frame = v.narrow("Link for a new password", usersPath)
	}
	return v.render("link", p)
}

// listPeople returns the people of the shop, with those who are invited.
var listPeople = reader[operation.People](operation.ListPeople)

// findMember returns the member of the path.
func findMember(v *visit) (store.Member, error) {
	people, err := listPeople(v)
	return find(v, people.Members, err, func(m store.Member) string { return m.ID }, "No such person.")
}

// findInvitation returns the invitation of the path.
func findInvitation(v *visit) (store.Invitation, error) {
	people, err := listPeople(v)
	return find(v, people.Invitations, err, func(i store.Invitation) string { return i.ID }, "No such invitation.")
}

func showRole(v *visit, m store.Member) error {
	v.fill(url.Values{"role": {m.Role}})
	return v.render("role", peoplePage{Frame: v.narrow("Role of {0}", peoplePath, m.Name), Member: m, Roles: v.roleOptions()})
}

func askRemovePerson(v *visit, m store.Member) web.ConfirmPage {
	c := v.danger(peoplePath, "Remove {0} from the shop?",
		"{0} ({1}) is signed out at once and can no longer open this shop. Invitations that they have made end. Their account stays, "+
			"for other shops that they belong to.",
		"Remove", m.Name, m.Email)
	if m.ID == v.person.UserID {
		c.Text = v.T("This is you. You are signed out at once and can no longer open this shop. Another owner can invite you again.")
	}
	return c
}

func askCancelInvitation(v *visit, i store.Invitation) web.ConfirmPage {
	return v.danger(peoplePath, "Cancel the invitation?",
		"The link that was sent to {0} no longer works then.",
		"Cancel the invitation", i.Email)
}
