package dashboard_test

import (
	"strings"
	"testing"
)

func TestKeyForm(t *testing.T) {
	s := start(t)
	owner := s.as("owner")
	form := owner.open("/dashboard/new/key")
	for _, field := range []string{"name", "scopes", "locations", "expires"} {
		form.refused(field)
	}
	form.set("name", "Newsletter", "scopes", "cards:read", "locations", "some", "expires", "30").refused("location_ids")
	first := form.set("location_ids", s.LocationIDs[0]).send().shows("The key was created", "tsk_test_", "curl -H")
	secret := between(first.text(), "tsk_test_", " ")
	s.Unchanged(func() { form.send().want(200).lacks(secret).has("was shown once") })

	list := owner.get("/dashboard/keys").
		want(200).
		has("Newsletter", "tsk_test_"+secret[:3]+"…", "See cards", "The owner", "Works").
		lacks(secret)
	at := list.pathTo("/dashboard/key/", "")
	owner.get(at).shows("Newsletter", "cards:read").lacks(secret)

	rotated := owner.get(at+"/rotate").
		has("1 hour", "24 hours").
		form().
		set("grace_hours", "1").
		send().
		want(200).
		has("The key was rotated", "works until")
	if next := between(rotated.text(), "tsk_test_", " "); next == secret {
		t.Error("the successor has the same secret")
	}
	owner.get(at).has("Being replaced")
	owner.fill(at + "/rotate").want(409).has("This key was rotated or revoked before")
	owner.get(at + "/revoke").has("Revoke Newsletter?").form().sendTwice().next().has("The key was revoked.")
	owner.get(at).has("Revoked")
	owner.get("/dashboard/keys/revoke-all").
		has("Revoke all keys?", "Newsletter").
		form().
		sendTwice().
		next().
		has("All keys were revoked", "No key in use")
}

// between returns the text between the first occurrence of begin and the next of end.
func between(text, begin, end string) string {
	_, rest, _ := strings.Cut(text, begin)
	found, _, _ := strings.Cut(rest, end)
	return found
}
