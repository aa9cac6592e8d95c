package punchcard

import (
	"strings"
	"testing"

	"github.com/testcontainers/testcontainers-go"
)

func TestReadReady(t *testing.T) {
	for _, c := range []struct{ log, key, err string }{
		{"time=… level=INFO msg=\"{\"\n{\"api_key\":\"one\"}\n{\"api_key\":\"two\"}\n", "one", ""},
		{"{}\n{\"api_key\":1}\n[]\n", "", "no ready line"},
		{"", "", "no ready line"},
		{strings.Repeat("x", 1<<20), "", "too long"},
	} {
		r, err := readReady(strings.NewReader(c.log))
		if r.APIKey != c.key || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.40q: %q, %v", c.log, r.APIKey, err)
		}
	}
}

// Command returns the command of a container that is reached by a host.
func Command(t *testing.T, host string, options ...testcontainers.ContainerCustomizer) []string {
	var req testcontainers.GenericContainerRequest
	for _, o := range append(defaults(host), options...) {
		if err := o.Customize(&req); err != nil {
			t.Fatal(err)
		}
	}
	return req.Cmd
}

// ReadReady is readReady for tests of what others see.
var ReadReady = readReady
