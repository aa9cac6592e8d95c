//go:build verify

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The tests in this file need Node, Python and Stripe's package, which .ci/verify provides. All
// other tests need Go alone.

func TestVerifyNode(t *testing.T) {
	t.Parallel()
	checkReceiver(t, "node", "testdata/verify/verify.mjs")
}

func TestVerifyPython(t *testing.T) {
	t.Parallel()
	checkReceiver(t, "python3", "testdata/verify/verify.py")
}

// TestVerifyStripeNode verifies a delivery with Stripe's library for Node. The variable
// STRIPE_VERIFY is the path of stripe.mjs beside the installed package.
func TestVerifyStripeNode(t *testing.T) {
	t.Parallel()
	s, came := subscribe(t)
	d := s.send()
	sent := <-came
	verify := func(body []byte) (string, int) {
		t.Helper()
		cmd := exec.Command("node", os.Getenv("STRIPE_VERIFY"), s.hook.Secret, sent.header.Get("X-Service-Signature"))
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stderr = bytes.NewReader(body), &stderr
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
	}
	if id, code := verify(sent.body); id != d.EventID || code != 0 {
		t.Errorf("an unchanged delivery: %q, exit %d", id, code)
	}
	if id, code := verify(bytes.Replace(sent.body, []byte("guest-1"), []byte("guest-2"), 1)); id != "" || code != 3 {
		t.Errorf("a changed delivery: %q, exit %d", id, code)
	}
}
