package seed

import (
	"fmt"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// seedSize is the number of cards of the large seed.
const seedSize = 50

// largeSeed returns a seed of seedSize cards with ten activities each.
func largeSeed() string {
	var b strings.Builder
	b.WriteString(`{"now": "2026-05-18T12:00:00Z", "shops": [{"locations": [{"ref": "here"}],
		"programs": [{"ref": "p", "type": "standard", "name": "Card", "total_stamps": 10, "icon_key": "cup", "repeat_after_reset": true,
			"prizes": [{"threshold": 10, "name": "One free"}]}],
		"cards": [`)
	for i := range seedSize {
		fmt.Fprintf(
			&b,
			"%s\n{\"ref\": \"c%d\", \"program\": \"p\", \"holder_name\": \"Guest %d\", \"external_ref\": \"guest-%d\"}",
			comma(i),
			i,
			i,
			i,
		)
	}
	b.WriteString(`], "activity": [`)
	for i := range 10 * seedSize {
		fmt.Fprintf(&b, "%s\n{\"ago\": \"%dm\", \"card\": \"c%d\", \"stamp\": 1}", comma(i), 12_000-i, i%seedSize)
	}
	b.WriteString("]}]}\n")
	return b.String()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// TestLargeSeed checks that each activity of a large seed is applied.
func TestLargeSeed(t *testing.T) {
	s := require.Must(Parse("large.json", []byte(largeSeed())))
	st, ready := apply(t, s)
	view(t, st, func(v *store.View) error {
		c, err := v.Card(store.Access{Shop: ready.shop}, ready.Refs[fmt.Sprintf("c%d", seedSize-1)])
		if err == nil && (c.StampsCount != 10 || c.Status != store.StatusActive) {
			t.Errorf("%+v", c)
		}
		return err
	})
	check(t, st)
}

// TestLargeProblem checks that the line of a problem at the end of a large file is
// found quickly.
func TestLargeProblem(t *testing.T) {
	text := strings.ReplaceAll(largeSeed(), `"stamp": 1}`, `"stamp": 0}`)
	_, err := Parse("large.json", []byte(text))
	lines := strings.Split(fmt.Sprint(err), "\n")
	want := fmt.Sprintf("large.json:%d: shops.0.activity.19.stamp: must be at least 1", 4+seedSize+20)
	if len(lines) != maxProblems || lines[maxProblems-1] != want {
		t.Errorf("%d lines, the last one %s", len(lines), lines[len(lines)-1])
	}
}
