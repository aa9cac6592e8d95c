package e2e

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestIdleConnections opens five thousand connections that send nothing, or as many as the machine
// allows, and checks that the server still answers others and stops.
func TestIdleConnections(t *testing.T) {
	db := filepath.Join(t.TempDir(), "shop.db")
	seeded := startDev(t, "--db", db)
	ready := seeded.ready
	seeded.stop()
	p := startServe(t, db, "--api-key-rate-limit-per-minute", "0")
	_, address, _ := strings.Cut(p.origin, "://")
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			c.Close()
		}
	}()
	for len(idle) < 5000 {
		c, err := net.Dial("tcp", address)
		if err != nil && len(idle) < 200 {
			t.Fatal(err)
		}
		if err != nil { // out of files: leave some for the requests
			for _, c := range idle[len(idle)-50:] {
				c.Close()
			}
			idle = idle[:len(idle)-50]
			break
		}
		idle = append(idle, c)
		if len(idle)%500 == 0 {
			card := issueCard(p.api(ready.APIKey), ready.ProgramIDs["standard"], map[string]string{})
			p.api(ready.APIKey).Get("/cards/" + card.ID).Want(200)
		}
	}
	t.Logf("%d connections", len(idle))
	p.stop()
}
