package seed

import "punchcard/store"

// The people of the demo shop. The owner is also the operator, as the person is who sets
// a server up.
const (
	OwnerEmail   = "owner@demo.test"
	ManagerEmail = "manager@demo.test"
	ViewerEmail  = "viewer@demo.test"
	// Password is the password of each of them. Like the demo keys, it is public.
	Password = "punchcard-demo-password"
	// passwordHash is its hash with the least work, since hashing it would take longer
	// than the rest of a start, and checking it longer than most tests of a page.
	passwordHash = "$argon2id$v=19$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$r6VcKgc/5/6mXTBALgBGbu8bg/r02YzXuR2CkzlS7wA"
)

// Emails are the emails of the demo shop's people by their roles.
var Emails = map[string]string{store.RoleOwner: OwnerEmail, store.RoleManager: ManagerEmail, store.RoleViewer: ViewerEmail}

// demoPeople creates the people of a shop.
func demoPeople(tx *store.Tx, shop int64) error {
	for _, p := range []struct{ role, name string }{
		{store.RoleOwner, "Olivia Owner"}, {store.RoleManager, "Marco Manager"}, {store.RoleViewer, "Vera Viewer"},
	} {
		user, err := tx.AddUser(store.NewUser{
			Email:       Emails[p.role],
			Name:        p.name,
			Password:    passwordHash,
			Language:    "en",
			Operator:    p.role == store.RoleOwner,
			EmailProved: true,
		})
		if err != nil {
			return err
		}
		if err := tx.AddMember(user, shop, p.role); err != nil {
			return err
		}
	}
	return nil
}
