package e2e

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// Five thousand connections that say nothing, or as many as the machine lets a
// test have, keep nobody else from being served, and the server from ending.
func TestCrowd(t *testing.T) {
	db := filepath.Join(t.TempDir(), "shop.db")
	seeded := startDev(t, "--db", db)
	ready := seeded.ready
	seeded.stop()
	p := startServe(t, db, "--api-key-rate-limit-per-minute", "0")
	_, address, _ := strings.Cut(p.origin, "://")
	var crowd []net.Conn
	defer func() {
		for _, c := range crowd {
			c.Close()
		}
	}()
	for len(crowd) < 5000 {
		c, err := net.Dial("tcp", address)
		if err != nil && len(crowd) < 200 {
			t.Fatal(err)
		}
		if err != nil { // no more files for this process: leave some to the requests
			for _, c := range crowd[len(crowd)-50:] {
				c.Close()
			}
			crowd = crowd[:len(crowd)-50]
			break
		}
		crowd = append(crowd, c)
		if len(crowd)%500 == 0 {
			card := issueCard(p.api(ready.APIKey), ready.ProgramIDs["standard"], map[string]string{})
			p.api(ready.APIKey).Get("/cards/" + card.ID).Want(200)
		}
	}
	t.Logf("%d connections", len(crowd))
	p.stop()
}
