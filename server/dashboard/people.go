package dashboard

import (
	"net/http"
	"net/url"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const peoplePath = "/dashboard/people"

// peoplePages are the pages of the people of a shop.
var peoplePages = append(
	anywhere(
		page(peoplePath+"/invite", func(v *visit) error {
			return showInvite(v, v.newForm(url.Values{"role": {store.RoleManager}}))
		}),
		post(peoplePath+"/invite", action[store.CreatedLink]{op: operation.InvitePerson, again: showInvite, show: showCreatedLink}),
	),
	page(peoplePath, showPeople),
	page("/dashboard/invitation/:id/cancel", confirmCancelInvitation),
	post(
		"/dashboard/invitation/:id/cancel",
		action[kernel.None]{op: operation.CancelInvitation, fields: only(), next: toPeople(invitationCancelled)},
	),
	page("/dashboard/person/:id/role", func(v *visit) error { return showRole(v, nil) }),
	post("/dashboard/person/:id/role", action[store.Member]{op: operation.SetRole, again: showRole, next: roleChanged}),
	page("/dashboard/person/:id/remove", func(v *visit) error { return confirmRemovePerson(v, nil) }),
	post(
		"/dashboard/person/:id/remove",
		action[kernel.None]{op: operation.RemovePerson, fields: only(), again: confirmRemovePerson, next: toPeople(personRemoved)},
	),
)

var (
	invitationCancelled = says("invitation-cancelled", web.Text("The invitation was cancelled. Its link no longer works."))
	roleSaved           = says("role-saved", web.Text("The role was changed. The person has to sign in again."))
	ownRoleSaved        = says("own-role-saved", web.Text("Your role was changed. You are signed out on all other devices."))
	personRemoved       = says("person-removed", web.Text("The person no longer belongs to this shop."))
)

// toPeople returns a function that returns the path of the list of people, and the word for
// what was done.
func toPeople(done string) func(*visit, kernel.None) (string, string) {
	return func(*visit, kernel.None) (string, string) { return peoplePath, done }
}

// roleChanged leads on after a change of a role: somebody who has changed their own may no
// longer see the list.
func roleChanged(v *visit, m store.Member) (path, done string) {
	if m.ID == v.person.UserID {
		return "/dashboard", ownRoleSaved
	}
	return peoplePath, roleSaved
}

// roleOptions explains the roles in a shop.
func (v *visit) roleOptions() []web.Option {
	return []web.Option{
		{
			Value: store.RoleOwner,
			Label: v.print.T("Owner"),
			Hint:  v.print.T("Does everything, including people, keys and secrets of other software, settings and exports."),
		},
		{
			Value: store.RoleManager,
			Label: v.print.T("Manager"),
			Hint:  v.print.T("Runs the shop: programs, prizes, cards, locations, tills, statistics and integrations."),
		},
		{
			Value: store.RoleViewer,
			Label: v.print.T("Viewer"),
			Hint:  v.print.T("Sees programs, cards and statistics, and changes nothing. Customers’ email addresses are partly hidden."),
		},
	}
}

// roleOption explains a role, also that of operators.
func (v *visit) roleOption(role string) web.Option {
	for _, o := range v.roleOptions() {
		if o.Value == role {
			return o
		}
	}
	return web.Option{
		Value: "operator",
		Label: v.print.T("Operator"),
		Hint:  v.print.T("Runs the server: all its shops, everybody’s account, backups and health."),
	}
}

// peoplePage is the list of people, also with its forms.
type peoplePage struct {
	web.Frame
	Actions     []web.Action
	Members     []member
	Invitations []invitation
	Roles       []web.Option
	Member      store.Member // of the form of a role
	Form        *web.Form
	Link        store.CreatedLink
	Explanation string // of the link
	Back        web.Action
}

// member is a member of the shop as the list shows them.
type member struct {
	store.Member
	RoleName string
	Self     bool
}

// invitation is an invitation as the list shows it.
type invitation struct {
	store.Invitation
	RoleName string
}

func showPeople(v *visit) error {
	people, err := read[operation.People](v, operation.ListPeople, kernel.Args{})
	if err != nil {
		return err
	}
	p := peoplePage{Frame: v.frame(web.Text("People"), peoplePath), Roles: v.roleOptions(),
		Actions: []web.Action{{Label: v.print.T("Invite a person"), Path: peoplePath + "/invite", Icon: "plus", Kind: "primary"}}}
	for _, m := range people.Members {
		p.Members = append(p.Members, member{m, v.roleOption(m.Role).Label, m.ID == v.person.UserID})
	}
	for _, i := range people.Invitations {
		p.Invitations = append(p.Invitations, invitation{i, v.roleOption(i.Role).Label})
	}
	return v.render(http.StatusOK, "people", p)
}

func showInvite(v *visit, f *web.Form) error {
	if err := v.require(operation.InvitePerson); err != nil {
		return err
	}
	f.Order = []string{"email", "role"}
	p := peoplePage{Frame: v.frame(web.Text("Invite a person"), peoplePath), Form: f, Roles: v.roleOptions()}
	p.Width = "narrow"
	if v.allows(kernel.Operator) {
		p.Roles = append(p.Roles, v.roleOption("operator"))
	}
	if v.withoutShop() { // nobody can be invited to it
		p.Roles = p.Roles[len(p.Roles)-1:]
	}
	return v.render(v.status(), "invite", p)
}

// showCreatedLink shows a one-time link, once.
func showCreatedLink(v *visit, l store.CreatedLink) error {
	p := peoplePage{Frame: v.frame(web.Text("Invitation link"), peoplePath), Link: l,
		Back: web.Action{Label: v.print.T("People"), Path: peoplePath}, Explanation: v.print.T("It works once, and for seven days.")}
	if l.Kind == store.LinkReset {
		p.Frame = v.frame(web.Text("Link for a new password"), usersPath)
		p.Back = web.Action{Label: v.print.T("Accounts"), Path: usersPath}
		p.Explanation = v.print.T("It works once, and for one hour. With it the person sets a new password and signs in.")
	}
	p.Width = "narrow"
	return v.render(http.StatusOK, "link", p)
}

// findMember returns the member of the path.
func findMember(v *visit) (m store.Member, err error) {
	people, err := read[operation.People](v, operation.ListPeople, kernel.Args{})
	if err != nil {
		return m, err
	}
	return find(v, people.Members, func(m store.Member) string { return m.ID }, "No such person.")
}

func showRole(v *visit, f *web.Form) error {
	if err := v.require(operation.SetRole); err != nil {
		return err
	}
	m, err := findMember(v)
	if err != nil {
		return err
	}
	if f == nil {
		f = v.newForm(url.Values{"role": {m.Role}})
	}
	frame := v.frame("", peoplePath)
	frame.Title, frame.Width = v.print.T("Role of {0}", m.Name), "narrow"
	return v.render(v.status(), "role", peoplePage{Frame: frame, Form: f, Member: m, Roles: v.roleOptions()})
}

func confirmRemovePerson(v *visit, f *web.Form) error {
	if err := v.require(operation.RemovePerson); err != nil {
		return err
	}
	m, err := findMember(v)
	if err != nil {
		return err
	}
	text := v.print.T(
		"{0} ({1}) is signed out at once and can no longer open this shop. Invitations that they have made end. Their account stays, for other shops that they belong to.",
		m.Name,
		m.Email,
	)
	if m.ID == v.person.UserID {
		text = v.print.T("This is you. You are signed out at once and can no longer open this shop. Another owner can invite you again.")
	}
	return v.confirm(peoplePath, web.ConfirmPage{
		Frame:  web.Frame{Title: v.print.T("Remove {0} from the shop?", m.Name)},
		Form:   f,
		Path:   "/dashboard/person/" + m.ID + "/remove",
		Text:   text,
		Button: v.print.T("Remove"),
		Cancel: peoplePath,
		Danger: true,
	})
}

func confirmCancelInvitation(v *visit) error {
	if err := v.require(operation.CancelInvitation); err != nil {
		return err
	}
	people, err := read[operation.People](v, operation.ListPeople, kernel.Args{})
	if err != nil {
		return err
	}
	invitation, err := find(v, people.Invitations, func(i store.Invitation) string { return i.ID }, "No such invitation.")
	if err != nil {
		return err
	}
	return v.confirm(peoplePath, web.ConfirmPage{
		Frame:  web.Frame{Title: v.print.T("Cancel the invitation?")},
		Path:   "/dashboard/invitation/" + v.id() + "/cancel",
		Text:   v.print.T("The link that was sent to {0} no longer works then.", invitation.Email),
		Button: v.print.T("Cancel the invitation"),
		Cancel: peoplePath,
		Danger: true,
	})
}
