package command

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestLogHidesPersonalData checks that neither form of the log shows an attribute with the name of a
// column that is about people or is a secret.
func TestLogHidesPersonalData(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		conf, err := Server{InstallLinkTTL: time.Hour, LogFormat: format}.config(&b)
		noError(t, err)
		for _, name := range []string{"holder_email", "metadata", "email", "bearer_token", "body"} {
			conf.Log.Info("done", "card", "crd_shown", name, "hidden-value")
		}
		if log := b.String(); strings.Count(log, "***") != 5 || strings.Count(log, "crd_shown") != 5 ||
			strings.Contains(log, "hidden-value") {
			t.Errorf("%s: %s", format, log)
		}
	}
}
