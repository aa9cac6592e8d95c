package till_test

import "testing"

// TestPrizeIsCheckedWithOtherFields checks that a prize of another program is reported
// together with other faults, and one of the program is not.
func TestPrizeIsCheckedWithOtherFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, program := newCard(s, "standard", nil)
	prize, other := s.NewPrize(program, 5), s.NewPrize(s.NewProgram("standard", true, nil), 5)
	path := "/cards/" + card + "/redemptions"
	s.Post(path, fields{"prize_id": other, "metadata": 7}).Invalid("metadata invalid_type", "prize_id invalid_value")
	s.Post(path, fields{"prize_id": prize, "metadata": 7}).Invalid("metadata invalid_type")
	s.Post("/cards/none/redemptions", fields{"prize_id": other, "metadata": 7}).Invalid("metadata invalid_type")
	s.Post(path, fields{"prize_id": other}).Want(404, "not_found")
}
