package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAttackFindErasedPerson looks for an erased person wherever a fixture shows what it kept: in the
// journal, the mailbox and the audit log. A command in another process erases the card, so that the
// fixture is told nothing.
func TestAttackFindErasedPerson(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "kept.db")
	p := startDev(t, "--db", db)
	api, till, out := p.demo(), p.till(p.ready.TillToken), p.outside()
	var made card
	api.Call("POST", "/programs/"+p.ready.ProgramIDs["standard"]+"/cards",
		`{"holder_name": "Zebedee", "holder_email": "zebedee@example.com", "external_ref": "zebedee-1", "send_email": true}`).
		Want(201).Decode(&made)
	api.Call("GET", "/cards", nil).Want(200)
	api.Call("GET", "/cards?external_ref=zebedee-1", nil).Want(200)
	till.Call("POST", "/cards/"+made.ID+"/stamps", `{"metadata": {"by": "Zebedee"}}`).Want(201)
	traces := func() (found []string) {
		for _, path := range []string{"/dev/requests?limit=1000", "/dev/emails", "/dev/audit"} {
			if body := strings.ToLower(string(out.Call("GET", path, nil).Want(200).Body)); strings.Contains(body, "zebedee") {
				found = append(found, path)
			}
		}
		return found
	}
	if found := traces(); len(found) != 2 {
		t.Fatalf("before the card is erased, only %v name its holder", found)
	}
	if r := execute(t, nil, "card", "delete", made.ID, "--yes", "--db", db); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if found := traces(); len(found) != 0 {
		t.Errorf("%v still name the holder of the erased card", found)
	}
}
