package app_test

import (
	"testing"

	"punchcard/server/servertest"
)

// TestPruneAttempts checks that audit rows about failed sign-ins go after 90 days, also where they
// stand behind thousands of others, and that no other rows go.
func TestPruneAttempts(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Frozen)
	const action = "INSERT INTO audit (shop_id, actor_type, action, target_kind, target_id, created_at) " +
		"SELECT 0, 'system', ?, 11, 1, (SELECT max(created_at) FROM audit) FROM generate"
	const many = "WITH RECURSIVE generate(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM generate WHERE n<?) "
	s.SQL(many+action, 6000, "user.update")
	s.SQL(many+action, 60, "user.sign_in_failed")
	left := func() string {
		t.Helper()
		for range 3 { // each visits a bounded number of rows
			noError(t, s.App.PruneAttempts())
		}
		return s.Value("SELECT count(*) FROM audit WHERE action='user.sign_in_failed'")
	}
	all := s.Value("SELECT count(*) FROM audit WHERE action<>'user.sign_in_failed'")
	s.Advance("89d")
	if n := left(); n != "60" {
		t.Errorf("after 89 days %s rows are left", n)
	}
	s.Advance("2d")
	if n := left(); n != "0" {
		t.Errorf("after 91 days %s rows are left", n)
	}
	if n := s.Value("SELECT count(*) FROM audit WHERE action<>'user.sign_in_failed'"); n != all {
		t.Errorf("%s other rows are left of %s", n, all)
	}
}
