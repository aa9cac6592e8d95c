package e2e

import (
	"net/http"
	"path/filepath"
	"regexp"
	"testing"
)

// setupLink matches the set-up link of the log.
var setupLink = regexp.MustCompile(`http://[0-9.:]+/setup/([A-Za-z0-9_-]{43})`)

// TestSetupLink checks that serve logs a set-up link in one line, another one at each
// start, and none once there is an operator.
func TestSetupLink(t *testing.T) {
	f := newShop(t, "--access-log")
	links := setupLink.FindAllStringSubmatch(f.server.stderr.String(), -1)
	if len(links) != 1 {
		t.Fatalf("the log has %d set-up links:\n%s", len(links), f.server.stderr)
	}
	if n := query(t, f.db, "SELECT count(*) FROM links WHERE kind='setup' AND length(hash)=32"); n[0] != "1" {
		t.Errorf("%s set-up links in the file", n)
	}
	f.server.stop()
	f.server = startServe(t, f.db)
	again := setupLink.FindStringSubmatch(f.server.stderr.String())
	if again == nil || again[1] == links[0][1] {
		t.Errorf("the second start: %q", again)
	}
	if n := query(t, f.db, "SELECT count(*) FROM links"); n[0] != "1" {
		t.Errorf("%s links in the file", n)
	}
}

// TestSetupLinkOfAWildcardAddress checks that the set-up link of a server that listens on all addresses
// opens on this machine.
func TestSetupLinkOfAWildcardAddress(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"0.0.0.0:0", ":0"} {
		p := startServe(t, filepath.Join(t.TempDir(), "shop.db"), "--listen", listen)
		link := setupLink.FindString(p.stderr.String())
		if resp, err := http.Get(link); err != nil || resp.StatusCode != 200 {
			t.Errorf("%s logs the link %q, which answers %v, %v\n%s", listen, link, resp, err, p.stderr)
		}
	}
}
