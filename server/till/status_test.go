package till_test

import (
	"net/http"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/till"
	"punchcard/store"
)

// TestStatuses: what the REST API answers with 402 or 409 is 422 at a
// till, and every other code keeps its status.
func TestStatuses(t *testing.T) {
	differ := map[store.Code]bool{store.SubscriptionSuspended: true, store.LocationDisabled: true, store.CardExpired: true}
	for code, status := range kernel.Statuses {
		want := status
		if differ[code] {
			want = http.StatusUnprocessableEntity
		}
		if got := till.Status(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}
