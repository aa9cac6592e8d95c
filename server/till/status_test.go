package till_test

import (
	"net/http"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/till"
	"punchcard/store"
)

// TestStatuses checks that the till API answers 422 where a till cannot resolve
// the refusal, and has the statuses of the REST API otherwise.
func TestStatuses(t *testing.T) {
	differ := map[store.Code]bool{store.SubscriptionSuspended: true, store.LocationDisabled: true, store.CardExpired: true}
	for code, meaning := range kernel.Codes {
		want := meaning.Status
		if differ[code] {
			want = http.StatusUnprocessableEntity
		}
		if got := till.Status(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}
