package till_test

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestMetadataIsComplete checks that every action accepts and stores 4096 bytes of metadata without
// whitespace, and refuses one more.
func TestMetadataIsComplete(t *testing.T) {
	s := start(t, servertest.Frozen)
	stamped, program := newCard(s, "standard", nil)
	prize := s.NewPrize(program, 1)
	money, pass := s.Issue(s.ProgramIDs["prepaid"], nil), s.Issue(s.ProgramIDs["access"], nil)
	whole := func(bytes int) string {
		const frame = `{"ü":"","n":[1,2]}`
		three := (bytes - len(frame)) / 3
		return strings.Replace(frame, `""`, `"`+strings.Repeat("€", three)+strings.Repeat("x", bytes-len(frame)-3*three)+`"`, 1)
	}
	row := ""
	for _, c := range []struct{ path, more string }{
		{"/cards/" + stamped + "/stamps", ""}, {"/cards/" + stamped + "/redemptions", `"prize_id":"` + prize + `",`},
		{"/cards/" + money + "/topups", `"amount_cents":5,`},
		{"/cards/" + money + "/spends", `"amount_cents":5,`}, {"/cards/" + pass + "/uses", ""}, {"reversal", ""},
	} {
		if c.path == "reversal" {
			c.path = "/transactions/" + row + "/reversal"
		}
		s.Unchanged(func() {
			s.Post(c.path, `{`+c.more+`"metadata":`+whole(4097)+"}").Invalid("metadata too_large")
		})
		row = s.Post(c.path, `{`+c.more+`"metadata":`+strings.Replace(whole(4096), ",", " ,\n ", 1)+" }").Want(201).Str("transaction.id")
		if got := s.Value("SELECT metadata FROM transactions WHERE id=?", s.Row(store.KindTransaction, row)); got != whole(4096) {
			t.Errorf("%s: stored as %d bytes, %.60q", c.path, len(got), got)
		}
	}
}

// TestMaxStampsPerDay checks the bounds of the limit of stamps per card and day that operators set, and
// its refusal. The tests of the store have more.
func TestMaxStampsPerDay(t *testing.T) {
	s := start(t, servertest.Frozen)
	card, program := newCard(s, "standard", nil)
	for value, code := range map[any]string{0: "too_small", 1001: "too_large", "3": "invalid_type"} {
		s.Unchanged(func() {
			s.ControlAPI().Call("PATCH", "/programs/"+program, fields{"max_stamps_per_day": value}).Invalid("max_stamps_per_day " + code)
		})
	}
	s.Control("PATCH", "/programs/"+program, fields{"max_stamps_per_day": 3})
	s.Unchanged(func() {
		says(stamp(s, card, fields{"count": 4}).Want(422, "unprocessable_entity"), "at most 3 stamps a day")
	})
}
