package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestImportSurvivesKills imports a list of a thousand members over unreliable connections, and kills the server meanwhile.
func TestImportSurvivesKills(t *testing.T) {
	t.Parallel()
	members := readMembers(t)
	db := filepath.Join(t.TempDir(), "shop.db")
	f := &shopFile{t: t, db: db}
	f.run("shop", "create", "--name", "Bar Lux")
	k := f.makeKey("create", "--name", "Import")
	args := []string{"--listen", fmt.Sprintf("127.0.0.1:%d", freePort(t)), "--api-key-rate-limit-per-minute", "0"}
	start := func() *process {
		p := startServe(t, db, args...)
		p.clientsLeave = true
		return p
	}
	f.server = start()
	api := f.api(k)
	programs := map[string]string{"standard": newProgram(api, stampCard),
		"prepaid": newProgram(api, prepaidCard)}

	const seed = 7411
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	var after []int64 // numbers of answered lines, counted over the whole import
	for range *killsFlag {
		after = append(after, 20+chance.Int64N(900))
	}
	slices.Sort(after)

	im := newImporter(t, api, programs, seed)
	kill, done := make(chan struct{}, len(after)), make(chan struct{})
	var answered atomic.Int64
	im.onAnswer = func() {
		for n, i := answered.Add(1), 0; i < len(after); i++ {
			if after[i] == n {
				kill <- struct{}{}
			}
		}
	}
	// Workers wait here while the server restarts.
	var away sync.RWMutex
	im.waitForServer = func() {
		away.RLock()
		defer away.RUnlock()
	}
	restart := func() {
		away.Lock()
		defer away.Unlock()
		f.server.signal(syscall.SIGKILL)
		f.server.wait()
		f.server = start()
	}
	kills := 0
	go func() {
		defer close(done)
		for range kill {
			restart()
			kills++
		}
	}()
	im.run(members)
	close(kill)
	<-done
	if kills != len(after) {
		t.Errorf("%d kills, want %d", kills, len(after))
	}
	im.check(members)
	checkFile(t, f.db)
}
