package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
)

// chosenKey are the fields of the form of a new key.
var chosenKey = url.Values{"class": {"api"}, "name": {"Newsletter"}, "scopes": {"cards:read"}, "locations": {"all"}, "expires": {"90"}}

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

// TestKeyProof checks that the forms about secrets are refused without a recent proof, and that
// the page that asks for it keeps their fields.
func TestKeyProof(t *testing.T) {
	s := start(t)
	_, id := s.NewKey(object{})
	s.SQL("UPDATE sessions SET proved_at=proved_at-3600000")
	s.SQL("UPDATE meta SET auth_epoch=auth_epoch+1")
	owner := s.as("owner")
	for path, fields := range map[string]url.Values{
		"/dashboard/new/key": chosenKey, "/dashboard/key/" + id + "/rotate": {"grace_hours": {"1"}},
		"/dashboard/key/" + id + "/revoke": nil, "/dashboard/keys/revoke-all": nil,
		"/dashboard/new/webhook": {"_program_id": {s.ProgramIDs["standard"]}, "url": {"http://127.0.0.1:9/"}, "events": {"*"}},
	} {
		s.Unchanged(func() {
			waiting := owner.post(path, fields).want(403).has("Confirm that it is you").form("/dashboard/prove")
			for name := range fields {
				if waiting.fields.Get(name) != fields.Get(name) {
					t.Errorf("the page that asks for a proof loses %s of %s", name, path)
				}
			}
		})
	}
}
