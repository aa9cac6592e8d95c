package e2e

import (
	"strings"
	"testing"
)

// TestCheckRebuilds checks that check finds wrong sums of statistics and that
// --rebuild corrects them, also beside a running server, and nothing else.
func TestCheckRebuilds(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.newAPI("CRM")
	program := newProgram(api, stampCard)
	issueCard(api, program, map[string]string{"external_ref": "ada"})
	sqlExec(t, f.db, "PRAGMA busy_timeout=5000; UPDATE program_counts SET stamps=7; DELETE FROM quarter_counts; "+
		"UPDATE day_counts SET cards=3")
	r := execute(t, nil, "check", "--db", f.db)
	if r.code != 1 || strings.Count(r.stdout, "statistics that differ from the ledger") < 2 || !strings.Contains(r.stdout, program) {
		t.Errorf("check of wrong sums: %+v", r)
	}
	if out := f.run("check", "--rebuild"); out != "ok\n" {
		t.Errorf("check --rebuild printed %q", out)
	}
	if out := f.run("check"); out != "ok\n" {
		t.Errorf("check after a rebuild printed %q", out)
	}
	var s struct {
		NewCards30d int64 `json:"new_cards_30d"`
	}
	if api.Get("/analytics/summary").Want(200).Decode(&s); s.NewCards30d != 1 {
		t.Errorf("%+v after a rebuild", s)
	}
	sqlExec(t, f.db, "PRAGMA busy_timeout=5000; UPDATE shops SET live_cards=live_cards+1; UPDATE program_counts SET stamps=7")
	if r := execute(t, nil, "check", "--rebuild", "--db", f.db); r.code != 1 || !strings.Contains(r.stdout, "live_cards") ||
		strings.Contains(r.stdout, "statistics") {
		t.Errorf("check --rebuild of another fault: %+v", r)
	}
}
