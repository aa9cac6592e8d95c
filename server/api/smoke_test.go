package api_test

import "testing"

// TestFirstFiveMinutes is what a newcomer tries first.
func TestFirstFiveMinutes(t *testing.T) {
	s := start(t)
	s.get("/me").want(200)
	card := s.post("/programs/"+s.ProgramIDs["standard"]+"/cards", map[string]any{"holder_name": "Ada", "external_ref": "m-1"}).want(201)
	got := s.get("/cards/" + card.str("id")).want(200)
	if got.str("status") != "invited" || got.str("holder_name") != "Ada" {
		t.Errorf("%s", got.body)
	}
	s.get("/cards?external_ref=m-1").want(200)
}
