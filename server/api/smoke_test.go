package api_test

import "testing"

// TestFirstFiveMinutes makes the first requests of a new user.
func TestFirstFiveMinutes(t *testing.T) {
	s := start(t)
	s.Get("/me").Want(200)
	card := s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", map[string]any{"holder_name": "Ada", "external_ref": "m-1"}).Want(201)
	got := s.Get("/cards/" + card.Str("id")).Want(200)
	if got.Str("status") != "invited" || got.Str("holder_name") != "Ada" {
		t.Errorf("%s", got.Body)
	}
	s.Get("/cards?external_ref=m-1").Want(200)
}
