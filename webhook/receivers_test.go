package webhook

import (
	"os"
	"testing"
)

// TestReceivers compares the receivers with the files in testdata/verify, which the tests of
// server/e2e run.
func TestReceivers(t *testing.T) {
	t.Parallel()
	for _, r := range Receivers() {
		file, err := os.ReadFile("../testdata/verify/" + r.File)
		if err != nil || r.Text != string(file) {
			t.Errorf("%s: %v\n%s", r.File, err, r.Text)
		}
	}
}
