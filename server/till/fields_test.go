package till_test

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/till"
)

// TestBadFieldsAreNamed checks that bad values of every field of every body are
// refused with a detail that names the field. The ids in the paths are unknown, since
// fields are checked before resources.
func TestBadFieldsAreNamed(t *testing.T) {
	t.Parallel()
	s := start(t)
	paths := map[string]string{}
	for _, r := range till.Routes() {
		paths[r.ID] = strings.NewReplacer(":id", "none", ":code", "none").Replace(r.Path)
	}
	n := s.RefusesBadFields("/till/openapi.json", paths, func(operation, _ string) servertest.Fields {
		return map[string]servertest.Fields{
			"redeemPrize": {"prize_id": "none"}, "topUpCard": {"amount_cents": 1}, "spendFromCard": {"amount_cents": 1},
			"openStaffSession": {"staff_id": "none", "pin": "1234"},
		}[operation]
	})
	if n < servertest.Sized(100, 10) {
		t.Errorf("%d requests: the generator does not read the document", n)
	}
}

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
