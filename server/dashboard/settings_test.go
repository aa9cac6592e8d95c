package dashboard_test

import "testing"

// TestDeleteShop checks that an owner deletes the shop by its name alone, and that nothing leads to it
// afterwards.
func TestDeleteShop(t *testing.T) {
	s := start(t)
	owner, manager := s.as("owner"), s.as("manager")
	name := s.Value("SELECT name FROM shops")
	form := owner.open("/dashboard/settings/delete")
	for _, typed := range []string{"", "shop", "delete"} {
		s.Unchanged(func() { form.set("_confirmation", typed).refused("_confirmation") })
	}
	form.set("_confirmation", name).send().next().has("The shop was deleted.").lacks(name)
	manager.get("/dashboard").has("No shop").lacks(name)
	if left := s.Value("SELECT count(*) FROM memberships"); left != "0" {
		t.Errorf("%s memberships are left", left)
	}
}
